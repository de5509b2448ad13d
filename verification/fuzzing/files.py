"""Files of counts and config files: small valid ones to begin with, and what must hold of what was
read from one."""

from __future__ import annotations

import atexit
import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import dcomp
from dcomp.io.ancestry import read_ancestry
from dcomp.printable import printable_lines
from dcomp.recipe import Config, Recipe
from fuzzing.archives import Members, edited, members_of, npy
from fuzzing.choices import Choices
from fuzzing.guard import hold

EXTENSIONS = {
    "docword": ".txt", "ldac": ".dat", "matrix-market": ".mtx", "npz": ".npz", "table": ".csv",
    "text": ".txt", "jsonl": ".jsonl", "text-table": ".csv", "parquet": ".parquet",
    "categories": ".csv", "votes": ".csv", "voteview": ".csv", "structure": ".str",
    "vcf": ".vcf",
}  # fmt: skip
FRACTIONAL = ("matrix-market", "npz", "table")  # formats that take `fractional=True`
# Of the door, in an order that kept inputs rely on.
NAMES = ("x.txt", "x.dat", "x.ldac", "x.mtx", "x.npz", "x.csv", "x.tsv", "x.jsonl", "docword.x.txt")
SCRATCH = "DCOMP_FUZZ_SCRATCH"  # names a folder that whoever started the process clears
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": lambda content: bz2.compress(content, 1),
    ".xz": lambda content: lzma.compress(content, preset=0),
}


@cache
def folder() -> Path:
    """For files of this process, in memory where the machine has such a place."""
    made = Path(tempfile.mkdtemp(prefix="dcomp-fuzz-", dir=memory_folder()))
    owner = os.getpid()
    atexit.register(lambda: owner == os.getpid() and shutil.rmtree(made, ignore_errors=True))
    return made


def memory_folder() -> str | None:
    """Where files lie in memory; None where there is no such place."""
    usable = os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK)
    return os.environ.get(SCRATCH) or ("/dev/shm" if usable else None)


def scratch(name: str, content: bytes) -> Path:
    """A file with this content."""
    path = folder() / name
    path.write_bytes(content)
    return path


# Ways to read a table, of which the content says one.
OF_ANSWERS: tuple[dict[str, Any], ...] = (
    {}, {"codes": "all"}, {"id": "who"}, {"codes": True, "transpose": True, "missing": "-,no"},
)  # fmt: skip
OF_VOTES: tuple[dict[str, Any], ...] = (
    {}, {"outcome": True}, {"contested": True, "transpose": True},
    {"outcome": True, "transpose": True},
)  # fmt: skip
OF_GENOTYPES: tuple[dict[str, Any], ...] = (
    {}, {"rows": 1}, {"rows": 2, "columns": "id"}, {"columns": "none", "rows": 1, "missing": "0"},
)  # fmt: skip

OF_WIDE: tuple[dict[str, Any], ...] = (
    {"transpose": True}, {"label_columns": 2}, {"transpose": True, "label_columns": 2},
    {"transpose": True, "layout": "wide"}, {"label_columns": 0},
)  # fmt: skip


def reader(name: str, ways: tuple[dict[str, Any], ...] = ({},)) -> Callable[[bytes], None]:
    """Reads a file of one format. Where there are several ways, or counts may be fractional, the
    content itself says which it is: one input is one reading, and a kept one is the same again."""

    def check(content: bytes) -> None:
        options: dict[str, Any] = dict(ways[zlib.crc32(content) % len(ways)])
        if name in FRACTIONAL:
            options["fractional"] = bool(zlib.crc32(content) & 1)
        path = scratch("file" + EXTENSIONS[name], content)
        check_counts(dcomp.read(path, format=name, **options))

    return check


