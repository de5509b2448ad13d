"""Fits on disk: one zip file with a JSON manifest and plain .npy arrays. No pickle, ever.

The manifest carries a format version; files of earlier versions must still load (tests/golden).
Everything read is checked before it is believed: a file may be cut short, foreign or hostile.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dcomp.data import FeatureSpace
from dcomp.errors import DcompError, InvalidFile
from dcomp.inference import ALGORITHMS, Algorithm, Growth, Info, Keep, State, StructureSearch
from dcomp.inference.base import Recorded
from dcomp.models import (
    MODELS,
    DirichletLoadings,
    Model,
    StructuredScores,
    Tree,
    TreeScores,
)
from dcomp.models.arrays import read_only
from dcomp.result.atomic import atomic_write
from dcomp.result.fit import Fit
from dcomp.result.provenance import Provenance
from dcomp.result.stored_draws import PREFIX, draw_arrays, read_draws
from dcomp.result.stored_endings import check_endings, ending_entries, read_endings
from dcomp.result.stored_structure import (
    are_structured,
    read_structured,
    structure_entry,
)
from dcomp.result.trace import Trace

FORMAT, VERSION = "dcomp-fit", 3
_TEXT_LIMIT = 1 << 30  # bytes of a JSON member
_SCORE_ARRAYS = ("alpha", "beta", "rho", "mu0", "Sigma0", "a1", "a2", "b")
_ALL_ARRAYS = (*_SCORE_ARRAYS, "psi")
_SCORE_FLAGS = (*(f"learn_{name}" for name in _SCORE_ARRAYS), "shrinkage")
_EXTRA = "extra_"  # before the name of what an algorithm carries along
_RECORDED = "recorded_extra_"  # the same of what it has recorded


def save(fit: Fit, path: str | os.PathLike[str]) -> None:
    """Write a fit to one file, whole or not at all; `load` reads it back.

    >>> import tempfile, dcomp
    >>> fitted = dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]]).fit_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcomp.save(fitted, f"{folder}/votes.dcomp")
    ...     again = dcomp.load(f"{folder}/votes.dcomp")
    >>> bool((again.Theta == fitted.Theta).all())
    True
    """
    about, priors = _describe(fit.model)
    arrays = {"c": fit.state.c, "n": fit.state.n, "blocks": fit.features.blocks, **priors}
    if fit.exposure is not None:
        arrays["exposure"] = fit.exposure
    if fit.state.z is not None:
        arrays["z"] = fit.state.z
    recorded = fit.state.recorded
    if recorded is not None:
        arrays |= {"recorded_Theta": recorded.Theta, "recorded_c": recorded.c}
        if recorded.zeros is not None:
            arrays["recorded_zeros"] = recorded.zeros
        if recorded.scores is not None:
            arrays["recorded_scores"] = recorded.scores
        arrays |= {f"{_RECORDED}{name}": array for name, array in recorded.extra.items()}
    arrays |= {f"{_EXTRA}{name}": array for name, array in fit.state.extra.items()}
    if fit.kept is not None:
        arrays |= draw_arrays(fit.kept)
    endings, of_endings = ending_entries(fit.endings, _describe)
    arrays |= of_endings
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **about,
        "algorithm": {"name": fit.algorithm.name, **_options(fit.algorithm)},
        "sweep": fit.state.sweep,
        "reason": fit.reason,
        "seed": fit.seed,
        "exposure_rule": fit.exposure_rule,
        "recorded": 0 if recorded is None else recorded.count,
        "draws": None if fit.kept is None else {"chains": fit.kept.chains, "best": fit.kept.best},
        "chains": [[asdict(row) for row in chain.rows] for chain in fit.chains],
        "endings": endings,
        "provenance": asdict(fit.provenance),
        "history": [asdict(row) for row in fit.history.rows],
        "arrays": sorted(arrays),
    }
    names = {
        "features": fit.features.names,
        "block_names": fit.features.block_names,
        "documents": fit.doc_ids,
    }
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        archive.writestr("names.json", json.dumps(names), zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)


def load(path: str | os.PathLike[str]) -> Fit:
    """Read a fit that `save` wrote."""
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"there is no file {source}")
    try:
        with zipfile.ZipFile(source) as archive:
            return _read(archive, source)
    except zipfile.BadZipFile as error:
        raise InvalidFile(
            f"{source}: not a dcomp fit, or cut short ({str(error).lower()})"
        ) from None
    except (KeyError, TypeError, ValueError, EOFError, OverflowError, zlib.error) as error:
        if isinstance(error, DcompError):
            raise
        raise InvalidFile(f"{source}: damaged dcomp fit ({error})") from error


def _describe(model: Model) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What the manifest and the arrays say of a model; `_model` is the way back."""
    scores: Any = model.scores
    entry = {
        "model": model.key,
        "scores": {flag: getattr(scores, flag) for flag in _SCORE_FLAGS if hasattr(scores, flag)},
        "tree": json.loads(scores.tree.to_json()) if isinstance(scores, TreeScores) else None,
        "structure": structure_entry(scores) if isinstance(scores, StructuredScores) else None,
        "learn_gamma": model.loadings.learned,
    }
    arrays = {name: getattr(scores, name) for name in _ALL_ARRAYS if hasattr(scores, name)}
    return entry, {"gamma": model.loadings.gamma, **arrays}


