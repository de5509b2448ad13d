"""The table of what is fuzzed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import dcomp
from fuzzing import corpora, files, fits, indexes, native, sources

OF_FILES = (dcomp.DcompError, OSError)
OF_NATIVE = (TypeError, ValueError, RuntimeError)


@dataclass(frozen=True)
class Target:
    """One thing that takes bytes.

    >>> TARGETS["ldac"].build(b"1 0:2\\n")
    b'1 0:2\\n'
    """

    about: str
    check: Callable[[bytes], object]  # reads what was built, and looks at what came of it
    seeds: Callable[[], Iterable[bytes]]
    build: Callable[[bytes], bytes] = bytes  # what is read, of the fuzzer's bytes
    allowed: tuple[type[BaseException], ...] = OF_FILES
    tokens: tuple[bytes, ...] = ()  # that a file of this kind has
    max_len: int = 512
    watched: tuple[str, ...] = ("dcomp.io", "dcomp.data")  # packages whose coverage guides
    needs: str = ""  # a package that not everybody has

    @property
    def is_here(self) -> bool:
        """Whether it can be run with what is installed."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


_SIZES = (b"0", b"1", b"2147483647", b"2147483648", b"4294967297", b"9223372036854775808", b"-1")
_NUMBERS = (*_SIZES, b"1e9", b"1e400", b"nan", b"inf", b"0.5", b"0x1", b"1_0", b"+1")
_OF_FITS = ("dcomp.io", "dcomp.data", "dcomp.result", "dcomp.models")
_TEXT = (b"\r\n", b"\xef\xbb\xbf", b"\x00", b"\xc3\xa9", b"\xff", b"\xe2\x80\xa8")


def _of_options() -> tuple[bytes, ...]:
    """The keys of config files, and words that they may hold."""
    from dcomp.recipe import READING, table

    options = [*table().values(), *READING]
    words = {word for option in options for word in option.words}
    keys = {option.name for option in options}
    return tuple(name.encode() for name in sorted(keys | words))