# Ways to read text, one of which the content itself chooses.
_OF_TEXT: tuple[dict[str, Any], ...] = (
    {"text": ["title", "body"], "text_blocks": True, "labels": ["stars"]},
    {"text": ["title", "body"], "stop_words": None, "ngrams": 3, "min_length": 1},
    {"text": "body", "where": {"stars": ["1", "true", ""]}, "numbers": "years", "id": "title"},
    {"text": "body", "without": ("headers", "quotes", "signatures"), "numbers": "all"},
    {"text": "body", "token": r"\S+", "case": "keep", "max_features": 2, "labels": ["stars"]},
    {"text": "body", "stem": "english", "max_docs": 1, "stop_words": ["cat"]},
)


def texts(name: str) -> Callable[[bytes], None]:
    """Reads a file with fields of text in one of several ways."""

    def check(content: bytes) -> None:
        options = _OF_TEXT[zlib.crc32(content) % len(_OF_TEXT)]
        path = scratch("file" + EXTENSIONS[name], content)
        counts = dcomp.read(path, format=name, **options)
        check_counts(counts)
        hold(counts.vocabulary.n_kept == counts.n_features, "Counts: as many words as are said")
        check_counts(dcomp.read(path, format=name, like=counts))

    return check


# Files that lie beside each other, by the format of the first; the fuzzer's bytes hold one after
# the other, with these bytes between.
TOGETHER = {
    "voteview": ("x_votes.csv", "x_members.csv", "x_rollcalls.csv"),
    "votes": ("votes.csv", "rollcalls.csv"),
    "plink": ("x.bed", "x.bim", "x.fam", "x.pop"),
}
BETWEEN = b"\n--8<--\n"


def together(name: str, options: tuple[dict[str, Any], ...] = ({},)) -> Callable[[bytes], None]:
    """Reads the first of some files that lie beside each other; the content itself says with which
    of the options. A file that the content does not have is not there."""

    def check(content: bytes) -> None:
        parts = content.split(BETWEEN, len(TOGETHER[name]) - 1)
        for place, file in enumerate(TOGETHER[name]):
            (folder() / file).unlink(missing_ok=True)
            if place < len(parts):
                scratch(file, parts[place])
        how = options[zlib.crc32(content) % len(options)]
        check_counts(dcomp.read(folder() / TOGETHER[name][0], format=name, **how))

    return check


TENX = ("matrix.mtx", "features.tsv", "barcodes.tsv")


def tenx(content: bytes) -> None:
    """Reads a folder of 10x Genomics; a file that the content does not have is not there."""
    place = folder() / "10x"
    place.mkdir(exist_ok=True)
    parts = content.split(BETWEEN, len(TENX) - 1)
    for number, name in enumerate(TENX):
        (place / name).unlink(missing_ok=True)
        if number < len(parts):
            (place / name).write_bytes(parts[number])
    check_counts(dcomp.read(place, format="10x", fractional=bool(zlib.crc32(content) & 1)))


def check_counts(counts: dcomp.Counts) -> None:
    """What every kernel takes for granted."""
    indptr, indices, data = counts.indptr, counts.indices, counts.data
    hold(indptr.dtype == np.int64 and indices.dtype == np.int32, "Counts: kinds of numbers")
    hold(data.dtype in (np.int32, np.float64), "Counts: kind of data")
    hold(len(indptr) == counts.n_docs + 1 and indptr[0] == 0, "Counts: begins at 0")
    hold(indptr[-1] == len(indices) == len(data), "Counts: ends at the last")
    hold(bool((np.diff(indptr) >= 0).all()), "Counts: rows in order")
    if len(data):
        hold(bool(np.isfinite(data).all() and data.min() > 0), "Counts: positive and finite")
        hold(bool(indices.min() >= 0 and indices.max() < counts.n_features), "Counts: in range")
        inner = np.ones(len(indices), bool)
        inner[indptr[:-1][indptr[:-1] < len(indices)]] = False
        hold(bool((np.diff(indices)[inner[1:]] > 0).all()), "Counts: columns ascend in a row")
    names, ids = counts.features.names, counts.doc_ids
    hold(names is None or len(names) == counts.n_features, "Counts: a name per feature")
    hold(ids is None or len(ids) == counts.n_docs, "Counts: an id per document")
    about = counts.attributes
    hold(all(len(about[name]) == counts.n_docs for name in about), "Counts: a value per document")
    hold(len(counts.fingerprint()) == 64 and bool(repr(counts)), "Counts: can be named")
    hold(printable_lines(repr(counts)) == repr(counts), "Counts: safe to look at")


