"""Corpora in files: the same counts, the same errors, and nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dcomp
from dcomp.data import spooled, vocabulary
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io import dcounts
from dcomp.io.dcounts import MAGIC, START

X = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 3, 0, 7], [0, 0, 5, 1]])


@pytest.fixture
def counts() -> dcomp.Counts:
    table = dcomp.Counts.from_matrix(
        X,
        feature_names=["cat", "naïve, \ud800", "cat", ""],
        doc_ids=["a", "", "日本", "d"],
        blocks=["x", "x", "y", "y"],
    )
    about = {"year": [1, 2, 3, 4], "stars": [0.5, None, 2, 3], "is": [True, False, True, True]}
    return table.with_attributes(about, party=["D", None, "é", ""])


@pytest.fixture
def path(tmp_path: Path, counts: dcomp.Counts) -> Path:
    dcomp.write(counts.in_parts(3), tmp_path / "x.dcounts")
    return tmp_path / "x.dcounts"


def test_what_is_opened_is_what_was_written(path, counts):
    again = dcomp.open(path)
    assert again == counts
    assert again.attributes == counts.attributes
    assert again.firsts == counts.in_parts(3).firsts
    assert again.mapped is not None
    assert again.fingerprint() == counts.fingerprint()
    assert [part.doc_ids for part in again.parts] == [p.doc_ids for p in counts.in_parts(3).parts]
    assert all(a == b for a, b in zip(again.parts, counts.in_parts(3).parts, strict=True))


def test_fractions_missing_blocks_and_text_are_kept(tmp_path):
    half = dcomp.Counts.from_matrix(X / 2, fractional=True)
    dcomp.write(replace(half, empty_is_missing=True), tmp_path / "half.dcounts")
    again = dcomp.open(tmp_path / "half.dcounts")
    assert again == half
    assert again.is_fractional
    assert again.empty_is_missing
    words = dcomp.Counts.from_texts(["The cat sat.", "a dog"], stem="english")
    dcomp.write(words, tmp_path / "words.dcounts")
    again = dcomp.read(tmp_path / "words.dcounts")
    assert (again.text, again.vocabulary) == (words.text, words.vocabulary)
    nothing = dcomp.Counts.from_matrix([[0, 0]])
    dcomp.write(nothing, tmp_path / "nothing.dcounts")
    assert dcomp.open(tmp_path / "nothing.dcounts") == nothing


def test_runs_of_documents_lie_in_the_file_and_others_do_not(path, counts):
    again = dcomp.open(path)
    run, some = again.rows(slice(1, 3)), again.rows([3, 0])
    assert np.shares_memory(run.data, again.data)
    assert run == counts.rows(slice(1, 3))
    assert some == counts.rows([3, 0])
    assert some.mapped is None
    assert again.columns([0, 2]) == counts.columns([0, 2])
    assert again.columns([0, 2]).mapped is None


def test_shards_are_as_many_as_said(tmp_path, counts):
    for shards in (1, 2, 4):
        dcomp.write(counts, tmp_path / "x.dcounts", shards=shards, overwrite=True)
        assert dcomp.open(tmp_path / "x.dcounts").firsts == counts.in_parts(shards).firsts
    with pytest.raises(InvalidParameter, match="from 1 to the number of documents, 4; got 5"):
        dcomp.write(counts, tmp_path / "y.dcounts", shards=5)
    with pytest.raises(InvalidParameter, match="is mapped, and cannot be packed"):
        dcomp.write(counts, tmp_path / "y.dcounts.gz")
    with pytest.raises(InvalidParameter, match="scratch must be a folder"):
        dcomp.open(tmp_path / "x.dcounts", scratch=tmp_path / "none")
    assert [p.name for p in tmp_path.iterdir()] == ["x.dcounts"]


def sealed(content: bytes, change=lambda head: None, edit=lambda body, sections: None) -> bytes:
    """The file with something changed, and sums that agree with it."""
    _, length, _ = START.unpack(content[: START.size])
    head, body = json.loads(content[START.size : START.size + length]), bytearray(content)
    edit(body, head["sections"])
    for section in head["sections"].values():
        section[2] = zlib.crc32(body[section[0] : section[0] + section[1]])
    change(head)
    told = json.dumps(head).encode().ljust(length)
    return START.pack(MAGIC, len(told), zlib.crc32(told)) + told + body[START.size + len(told) :]


def wrong(name: str, number: int, value: int, dtype: str):
    def edit(body, sections):
        place = sections[name][0] + number * np.dtype(dtype).itemsize
        body[place : place + np.dtype(dtype).itemsize] = np.array(value, dtype).tobytes()

    return edit


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (wrong("indptr", 1, 3, "<i8"), "ends before it begins|ascend"),
        (wrong("indptr", 0, 1, "<i8"), "begin at 0"),
        (wrong("indptr", 4, 1 << 40, "<i8"), "end with the last count"),
        (wrong("indices", 1, 4, "<i4"), "is none of 4"),
        (wrong("indices", 1, -1, "<i4"), "is none of 4"),
        (wrong("indices", 1, 0, "<i4"), "do not ascend"),
        (wrong("data", 0, 0, "<i4"), "is not between 0"),
        (wrong("data", 0, -5, "<i4"), "is not between 0"),
    ],
)
def test_rows_that_are_none_are_found_before_they_are_worked_with(path, edit, said):
    content = path.read_bytes()
    path.write_bytes(sealed(content, edit=edit))
    opened = dcomp.open(path)  # which reads none of them
    with pytest.raises(InvalidFile, match=said):
        dcomp.fit(opened, dcomp.models.DirichletMultinomial.build(2), max_iter=2)
    with pytest.raises(InvalidFile, match=said):
        _ = opened.parts
    with pytest.raises(InvalidFile, match=said):
        _ = dcomp.open(path).feature_totals  # the first thing that a shell asks for
    with pytest.raises(InvalidFile, match=said):
        _ = dcomp.open(path).feature_docs
    with pytest.raises(InvalidFile, match=said):
        dcomp.write(opened, path.with_name("y.dcounts"))
    assert not path.with_name("y.dcounts").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.update(version=2),
        lambda head: head.update(documents=5),
        lambda head: head.update(documents=-1),
        lambda head: head.update(documents=1 << 61),
        lambda head: head.update(features=10**9),
        lambda head: head.update(features="4"),
        lambda head: head.update(entries=1),
        lambda head: head.update(fractional=True),
        lambda head: head.update(firsts=[0, 4]),
        lambda head: head.update(firsts=[1]),
        lambda head: head.update(firsts=[0, 1.5]),
        lambda head: head.update(blocks=3),
        lambda head: head.update(text={"no": 1}),
        lambda head: head.update(vocabulary={"n_words": "many"}),
        lambda head: head.update(attributes=[["a", "text"]]),
        lambda head: head.update(attributes=[["a"]]),
        lambda head: head.update(attributes=7),
        lambda head: head.pop("sections"),
        lambda head: head.pop("firsts"),
        lambda head: head["sections"].pop("data"),
        lambda head: head["sections"]["data"].__setitem__(0, 0),
        lambda head: head["sections"]["data"].__setitem__(1, 1 << 50),
        lambda head: head["sections"]["data"].__setitem__(1, "x"),
        lambda head: head["sections"]["data"].__setitem__(3, "object"),
        lambda head: head["sections"].update(data=[1]),
        lambda head: head.update(sections=[]),
    ],
)
def test_a_head_that_says_wrong_things(path, change):
    path.write_bytes(sealed(path.read_bytes(), change))
    with pytest.raises(InvalidFile, match=r"x\.dcounts"):
        dcomp.open(path)


def test_any_damage_is_an_invalid_file_or_none(path, counts):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in {*range(START.size), *rng.integers(0, len(content), 200).tolist()}:
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            assert dcomp.as_counts(dcomp.open(path)) == counts  # what lies between sections
        except InvalidFile:
            continue
    for length in (0, 7, START.size, 300, 5000, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InvalidFile):
            dcomp.as_counts(dcomp.open(path))


def test_damaged_counts_are_found_by_their_sum(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1  # the last byte is of the last count
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match="its counts are damaged"):
        dcomp.as_counts(dcomp.open(path))


def test_names_may_take_what_the_file_vouches_for(path):
    with pytest.raises(InvalidFile, match=r"limits=dcomp\.Limits\(memory=…\) allows more"):
        dcomp.open(path, limits=dcomp.Limits(memory=100))


# From texts


@pytest.fixture
def texts(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    names = ["".join(chr(97 + i // 26**k % 26) for k in range(3)) for i in range(300)]
    path = tmp_path / "texts.jsonl"
    with path.open("w") as file:
        for i in range(200):
            words = " ".join(rng.choice(names, rng.integers(0, 60)))
            record = {"id": f"d{i}", "text": words, "kind": str(rng.integers(3))}
            file.write(json.dumps(record) + "\n")
    return path


@pytest.mark.parametrize("pieces", [1 << 22, 500])
@pytest.mark.parametrize(
    "options",
    [
        {"labels": ["kind"], "min_docs": 15},
        {"max_features": 50, "max_docs": 40, "where": {"kind": "1"}},
        {"stem": "english", "stop_words": None},
        {"token": r"[a-z]{2}"},
        {"ngrams": 2, "min_docs": 2},
    ],
)
def test_texts_through_the_disk_are_the_same_counts(texts, monkeypatch, pieces, options):
    monkeypatch.setattr(spooled, "TOKENS", pieces)
    monkeypatch.setattr(vocabulary, "TOKENS", pieces)
    out = texts.with_name("out.dcounts")
    plain, through = dcomp.read(texts, **options), dcomp.convert(texts, out, shards=3, **options)
    assert through == plain
    assert (through.text, through.vocabulary) == (plain.text, plain.vocabulary)
    assert through.attributes == plain.attributes
    assert through.firsts == plain.in_parts(3).firsts
    assert sorted(p.name for p in texts.parent.iterdir()) == ["out.dcounts", "texts.jsonl"]


def test_lists_of_tokens_and_blocks_of_text(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": ["cat", "dog"]}\n{"text": ["cat"]}\n')
    assert dcomp.convert(path, tmp_path / "x.dcounts") == dcomp.read(path)
    path.write_text('{"a": "cat dog", "b": "dog"}\n{"a": "cat", "b": ""}\n')
    how = {"text": ["a", "b"], "text_blocks": True}
    again = dcomp.convert(path, tmp_path / "x.dcounts", overwrite=True, **how)
    assert again == dcomp.read(path, **how)


def test_other_formats_are_converted_too(tmp_path, counts):
    plain = dcomp.Counts.from_matrix(X, feature_names=list("abcd"))
    dcomp.write(plain, tmp_path / "x.mtx")
    assert dcomp.convert(tmp_path / "x.mtx", tmp_path / "x.dcounts") == plain
    again = dcomp.convert(tmp_path / "x.dcounts", tmp_path / "y.dcounts", shards=2)
    assert again == plain
    assert len(again.firsts) == 2


def test_a_corpus_is_replaced_only_when_asked_and_only_by_a_whole_one(texts, monkeypatch):
    out = texts.with_name("out.dcounts")
    first = dcomp.convert(texts, out)
    with pytest.raises(FileExistsError):
        dcomp.convert(texts, out)
    texts.write_text(texts.read_text() + "no record\n")
    with pytest.raises(InvalidFile, match=r"texts\.jsonl:201"):
        dcomp.convert(texts, out, overwrite=True)
    assert dcomp.open(out) == first
    assert sorted(p.name for p in texts.parent.iterdir()) == ["out.dcounts", "texts.jsonl"]


FULL = """
import resource, signal, sys
import dcomp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    dcomp.convert(sys.argv[1], sys.argv[2], overwrite=True)
except OSError as error:
    print(error.filename, "|", error.strerror)
"""


@pytest.mark.parametrize("room", [0, 5000, 30_000])
def test_a_full_disk_leaves_the_old_corpus(texts, room):
    out = texts.with_name("out.dcounts")
    out.write_bytes(b"old")
    command = [sys.executable, "-c", FULL, str(texts), str(out), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{out} | {os.strerror(errno.EFBIG)}\n"
    assert out.read_bytes() == b"old"
    assert sorted(p.name for p in texts.parent.iterdir()) == ["out.dcounts", "texts.jsonl"]


def test_a_folder_that_cannot_be_written_to(texts, monkeypatch):
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, how: Path(p) != texts.parent and access(p, how))
    with pytest.raises(PermissionError, match="cannot be written to"):
        dcomp.convert(texts, texts.with_name("out.dcounts"))
    assert [p.name for p in texts.parent.iterdir()] == ["texts.jsonl"]


def test_the_format_is_as_its_page_says():
    assert dcounts.VERSION == 1
    assert dcounts.MAGIC == b"DCOUNTS1"
