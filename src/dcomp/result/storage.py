"""Fits on disk: one zip file of plain .npy arrays and two JSON texts. No pickle, ever.

Format version 4 describes itself. Every part writes and reads its own entry: the score prior
(`stored`, `restored`), the algorithm, what it carries from sweep to sweep, its draws, its endings.
Arrays lie in folders that say whose they are: model/, state/, carried/, recorded/, draws/,
endings/0/. The manifest lists every member with its digest, and the member `seal` has the digest of
the manifest, so that a changed byte is found wherever it is.

What later versions add goes into `attributes`, `component_names` and `checkpoint`, or into sections
and folders of other names: a reader passes over those that it does not know, unless the manifest
lists them under `needs`. Files of versions 1 to 3 are read by `stored_versions.py`.

Everything read is checked before it is believed: a file may be cut short, foreign or hostile.
"""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dcomp.atomic import atomic_write
from dcomp.data import FeatureSpace
from dcomp.errors import DcompError, InvalidFile
from dcomp.inference import ALGORITHMS, Algorithm, State
from dcomp.models.arrays import read_only
from dcomp.printable import printable
from dcomp.result.draws import Draws
from dcomp.result.fit import Fit
from dcomp.result.of_estimator import as_fit
from dcomp.result.provenance import Provenance
from dcomp.result.stored_draws import draw_arrays, read_draws
from dcomp.result.stored_endings import check_endings, ending_entries, read_endings
from dcomp.result.stored_state import model_entry, read_model, read_state, read_trace, state_arrays
from dcomp.result.stored_versions import upgraded

FORMAT, VERSION = "dcomp-fit", 4
MANIFEST, NAMES, SEAL = "manifest.json", "names.json", "seal"
_TEXT_LIMIT = 1 << 30  # bytes of a JSON member
_MOST_AXES = {"draws": 4}  # of an array, by its folder; 2 elsewhere
_KNOWN_NEEDS = frozenset({"parts"})

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
    if fit.kept is not None:
        arrays |= in_folder("draws", draw_arrays(fit.kept))
    recorded = fit.state.recorded
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "needs": ["parts"] if len(fit.state.firsts) > 1 else [],
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
        "provenance": asdict(fit.provenance),
        "attributes": {},
        "component_names": None,
        "checkpoint": None,
    }
    return manifest, arrays


