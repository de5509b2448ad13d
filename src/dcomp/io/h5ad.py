"""What an .h5ad file holds, taken out of it by a process of its own: `python -m dcomp.io.h5ad`.

The library below anndata, HDF5, believes what a file says: one of 28 kB had it take all memory of a
machine before it could be asked how large anything was. So it works under the limits of the file,
in a process that may end, and leaves a matrix and names behind, in forms that are checked again.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scipy import sparse

from dcomp.data.attributes import as_column
from dcomp.errors import DcompError, InvalidFile, InvalidParameter
from dcomp.io.limits import FLOOR, TIMES, TRUSTED_RATIO, Budget, Limits

MATRIX, ABOUT, ERROR = "matrix.npz", "about.json", "error.json"
_ERRORS = {kind.__name__: kind for kind in (InvalidFile, InvalidParameter)}
_AT_ONCE = 3  # what is read is there as it was, as it is made, and as counts
_OF_TEXT = 120  # bytes of a cell of text in memory
_SECONDS, _BYTES_PER_SECOND = 5, 1 << 20  # of the processor, at least, and more for large files
_MOST_THINGS = 100_000  # groups and arrays in one file


def taken_apart(path: Path, layer: str | None, limits: Limits | None, folder: Path) -> None:
    """Leave what the file holds in a folder; an error says why not."""
    limits = limits or Limits()
    job = {"path": str(path), "layer": layer, "folder": str(folder), "limits": vars(limits)}
    # With the paths of this process, and no others: not with the folder that one works in.
    code = f"import sys; sys.path[:] = {sys.path!r}; from dcomp.io import h5ad; h5ad.main()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, json.dumps(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    check_ended(path, folder, done.returncode)


def check_ended(path: Path, folder: Path, code: int) -> None:
    """An error unless the process that took the file apart has done so."""
    if (folder / ERROR).exists():
        told = json.loads((folder / ERROR).read_bytes())
        raise _ERRORS[told["kind"]](told["said"])
    if code or not (folder / ABOUT).exists():
        names = {-int(number): number.name for number in signal.Signals}
        raise InvalidFile(
            f"{path}: not an .h5ad file, or one that takes more than its size allows: the process "
            f"that read it ended by {names.get(code, code)}; limits=dcomp.Limits(memory=…) allows "
            "more"
        )


def main() -> None:
    """In the process: the job is its argument."""
    job = json.loads(sys.argv[1])
    take_out(Path(job["path"]), job["layer"], Limits(**job["limits"]), Path(job["folder"]))


def take_out(path: Path, layer: str | None, limits: Limits, folder: Path) -> None:
    """Write the matrix and the names into the folder, or what is wrong."""
    import anndata
    import h5py

    warnings.simplefilter("ignore")
    try:
        _limit(path, limits)
        _check(path, h5py, Budget(path, limits))
        _write(anndata.read_h5ad(path), layer, folder)
        return
    except DcompError as error:
        kind = InvalidParameter if isinstance(error, InvalidParameter) else InvalidFile
        said = str(error)
    except MemoryError:
        kind, said = InvalidFile, f"{path}: reading it takes more memory than its size allows"
        said += "; limits=dcomp.Limits(memory=…) allows more"
    except Exception as error:  # of h5py and anndata, which have many
        kind, said = InvalidFile, f"{path}: not an .h5ad file: {error}"[:300]
    (folder / ERROR).write_text(json.dumps({"kind": kind.__name__, "said": said}))


def _write(data: Any, layer: str | None, folder: Path) -> None:
    if layer is not None and layer not in data.layers:
        raise InvalidParameter(f"there is no layer {layer!r}; there are {sorted(data.layers)}")
    X = data.X if layer is None else data.layers[layer]
    if X is None:
        raise InvalidParameter("this AnnData has no X: say which layer has the counts (layer=)")
    matrix: Any = sparse.csr_array(X)
    if matrix.dtype.kind not in "biuf":
        raise InvalidFile(f"counts must be numbers; found {matrix.dtype}")
    sparse.save_npz(folder / MATRIX, matrix, compressed=False)
    about = {
        "features": list(map(str, data.var_names)),
        "cells": list(map(str, data.obs_names)),
        "columns": {str(name): as_column(list(data.obs[name])).tolist() for name in data.obs},
    }
    (folder / ABOUT).write_text(json.dumps(about))


def _check(path: Path, h5py: Any, budget: Budget) -> None:
    """What the file declares is charged before any of it is made. It must be in this file: HDF5 can
    name others, to be read in its place."""
    total = 0
    with h5py.File(path, "r") as file:
        for name, thing in _things(file, h5py):
            if not isinstance(thing, h5py.Dataset):
                continue
            if thing.external or thing.is_virtual:
                raise InvalidFile(f"{path}: {name} lies in another file, which is not read")
            is_text = thing.dtype.kind in "OSU"
            total += int(thing.size or 0) * (_OF_TEXT if is_text else thing.dtype.itemsize)
    budget.decompressed(total, path.stat().st_size)
    budget.charge(_AT_ONCE * total, "what it holds")


def _things(file: Any, h5py: Any) -> Iterator[tuple[str, Any]]:
    """All groups and arrays, each once."""
    waiting, seen = [("/", file)], set()
    while waiting:
        name, thing = waiting.pop()
        place = h5py.h5o.get_info(thing.id).addr
        if place in seen:
            continue
        seen.add(place)
        if len(seen) > _MOST_THINGS:
            raise ValueError(f"it holds more than {_MOST_THINGS:,} groups and arrays")
        yield name, thing
        if isinstance(thing, h5py.Group):
            for below in thing:
                if not isinstance(thing.get(below, getlink=True), h5py.HardLink):
                    raise ValueError(f"{below[:40]!r} is a link, which is not followed")
                waiting.append((f"{name}{below}/", thing[below]))


def _limit(path: Path, limits: Limits) -> None:
    """Hold this process to what the file may take of memory and time, where that can be said."""
    try:
        import resource
    except ImportError:  # Windows
        return

    def set_to(which: int, value: int) -> None:
        soft, hard = resource.getrlimit(which)
        known = (limit for limit in (value, soft, hard) if limit != resource.RLIM_INFINITY)
        resource.setrlimit(which, (min(known), hard))

    size, statm = path.stat().st_size, Path("/proc/self/statm")
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + _SECONDS + size // _BYTES_PER_SECOND
    set_to(resource.RLIMIT_CPU, seconds)
    if statm.exists():
        room = max(FLOOR, int(limits.memory or TIMES * TRUSTED_RATIO * size))
        pages = int(statm.read_text().split()[0])
        set_to(resource.RLIMIT_AS, pages * resource.getpagesize() + room)