TARGETS: dict[str, Target] = {
    "docword": Target("UCI bag of words", files.reader("docword"), files.SEEDS["docword"],
                      tokens=(*_SIZES, b"1 1 1\n", b":", *_TEXT)),
    "ldac": Target("lda-c", files.reader("ldac"), files.SEEDS["ldac"],
                   tokens=(*_SIZES, b"1 0:1\n", b" 0:1", *_TEXT)),
    "matrix-market": Target(
        "Matrix Market", files.reader("matrix-market"), files.SEEDS["matrix-market"],
        tokens=(*_NUMBERS, b"%%MatrixMarket matrix", b"coordinate", b"array", b"integer", b"real",
                b"double", b"pattern", b"unsigned-integer", b"general", b"symmetric", b"hermitian",
                b"%", *_TEXT)),
    "npz": Target("npz as bytes", files.reader("npz"), files.SEEDS["npz"], max_len=2048,
                  tokens=(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"\x93NUMPY\x01\x00")),
    "npz-edits": Target("npz, edited and packed again", files.reader("npz"), files.npz_seeds,
                        files.npz, max_len=64),
    "table": Target("tables, CSV", files.reader("table"), files.SEEDS["table"],
                    tokens=(*_NUMBERS, b'"', b'""', b",", b"doc,word,count\n", *_TEXT)),
    "wide-table": Target("tables with labels in front, turned or not",
                         files.reader("table", files.OF_WIDE), files.SEEDS["wide-table"],
                         tokens=(*_NUMBERS, b'"', b",", b"C>A,ACA,", *_TEXT)),
    "text": Target("texts", files.reader("text"), files.SEEDS["text"],
                   tokens=(b"the ", b"'", b"-", *_TEXT)),
    "jsonl": Target("JSON lines", files.reader("jsonl"), files.SEEDS["jsonl"],
                    tokens=(*_NUMBERS, b'{"text": "', b'"}', b'"id": ', b"\\u0000", b"\\ud800",
                            b"null", b"[[[[", b"NaN", b"Infinity", *_TEXT)),
    "records": Target("JSON lines, read in many ways", files.texts("jsonl"), files.SEEDS["records"],
                      tokens=(*_NUMBERS, b'"title": ', b'"body": ', b'"stars": ', b'["a", "b"]',
                              b"\\ud800", b"null", b"true", b"\\n", b"> ", b"-- ", *_TEXT)),
    "text-table": Target("tables of text", files.texts("text-table"), files.SEEDS["text-table"],
                         tokens=(b"title", b"body", b"stars", b'"', b'""', b",", b"1984", *_TEXT)),
    "parquet": Target("parquet", files.texts("parquet"), files.parquet_files, max_len=4096,
                      tokens=(b"PAR1", b"title", b"body", *_SIZES)),
    "categories": Target("tables of answers", files.reader("categories", files.OF_ANSWERS),
                         files.SEEDS["categories"], tokens=(*_NUMBERS, b'"', b",", b"who", *_TEXT)),
    "votes": Target("tables of votes", files.together("votes", files.OF_VOTES),
                    files.SEEDS["votes"], tokens=(b"Y", b"N", b"-", b",", files.BETWEEN, *_TEXT)),
    "voteview": Target("Voteview's files", files.together("voteview", files.OF_VOTES),
                       files.SEEDS["voteview"],
                       tokens=(*_SIZES, b"108,Senate,1,7,1\n", files.BETWEEN, b",", *_TEXT)),
    "plink": Target("PLINK's files", files.together("plink"), files.SEEDS["plink"],
                    tokens=(b"\x6c\x1b\x01", b"1 rs1 0 10 A G\n", files.BETWEEN, *_TEXT)),
    "structure": Target("STRUCTURE's files", files.reader("structure", files.OF_GENOTYPES),
                        files.SEEDS["structure"], tokens=(*_SIZES, b"-9", b"a 1 2 3\n", *_TEXT)),
    "vcf": Target("VCF files", files.reader("vcf"), files.SEEDS["vcf"],
                  tokens=(*_SIZES, b"\t", b"0/1", b"1|2", b"./.", b"GT:DP", b"#CHROM\t", *_TEXT)),
    "10x": Target("folders of 10x Genomics", files.tenx, files.SEEDS["10x"],
                  tokens=(*_NUMBERS, b"\t", b"E1\tCD4\tGene\n", files.BETWEEN, *_TEXT)),
    "ancestry": Target(".Q and .P files", files.ancestry, files.SEEDS["ancestry"],
                       tokens=(*_NUMBERS, b" ", b"\n", *_TEXT)),
    "catalogue": Target("published signatures", sources.catalogue, lambda: sources.CATALOGUES,
                        tokens=(*_NUMBERS, b"A[C>A]A", b"C>T", b"TCG", b",", *_TEXT),
                        watched=("dcomp.io", "dcomp.data", "dcomp.use")),
    "names": Target("files of names: features, blocks, stop words", sources.names,
                    lambda: sources.NAMES, tokens=(*_SIZES, b"#", files.BETWEEN, *_TEXT)),
    "tree": Target("hierarchies in JSON", sources.trees, lambda: sources.TREES,
                   tokens=(*_NUMBERS, b"[", b"]", b", ", b"-1", b"null", b"[[[[", b"NaN", *_TEXT),
                   watched=("dcomp.io", "dcomp.recipe", "dcomp.models")),
    "folder": Target("folders of texts", sources.texts_of_folder, lambda: sources.FOLDERS,
                     tokens=(b"the ", files.BETWEEN, *_TEXT)),
    "stdin": Target("standard input", sources.stdin, lambda: sources.STREAMS,
                    tokens=(b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b'{"text": "', b"body", b",",
                            *_TEXT)),
    "h5ad": Target("AnnData's files", sources.h5ad, sources.h5ad_files, max_len=32768,
                   needs="anndata",
                   tokens=(b"\x89HDF\r\n\x1a\n", b"TREE", b"SNOD", b"HEAP", b"GCOL", b"OHDR")),
    "door": Target("every format by its name, compressed or not", files.door, files.door_seeds,
                   files.through_the_door, max_len=1024,
                   tokens=(b"\x00\x00", b"\t\x00", b"\x12\x00", b"\x1b\x00", *_SIZES)),
    "config": Target("config files", files.config, lambda: files.CONFIGS,
                     tokens=(*_of_options(), b"[input]\n", b" = ", b"[[", b'"""', b"true",
                             b"1979-05-27", b"\\u0000", *_NUMBERS),
                     watched=("dcomp.recipe", "dcomp.models.options")),
    "fit": Target("fits as bytes", fits.check, fits.whole, max_len=32768, watched=_OF_FITS),
    "fit-edits": Target("fits, edited and sealed again", fits.check, fits.edits, fits.build,
                        max_len=64, watched=_OF_FITS),
    "index": Target("indices, sealed again", indexes.check, indexes.whole, indexes.build,
                    max_len=8192, tokens=(indexes.MAGIC, *_SIZES),
                    watched=("dcomp.io", "dcomp.data", "dcomp.use")),
    "dcounts": Target("corpora in files, sealed again", corpora.check, corpora.whole, corpora.build,
                      max_len=65536, tokens=(corpora.MAGIC, *_SIZES)),
    "native": Target("the native border", native.check, native.seeds, allowed=OF_NATIVE,
                     max_len=96, watched=("fuzzing",)),
}  # fmt: skip
