"""Which clusters will do: versions, addresses, what must be installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dcomp
from dcomp.errors import ClusterError
from dcomp.executors import DaskExecutor, dask_cluster, dask_worker

OTHER = """
import importlib.metadata as metadata
version = metadata.version
metadata.version = lambda name: "9.9.9" if name == "dcomp" else version(name)
"""


def test_a_worker_with_another_version_is_refused(client, tmp_path, monkeypatch):
    """A worker that comes later, too: it is asked when it is first seen."""
    distributed = pytest.importorskip("distributed")
    (tmp_path / "sitecustomize.py").write_text(OTHER)
    how = {"n_workers": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
    ):
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        worker = subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], **silent)
        try:
            with pytest.raises(ClusterError, match=r"same versions and code .* has dcomp 9\.9\.9"):
                DaskExecutor(own)
        finally:
            worker.kill()
            worker.wait()


def test_workers_with_other_code_are_refused(client, monkeypatch):
    monkeypatch.setattr(dask_worker, "code_digest", lambda: "0123456789ab")
    with pytest.raises(ClusterError, match=r"has code of dcomp \w{12} for 0123456789ab"):
        DaskExecutor(client)


def test_another_instruction_set_is_said(client, monkeypatch):
    monkeypatch.setattr(dask_worker._core, "instruction_set", lambda: "other")
    with pytest.warns(UserWarning, match="DCOMP_SIMD names one for all"):
        DaskExecutor(client)


def test_a_cluster_without_workers_is_waited_for_and_then_refused():
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 0, "dashboard_address": "127.0.0.1:0", "processes": False}
    with (
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
        pytest.raises(ClusterError, match=r"must have a worker; for 0\.3 seconds there was none"),
    ):
        DaskExecutor(own, patience=0.3)


def test_a_closed_client_is_said_to_be():
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 1, "dashboard_address": "127.0.0.1:0", "processes": False}
    with distributed.LocalCluster(**how) as cluster:
        own = distributed.Client(cluster, set_as_default=False)
        own.close()
        with pytest.raises(ClusterError, match="must be open; it is closed"):
            DaskExecutor(own)


def test_what_is_no_client_is_refused(client):
    with pytest.raises(dcomp.InvalidParameter, match=r"needs a distributed.Client .* got 'tcp"):
        DaskExecutor("tcp://127.0.0.1:1")
    with pytest.raises(dcomp.InvalidParameter, match="copy_every must be a whole number of calls"):
        DaskExecutor(client, copy_every=0)


@pytest.mark.parametrize("address", ["nonsense", "nonsense://1", "tcp://host:99999", ""])
def test_what_is_no_address_is_not_tried(address, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.delattr(distributed, "Client")
    with pytest.raises(dcomp.InvalidParameter, match=rf"a host and a port, .* got '{address}'"):
        DaskExecutor.connect(address)


def test_a_scheme_that_dask_does_not_know_makes_no_client(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.delattr(distributed, "Client")
    with pytest.raises(ClusterError, match="must answer within 10 seconds; 'nonsense://host:1'"):
        DaskExecutor.connect("nonsense://host:1")


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(dcomp.MissingDependency, match=r'pip install "dcomp\[dask\]"'):
        dask_cluster.distributed()