def _options(algorithm: Algorithm) -> dict[str, Any]:
    options: Any = algorithm
    values = {f.name: getattr(options, f.name) for f in fields(options)}
    stored = (Keep, Growth, StructureSearch)
    return {name: asdict(v) if isinstance(v, stored) else v for name, v in values.items()}


def _algorithm(options: dict[str, Any]) -> Algorithm:
    keep = options.pop("keep", None)  # mean field has none, nor had version 2
    more: dict[str, Any] = {}
    if keep is not None:
        more["keep"] = Keep(**{**keep, "of": tuple(map(str, keep["of"]))})
    growth = options.pop("grow", None)
    if growth is not None:
        search = "max_nodes" in growth
        more["grow"] = _search(growth) if search else Growth(**growth)
    algorithm: Any = ALGORITHMS[options.pop("name")]
    built: Algorithm = algorithm(**options, **more)
    return built


def _search(options: dict[str, Any]) -> StructureSearch:
    psi = options.pop("psi")
    return StructureSearch(**options, psi=tuple(psi) if isinstance(psi, list) else psi)


def _read(archive: zipfile.ZipFile, source: Path) -> Fit:
    if "manifest.json" not in archive.namelist():
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit (it has no manifest)")
    manifest = _json(archive, "manifest.json", source)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InvalidFile(f"{source}: a zip file, but not a dcomp fit")
    if not isinstance(manifest.get("version"), int) or manifest["version"] > VERSION:
        raise InvalidFile(
            f"{source}: written in format version {manifest.get('version')!r}; this dcomp reads "
            f"up to {VERSION}: upgrade dcomp"
        )
    arrays = {str(name): _array(archive, str(name), source) for name in manifest["arrays"]}
    names = _json(archive, "names.json", source)
    features = FeatureSpace(
        names=None if names["features"] is None else tuple(map(str, names["features"])),
        blocks=arrays["blocks"],
        block_names=None if names["block_names"] is None else tuple(names["block_names"]),
    )
    model = _model(manifest, arrays, source)
    _check_shapes(arrays, model, features, source)
    doc_ids = None if names["documents"] is None else tuple(map(str, names["documents"]))
    history = _trace(manifest["history"])
    chains = tuple(_trace(rows) for rows in manifest.get("chains", ()))
    kept = read_draws(manifest.get("draws"), arrays, model, features, doc_ids, chains or (history,))
    state = State(
        model,
        arrays["c"],
        arrays["n"],
        int(manifest["sweep"]),
        int(manifest["seed"]),
        arrays.get("z"),
        _recorded(manifest, arrays),
        () if kept is None else kept.of_chain(kept.best),
        {name.removeprefix(_EXTRA): a for name, a in arrays.items() if name.startswith(_EXTRA)},
    )
    endings = read_endings(
        manifest.get("endings"),
        arrays,
        features,
        chains,
        lambda entry, own: _model(entry, own, source),
    )
    if endings:
        check_endings(endings, model, state.seed)
    return Fit(
        state,
        _algorithm(dict(manifest["algorithm"])),
        history,
        str(manifest["reason"]),
        features,
        doc_ids,
        arrays.get("exposure"),
        None if manifest["exposure_rule"] is None else str(manifest["exposure_rule"]),
        int(manifest["seed"]),
        Provenance(**manifest["provenance"]),
        chains,
        kept,
        endings,
    )


def _trace(rows: list[dict[str, Any]]) -> Trace:
    return Trace(tuple(Info(**{**row, "capped": tuple(row["capped"])}) for row in rows))


