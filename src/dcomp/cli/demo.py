"""dcomp demo: a first look, on the docstrings of NumPy, SciPy and scikit-learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dcomp.cli.common import check_output, console
from dcomp.cli.fitting import run_recipe
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs
from dcomp.cli.resume import shell_word
from dcomp.printable import columns, padded, shortened
from dcomp.recipe import Recipe, table

if TYPE_CHECKING:
    from rich.console import Console

    from dcomp.data import Counts
    from dcomp.result import Fit


N_COMPONENTS = 20
_OPTIONS = [table()[name] for name in ("n_components", "model", "algorithm", "random_state")]


@with_options(_OPTIONS, n_components=str(N_COMPONENTS))
def demo(
    jobs: Jobs = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FIT", help="Keep the fit.")
    ] = None,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the themes in 4,000 docstrings, in seconds.

    The corpus is the documentation of NumPy, SciPy and scikit-learn as they are installed.

    \b
    Example:
      dcomp demo
      dcomp demo -k 40 --model GP -o demo.dcomp
    """
    recipe = Recipe(**{"n_components": N_COMPONENTS, **said(_OPTIONS, typed)})
    seed = recipe.settings().seed
    if output is not None:
        check_output(output, force=force)
    from dcomp.data import docstrings, train_test

    out = console()
    if sys.stderr.isatty():
        print("reading the docstrings of NumPy, SciPy and scikit-learn ...", file=sys.stderr)
    counts, _ = docstrings()
    train, test = train_test(counts, test_fraction=0.1, seed=seed)
    out.print(
        f"{counts.n_docs:,} docstrings of NumPy, SciPy and scikit-learn: {counts.n_features:,} "
        f"words, {counts.n_tokens:,} tokens; {test.n_docs:,} of them held out\n"
    )
    fitted = run_recipe(train, recipe, jobs, show=True)
    _components(out, fitted)
    _score(out, fitted, train, test, seed, jobs)
    _reading(out, fitted, test, jobs)
    if output is not None:
        from dcomp.result import save

        save(fitted, output, overwrite=True)  # which was checked before the work
        out.print(f"\nThe fit is saved in {output}", soft_wrap=True)
    _next(out, output)


def _components(out: Console, fitted: Fit) -> None:
    from dcomp.cli.show import component_table, how_approximate, n_components

    packages = np.array([name.partition(".")[0] for name in fitted.doc_ids or ()])
    words = fitted.expected_counts.astype(np.float64)
    total = np.maximum(words.sum(axis=0), 1e-300)
    shares = {
        name: [f"{100 * part:.0f} %" for part in words[packages == name].sum(axis=0) / total]
        for name in ("numpy", "scipy", "sklearn")
    }
    seconds = float(fitted.history["seconds"].sum())
    out.print(
        f"{fitted.model.key}, {n_components(fitted)}, {fitted.algorithm.name}: "
        f"{fitted.n_sweeps} sweeps in {seconds:.1f} s, {fitted.reason}"
        + (f" (approximate: {how_approximate(fitted)})" if fitted.is_approximate else "")
    )
    out.print(component_table(fitted, 8, shares))
    _prior(out, fitted)


def _prior(out: Console, fitted: Fit) -> None:
    """What the priors say of the corpus, in a sentence or a tree."""
    from dcomp.cli.show import has_tree, print_tree, priors

    learned = {k: v for k, v in priors(fitted).items() if k in fitted.model.scores.learned}
    if has_tree(fitted):
        out.print("The tree, each node with its words and those of all nodes below it:")
        print_tree(out, fitted, 5)
        out.print()
    elif "rho" in learned:
        absent = 100 * learned["rho"].mean()
        out.print(f"By the learned prior rho a component is absent from {absent:.0f} % of them.")
    elif "Sigma0" in learned:
        _correlations(out, fitted)
    elif "alpha" in learned:
        total = learned["alpha"].sum()
        many = "few" if total < 1 else "many"
        out.print(f"The learned prior alpha sums to {total:.2f}: a docstring has {many} themes.")


def _correlations(out: Console, fitted: Fit) -> None:
    """The two components that come together most."""
    scores: Any = fitted.model.scores
    value = np.triu(scores.correlation(), k=1)
    first, second = np.unravel_index(int(np.argmax(value)), value.shape)
    out.print(
        f"By the learned Sigma0 components {first} and {second} go together most: their "
        f"correlation is {value[first, second]:.2f}."
    )


def _score(
    out: Console, fitted: Fit, train: Counts, test: Counts, seed: int, jobs: int | None
) -> None:
    """Held-out perplexity, beside that of one component: the words' frequencies alone."""
    from dcomp.estimators import LDA
    from dcomp.evaluate import completion

    score = completion(fitted, test, seed=seed, n_jobs=jobs)
    plain = LDA(1, alpha=1.0, n_jobs=jobs, verbose=0).fit(train).completion(test, seed=seed)
    out.print(
        f"Held-out perplexity {score.perplexity:.0f} ± {score.perplexity_error:.0f} "
        f"({score.n_tokens:,} tokens of {score.n_docs:,} docstrings that the fit has not seen, "
        f"the other half of each given); without components {plain.perplexity:.0f} "
        f"± {plain.perplexity_error:.0f}.\n"
    )


def _reading(out: Console, fitted: Fit, test: Counts, jobs: int | None) -> None:
    """One held-out document: its words per component (BJ06 VI), and the table behind them."""
    if not fitted.has_fixed_point:  # the table needs one
        return
    c = fitted.fold_in(test, n_jobs=jobs).c
    second = np.sort(c, axis=1)[:, -2] if c.shape[1] > 1 else c[:, 0]
    row = int(np.argmax(np.where(test.doc_totals <= 120, second, -1.0)))
    table = fitted.word_table(test, row)
    main = [k for k in np.argsort(-table.total).tolist() if table.total[k] >= 0.5][:4]
    top = fitted.top_features(3)
    parts = ", ".join(f"{table.total[k]:.0f} of component {k} ({' '.join(top[k])} …)" for k in main)
    out.print(
        f"The docstring of {test.doc_name(row)} was not in the fit. "
        f"Of its {int(test.doc_totals[row])} words it has {parts}:\n"
    )
    heavy = np.argsort(-table.table.sum(axis=1), kind="stable")[:8].tolist()
    width = max(columns(shortened(table.words[j], 40)) for j in heavy)
    out.print("  " + " " * width + "".join(f"{f'#{k}':>7}" for k in main))
    for j in heavy:
        cells = "".join(f"{table.table[j, k]:7.1f}" for k in main)
        out.print(f"  {padded(table.words[j], width)}{cells}")


def _next(out: Console, output: Path | None) -> None:
    kept = shell_word(str(output or "demo.dcomp"))
    lines = [] if output else ["dcomp demo -o demo.dcomp"]
    lines += [
        "echo 'eigenvalues of a sparse symmetric matrix' > query.txt",
        f"dcomp transform {kept} query.txt --counts",
        f"dcomp evaluate {kept} query.txt",
        "dcomp demo -k 50 --model GP",
        "dcomp fit --help",
    ]
    out.print("\nWhat to try next:")
    for line in lines:
        out.print(f"  {line}", soft_wrap=True)
