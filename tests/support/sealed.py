"""Files of fits that are edited and sealed again: what the digests cannot find must be found by
the checks behind them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dcomp.result.storage import MANIFEST, SEAL, digest

Members = dict[str, bytes]


def rewrite(path: Path, change: Callable[[Members], object]) -> None:
    """The same archive with `change` applied to its members, and digests that agree."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    manifest = json.loads(members[MANIFEST])
    if isinstance(manifest, dict) and manifest.get("members") is not None:
        own = {name: digest(text) for name, text in members.items() if name not in (MANIFEST, SEAL)}
        members[MANIFEST] = json.dumps({**manifest, "members": own}).encode()
    members[SEAL] = digest(members[MANIFEST]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def edit_manifest(path: Path, change: Callable[[dict], object]) -> None:
    """The same with a change of the manifest."""

    def edit(members: Members) -> None:
        manifest = json.loads(members[MANIFEST])
        change(manifest)
        members[MANIFEST] = json.dumps(manifest).encode()

    rewrite(path, edit)


def npy(array: np.ndarray, **options: object) -> bytes:
    """An array as a member has it."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()
