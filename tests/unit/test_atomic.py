"""Files are written through one door: whole or not at all, where and as they were."""

import ast
import errno
import fcntl
import os
import random
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import dcomp
from dcomp.atomic import atomic_write, temporary_folder

ROOT = Path(dcomp.__file__).parent
LEFT = ".dcomp-0123456789abcdef.part"


def write(path, content=b"new", **options):
    with atomic_write(path, **options) as stream:
        stream.write(content)


def test_every_file_goes_through_the_door():
    """No module but atomic.py opens a file to write, or hands a path to one that does."""
    found = []
    for path in ROOT.rglob("*.py"):
        # The latter two in a temporary folder of their own.
        if path.name in ("atomic.py", "stdin.py", "h5ad.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
            modes += [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
            nowhere = bool(node.args) and ast.unparse(node.args[0]) == "os.devnull"
            opens = name == "open" and not nowhere
            opens = opens and any(re.fullmatch("[waxr+bt]*[wax+][waxr+bt]*", str(m)) for m in modes)
            is_member = getattr(getattr(node.func, "value", None), "id", "") == "archive"
            writes = name in (
                "write_text",
                "write_bytes",
                "to_csv",
                "mkstemp",
                "tofile",
                "replace_file",
            )
            plots = name == "savefig" and getattr(node.args[0], "id", "") != "stream"
            if (opens and not is_member) or writes or plots:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []


def test_mode_and_owner_are_kept(tmp_path):
    target = tmp_path / "fit"
    target.write_bytes(b"old")
    target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(target, 12345, 23456)
    before = target.stat()
    write(target)
    after = target.stat()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


def test_a_new_file_is_as_readable_as_any(tmp_path):
    old = os.umask(0o027)
    try:
        write(tmp_path / "fit")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "fit").stat().st_mode) == 0o640


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    target = tmp_path / "fit"
    target.touch(0o600)
    with atomic_write(target):
        (part,) = tmp_path.glob(".dcomp-*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_links_stay_links(tmp_path):
    (tmp_path / "far").mkdir()
    target, link, chain = tmp_path / "far" / "fit", tmp_path / "link", tmp_path / "chain"
    link.symlink_to("far/fit")  # dangles
    chain.symlink_to(link)
    write(chain, b"one")
    assert target.read_bytes() == b"one"
    write(link, b"two")
    assert target.read_bytes() == b"two"
    assert link.is_symlink()
    assert chain.is_symlink()
    assert not target.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chain", "far", "link"]


def test_links_that_lead_nowhere(tmp_path):
    loop, other, lost = tmp_path / "loop", tmp_path / "other", tmp_path / "lost"
    loop.symlink_to(other)
    other.symlink_to(loop)
    lost.symlink_to("absent/fit")
    with pytest.raises(OSError, match="lead back to themselves") as caught:
        write(loop)
    assert caught.value.errno == errno.ELOOP
    with pytest.raises(FileNotFoundError, match=r"the folder .*absent does not exist"):
        write(lost)


def test_save_does_not_overwrite_unless_told(tmp_path):
    fitted = dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]]).fit_
    path = tmp_path / "fit.dcomp"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match="give overwrite=True to replace it"):
        dcomp.save(fitted, path)
    assert path.read_bytes() == b"precious"
    dcomp.save(fitted, path, overwrite=True)
    assert dcomp.load(path).n_sweeps == fitted.n_sweeps
    dcomp.save(fitted, tmp_path / "another.dcomp")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_appears_meanwhile_is_left(tmp_path):
    target = tmp_path / "fit"

    def appear():
        with atomic_write(target, overwrite=False) as stream:
            stream.write(b"ours")
            target.write_bytes(b"theirs")

    with pytest.raises(FileExistsError, match="has appeared meanwhile"):
        appear()
    assert target.read_bytes() == b"theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]


def test_an_error_leaves_the_old_file(tmp_path):
    target = tmp_path / "fit"
    target.write_bytes(b"old")

    def fail(error):
        with atomic_write(target) as stream:
            stream.write(b"half")
            raise error

    for error in (KeyboardInterrupt, RuntimeError, MemoryError):
        with pytest.raises(error):
            fail(error)
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]


def test_leftovers_of_the_dead_are_removed(tmp_path):
    left, others = (
        tmp_path / LEFT,
        [".dcomp-0123.part", "dcomp.part", ".fit.part", ".DCOMP-" + LEFT[7:]],
    )
    for name in (LEFT, *others):
        (tmp_path / name).write_bytes(b"half")
    link = tmp_path / LEFT.replace("0", "f")
    link.symlink_to(tmp_path / "dcomp.part")
    write(tmp_path / "fit")
    assert not left.exists()
    assert link.is_symlink()
    assert all((tmp_path / name).exists() for name in others)


