"""Real tables that are downloaded once: votes of Congress, and three corpora with labels."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from dcomp.data import Counts, bag
from dcomp.datasets.at_hand import Corpus
from dcomp.datasets.download import Remote, fetch
from dcomp.errors import InvalidFile, InvalidParameter
from dcomp.io import read

CHAMBERS = {"S": "Senate", "H": "House"}
_VOTEVIEW = "https://voteview.com/static/data/out"
_KINDS = ("votes", "members", "rollcalls")
# A commit's files never change.
_NLTK = (
    "https://raw.githubusercontent.com/nltk/nltk_data/"
    "5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
)


@dataclass(frozen=True, slots=True)
class Archive:
    """A corpus that is an archive of texts, one file each."""

    file: Remote
    encoding: str
    source: str


NEWSGROUPS = Archive(
    Remote(
        "https://ndownloader.figshare.com/files/5975967",
        "20news-bydate.tar.gz",
        "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    ),
    "latin-1",
    "K. Lang (1995), NewsWeeder; the version by date of J. Rennie",
)
MOVIE_REVIEWS = Archive(
    Remote(
        f"{_NLTK}/movie_reviews.zip",
        "movie_reviews.zip",
        "md5:155de2b77c6834dd8eea7cbe88e93acb",
    ),
    "utf-8",
    "B. Pang and L. Lee (2004), A Sentimental Education; CC BY 4.0",
)
STATE_UNION = Archive(
    Remote(
        f"{_NLTK}/state_union.zip",
        "state_union.zip",
        "md5:044f2d20c592b17a26ac0102111833c9",
    ),
    "latin-1",
    "State of the Union addresses of 1945 to 2006; public domain",
)


def voteview(
    chamber: str = "S",
    congress: int = 108,
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    refresh: bool = False,
    **options: Any,
) -> Corpus:
    """Roll calls of a chamber ("S" or "H") in a Congress (1 is 1789-91), as voteview.com has them.

    Members' party, state and ideal points are attributes; options are those of `dcomp.read` for
    these files (`contested`, `outcome`, `transpose`). Voteview corrects its files, so that their
    checksums are those of the first download; `refresh` fetches them again.
    """
    if chamber not in CHAMBERS:
        raise InvalidParameter(f"chamber must be 'S' (Senate) or 'H' (House); got {chamber!r}")
    if isinstance(congress, bool) or not isinstance(congress, int) or not 1 <= congress <= 999:
        raise InvalidParameter(f"congress must be a whole number from 1 to 999; got {congress!r}")
    name = f"{chamber}{congress:03d}"
    votes, *_ = [
        fetch(
            Remote(f"{_VOTEVIEW}/{kind}/{name}_{kind}.csv", f"{name}_{kind}.csv"),
            folder=folder,
            mirror=mirror,
            refresh=refresh,
        )
        for kind in _KINDS
    ]
    counts = read(votes, format="voteview", **options)
    label = "party" if "party" in counts.attributes else None
    source = f"J. Lewis et al., Voteview: Congressional Roll-Call Votes, {CHAMBERS[chamber]}"
    return Corpus(counts, label, f"{source}, Congress {congress}")


def newsgroups(
    split: str | None = None,
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    refresh: bool = False,
    **options: Any,
) -> Corpus:
    """20 Newsgroups by date: 18,846 posts with the attributes "group" and "split" ("train",
    "test"; `split` takes one of them alone).

    options: those of `dcomp.TextOptions`. Headers name the group and are left out, unless
    `without` says otherwise.
    """
    if split not in (None, "train", "test"):
        raise InvalidParameter(f"split must be 'train', 'test' or None; got {split!r}")
    file = fetch(NEWSGROUPS.file, folder=folder, mirror=mirror, refresh=refresh)
    posts = [
        (place, text)
        for place, text in _texts(file, NEWSGROUPS.encoding)
        if place.match("20news-bydate-*/*/*") and split in (None, _split(place))
    ]
    options = {"without": ("headers",)} | options
    counts = _counted(file, posts, options)
    about = {
        "group": [place.parts[1] for place, _ in posts],
        "split": [_split(place) for place, _ in posts],
    }
    return Corpus(counts.with_attributes(about), "group", NEWSGROUPS.source)


def _split(post: PurePosixPath) -> str:
    return post.parts[0].rpartition("-")[2]


def movie_reviews(
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    refresh: bool = False,
    **options: Any,
) -> Corpus:
    """2,000 reviews of films with the attribute "opinion": "pos" or "neg", a thousand each.

    options: those of `dcomp.TextOptions`.
    """
    file = fetch(MOVIE_REVIEWS.file, folder=folder, mirror=mirror, refresh=refresh)
    texts = [
        (place, text)
        for place, text in _texts(file, MOVIE_REVIEWS.encoding)
        if place.parent.name in ("pos", "neg")
    ]
    counts = _counted(file, texts, options)
    opinions = [place.parent.name for place, _ in texts]
    return Corpus(counts.with_attributes(opinion=opinions), "opinion", MOVIE_REVIEWS.source)


def state_union(
    *,
    folder: str | Path | None = None,
    mirror: str | None = None,
    refresh: bool = False,
    **options: Any,
) -> Corpus:
    """State of the Union addresses, 1945 to 2006, with the attributes "year" and "president".

    options: those of `dcomp.TextOptions`.
    """
    file = fetch(STATE_UNION.file, folder=folder, mirror=mirror, refresh=refresh)
    texts = [
        (place, text)
        for place, text in _texts(file, STATE_UNION.encoding)
        if place.suffix == ".txt" and place.stem[:4].isdigit()
    ]
    counts = _counted(file, texts, options)
    about = {
        "year": [int(place.stem[:4]) for place, _ in texts],
        "president": [place.stem.partition("-")[2].split("-")[0] for place, _ in texts],
    }
    return Corpus(counts.with_attributes(about), "year", STATE_UNION.source)


def _counted(file: Path, texts: list[tuple[PurePosixPath, str]], options: dict[str, Any]) -> Counts:
    """The words of the texts of an archive; ids are their paths within it."""
    if not texts:
        raise InvalidFile(f"{file}: the archive holds none of the texts that it should")
    ids = [
        place.with_suffix("").as_posix() if place.suffix == ".txt" else place.as_posix()
        for place, _ in texts
    ]
    return bag((text for _, text in texts), doc_ids=ids, **options)


def _texts(file: Path, encoding: str) -> Iterator[tuple[PurePosixPath, str]]:
    """The files of an archive, sorted by path; nothing is unpacked to the disk."""
    try:
        for name, content in _members(file):
            yield PurePosixPath(name), content.decode(encoding, errors="replace")
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InvalidFile(f"{file}: not an archive that can be read: {error}") from None


def _members(file: Path) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            for name in sorted(archive.namelist()):
                if not name.endswith("/"):
                    yield name, archive.read(name)
        return
    with tarfile.open(file, "r:*") as archive:
        content = {}
        for member in archive:  # in its own order: going back in a compressed one begins it anew
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None:
                content[member.name] = stream.read()
    yield from sorted(content.items())
