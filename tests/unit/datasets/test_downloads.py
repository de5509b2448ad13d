"""Downloads, from a server on the loopback: checksums, what is kept, what is said without one."""

from __future__ import annotations

import hashlib
import http.server
import importlib
import io
import socket
import tarfile
import threading
import zipfile
from dataclasses import replace

import pytest

from dcomp import datasets
from dcomp.datasets import download, remote
from dcomp.datasets.download import DownloadFailed, Remote, fetch
from dcomp.errors import InvalidFile, InvalidParameter, MissingDependency

VOTES = b"congress,chamber,rollnumber,icpsr,cast_code\n" + b"".join(
    f"108,Senate,{call},{who},{code}\n".encode()
    for call in (1, 2)
    for who, code in ((7, 1), (8, 6), (9, 9 if call == 1 else 1))
)
MEMBERS = (
    b"congress,chamber,icpsr,state_abbrev,party_code,bioname,born,nominate_dim1,nominate_dim2\n"
    b'108,Senate,7,NY,100,"A, B",1950,0.1,0.2\n108,Senate,8,TX,200,"C, D",1940,-0.1,0.3\n'
    b'108,Senate,9,VT,328,"E, F",1945,0.3,0.1\n'
)
CALLS = b"congress,chamber,rollnumber,date,yea_count,nay_count,vote_result\n" + b"".join(
    f"108,Senate,{call},2003-01-0{call},1,1,Passed\n".encode() for call in (1, 2)
)


@pytest.fixture(scope="module")
def server():
    """Files by path, requests as they came, and the address of a server that has them."""
    files, asked = {}, []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            content = files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield files, asked, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.fixture
def web(server, tmp_path):
    files, asked, address = server
    files.clear()
    asked.clear()
    return files, asked, {"folder": tmp_path / "kept", "mirror": address}


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_file_is_fetched_once(web):
    files, asked, where = web
    files["/a/b.txt"] = b"hello"
    wanted = Remote("https://example.org/a/b.txt", "b.txt", sha256(b"hello"))
    assert fetch(wanted, **where).read_bytes() == b"hello"
    files.clear()
    assert fetch(wanted, **where).read_bytes() == b"hello"
    assert asked == ["/a/b.txt"]
    assert [path.name for path in where["folder"].iterdir()] == ["b.txt"]


def test_another_file_is_refused_and_the_kept_one_stays(web):
    files, _, where = web
    files["/b.txt"] = b"hello"
    wanted = Remote("https://example.org/b.txt", "b.txt", sha256(b"hello"))
    kept = fetch(wanted, **where)
    files["/b.txt"] = b"other"
    with pytest.raises(DownloadFailed, match=r"/b\.txt: .* its checksum is wrong"):
        fetch(wanted, refresh=True, **where)
    assert kept.read_bytes() == b"hello"
    assert [path.name for path in where["folder"].iterdir()] == ["b.txt"]


def test_a_damaged_file_is_fetched_again(web):
    files, asked, where = web
    files["/b.txt"] = b"hello"
    for wanted in (
        Remote("https://example.org/b.txt", "fixed.txt", sha256(b"hello")),
        Remote("https://example.org/b.txt", "recorded.txt"),
    ):
        kept = fetch(wanted, **where)
        kept.write_bytes(b"hel")
        assert fetch(wanted, **where).read_bytes() == b"hello"
    assert len(asked) == 4


def test_files_without_a_checksum_are_held_to_their_first(web):
    files, asked, where = web
    files["/b.txt"] = b"first"
    wanted = Remote("https://example.org/b.txt", "b.txt")
    kept = fetch(wanted, **where)
    files["/b.txt"] = b"second"
    assert fetch(wanted, **where).read_bytes() == b"first"
    assert len(asked) == 1
    kept.unlink()
    with pytest.raises(DownloadFailed, match="refresh=True takes the new one"):
        fetch(wanted, **where)
    assert fetch(wanted, refresh=True, **where).read_bytes() == b"second"
    assert fetch(wanted, **where).read_bytes() == b"second"
    (where["folder"] / "b.txt.sha256").write_text("sha256:zz")
    with pytest.raises(InvalidFile, match="delete it to fetch again"):
        fetch(wanted, **where)


def test_offline_is_said_plainly(tmp_path):
    with socket.socket() as free:  # nobody listens there once it is closed
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"folder": tmp_path, "mirror": f"http://127.0.0.1:{port}"}
    with pytest.raises(DownloadFailed, match=r"S108_votes\.csv could not be fetched from") as told:
        datasets.voteview("S", 108, **where)
    assert "refused" in str(told.value)
    assert "\n" not in str(told.value)
    assert "mirror=" in str(told.value)
    assert isinstance(told.value, OSError)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_told_by_its_address(web):
    _, _, where = web
    with pytest.raises(DownloadFailed, match=r"/votes/H001_votes\.csv: 404"):
        datasets.load("voteview", chamber="H", congress=1, **where)


def test_wrong_wishes_are_told(tmp_path):
    with pytest.raises(InvalidParameter, match="mirror must begin with http"):
        datasets.voteview(folder=tmp_path, mirror="file:///etc")
    with pytest.raises(InvalidParameter, match="chamber must be 'S'"):
        datasets.voteview("Senate")
    for congress in (0, 1000, True, "108"):
        with pytest.raises(InvalidParameter, match="congress must be a whole number"):
            datasets.voteview("S", congress)
    with pytest.raises(InvalidParameter, match="split must be"):
        datasets.newsgroups("dev")


