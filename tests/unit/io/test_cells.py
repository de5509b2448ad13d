"""Cells: 10x folders, AnnData in memory and as files, and what goes back into it."""

import gzip
import signal
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from fuzzing import known
from scipy import sparse

import dcomp
from dcomp.cli.main import main
from dcomp.io import h5ad

HEAD = "%%MatrixMarket matrix coordinate integer general\n"
W = np.array([[4, 0, 1], [0, 2, 0], [3, 0, 0], [0, 1, 5]])  # cells by genes


def write_10x(folder, genes="E1\tCD4\nE2\tCD8A\nE3\tMS4A1\n", pack=False):
    entries = [f"{j + 1} {i + 1} {W[i, j]}" for i, j in zip(*np.nonzero(W), strict=True)]
    files = {
        "matrix.mtx": HEAD + f"3 4 {len(entries)}\n" + "\n".join(entries) + "\n",
        "features.tsv": genes,
        "barcodes.tsv": "".join(f"c{i}\n" for i in range(4)),
    }
    for name, text in files.items():
        content = text.encode()
        if pack:
            name, content = name + ".gz", gzip.compress(content)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("pack", [False, True])
def test_a_10x_folder_is_cells_by_genes(tmp_path, pack):
    counts = dcomp.read(write_10x(tmp_path, pack=pack))
    assert counts.to_scipy().toarray().tolist() == W.tolist()
    assert counts.features.names == ("CD4", "CD8A", "MS4A1")
    assert counts.doc_ids == ("c0", "c1", "c2", "c3")


def test_symbols_of_several_genes_come_with_ids(tmp_path):
    counts = dcomp.read(write_10x(tmp_path, "E1\tCD4\nE2\tX\nE3\tX\n"))
    assert counts.features.names == ("CD4", "X (E2)", "X (E3)")


def test_kinds_of_features_are_blocks(tmp_path):
    genes = "E1\tCD4\tGene Expression\nE2\tCD8A\tGene Expression\nA1\tCD4\tAntibody Capture\n"
    features = dcomp.read(write_10x(tmp_path, genes)).features
    assert features.n_blocks == 2
    assert features.block_name(1) == "Antibody Capture"


def test_files_of_a_folder_must_belong_together(tmp_path):
    write_10x(tmp_path, "E1\tCD4\n")
    with pytest.raises(dcomp.errors.InvalidFile, match=r"each of the 3 rows .* it has 1"):
        dcomp.read(tmp_path)
    (tmp_path / "features.tsv").unlink()
    with pytest.raises(dcomp.errors.InvalidFile, match=r"features\.tsv or genes\.tsv"):
        dcomp.read(tmp_path)


def test_a_folder_is_fitted_from_the_shell(tmp_path):
    fit = tmp_path / "fit.dcomp"
    folder = tmp_path / "cells"
    folder.mkdir()
    assert main(["fit", str(write_10x(folder)), "-k", "2", "-q", "-o", str(fit)]) == 0
    assert dcomp.load(fit).features.names == ("CD4", "CD8A", "MS4A1")


def stand_in(rows=slice(None), names=("CD4", "CD8A", "MS4A1")):
    """What is asked of an AnnData."""
    return SimpleNamespace(
        X=sparse.csr_matrix(W[rows].astype(np.float32)),
        layers={"double": 2 * W[rows]},
        obs={"batch": ["x", "x", "y", "y"][rows]},
        obs_names=[f"c{i}" for i in range(4)][rows],
        var_names=list(names),
        obsm={},
        varm={},
    )


def test_scores_and_loadings_go_back():
    data = stand_in()
    counts = dcomp.io.from_anndata(data)
    assert counts.attributes["batch"].tolist() == ["x", "x", "y", "y"]
    assert dcomp.io.from_anndata(data, layer="double").n_tokens == 2 * counts.n_tokens
    fitted = dcomp.LDA(2, verbose=0).fit(counts).fit_
    assert fitted.to_anndata(data) is data
    np.testing.assert_array_equal(data.obsm["X_dcomp"], fitted.scores)
    np.testing.assert_array_equal(data.varm["dcomp"], fitted.Theta)


