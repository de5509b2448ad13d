"""Counts that need not be whole, in the shell."""

import csv
import json

import dcomp


def table(path, unit=0.5):
    """Two kinds of rows, in halves."""
    lines = ["doc,a,b,c,d"]
    for i in range(20):
        row = [4, 3, 0, 0] if i % 2 else [0, 0, 5, 2 + i]
        lines.append(",".join([f"d{i}", *(str(unit * x) for x in row)]))
    path.write_text("\n".join(lines))
    return path


def test_a_flag_takes_them(run, tmp_path):
    source = table(tmp_path / "halves.csv")
    refused = run("fit", source, "-k", 2)
    assert refused.code == 1
    assert "halves.csv:2: counts must be non-negative whole numbers" in refused.err
    assert "(--fractional takes corrected counts and dosages; in place of shares " in refused.err

    done = run("fit", source, "-k", 2, "--fractional", "-o", "x.dcomp")
    assert done.code == 0, done.err
    assert "fractional counts of 115.0 in all" in done.out
    assert dcomp.load(tmp_path / "x.dcomp").provenance.fractional


def test_what_reads_a_fit_reads_like_the_fit(run, tmp_path):
    source = table(tmp_path / "halves.csv")
    run("fit", source, "-k", 2, "--fractional", "-o", "x.dcomp")
    scores = run("transform", "x.dcomp", source)
    assert scores.code == 0, scores.err
    rows = list(csv.reader(scores.out.splitlines()))
    assert len(rows) == 21
    judged = run("evaluate", "x.dcomp", source, "--json")
    assert json.loads(judged.out)["training_data"]
    by_tokens = run("evaluate", "x.dcomp", source, "--method", "left-to-right")
    assert by_tokens.code == 1
    assert "counts must be whole numbers; found 2.5 at document 'd0', feature 'c'" in by_tokens.err
    # A format of whole numbers alone is read as ever.
    (tmp_path / "docs.dat").write_text("2 0:1 3:2\n1 1:4\n")
    (tmp_path / "words.txt").write_text("a\nb\nc\nd\n")
    plain = run("transform", "x.dcomp", tmp_path / "docs.dat", "--vocab", tmp_path / "words.txt")
    assert plain.code == 0, plain.err


def test_a_sampler_refuses_them(run, tmp_path):
    source = table(tmp_path / "halves.csv")
    done = run("fit", source, "-k", 2, "--fractional", "--algorithm", "gibbs")
    assert done.code == 1
    assert "gibbs draws for single tokens, so that counts must be whole numbers" in done.err


def test_a_config_file_says_it(run, tmp_path):
    source = table(tmp_path / "halves.csv")
    (tmp_path / "run.toml").write_text("n_components = 2\n\n[input]\nfractional = true\n")
    done = run("fit", source, "--config", "run.toml", "-o", "x.dcomp")
    assert done.code == 0, done.err
    again = run(
        "fit", source, "-k", 2, "--fractional", "--save-config", "saved.toml", "-o", "y.dcomp"
    )
    assert again.code == 0, again.err
    assert "fractional = true" in (tmp_path / "saved.toml").read_text()
    longer = ("--max-iter", 300, "-o", "z.dcomp")
    assert run("fit", source, "--fractional", "--resume", "x.dcomp", *longer).code == 0
    other = run("fit", source, "--resume", "x.dcomp", *longer, "--force")
    assert "(--fractional takes corrected counts and dosages; in place of shares " in other.err
