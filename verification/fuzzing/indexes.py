"""Index files: small ones with some bytes wrong, and what must hold of one that opens."""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

import dcomp
from dcomp.use import Retriever
from dcomp.use.index_file import HEAD, MAGIC, VERSION
from fuzzing.files import folder, scratch
from fuzzing.guard import hold

_SCORES = ("bm25", "tf-idf", "dirichlet", "jelinek-mercer", "components", "kl", "lsa")


@cache
def whole() -> tuple[bytes, ...]:
    """Of words alone; with components; with components, blocks and a space of LSA."""
    table, names = np.random.default_rng(0).poisson(1.0, (9, 5)), list("abcde")
    plain = dcomp.Counts.from_matrix(table, feature_names=names)
    apart = dcomp.Counts.from_matrix(table, feature_names=names, blocks=[0, 0, 1, 1, 1])
    made = [Retriever(None, plain)]
    for counts, how in ((plain, {}), (apart, {"lsa": 2})):
        fitted = dcomp.LDA(2, tol=1.0, verbose=0).fit(counts)
        made.append(Retriever(fitted, counts, **how))
    path, found = folder() / "made.dindex", []
    for one in made:
        one.save(path, overwrite=True)
        found.append(path.read_bytes())
    return tuple(found)


_NOT_ONE = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def build(data: bytes) -> bytes:
    """The file with digests that agree with what it is now, where its manifest still is one."""
    if len(data) < HEAD.size:
        return data
    _, _, length, _ = HEAD.unpack(data[: HEAD.size])
    text, rest = data[HEAD.size : HEAD.size + length], data[HEAD.size + length :]
    try:
        manifest = json.loads(text)
        for entry in manifest["arrays"].values():
            entry["digest"] = _digest(data, entry)
        again = json.dumps(manifest).encode()
        text = again if len(again) == length else text
    except (*_NOT_ONE, SyntaxError):  # the last by NumPy, of a name of a type
        pass
    own = blake2b(text, digest_size=16).digest()
    return HEAD.pack(MAGIC, VERSION, len(text), own) + text + rest


def _digest(data: bytes, entry: dict[str, Any]) -> str:
    start, size = int(entry["place"]), np.dtype(entry["type"]).itemsize
    for side in entry["shape"]:
        size *= int(side)
    return blake2b(data[start : start + size], digest_size=16).hexdigest()


def check(content: bytes) -> None:
    """Open an index and ask it what a user would."""
    made = Retriever.open(scratch("x.dindex", content))
    hold(made.n_docs > 0, "an index: documents")
    query = np.zeros((1, made.index.features.n_features), np.int64)
    query[0, :3] = (2, 1, 1)[: query.shape[1]]
    for by in _SCORES:
        try:
            found = made.search(query, 3, by=by)
        except (dcomp.DcompError, ValueError):  # lists are checked as they are read
            continue
        hold(bool(np.isfinite(found.scores).all()), f"{by}: finite", found.scores)
        hold(len(set(found.documents.tolist())) == len(found), f"{by}: documents, each once")