def in_folder(folder: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The arrays by their places in the file."""
    return {f"{folder}/{name}": array for name, array in arrays.items()}


def load(path: str | os.PathLike[str]) -> Fit:
    """Read a fit that `save` wrote."""
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {printable(source)}")
    try:
        with zipfile.ZipFile(source) as archive:
            return _read(archive, source)
    except zipfile.BadZipFile as error:
        raise InvalidFile(
            f"{source}: not a dcomp fit, or cut short ({str(error).lower()})"
        ) from None
    except InvalidFile:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # a place in the file that lies before its beginning
            raise
        raise InvalidFile(f"{source}: damaged dcomp fit (its directory points nowhere)") from None
    except (KeyError, TypeError, ValueError, EOFError, OverflowError, zlib.error) as error:
        # Priors and algorithms speak to users; here what they refuse is the file's doing.
        what = str(error) if isinstance(error, DcompError) else f"{type(error).__name__}: {error}"
        raise InvalidFile(f"{source}: damaged dcomp fit ({what})") from error


def _read(archive: zipfile.ZipFile, source: Path) -> Fit:
    manifest, names, arrays = _contents(archive, source)
    folders = _by_folder(arrays)
    features = FeatureSpace(
        names=None if names["features"] is None else tuple(map(str, names["features"])),
        blocks=arrays["features/blocks"],
        block_names=None if names["block_names"] is None else tuple(names["block_names"]),
    )
    doc_ids = None if names["documents"] is None else tuple(map(str, names["documents"]))
    model = read_model(manifest["model"], folders.get("model", {}), source)
    algorithm = _algorithm(dict(manifest["algorithm"]))
    history = read_trace(manifest["history"], algorithm, model)
    chains = tuple(read_trace(rows, algorithm, model) for rows in manifest["chains"])
    state = read_state(manifest["state"], folders, model, algorithm, features)
    exposure = arrays.get("exposure")
    if exposure is not None and exposure.shape != (len(state.c), features.n_blocks):
        raise ValueError("the exposure is not one of these documents")
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
        str(manifest["reason"]),
        features,
        doc_ids,
        exposure,
        None if manifest["exposure_rule"] is None else str(manifest["exposure_rule"]),
        state.seed,
        Provenance(**manifest["provenance"]),
        chains,
        kept,
        endings,
    )


def _with_draws(state: State, kept: Draws | None) -> State:
    return state if kept is None else state.changed(draws=kept.of_chain(kept.best))


def _contents(archive: zipfile.ZipFile, source: Path) -> tuple[Any, Any, Arrays]:
    """The manifest, the names and the arrays of a file, as version 4 has them."""
    present = archive.namelist()
    if MANIFEST not in present:
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit (it has no manifest)")
    text = _text(archive, MANIFEST, source)
    manifest = json.loads(text)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit")
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InvalidFile(
            f"{source}: written in format version {version!r}; this dcomp reads "
            f"up to {VERSION}: upgrade dcomp"
        )
    if version < VERSION:
        arrays = {str(name): _array(archive, str(name), source) for name in manifest["arrays"]}
        names = json.loads(_text(archive, NAMES, source))
        return upgraded(manifest, names, arrays)
    _check_seal(archive, text, present, source)
    unknown = set(manifest["needs"]) - _KNOWN_NEEDS
    if unknown:
        raise InvalidFile(
            f"{source}: needs {', '.join(sorted(map(str, unknown)))}, which this dcomp does not "
            "know: upgrade dcomp"
        )
    members = dict(manifest["members"])
    names = json.loads(_text(archive, NAMES, source, members[NAMES]))
    arrays = {
        name.removesuffix(".npy"): _array(archive, name.removesuffix(".npy"), source, found)
        for name, found in members.items()
        if name.endswith(".npy")
    }
    return manifest, names, arrays


def _check_seal(archive: zipfile.ZipFile, text: bytes, present: list[str], source: Path) -> None:
    if SEAL not in present or _text(archive, SEAL, source) != digest(text).encode():
        raise InvalidFile(f"{source}: the manifest is not the one that was sealed")
    listed = {MANIFEST, SEAL, *json.loads(text)["members"]}
    if listed != set(present) or len(present) != len(listed):
        raise InvalidFile(f"{source}: its members are not those that the manifest lists")


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


def _text(archive: zipfile.ZipFile, name: str, source: Path, expected: str | None = None) -> bytes:
    if archive.getinfo(name).file_size > _TEXT_LIMIT:
        raise InvalidFile(f"{source}: {name} is too large to be of a dcomp fit")
    content = archive.read(name)
    if expected is not None and digest(content) != expected:
        raise InvalidFile(f"{source}: {name} is not what was written there")
    return content


def _array(
    archive: zipfile.ZipFile, name: str, source: Path, expected: str | None = None
) -> npt.NDArray[Any]:
    """One .npy member; its header is checked against the member's size before memory is taken."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise InvalidFile(f"{source}: array {name!r} is compressed; dcomp stores arrays plain")
    with archive.open(info) as member:
        content = member.read()
    if expected is not None and digest(content) != expected:
        raise InvalidFile(f"{source}: array {name!r} is not what was written there")
    stream = io.BytesIO(content)
    reader = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(stream)]
    shape, fortran, dtype = reader(stream)
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    n_axes = _MOST_AXES.get(name.partition("/")[0].partition("_")[0], 2)
    if dtype.hasobject or fortran or size > len(content) or len(shape) > n_axes:
        raise InvalidFile(f"{source}: array {name!r} is not what a dcomp fit holds")
    if len(content) - stream.tell() != size:
        raise InvalidFile(f"{source}: array {name!r} is not as long as its header says")
    array = np.frombuffer(content, dtype=dtype, offset=stream.tell()).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidFile(f"{source}: array {name!r} must hold finite numbers")
    return read_only(array.copy())
