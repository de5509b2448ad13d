"""dcomp demo: a first look, on the docstrings of NumPy, SciPy and scikit-learn, or on digits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from dcomp.cli.common import check_output, console, print_json
from dcomp.cli.fitting import run_recipe
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Force, Jobs, Json
from dcomp.cli.resume import shell_word
from dcomp.cli.working import working
from dcomp.errors import InvalidParameter
from dcomp.printable import columns, padded, printable, shortened
from dcomp.recipe import Recipe, table

if TYPE_CHECKING:
    from rich.console import Console

    from dcomp.data import Counts
    from dcomp.evaluate import HeldOut
    from dcomp.result import Fit


N_COMPONENTS = {"docstrings": 20, "digits": 16}
_OPTIONS = [table()[name] for name in ("n_components", "model", "algorithm", "random_state")]


@with_options(_OPTIONS, n_components="20; 16 of digits")
def demo(
    dataset: Annotated[
        str,
        typer.Option("--dataset", metavar="NAME", help="docstrings, or digits: parts of images."),
    ] = "docstrings",
    jobs: Jobs = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FIT", help="Keep the fit.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="HTML",
            help="Where the report goes.",
            show_default="beside the fit, or in a new temporary folder",
        ),
    ] = None,
    as_json: Json = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Find the themes in 4,000 docstrings, in seconds.

    The corpus is the documentation of NumPy, SciPy and scikit-learn as they are installed; or 1,797
    small images of digits, whose components are parts of strokes. At the end there is a report, one
    page to open in a browser.

    \b
    Example:
      dcomp demo
      dcomp demo -k 40 --model GP -o demo.dcomp --report demo.html
      dcomp demo --dataset digits
    """
    if dataset not in N_COMPONENTS:
        raise InvalidParameter(f"--dataset must be {' or '.join(N_COMPONENTS)}; got {dataset!r}")
    told = said(_OPTIONS, typed)
    if dataset == "digits" and not {"model", "algorithm"} & told.keys():
        told["tol"] = 1.0  # of 300 drops of ink an image: the parts do not change to the eye
    recipe = Recipe(**{"n_components": N_COMPONENTS[dataset], **told})
    seed = recipe.settings().seed
    place = _report_place(report, output)
    for path in (output, place):
        if path is not None:
            check_output(path, force=force)
    out = console(silent=as_json)
    if dataset == "digits":
        fitted, train, score = _digits(out, recipe, seed, jobs)
    else:
        fitted, train, score = _docstrings(out, recipe, seed, jobs)
    if output is not None:
        from dcomp.result import save

        save(fitted, output, overwrite=True)  # which was checked before the work
        out.print(f"\nThe fit is saved in {printable(output)}", soft_wrap=True)
    page = _report(out, fitted, train, score, place, jobs, dataset)
    if as_json:
        _record(dataset, fitted, score, output, page)
    elif dataset == "docstrings":
        _next(out, output)


def _docstrings(
    out: Console, recipe: Recipe, seed: int, jobs: int | None
) -> tuple[Fit, Counts, HeldOut]:
    """The fit of docstrings with what it shows, its documents, and the score of the others."""
    from dcomp.data import docstrings, train_test

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
    score = _score(out, fitted, train, test, seed, jobs)
    _reading(out, fitted, test, jobs)
    about = train.with_attributes(package=[name.partition(".")[0] for name in train.doc_ids or ()])
    return fitted, about, score


def _digits(
    out: Console, recipe: Recipe, seed: int, jobs: int | None
) -> tuple[Fit, Counts, HeldOut]:
    """The same of images: components as pictures, and which digits have them."""
    from dcomp.data import train_test
    from dcomp.datasets import digits

    counts = digits().counts
    train, test = train_test(counts, test_fraction=0.1, seed=seed)
    out.print(
        f"{counts.n_docs:,} images of handwritten digits: 8 × 8 pixels, {counts.n_tokens:,} drops "
        f"of ink; {test.n_docs:,} of them held out\n"
    )
    fitted = run_recipe(train, recipe, jobs, show=True)
    out.print(_course(fitted))
    out.print("Parts of strokes, the largest first, and the digits that have most of each:\n")
    _parts(out, fitted, train.attributes["digit"])
    score = _score(out, fitted, train, test, seed, jobs, "images")
    # As texts: on the page digits are groups, not numbers along a line.
    names = [str(d) for d in train.attributes["digit"].tolist()]
    return fitted, train.with_attributes(digit=names), score


_SHADES = " ░▒▓█"
_ACROSS = 4  # pictures beside each other


