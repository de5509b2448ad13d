"""A fit that loads is a fit: files that were edited and sealed again, and those of strangers."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import sealed
from support.bounded import Reader
from support.sealed import npy, rewrite

import dcomp

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="module")
def reader():
    with Reader() as process:
        yield process


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "a.dcomp"
    target.write_bytes((GOLDEN / "v4-DCA.dcomp").read_bytes())
    return target


def refused(path, message):
    with pytest.raises(dcomp.InvalidFile, match=message):
        dcomp.load(path)


def put(path, name, content):
    rewrite(path, lambda members: members.update({name: content}))


def test_deflated_names_take_no_memory(reader, path):
    """181 KB of them took 6 GB."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = json.loads(members["names.json"])
    members["names.json"] = json.dumps({**names, "documents": ["ab"] * 4_000_000}).encode()
    rewrite(path, lambda own: own.update(members))
    content = {}
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            kind = zipfile.ZIP_DEFLATED if name == "names.json" else zipfile.ZIP_STORED
            archive.writestr(name, text, kind)
    outcome = reader.read(path)
    assert outcome.error == "InvalidFile", outcome
    assert outcome.megabytes < 64


def test_an_array_is_named_once(reader, tmp_path):
    """9 KB that named one array 400,000 times took minutes."""
    target = tmp_path / "old.dcomp"
    with zipfile.ZipFile(GOLDEN / "v3-DM.dcomp") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"] = manifest["arrays"] + ["n"] * 400_000
    members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            kind = zipfile.ZIP_STORED if name.endswith(".npy") else zipfile.ZIP_DEFLATED
            archive.writestr(name, text, kind)
    outcome = reader.read(target)
    assert outcome.error == "InvalidFile", outcome
    assert outcome.megabytes < 64
    assert outcome.seconds < 10


def test_blocks_up_to_a_large_number(reader, path):
    with zipfile.ZipFile(path) as archive:
        n = len(np.load(archive.open("features/blocks.npy")))
    put(path, "features/blocks.npy", npy(np.full(n, 2**31 - 1, np.int32)))
    outcome = reader.read(path)
    assert outcome.error == "InvalidFile", outcome
    assert outcome.megabytes < 64


MANIFESTS = {
    "deep": b"[" * 200_000,
    "twice": b'{"format": "dcomp-fit", "format": "dcomp-fit", "version": 4}',
    "nan": b'{"format": "dcomp-fit", "version": NaN}',
    "infinite": b'{"format": "dcomp-fit", "version": 1e999}',
    "digits": b'{"format": "dcomp-fit", "version": ' + b"4" * 5000 + b"}",
    "a truth": b'{"format": "dcomp-fit", "version": true}',
    "half a character": b'{"format": "\\ud800"}',
    "no text": b"\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_that_is_none(path, case):
    def change(members):
        members["manifest.json"] = MANIFESTS[case]

    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    members["seal"] = sealed.digest(members["manifest.json"]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    refused(path, r"a\.dcomp")


def bytes_changed(path, change):
    content = bytearray(path.read_bytes())
    path.write_bytes(bytes(change(content)))


ARCHIVES = {
    "a byte before": lambda b: b"x" + b,
    "a byte behind": lambda b: b + b"x",
    "a comment": lambda b: b[:-2] + b"\1\0x",
    "a method of the future": lambda b: b.replace(
        b"PK\3\4\x14\0\0\0\0\0", b"PK\3\4\x14\0\0\0\x63\0"
    ),
    "encrypted": lambda b: b.replace(b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"),
    "a gap": lambda b: b.replace(b"PK\1\2", b"xPK\1\2", 1),
    "another name": lambda b: b.replace(b"names.json", b"Names.json", 1),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_an_archive_with_bytes_that_nobody_wrote(path, case):
    before = path.read_bytes()
    bytes_changed(path, ARCHIVES[case])
    assert path.read_bytes() != before
    refused(path, r"a\.dcomp")


def edit(**changes):
    return lambda manifest: manifest.update(changes)


EDITS = {
    "no history": (edit(history=[]), "a sweep at least"),
    "sweeps backwards": (lambda m: m["history"].reverse(), "ascend|ends with sweep"),
    "another sweep": (
        lambda m: m["state"].update(sweep=m["state"]["sweep"] + 1),
        "ends with sweep",
    ),
    "a truth for a sweep": (lambda m: m["state"].update(sweep=True), "whole number; found True"),
    "a fraction of a sweep": (lambda m: m["state"].update(sweep=1.5), "whole number; found 1.5"),
    "a seed below 0": (lambda m: m["state"].update(seed=-1), "at least 0"),
    "an objective in words": (lambda m: m["history"][0].update(objective="x"), "type float"),
    "a number where flags belong": (lambda m: m["model"].update(scores=7), "must be an object"),
    "1 for a flag": (lambda m: m["model"].update(learn_gamma=1), "true or false"),
    "a flag in words": (lambda m: m["model"]["scores"].update(learn_alpha="no"), "true, false or"),
    "other documents": (lambda m: m["provenance"].update(n_docs=99), "99 documents"),
    "other words": (lambda m: m["provenance"].update(n_tokens=1), "1 words"),
    "a reading of no kind": (
        lambda m: m["provenance"].update(reading={"format": "votes", "rows": [1]}),
        "rows of reading",
    ),
    "a reading of more": (
        lambda m: m["provenance"].update(reading={"format": "votes", "shell": "x"}),
        "must be among",
    ),
    "no such rule": (edit(exposure_rule="half"), "no exposure rule"),
    "an option of another kind": (lambda m: m["algorithm"].update(dtype=32), "dtype"),
    "a reason that is none": (edit(reason=None), "reason must be text"),
    "a reason that a terminal obeys": (edit(reason="\x1b[2Jconverged"), "not a word or two"),
    "a reason of many letters": (edit(reason="x" * 100_000), "not a word or two"),
}


@pytest.mark.parametrize("key", ["version", "format", "needs", "exposure_rule"])
def test_what_a_file_says_at_length_is_told_in_short(path, key):
    said = "x" * 100_000
    sealed.edit_manifest(path, edit(**{key: [said] if key == "needs" else said}))
    with pytest.raises(dcomp.InvalidFile) as caught:
        dcomp.load(path)
    assert len(str(caught.value)) < 2500


@pytest.mark.parametrize("case", EDITS)
def test_an_edited_manifest(path, case):
    change, message = EDITS[case]
    sealed.edit_manifest(path, change)
    refused(path, message)


@pytest.mark.parametrize("name", sorted(p.name for p in GOLDEN.glob("v4-*.dcomp")))
@pytest.mark.parametrize("factor", [-1.0, 3.0])
def test_loadings_are_distributions(tmp_path, name, factor):
    """Wherever they are stored: recorded, in draws, in endings."""
    source = GOLDEN / name
    with zipfile.ZipFile(source) as archive:
        places = [place for place in archive.namelist() if place.endswith("Theta.npy")]
        arrays = {place: np.load(archive.open(place)) for place in places}
    for place, Theta in arrays.items():
        target = tmp_path / "a.dcomp"
        target.write_bytes(source.read_bytes())
        put(target, place, npy((Theta * np.float32(factor)).astype(np.float32)))
        refused(target, r"a\.dcomp")