def ancestry(content: bytes) -> None:
    """Read a .Q file."""
    found = read_ancestry(scratch("x.2.Q", content))
    hold(found.ndim == 2 and found.size > 0, "ancestry: a table")
    hold(bool(((found >= 0) & (found <= 1)).all()), "ancestry: shares")


def door(content: bytes) -> None:
    """Read what `through_the_door` made: the name is in the first byte, compression in its end."""
    choice, content = content[0] if content else 0, content[1:]
    name = NAMES[choice % len(NAMES)] + ("", *_PACKERS)[choice // len(NAMES) % 4]
    check_counts(dcomp.read(scratch(name, content)))


def through_the_door(data: bytes) -> bytes:
    """The rest of the bytes under the name of the first, packed as it says; the second says whether
    the packed file is spoilt."""
    choice, damage, content = (*data[:1], 0)[0], (*data[1:2], 0)[0], data[2:]
    packer = ("", *_PACKERS)[choice // len(NAMES) % 4]
    if packer:
        content = _PACKERS[packer](content)
        if damage & 7 == 7:
            place = (damage >> 3) * len(content) // 32
            content = content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        elif damage & 7 == 6:
            content = content[: (damage >> 3) * len(content) // 32]
        elif damage & 7 == 5:
            content += content[: damage >> 3]
    return bytes([choice]) + content


def config(content: bytes) -> None:
    """Read a config file, make a recipe of it, and write what was read."""
    path = scratch("run.toml", content)
    found = Config.read(path)
    with contextlib.suppress(dcomp.DcompError):
        recipe = Recipe(**found.recipe)
        repr(recipe)
        recipe.effective()
    found.write(path)
    again = Config.read(path)
    hold(_places(again.recipe) == _places(found.recipe), "config: read again it says the same")
    hold(_places(again.input) == _places(found.input), "config: the same of input")


def _places(said: Any) -> str:
    """Paths by where they lead: they are written from the folder of the file."""
    return repr({k: os.path.realpath(v) if isinstance(v, Path) else v for k, v in said.items()})


def npz(data: bytes) -> bytes:
    """One of some saved matrices, with the edits that the bytes say."""
    choices = Choices(data)
    bases = _matrices()
    return edited(bases[choices.below(len(bases))], choices, lambda members: None)


@cache
def _matrices() -> tuple[Members, ...]:
    table = sparse.coo_array(np.array([[2, 0, 1], [0, 3, 0]]))
    kinds = ("csr", "csc", "coo", "bsr", "dia")
    saved = []
    for kind in kinds:
        stream = io.BytesIO()
        sparse.save_npz(stream, table.asformat(kind), compressed=False)
        saved.append(members_of(stream.getvalue()))
    fractional = dict(saved[0])
    fractional["data.npy"] = npy(np.array([0.5, 1.0, 2.25]))
    return (*saved, fractional)


def npz_seeds() -> Iterator[bytes]:
    """A first edit of each kind for each matrix."""
    for place in range(6):
        for edit in range(8):
            yield bytes([place, 0, edit, *range(place, place + 10)])
        yield bytes([place])


def door_seeds() -> Iterator[bytes]:
    """Valid files of every format under every compression."""
    formats = (
        "docword",
        "ldac",
        "ldac",
        "matrix-market",
        "npz",
        "table",
        "table",
        "jsonl",
        "docword",
    )
    for packer in range(4):
        for place, name in enumerate(formats):
            for content in SEEDS[name]()[:2]:
                if name == "table" and NAMES[place].endswith(".tsv"):
                    content = content.replace(b",", b"\t")
                yield bytes([packer * len(NAMES) + place, 0]) + content


def _npz_files() -> list[bytes]:
    out = []
    for matrix in (sparse.csr_array([[2, 0, 1], [0, 3, 0]]), sparse.coo_array([[0.5, 0], [1, 2]])):
        stream = io.BytesIO()
        sparse.save_npz(stream, matrix)
        out.append(stream.getvalue())
    return out


_MARKET = b"%%MatrixMarket matrix "
_VCF = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tann\tbob\n"
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "docword": lambda: [
        b"2\n3\n2\n1 1 4\n2 3 1\n",
        b"3\n2\n4\n1 1 1\n1 2 2\n2 1 3\n3 2 1\n",
        b"1\r\n1\r\n1\r\n1 1 1\r\n",
        b"1\n1\n0\n",
    ],
    "ldac": lambda: [b"2 0:1 7:3\n1 2:2\n", b"0\n1 0:1\n", b"3 0:1 1:1 2:1\r\n\r\n1 0:5\r\n"],
    "matrix-market": lambda: [
        _MARKET + b"coordinate integer general\n% a comment\n2 3 2\n1 1 4\n2 3 1\n",
        _MARKET + b"coordinate real general\n2 2 2\n1 1 4.5\n2 2 1e2\n",
        _MARKET + b"coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
        _MARKET + b"array integer general\n2 2\n1\n0\n3\n4\n",
        _MARKET + b"array real symmetric\n2 2\n1\n0\n3\n",
    ],
    "npz": _npz_files,
    "table": lambda: [
        b"doc,word,count\nd1,cat,2\nd2,ant,1\n",
        b"doc,word\nd1,cat\nd1,cat\nd2,ant\n",
        b'doc,a,"b ""c""",d\nx,1,0,2\ny,0,3,0\n',
        b"\xef\xbb\xbfdoc,word,count\r\nd1,cat,2.5\r\n",
    ],
    "wide-table": lambda: [
        b"type,bases,t1,t2\nC>A,ACA,0,5\nC>A,ACC,1,0\n",
        b"gene,d1,d2,d3\nx,1,0,2\ny,0,3,0.5\n",
        b"word,doc,count\ncat,d1,2\nant,d2,1\n",
    ],
    "text": lambda: [b"Cat and dog.\nDog!\n", "Straße naïve 猫\n\ncat\n".encode(), b"a\r\nb b b\n"],
    "jsonl": lambda: [
        b'{"id": "d1", "text": "Cat and dog."}\n{"id": 2, "text": "dog"}\n',
        b'{"text": "caf\\u00e9 cat"}\n\n{"text": "", "more": [1, {"x": null}]}\n',
    ],
}
_VOTES = b"congress,chamber,rollnumber,icpsr,cast_code\n"
SEEDS |= {
    "categories": lambda: [
        b"who,honest,knows,age\nAnn,well,badly,40\nBob,,well,50.5\n",
        b"a,b\n1,2\n2.0,\n",
        b'q1,q2\n"yes, well",no\nno,no\n',
    ],
    "votes": lambda: [
        b"name,party,state,v1,v2\nAnn,D,HI,Y,N\nBob,R,AL,-,yea\n",
        BETWEEN.join([b"id,1,2\na,1,0\nb,9,1\n", b"number,question,passed\n1,On it,1\n2,,0\n"]),
    ],
    "voteview": lambda: [
        _VOTES + b"108,Senate,1,7,1\n108,Senate,1,8,6\n108,Senate,2,7,9\n",
        BETWEEN.join(
            [
                _VOTES + b"108,Senate,1,7,1\n108,Senate,1,8,6\n109,House,1,7,3\n",
                b'icpsr,state_abbrev,party_code,bioname,nominate_dim1\n7,AL,200,"A, B",0.5\n'
                b"8,HI,100,C,\n",
                b"rollnumber,vote_result,vote_desc\n1,Bill Passed,To pass\n",
            ]
        ),
    ],
    "plink": lambda: (
        [
            BETWEEN.join(
                [
                    b"\x6c\x1b\x01\x38\x1e",
                    b"1 rs1 0 10 A G\n1 rs2 0 20 C T\n",
                    b"f ann 0 0 2 -9\nf bob 0 0 1 1\nf cyd 0 0 0 1\n",
                    *labels,
                ]
            )
            for labels in ([], [b"YRI\n-\nCEU\n"])
        ]
        + [BETWEEN.join([b"\x6c\x1b\x00\x0b\x0e", b"1 . 0 9 A A\n" * 2, b"f a 0 0 2 -9\n" * 2])]
    ),
    "structure": lambda: [
        b"a 1 120 7\na 1 124 -9\nb 2 124 9\nb 2 124 7\n",
        b"L1 L2\na 1 120 124 7 0\nb 2 124 124 9 7\n",
        b"L1 L2\n-1 10\na 120 7\na 124 0\nb 0 0\nb 0 9\n",
        b"who L1 L2\na 1 2\na 1 1\n",
    ],
    "vcf": lambda: [
        _VCF + b"1\t10\trs1\tA\tG\t.\tPASS\t.\tGT\t0/0\t0|1\n1\t20\t.\tC\t.\t.\t.\t.\tGT\t0\t.\n",
        _VCF + b"X\t5\t.\tC\tT,<DEL>\t9\tq10\tDP=3\tDP:GT\t9:1/2\t7:./2\n",
        _VCF + b"X\t5\ta\tC\tT\t.\t.\t.\tGT\t0/0/1/1\t./.\nX\t5\ta\tC\t*\t.\t.\t.\tGT\t1\t|0|1\n",
    ],
    "10x": lambda: [
        BETWEEN.join([_MARKET + b"coordinate integer general\n2 3 2\n1 1 4\n2 3 1\n", genes, cells])
        for genes, cells in (
            (b"E1\tCD4\nE2\tCD8A\n", b"AAC-1\nAAG-1\nAAT-1\n"),
            (b"E1\tCD4\tGene\nE2\tCD4\tAntibody\n", b"a\nb\nc\n"),
        )
    ],
    "ancestry": lambda: [b"0.25 0.75\n1 0\n", b"1e-5 .5 0.49999\n\n0 0 1\n"],
}

_RECORD = b'{"title": "Cats", "body": "From: x\\n\\n> In 1984\\nnaive caf\\u00e9", "stars": 1}\n'
SEEDS["records"] = lambda: [
    _RECORD + b'{"title": null, "body": "the cat\'s cat", "stars": [true, "x"]}\n',
    *(_RECORD + b" " * n for n in range(6)),  # which are read in several ways
    b'{"title": ["a b", "c"], "body": ["c"], "stars": null}\n',
    b'{"title": [["noun", "cat"]], "body": [["verb", "cat"], ["noun", "dog"]]}\n',
]
SEEDS["text-table"] = lambda: [
    b'title,body,stars\nCats,"the cat, the ""cat""",1\n,dogs bark,\n' + b"\n" * n for n in range(6)
]


def parquet_files() -> list[bytes]:
    """Small ones, plain and packed."""
    import pyarrow
    from pyarrow import parquet

    rows = [
        {"title": "Cats", "body": "cat and cat", "stars": 1},
        {"title": "Dogs", "body": None, "stars": 2},
    ]
    out = []
    for packing in ("none", "snappy", "zstd"):
        stream = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(rows), stream, compression=packing)
        out.append(stream.getvalue())
    return out


CONFIGS = (
    b'model = "GP"\nn_components = 50\nalpha = 0.1\n\n[input]\nmin_docs = 5\n',
    b'model = "LDA"\nalgorithm = "gibbs"\nburn_in = 10\nrandom_state = 1\ntol = 1e-3\n',
    b"n_components = 2\nalpha = [0.1, 0.2]\nmax_iter = 7\n",
    b'[input]\nformat = "table"\nvocab = "words.txt"\nfractional = true\n',
    b'model = "TM"\ntree = "tree.json"\ndraw_budget = "1GB"\nn_chains = 2\n',
)