def _parts(out: Console, fitted: Fit, digit: Any) -> None:
    """Components as pictures of 8 × 8 pixels, two characters each."""
    expected = fitted.expected_counts.astype(np.float64)
    by_size = np.argsort(-expected.sum(axis=0), kind="stable").tolist()
    share = expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)
    means = np.stack([share[np.asarray(digit) == d].mean(axis=0) for d in range(10)])
    Theta = np.asarray(fitted.Theta, np.float64)
    for first in range(0, len(by_size), _ACROSS):
        row = by_size[first : first + _ACROSS]
        heads = []
        for k in row:
            most = " ".join(str(d) for d in np.argsort(-means[:, k], kind="stable")[:3])
            heads.append(f"{f'#{k}: {most}':18}")
        out.print("".join(heads).rstrip(), markup=False, highlight=False)
        pictures = [Theta[:, k].reshape(8, 8) / Theta[:, k].max() for k in row]
        for line in range(8):
            cells = [
                "".join(2 * _SHADES[min(4, int(5 * value))] for value in picture[line])
                for picture in pictures
            ]
            out.print("  ".join(cells).rstrip(), markup=False, highlight=False)
        out.print()


def _report_place(report: Path | None, output: Path | None) -> Path | None:
    """Where the report was asked for, or beside the fit; None for a temporary folder."""
    return report if report is not None or output is None else output.with_suffix(".html")


def _report(
    out: Console,
    fitted: Fit,
    train: Counts,
    score: HeldOut,
    place: Path | None,
    jobs: int | None,
    dataset: str,
) -> Path:
    """All of it as a page, and where that is."""
    from tempfile import mkdtemp

    from dcomp.report import report as write

    if place is None:
        place = Path(mkdtemp(prefix="dcomp-demo-")) / "report.html"
    title, command = "Themes in the documentation of NumPy, SciPy and scikit-learn", "dcomp demo"
    if dataset == "digits":
        title, command = "Parts of handwritten digits", "dcomp demo --dataset digits"
    options: Any = {"heldout": score, "title": title, "command": command, "n_jobs": jobs}
    with working("writing a report"):
        write(fitted, train, place, overwrite=True, **options)  # checked before the work
    out.print(f"\nA report is in {printable(place)}: open it in a browser", soft_wrap=True)
    return place


def _record(dataset: str, fitted: Fit, score: HeldOut, output: Path | None, page: Path) -> None:
    """The same for a program."""
    from dcomp.cli.show import Ranking, as_record

    print_json(
        {
            "dataset": dataset,
            "output": None if output is None else str(output),
            "report": str(page),
            "perplexity": score.perplexity,
            "perplexity_standard_error": score.perplexity_error,
            **as_record(fitted, Ranking(8)),
        }
    )


def _course(fitted: Fit) -> str:
    from dcomp.cli.show import how_approximate, n_components

    seconds = float(fitted.history["seconds"].sum())
    return (
        f"{fitted.model.key}, {n_components(fitted)}, {fitted.algorithm.name}: "
        f"{fitted.n_sweeps} sweeps in {seconds:.1f} s, {fitted.reason}"
        + (f" (approximate: {how_approximate(fitted)})" if fitted.is_approximate else "")
    )


def _components(out: Console, fitted: Fit) -> None:
    from dcomp.cli.show import Ranking, component_table

    packages = np.array([name.partition(".")[0] for name in fitted.doc_ids or ()])
    words = fitted.expected_counts.astype(np.float64)
    total = np.maximum(words.sum(axis=0), 1e-300)
    shares = {
        name: [f"{100 * part:.0f} %" for part in words[packages == name].sum(axis=0) / total]
        for name in ("numpy", "scipy", "sklearn")
    }
    out.print(_course(fitted))
    out.print(component_table(fitted, Ranking(8), shares))
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
    out: Console,
    fitted: Fit,
    train: Counts,
    test: Counts,
    seed: int,
    jobs: int | None,
    documents: str = "docstrings",
) -> HeldOut:
    """Held-out perplexity, beside that of one component: the words' frequencies alone."""
    from dcomp.estimators import LDA
    from dcomp.evaluate import completion

    score = completion(fitted, test, seed=seed, n_jobs=jobs)
    plain = LDA(1, alpha=1.0, n_jobs=jobs, verbose=0).fit(train).completion(test, seed=seed)
    n = 0 if score.perplexity >= 100 else 1
    out.print(
        f"Held-out perplexity {score.perplexity:.{n}f} ± {score.perplexity_error:.{n}f} "
        f"({score.n_tokens:,} tokens of {score.n_docs:,} {documents} that the fit has not seen, "
        f"the other half of each given); without components {plain.perplexity:.{n}f} "
        f"± {plain.perplexity_error:.{n}f}.\n"
    )
    return score


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