def _recorded(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Recorded | None:
    count = int(manifest.get("recorded", 0))  # version 1 had no samplers
    if not count:
        return None
    return Recorded(
        arrays["recorded_Theta"],
        arrays["recorded_c"],
        arrays.get("recorded_zeros"),
        count,
        arrays.get("recorded_scores"),
        {
            name.removeprefix(_RECORDED): array
            for name, array in arrays.items()
            if name.startswith(_RECORDED)
        },
    )


def _json(archive: zipfile.ZipFile, name: str, source: Path) -> Any:
    if archive.getinfo(name).file_size > _TEXT_LIMIT:
        raise InvalidFile(f"{source}: {name} is too large to be a dcomp manifest")
    return json.loads(archive.read(name))


def _array(archive: zipfile.ZipFile, name: str, source: Path) -> npt.NDArray[Any]:
    """One .npy member; its header is checked against the member's size before memory is taken."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        reader = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = reader(member)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        n_dims = 4 if name.startswith(PREFIX) else 2
        if dtype.hasobject or fortran or size > info.file_size or len(shape) > n_dims:
            raise InvalidFile(f"{source}: array {name!r} is not what a dcomp fit holds")
        if info.compress_type != zipfile.ZIP_STORED:
            raise InvalidFile(f"{source}: array {name!r} is compressed; dcomp stores arrays plain")
        data = member.read()
    if len(data) != size:
        raise InvalidFile(f"{source}: array {name!r} is not as long as its header says")
    array = np.frombuffer(io.BytesIO(data).getbuffer(), dtype=dtype).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidFile(f"{source}: array {name!r} must hold finite numbers")
    return read_only(array.copy())


def _model(manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], source: Path) -> Model:
    if manifest["model"] not in MODELS:
        raise InvalidFile(f"{source}: unknown model {manifest['model']!r}; upgrade dcomp")
    cls: Any = MODELS[manifest["model"]]
    if cls.scores_type is StructuredScores:
        structured = read_structured(manifest["structure"], arrays)
        built: Model = cls(
            structured, DirichletLoadings(arrays["gamma"], bool(manifest["learn_gamma"]))
        )
        return built
    hyper = {name: arrays[name] for name in _SCORE_ARRAYS if name in arrays}
    wanted = {name for name in _SCORE_ARRAYS if name in cls.scores_type.__dataclass_fields__}
    if set(hyper) != wanted:
        raise InvalidFile(f"{source}: model {cls.key} needs {', '.join(sorted(wanted))}")
    if cls.scores_type is TreeScores:
        scores = _tree_scores(manifest, hyper, source)
    else:
        n_components = len(hyper["mu0" if "mu0" in wanted else "alpha"])
        scores = cls.scores_type.build(n_components, **hyper, **manifest["scores"])
    learned = bool(manifest.get("learn_gamma", False))  # version 2 never did
    model: Model = cls(scores, DirichletLoadings(arrays["gamma"], learned))
    return model


def _tree_scores(
    manifest: dict[str, Any], hyper: dict[str, npt.NDArray[Any]], source: Path
) -> TreeScores:
    tree = Tree.from_parents(manifest["tree"]["parents"], manifest["tree"]["names"])
    shape = (tree.n_nodes,)
    if any(a.shape != shape or a.dtype != np.float64 or not (a > 0).all() for a in hyper.values()):
        raise InvalidFile(f"{source}: the priors of the tree do not belong to its nodes")
    return TreeScores(tree, **hyper)


def _check_shapes(
    arrays: dict[str, npt.NDArray[Any]], model: Model, features: FeatureSpace, source: Path
) -> None:
    K, J = model.n_components, features.n_features
    c, n = arrays["c"], arrays["n"]
    fits = (
        c.ndim == n.ndim == 2
        and c.shape[1] == K
        and n.shape == (J, K)
        and c.dtype == n.dtype
        and c.dtype in (np.float32, np.float64, np.int32)
        and ("z" not in arrays or _is_assignment(arrays["z"], c, _n_values(model)))
        and (model.key != "LN" or _is_eta(arrays[f"{_EXTRA}eta"], c))
        and ("recorded_Theta" not in arrays or arrays["recorded_Theta"].shape == n.shape)
        and ("recorded_c" not in arrays or arrays["recorded_c"].shape == c.shape)
        and ("recorded_scores" not in arrays or arrays["recorded_scores"].shape == c.shape)
        and _are_extra(arrays, model)
        and (c >= 0).all()
        and (n >= 0).all()
        and ("exposure" not in arrays or arrays["exposure"].shape == (len(c), features.n_blocks))
    )
    if not fits:
        raise InvalidFile(f"{source}: the arrays of this fit do not belong together")


def _n_values(model: Model) -> int:
    """How many things a token may be assigned to."""
    scores = model.scores
    return scores.structure.n_pairs if isinstance(scores, StructuredScores) else model.n_components


def _are_extra(arrays: dict[str, npt.NDArray[Any]], model: Model) -> bool:
    own, recorded = (
        {name.removeprefix(lead): a for name, a in arrays.items() if name.startswith(lead)}
        for lead in (_EXTRA, _RECORDED)
    )
    if isinstance(model.scores, StructuredScores):
        return are_structured(own, recorded, model.scores, arrays["c"])
    # Numbers, and companions of c and n.
    shapes = ((), arrays["c"].shape, arrays["n"].shape)
    return not recorded and all(array.shape in shapes for array in own.values())


def _is_eta(eta: npt.NDArray[Any], c: npt.NDArray[Any]) -> bool:
    return eta.dtype == np.float64 and eta.shape == c.shape


def _is_assignment(z: npt.NDArray[Any], c: npt.NDArray[Any], K: int) -> bool:
    return z.dtype == np.uint16 and z.shape == (int(c.sum()),) and (not len(z) or z.max() < K)
