"""B18's example: principal components, LSA and two factorisations of a table of 6 × 5.

    python verification/papers/b18.py

Every number that the paper prints of it beside ours. Writes `results/papers-b18.md`; the guide
docs/guides/from-pca-to-lda.md tells the same step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from shared import head, row, write

import dcomp
from dcomp.inference.least_squares import factorise

W = np.array(
    [[4, 6, 0, 2, 2], [0, 0, 4, 8, 12], [6, 9, 1, 5, 6],
     [2, 3, 3, 7, 10], [0, 0, 3, 6, 9], [2, 6, 1, 4, 5]]
)  # fmt: skip
START = np.array([[2, 0], [1, 2], [1, 2], [2, 3], [0, 1], [0, 2]])  # R's, of seed 3
SCORES = [
    [-6.580, 2.580, 0.637], [7.350, -0.511, 0.017], [-5.370, -3.530, 0.243],
    [3.110, -1.520, 0.093], [4.630, 2.040, 0.252], [-3.150, 0.929, -1.240],
]  # fmt: skip
LOADINGS = [
    [-0.350, -0.582, 0.264, 0.334, 0.598], [-0.449, -0.570, -0.115, -0.419, -0.534],
    [0.822, -0.560, 0.050, -0.087, -0.037],
]  # fmt: skip
LSA_DOCUMENTS = [
    [-0.509, 0.4999, 0.4418], [0.569, -0.0988, 0.0120], [-0.415, -0.6826, 0.1686],
    [0.241, -0.2934, 0.0642], [0.358, 0.3951, 0.1747], [-0.244, 0.1797, -0.8612],
]  # fmt: skip
A1_Z = [[3.13, 0.05], [-1.55, 3.58], [4.31, 0.97], [0.41, 2.71], [-1.16, 2.68], [2.26, 1.03]]
A1_B = [[1.18, 1.96, -0.02, 0.6, 0.58], [0.5, 0.85, 1.11, 2.5, 3.6]]
A2_Z = [[1.6, 0], [0, 5.83], [2.4, 1.45], [0.79, 4.37], [0, 4.38], [1.37, 1.6]]
A2_B = [[2.33, 3.85, 0, 1.26, 1.25], [0, 0.01, 0.69, 1.37, 2.06]]


def compared(name: str, printed: Any, found: Any, step: float, note: str = "") -> str:
    """One line: how far off, beside half of a printed digit's worth."""
    away = float(np.abs(np.asarray(printed) - found).max())
    verdict = "as printed" if away <= step / 2 + 1e-9 else "differs"
    return row(name, np.size(printed), f"{away:.4f}", f"{step / 2:g}", note or verdict)


def signed(found: Any, printed: Any) -> Any:
    """Columns with the printed signs, which a singular vector leaves free."""
    return found * np.sign((found * np.asarray(printed)).sum(axis=0))


def main() -> None:
    pca = dcomp.LSA(3, center=True)
    scores = pca.fit_transform(W)
    deviation = np.sqrt(pca.explained_variance_ * 5 / 6)
    documents = scores / pca.singular_values_
    by_signs = factorise(W, 2, "signed", start=START, max_iter=1000, tol=0)
    projected = factorise(W, 2, "projected", start=START, max_iter=1001, tol=0)
    descended = factorise(W, 2, start=projected.Z, max_iter=2000, tol=0)
    loadings = signed(pca.components_.T, np.transpose(LOADINGS))
    ratio = deviation[:2].sum() / deviation.sum()
    lines = [
        "# B18's example",
        "",
        "Table 1 of the paper (6 documents, 5 words). Signs of singular vectors are free and are "
        "taken as printed. The largest difference to the printed numbers, beside half of their "
        "last digit:",
        "",
        *head("printed", "numbers", "largest difference", "half a digit", ""),
        compared("standard deviations, 5.28, 2.11, 0.588", [5.28, 2.11, 0.588], deviation, 0.01),
        compared("tables 2 and 4: scores", SCORES, signed(scores, SCORES), 0.01),
        compared("table 3: loadings", np.transpose(LOADINGS), loadings, 0.001),
        compared("`lsa`: $tk", LSA_DOCUMENTS, signed(documents, LSA_DOCUMENTS), 0.001),
        compared("`lsa`: $sk, 12.9, 5.17, 1.44", [12.9, 5.17, 1.44], pca.singular_values_, 0.1),
        compared("A.1: Z, from R's start", A1_Z, by_signs.Z, 0.01),
        compared("A.1: B", A1_B, by_signs.B, 0.01),
        compared("A.2: Z", A2_Z, projected.Z, 0.01),
        compared("A.2: B", A2_B, projected.B, 0.01),
        compared("92.6 % of the variation by two", [0.926], ratio, 0.001),
        "",
        "- 92.6 % is a ratio of summed standard deviations; of the variance it is "
        f"{100 * pca.explained_variance_ratio_[:2].sum():.1f} %.",
        "- `princomp` divides by n, section 3 of the paper by n − 1, which gives "
        + ", ".join(f"{v:.3f}" for v in np.sqrt(pca.explained_variance_))
        + ".",
        "- The product shown below table 1 has (4, 6, 1, 4, 5) as its last row: another table, of "
        "rank 2. All printed results are those of table 1.",
        f"- A.2 cuts negative numbers off, which is no descent: it ends at a loss of "
        f"{projected.loss:.4f}, coordinate descent from there at {descended.loss:.4f}.",
        "",
    ]
    write("papers-b18", lines)


if __name__ == "__main__":
    main()