def test_without_pooch_it_says_what_to_install(tmp_path, monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingDependency, match=r'pip install "dcomp\[datasets\]"'):
        datasets.voteview(folder=tmp_path)


def test_kept_files_need_no_pooch(web, monkeypatch):
    files, _, where = web
    files["/b.txt"] = b"hello"
    wanted = Remote("https://example.org/b.txt", "b.txt", sha256(b"hello"))
    fetch(wanted, **where)
    monkeypatch.setattr(download, "_pooch", lambda: pytest.fail("not needed"))
    fetch(wanted, folder=where["folder"])


def test_the_folder_is_that_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DCOMP_DATASETS", str(tmp_path))
    assert download.data_folder() == tmp_path
    assert download.data_folder("here").name == "here"
    monkeypatch.delenv("DCOMP_DATASETS")
    assert "dcomp" in download.data_folder().parts


def test_voteview_has_votes_members_and_calls(web):
    files, asked, where = web
    root = "/static/data/out"
    files[f"{root}/votes/S108_votes.csv"] = VOTES
    files[f"{root}/members/S108_members.csv"] = MEMBERS
    files[f"{root}/rollcalls/S108_rollcalls.csv"] = CALLS
    table = datasets.voteview("S", 108, **where)
    assert table.counts.features.labels == ("RC1=yea", "RC1=nay", "RC2=yea", "RC2=nay")
    assert table.counts.to_scipy().toarray().tolist() == [
        [1, 0, 1, 0],
        [0, 1, 0, 1],
        [0, 0, 1, 0],
    ]
    assert table.counts.attributes[table.label].tolist() == ["D", "R", "I"]
    again = datasets.load("voteview", transpose=True, **where)
    assert again.counts.n_docs == 2
    assert len(asked) == 3


def zipped(texts):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def tarred(texts):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in texts.items():
            about = tarfile.TarInfo(name)
            about.size = len(text)
            archive.addfile(about, io.BytesIO(text))
    return stream.getvalue()


def served(web, monkeypatch, name, content):
    """An archive of the table in `remote`, with another content."""
    files, _, where = web
    archive = getattr(remote, name)
    file = replace(archive.file, checksum=sha256(content))
    monkeypatch.setattr(remote, name, replace(archive, file=file))
    files[file.at("")] = content
    return where


def test_newsgroups_are_posts_with_their_groups(web, monkeypatch):
    post = b"From: a@b.org\nNewsgroups: sci.space\n\nRockets fly caf\xe9\n"
    texts = {
        "20news-bydate-test/sci.space/2": b"From: c\n\nRockets land\n",
        "20news-bydate-train/sci.space/1": post,
        "20news-bydate-train/rec.autos/1": b"From: c\n\nCars drive\n",
        "../../outside": b"not read",
    }
    where = served(web, monkeypatch, "NEWSGROUPS", tarred(texts))
    table = datasets.newsgroups(**where)
    assert table.counts.features.names == ("café", "cars", "drive", "fly", "land", "rockets")
    assert table.counts.attributes["group"].tolist() == ["sci.space", "rec.autos", "sci.space"]
    assert table.counts.attributes["split"].tolist() == ["test", "train", "train"]
    train = datasets.newsgroups("train", min_docs=1, without=(), **where)
    assert train.counts.n_docs == 2
    assert "newsgroups" in train.counts.features.names


def test_zipped_corpora_have_their_labels(web, monkeypatch):
    texts = {"movie_reviews/README": "x", "movie_reviews/pos/cv1.txt": "a fine film"}
    texts["movie_reviews/neg/cv2.txt"] = "a dull film"
    where = served(web, monkeypatch, "MOVIE_REVIEWS", zipped(texts))
    table = datasets.movie_reviews(**where)
    assert table.counts.attributes["opinion"].tolist() == ["neg", "pos"]
    assert table.counts.doc_ids == ("movie_reviews/neg/cv2", "movie_reviews/pos/cv1")
    texts = {"state_union/1963-Johnson.txt": "my fellow", "state_union/1963-Kennedy.txt": "moon"}
    texts["state_union/README"] = "x"
    where = served(web, monkeypatch, "STATE_UNION", zipped(texts))
    table = datasets.state_union(**where)
    assert table.counts.attributes["year"].tolist() == [1963, 1963]
    assert table.counts.attributes["president"].tolist() == ["Johnson", "Kennedy"]


@pytest.mark.parametrize("content", [b"", b"no archive", zipped({"README": "x"})])
def test_what_is_no_such_archive_is_told(content, web, monkeypatch):
    where = served(web, monkeypatch, "MOVIE_REVIEWS", content)
    with pytest.raises(InvalidFile, match=r"movie_reviews\.zip: "):
        datasets.movie_reviews(**where)


def test_fixed_checksums_are_whole():
    lengths = {"sha256": 64, "md5": 32}
    for archive in (remote.NEWSGROUPS, remote.MOVIE_REVIEWS, remote.STATE_UNION):
        kind, digest = archive.file.checksum.split(":")
        assert len(bytes.fromhex(digest)) * 2 == lengths[kind]
        assert archive.file.address.startswith("https://")
