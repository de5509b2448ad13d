"""dcomp rollcall: one line from votes to blocs."""

import json

from unit.use.test_rollcall import planted

SHORT = ("--max-iter", 120, "--draws", 20, "--chains", 2)


def test_votes_to_blocs(run, tmp_path):
    _, _, votes, calls = planted()
    (tmp_path / "votes.csv").write_text(votes)
    (tmp_path / "rollcalls.csv").write_text(calls)
    done = run("rollcall", "votes.csv", "-k", 3, *SHORT, "-o", "blocs.dcomp", "--contested")
    assert done.code == 0, done.err
    assert "classified right" in done.out
    assert "written: blocs.dcomp" in done.err
    assert "On matter" in done.out
    assert "OUTCOME" in run("rollcall", "votes.csv", "-k", 3, *SHORT, "--all").out
    record = json.loads(run("rollcall", "votes.csv", "-k", 3, *SHORT, "--json").out)
    assert len(record["voters"]) == 31
    assert record["classification"]["rate"] > 0.9
    assert "shown is the best of 2 chains" in run("show", "blocs.dcomp").out
    by_bloc = run("show", "blocs.dcomp", "--by", "bloc")
    assert "a 8, b 8, c 14, unknown 1" in by_bloc.out


def test_what_would_help_the_chains_is_an_option(run, tmp_path):
    (tmp_path / "votes.csv").write_text(planted()[2])
    done = run("rollcall", "votes.csv", "-k", 3, *SHORT, "--seed", 1)
    verdict = " ".join(done.out.split()).partition(" chains: ")[2]
    assert "raise --max-iter" in verdict.partition("(as `dcomp diagnose` has it)")[0]
    assert "max_iter" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_new_votes_are_scored_at_the_calls_of_the_fit(run, tmp_path):
    """Contested or not is a matter of the fit: a few new members may well agree."""
    (tmp_path / "old.csv").write_text("name,c1,c2,c3\na,Y,Y,N\nb,N,Y,N\nc,Y,Y,Y\nd,N,Y,N\n")
    (tmp_path / "new.csv").write_text("name,c1,c2,c3,c4\nx,Y,Y,N,Y\ny,Y,N,Y,N\n")
    how = ("--format", "votes", "--contested")
    assert run("fit", "old.csv", "-k", 2, *how, "-o", "fit.dcomp", "--max-iter", 5).code == 0
    done = run("transform", "fit.dcomp", "new.csv", *how, "-o", "scores.csv")
    assert done.code == 0, done.err
    # c1 and c3 are in the fit, though both new members say yea to c1.
    assert "4 of 8 tokens (50.0 %) are dropped" in done.err
    assert "only its own 2 blocks can be scored" in done.err


def test_wrong_files(run, tmp_path):
    (tmp_path / "S108_members.csv").write_text("congress,chamber,icpsr,bioname\n108,Senate,7,A\n")
    done = run("rollcall", "S108_members.csv")
    assert done.code == 1
    assert "S108_members.csv:1: this is Voteview's file of members" in done.err
    assert run("rollcall", "absent.csv").err.endswith("no such file: absent.csv\n")


def test_votes_without_their_members(run, tmp_path):
    """And with fewer sweeps than the usual draws."""
    head = "congress,chamber,rollnumber,icpsr,cast_code\n"
    cast = [
        f"108,Senate,{c},{m},{1 if (m + c) % 3 else 6}\n" for c in range(1, 9) for m in range(9)
    ]
    (tmp_path / "S1_votes.csv").write_text(head + "".join(cast))
    done = run("rollcall", "S1_votes.csv", "-k", 2, "--max-iter", 40, "--chains", 2)
    assert done.code == 0, done.err
    assert "note: S1_members.csv is not beside S1_votes.csv: members are numbers" in done.err


def test_votes_in_other_codes(run, tmp_path):
    """Few are said to be left out in one line, many are an error in the words of the shell."""
    rows = [f"M{i},{i % 2},{(i + 1) % 2},{i % 3 % 2},1,{i % 3},{i % 3},{i % 3}" for i in range(12)]
    (tmp_path / "v.csv").write_text("name,a,b,c,d,e,f,g\n" + "\n".join(rows) + "\n")
    done = run("rollcall", "v.csv", "-k", 2, *SHORT)
    assert done.code == 0, done.err
    assert "dcomp: warning: v.csv: 3 columns are left out of the votes, for '2' " in done.err
    assert "DataWarning" not in done.err
    (tmp_path / "v.csv").write_text("name,a,b,c,d,e,f,g\n" + "\n".join(rows).replace(",0", ",2"))
    done = run("rollcall", "v.csv", "-k", 2, *SHORT)
    assert done.code == 1
    assert "name columns that are no roll calls by --attributes (dcomp fit takes " in done.err
    assert "--format categories, --codes all, --attributes what is no vote, --missing" in done.err
