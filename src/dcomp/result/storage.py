"""Fits on disk: one zip file of plain .npy arrays and two JSON texts. No pickle, ever.

Format version 4 describes itself. Every part writes and reads its own entry: the score prior
(`stored`, `restored`), the algorithm, what it carries from sweep to sweep, its draws, its endings.
Arrays lie in folders that say whose they are: model/, state/, carried/, recorded/, draws/,
endings/0/. The manifest lists every member with its digest, and the member `seal` has the digest of
the manifest, so that a changed byte is found wherever it is.

Attributes of documents are lists in `attributes`, where a fit was asked to keep them. What later
versions add goes into `component_names` and `checkpoint`, or into sections
and folders of other names: a reader passes over those that it does not know, unless the manifest
lists them under `needs`. Files of versions 1 to 3 are read by `stored_versions.py`.

Everything read is checked before it is believed: a file may be cut short, foreign or hostile.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from dcomp.atomic import atomic_write
from dcomp.data import FeatureSpace
from dcomp.errors import DcompError, InvalidFile
from dcomp.inference import ALGORITHMS, Algorithm, State
from dcomp.io import Limits
from dcomp.io.archive import STORED, Archive
from dcomp.io.limits import Budget
from dcomp.io.npy import parse_npy
from dcomp.io.strict_json import parse_json
from dcomp.models import Model
from dcomp.models.allowed import Allowed
from dcomp.models.arrays import read_only
from dcomp.models.observations import EXPOSURE_RULES
from dcomp.printable import printable
from dcomp.result.draws import Draws
from dcomp.result.fit import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.result.provenance import Provenance
from dcomp.result.stored_attributes import attribute_entry, read_attributes
from dcomp.result.stored_checks import check_fit
from dcomp.result.stored_draws import draw_arrays, read_draws
from dcomp.result.stored_endings import check_endings, ending_entries, read_endings
from dcomp.result.stored_state import model_entry, read_model, read_state, read_trace, state_arrays
from dcomp.result.stored_types import MANIFEST as LAYOUT
from dcomp.result.stored_types import NAMES as NAMES_LAYOUT
from dcomp.result.stored_types import check_layout
from dcomp.result.stored_versions import upgraded

FORMAT, VERSION = "dcomp-fit", 4
MANIFEST, NAMES, SEAL = "manifest.json", "names.json", "seal"
_MOST_AXES = {"draws": 4, "carried": 3}  # of an array, by its folder; 2 elsewhere
_AHEAD = 1 << 16  # bytes that are read at a time: most fits whole, since members are small
_OF_TEXT = 5  # bytes of memory that each byte of JSON takes before it is parsed
_OF_MANIFEST = 2  # the same of a manifest, most of which are rows of histories
_KNOWN_NEEDS = frozenset({"parts", "known"})

_REASON = re.compile(r"[a-z][a-z -]{0,39}")

Arrays = dict[str, npt.NDArray[Any]]


def save(fit: Fit | Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fit, or that of a fitted estimator, to one file, whole or not at all; `load` reads it
    back. A file that exists is replaced only with `overwrite=True`.

    >>> import tempfile, dcomp
    >>> fitted = dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]]).fit_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcomp.save(fitted, f"{folder}/votes.dcomp")
    ...     again = dcomp.load(f"{folder}/votes.dcomp")
    >>> bool((again.Theta == fitted.Theta).all())
    True
    """
    fit = as_fit(fit)
    manifest, arrays = _describe(fit)
    names = {
        "features": fit.features.names,
        "block_names": fit.features.block_names,
        "documents": fit.doc_ids,
    }
    members: dict[str, str] = {}
    with atomic_write(path, overwrite=overwrite) as stream, zipfile.ZipFile(stream, "w") as archive:
        text = json.dumps(names).encode()
        archive.writestr(NAMES, text, zipfile.ZIP_DEFLATED)
        members[NAMES] = digest(text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                hashed = _Hashed(member)
                np.lib.format.write_array(hashed, np.asarray(array, order="C"), allow_pickle=False)
            members[f"{name}.npy"] = hashed.digest()
        about = json.dumps({**manifest, "members": members}, indent=1).encode()
        archive.writestr(MANIFEST, about)
        archive.writestr(SEAL, digest(about))


def digest(content: bytes) -> str:
    """Of a member, as the manifest and the seal have it."""
    return blake2b(content, digest_size=16).hexdigest()


class _Hashed:
    """A stream that is hashed as it is written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._hash = stream, blake2b(digest_size=16)

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return self._stream.write(data)

    def digest(self) -> str:
        return self._hash.hexdigest()


def _describe(fit: Fit) -> tuple[dict[str, Any], Arrays]:
    """The manifest but for its members, and the arrays by their places in the file."""
    model, priors = model_entry(fit.model)
    endings, of_endings = ending_entries(fit.endings)
    arrays = {
        "features/blocks": fit.features.blocks,
        **in_folder("model", priors),
        **state_arrays(fit.state),
        **of_endings,
    }
    if fit.exposure is not None:
        arrays["exposure"] = fit.exposure
    if fit.allowed is not None:
        arrays |= {"allowed/group": fit.allowed.group, "allowed/masks": fit.allowed.masks}
    if fit.kept is not None:
        arrays |= in_folder("draws", draw_arrays(fit.kept))
    recorded = fit.state.recorded
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "needs": _needs(fit),
        "model": model,
        "algorithm": fit.algorithm.stored(),
        "state": {
            "sweep": fit.state.sweep,
            "seed": fit.seed,
            "recorded": 0 if recorded is None else recorded.count,
            **({"parts": fit.state.firsts} if len(fit.state.firsts) > 1 else {}),
        },
        "reason": fit.reason,
        "exposure_rule": fit.exposure_rule,
        "draws": None if fit.kept is None else {"chains": fit.kept.chains, "best": fit.kept.best},
        "history": [asdict(row) for row in fit.history.rows],
        "chains": [[asdict(row) for row in chain.rows] for chain in fit.chains],
        "endings": endings,
        "provenance": fit.provenance.as_record(),
        "attributes": attribute_entry(fit.attributes),
        "component_names": None if fit.component_names is None else list(fit.component_names),
        "checkpoint": None,
    }
    return manifest, arrays


def _needs(fit: Fit) -> list[str]:
    """What a reader must know of to read this right."""
    is_known = fit.model.loadings.is_own or fit.allowed is not None
    return ["parts"] * (len(fit.state.firsts) > 1) + ["known"] * is_known


def in_folder(folder: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The arrays by their places in the file."""
    return {f"{folder}/{name}": array for name, array in arrays.items()}


def load(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Fit:
    """Read a fit that `save` wrote.

    What is wrong with a file is an InvalidFile, an OSError where it cannot be opened or read, and
    nothing else. A fit may take ten times its size of memory, or 64 MB if that is more; `limits`
    allows more, or less (docs/guides/files.md).
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {printable(source)}")
    if source.is_dir():
        raise InvalidFile(f"{source}: expected a fit, found a folder")
    budget = Budget(source, limits)
    try:
        with source.open("rb", _AHEAD) as stream:
            if not stream.seekable():
                raise InvalidFile(f"{source}: a fit is read from a file, not from a pipe")
            budget.trust(os.fstat(stream.fileno()).st_size)
            return _read(_archive(stream, budget, source), budget, source)
    except InvalidFile:
        raise
    except MemoryError:
        raise InvalidFile(f"{source}: reading it takes more memory than there is") from None
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        # Priors and algorithms speak to users; here what they refuse is the file's doing.
        what = str(error) if isinstance(error, DcompError) else f"{type(error).__name__}: {error}"
        raise InvalidFile(f"{source}: damaged dcomp fit ({what})") from error


def _archive(stream: BinaryIO, budget: Budget, source: Path) -> Archive:
    try:
        return Archive(stream, budget, sealed=True)
    except InvalidFile as error:
        reason = str(error).removeprefix(f"{source}: ")
        raise InvalidFile(f"{source}: not a dcomp fit, or damaged: {reason}") from None


def _read(archive: Archive, budget: Budget, source: Path) -> Fit:
    manifest, names, arrays = _contents(archive, budget, source)
    check_layout(manifest, LAYOUT, "manifest")
    check_layout(names, NAMES_LAYOUT, "names")
    folders = _by_folder(arrays)
    features = FeatureSpace(
        _as_tuple(names["features"]), arrays["features/blocks"], _as_tuple(names["block_names"])
    )
    doc_ids = _as_tuple(names["documents"])
    model = read_model(manifest["model"], folders.get("model", {}), source)
    model = _named(model, manifest.get("component_names"))
    algorithm = _algorithm(dict(manifest["algorithm"]))
    history = read_trace(manifest["history"], algorithm, model)
    chains = tuple(read_trace(rows, algorithm, model) for rows in manifest["chains"])
    state = read_state(manifest["state"], folders, model, algorithm, features)
    provenance = Provenance.from_record(manifest["provenance"])
    check_fit(state, algorithm, features, provenance, history, chains)
    if doc_ids is not None and len(doc_ids) != len(state.c):
        raise ValueError(f"it names {len(doc_ids)} documents, and has {len(state.c)}")
    if not _REASON.fullmatch(manifest["reason"]):  # it is shown
        raise ValueError("its reason to end is not a word or two")
    exposure = _exposure(arrays.get("exposure"), manifest["exposure_rule"], state, features)
    kept = read_draws(
        manifest["draws"], folders.get("draws", {}), state, features, doc_ids, chains or (history,)
    )
    endings = read_endings(manifest["endings"], folders, features, chains, source)
    if endings:
        check_endings(endings, model, state.seed)
    return Fit(
        _with_draws(state, kept),
        algorithm,
        history,
        manifest["reason"],
        features,
        doc_ids,
        exposure,
        manifest["exposure_rule"],
        state.seed,
        provenance,
        chains,
        kept,
        endings,
        read_attributes(manifest.get("attributes"), len(state.c)),
        _allowed(folders.get("allowed"), state),
    )


def _named(model: Model, names: list[str] | None) -> Model:
    """With the names that components were given."""
    return model if names is None else model.with_loadings(model.loadings.with_names(names))


def _as_tuple(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _exposure(
    exposure: npt.NDArray[Any] | None, rule: str | None, state: State, features: FeatureSpace
) -> npt.NDArray[Any] | None:
    if rule not in (None, *EXPOSURE_RULES):
        raise ValueError(f"there is no exposure rule {rule!r}")
    if exposure is None:
        return None
    fits = exposure.shape == (len(state.c), features.n_blocks) and exposure.dtype == np.float64
    if not fits or not (exposure >= 0).all():
        raise ValueError("the exposure is not one of these documents")
    return exposure


def _allowed(arrays: Arrays | None, state: State) -> Allowed | None:
    """Which components documents may use; a ValueError where that is not of these."""
    if arrays is None:
        return None
    group, masks = arrays["group"], arrays["masks"]
    fits = (
        group.shape == (len(state.c),)
        and group.dtype == np.int32
        and masks.dtype == np.bool_
        and masks.ndim == 2
        and masks.shape[1] == state.model.n_components
        and bool(masks.any(axis=1).all())
        and bool((group >= 0).all() and (group < len(masks)).all())
    )
    if not fits or (state.c[~masks[group]] > 0).any():
        raise ValueError("what is allowed is not of these documents and components")
    return Allowed(group, masks)


def _with_draws(state: State, kept: Draws | None) -> State:
    return state if kept is None else state.changed(draws=kept.of_chain(kept.best))


def _contents(archive: Archive, budget: Budget, source: Path) -> tuple[Any, Any, Arrays]:
    """The manifest, the names and the arrays of a file, as version 4 has them."""
    if MANIFEST not in archive.members:
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit (it has no manifest)")
    text = archive.read(MANIFEST, each=_OF_MANIFEST)
    is_old = SEAL not in archive.members  # its history may have nan
    manifest = parse_json(text, budget, "its manifest", nan=is_old)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit")
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InvalidFile(
            f"{source}: written in format version {version!r}; this dcomp reads "
            f"up to {VERSION}: upgrade dcomp"
        )
    if version < VERSION:
        return _old_contents(manifest, archive, budget, source)
    members = _members(manifest, text, archive, source)
    names = parse_json(_checked(archive, NAMES, members, source), budget, "its names", nan=False)
    arrays = {
        name.removesuffix(".npy"): _array(archive, name, members, source)
        for name in members
        if name.endswith(".npy")
    }
    return manifest, names, arrays


def _old_contents(
    manifest: Any, archive: Archive, budget: Budget, source: Path
) -> tuple[Any, Any, Arrays]:
    """The same of versions 1 to 3, which list their arrays and have no digests."""
    listed = manifest["arrays"]
    check_layout(listed, [str], "arrays")
    wanted = {MANIFEST, NAMES, *(f"{name}.npy" for name in listed)}
    if len(set(listed)) != len(listed) or wanted != set(archive.members):
        raise InvalidFile(f"{source}: its members are not those that the manifest lists")
    arrays = {name: _array(archive, f"{name}.npy", {}, source) for name in listed}
    return upgraded(
        manifest, parse_json(archive.read(NAMES, each=_OF_TEXT), budget, "its names"), arrays
    )


def _members(manifest: Any, text: bytes, archive: Archive, source: Path) -> dict[str, str]:
    """The digests of all members by name; the seal and `needs` are looked at."""
    if SEAL not in archive.members or archive.read(SEAL, 64) != digest(text).encode():
        raise InvalidFile(f"{source}: the manifest is not the one that was sealed")
    check_layout(manifest, {"members": dict, "needs": [str]}, "manifest")
    members: dict[str, str] = manifest["members"]
    check_layout(list(members.values()), [str], "members")
    if {MANIFEST, SEAL, *members} != set(archive.members):
        raise InvalidFile(f"{source}: its members are not those that the manifest lists")
    unknown = set(manifest["needs"]) - _KNOWN_NEEDS
    if unknown:
        raise InvalidFile(
            f"{source}: needs {', '.join(sorted(unknown))}, which this dcomp does not "
            "know: upgrade dcomp"
        )
    return members


def _by_folder(arrays: Arrays) -> dict[str, Arrays]:
    """Arrays by the folder that they lie in, under their own names."""
    out: dict[str, Arrays] = {}
    for place, array in arrays.items():
        folder, _, name = place.rpartition("/")
        out.setdefault(folder, {})[name] = array
    return out


def _algorithm(options: dict[str, Any]) -> Algorithm:
    kind: Any = ALGORITHMS[options.pop("name")]
    algorithm: Algorithm = kind.restored(options)
    return algorithm


def _checked(archive: Archive, name: str, digests: Mapping[str, str], source: Path) -> bytes:
    """A member that has the digest which the manifest lists."""
    content = archive.read(name, each=_OF_TEXT if name == NAMES else 1)
    if name in digests and digest(content) != digests[name]:
        raise InvalidFile(f"{source}: {name} is not what was written there")
    return content


def _array(
    archive: Archive, name: str, digests: Mapping[str, str], source: Path
) -> npt.NDArray[Any]:
    """One .npy member, plain numbers in the order that `save` writes."""
    if name in archive.members and archive.members[name].method != STORED:
        raise InvalidFile(f"{source}: array {name!r} is compressed; dcomp stores arrays plain")
    array = parse_npy(_checked(archive, name, digests, source), name.removesuffix(".npy"))
    n_axes = _MOST_AXES.get(name.partition("/")[0].partition("_")[0], 2)
    native = array.dtype.kind in "biuf" and array.dtype.isnative
    if not native or not array.flags.c_contiguous or array.ndim > n_axes:
        raise InvalidFile(f"{source}: array {name!r} is not what a dcomp fit holds")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidFile(f"{source}: array {name!r} must hold finite numbers")
    return read_only(array.copy())  # in memory of its own, aligned