def test_other_cells_are_folded_in_and_genes_go_by_name():
    fitted = dcomp.LDA(2, verbose=0).fit(dcomp.io.from_anndata(stand_in())).fit_
    other = stand_in(slice(1, 3), ("new", "CD8A", "CD4"))
    fitted.to_anndata(other, key="lda")
    assert other.obsm["X_lda"].shape == (2, 2)
    assert other.varm["lda"].tolist() == [[0, 0], *fitted.Theta[[1, 0]].tolist()]
    with pytest.raises(dcomp.errors.InvalidParameter, match="none of the 3 names"):
        fitted.to_anndata(stand_in(names="xyz"))


def test_what_is_not_there_is_said():
    with pytest.raises(dcomp.errors.InvalidParameter, match=r"no layer 'raw'; .*'double'"):
        dcomp.io.from_anndata(stand_in(), layer="raw")


def test_h5ad_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "x.h5ad").write_bytes(b"")
    with pytest.raises(dcomp.errors.MissingDependency, match=r"dcomp\[cells\]"):
        dcomp.read(tmp_path / "x.h5ad")


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_h5ad_there_and_back(tmp_path):
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    obs = pandas.DataFrame({"batch": ["x", "x", "y", "y"]}, index=[f"c{i}" for i in range(4)])
    var = pandas.DataFrame(index=["CD4", "CD8A", "MS4A1"])
    data = anndata.AnnData(sparse.csr_matrix(W.astype(np.float32)), obs=obs, var=var)
    data.write_h5ad(tmp_path / "cells.h5ad")
    counts = dcomp.read(tmp_path / "cells.h5ad")
    assert counts.to_scipy().toarray().tolist() == W.tolist()
    assert counts.attributes["batch"].tolist() == ["x", "x", "y", "y"]
    dcomp.LDA(2, verbose=0).fit(counts).fit_.to_anndata(data)
    assert data.obsm["X_dcomp"].shape == (4, 2)
    with pytest.raises(dcomp.errors.InvalidFile, match="what it holds would take"):
        dcomp.read(tmp_path / "cells.h5ad", limits=dcomp.Limits(memory=100))
    (tmp_path / "cells.h5ad").write_bytes(b"no such file")
    with pytest.raises(dcomp.errors.InvalidFile, match=r"not an \.h5ad file"):
        dcomp.read(tmp_path / "cells.h5ad")


def test_turning_takes_no_more_than_reading_the_matrix(tmp_path):
    """What the reader of the matrix has asked for covers its other orientation."""
    rng = np.random.default_rng(0)
    genes, cells, n = 400, 900, 60_000
    place = np.sort(rng.choice(genes * cells, n, replace=False))
    head = f"%%MatrixMarket matrix coordinate integer general\n{genes} {cells} {n}\n"
    rows = (f"{p // cells + 1} {p % cells + 1} {1 + p % 7}\n" for p in place.tolist())
    (tmp_path / "matrix.mtx").write_text(head + "".join(rows))
    (tmp_path / "features.tsv").write_text("".join(f"E{g}\tG{g}\n" for g in range(genes)))
    (tmp_path / "barcodes.tsv").write_text("".join(f"C{c}\n" for c in range(cells)))
    peaks = []
    for path in (tmp_path / "matrix.mtx", tmp_path):
        dcomp.read(path)  # imports and caches
        tracemalloc.start()
        counts = dcomp.read(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert counts.n_docs == cells
    names = 600 * (genes + cells)
    assert peaks[1] <= peaks[0] + names


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("an array in another file", "more/ lies in another file"),
        ("a link to another file", "'more' is a link"),
        ("an array that is only declared", "8.8 TB decompressed"),
    ],
)
def test_h5ad_is_read_from_the_file_alone(tmp_path, what, said):
    pytest.importorskip("anndata")
    (tmp_path / "x.h5ad").write_bytes(dict(known.h5ad())[what])
    with pytest.raises(dcomp.InvalidFile, match=said):
        dcomp.read(tmp_path / "x.h5ad")


def test_a_process_that_ends_is_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(dcomp.InvalidFile, match=r"x\.h5ad: .* ended by SIGSEGV; .*memory=…"):
        h5ad.check_ended(tmp_path / "x.h5ad", tmp_path, -signal.SIGSEGV)