def test_what_the_living_write_is_left(tmp_path):
    left = tmp_path / LEFT
    with left.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write(tmp_path / "fit")
        assert left.exists()
    with atomic_write(tmp_path / "one") as one, atomic_write(tmp_path / "two") as two:
        one.write(b"1")
        two.write(b"2")
    assert (tmp_path / "one").read_bytes() == b"1"


def test_devices_and_pipes_are_written_as_they_are(tmp_path):
    write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write(pipe)
        assert reader.communicate(timeout=20)[0] == b"new"
    assert pipe.is_fifo()


WRITER = """
import sys
from dcomp.atomic import atomic_write, temporary_folder
print("before")
with atomic_write(sys.argv[1]) as stream:
    stream.write(b"new")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"])
def test_standard_output(tmp_path, name):
    command = [sys.executable, "-c", WRITER, name]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"before\nnew"
    target = tmp_path / "out"
    target.write_bytes(b"old ")
    with target.open("ab") as out:
        subprocess.run(command, stdout=out, check=True)
    assert target.read_bytes() == b"old before\nnew"


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    # Root may write anywhere; what the system says of others is put in its mouth.
    denied = {}
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in denied)
    target = tmp_path / "fit"
    target.write_bytes(b"old")
    denied[tmp_path] = True
    with pytest.raises(PermissionError, match=r"the folder .* cannot be written to"):
        write(target)
    denied[target] = True
    with pytest.raises(PermissionError, match="is write-protected"):
        write(target)
    assert target.read_bytes() == b"old"


FULL = """
import resource, signal, sys
import dcomp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fitted = dcomp.LDA(2, verbose=0).fit([[3, 1], [0, 4]]).fit_
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    dcomp.save(fitted, sys.argv[1], overwrite=True)
except OSError as error:
    print(error.filename, "|", error.strerror)
"""


@pytest.mark.parametrize("room", [0, 1, 700, 2000])
def test_a_full_disk(tmp_path, room):
    target = tmp_path / "fit.dcomp"
    target.write_bytes(b"old")
    command = [sys.executable, "-c", FULL, str(target), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{target} | {os.strerror(errno.EFBIG)}\n"
    assert done.stderr == ""
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["fit.dcomp"]


SAVER = """
import sys
import dcomp
one, two = (dcomp.LDA(k, verbose=0, max_iter=3, tol=0).fit([[3, 1], [0, 4]]).fit_ for k in (2, 3))
dcomp.save(one, sys.argv[1], overwrite=True)
print("ready", flush=True)
while True:
    dcomp.save(two, sys.argv[1], overwrite=True)
    dcomp.save(one, sys.argv[1], overwrite=True)
"""


def test_kill_while_saving(tmp_path):
    target = tmp_path / "fit.dcomp"
    rng = random.Random(0)
    for _ in range(4):
        command = [sys.executable, "-c", SAVER, str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            for _ in range(10):  # stopped, read, and let go on; killed at last
                time.sleep(rng.random() * 0.02)
                process.send_signal(signal.SIGSTOP)
                assert dcomp.load(target).n_components in (2, 3)
                process.send_signal(signal.SIGCONT)
            time.sleep(rng.random() * 0.02)
            process.kill()
        assert dcomp.load(target).n_components in (2, 3)
    write(tmp_path / "next")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fit.dcomp", "next"]


IN_FOLDER = """
import sys, time
from dcomp.atomic import temporary_folder
with temporary_folder() as folder:
    (folder / "much").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_folder_that_a_killed_process_left_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = tmp_path / "dcomp-notes"
    mine.mkdir()
    command = [sys.executable, "-c", IN_FOLDER]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        left = Path(process.stdout.readline().strip())
        with temporary_folder() as folder:
            assert left.is_dir()  # its process lives
            assert folder.stat().st_mode & 0o077 == 0
        process.kill()
    assert left.is_dir()
    with temporary_folder() as folder:
        assert sorted(tmp_path.iterdir()) == sorted([mine, folder])
    assert list(tmp_path.iterdir()) == [mine]


def test_a_folder_is_gone_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def broken():
        with temporary_folder() as folder:
            write(folder / "a")
            raise KeyError

    with pytest.raises(KeyError):
        broken()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_that_is_full_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write("/dev/full", b"x" * 100_000)
