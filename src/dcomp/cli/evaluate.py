"""dcomp evaluate: the held-out score of a fit, by document completion or from left to right."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import print_json, say, show
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Input, Jobs, Json, Quiet, Seed
from dcomp.cli.source import Source, counts_for
from dcomp.cli.working import working
from dcomp.errors import InvalidParameter
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.evaluate import HeldOut
    from dcomp.result import Fit

Fraction = Annotated[
    float,
    typer.Option(
        "--fraction", metavar="F", help="Share of each document's tokens that the scores see."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help="completion (half of a document predicts the rest) or left-to-right (whole documents; "
        "slower).",
    ),
]
Particles = Annotated[
    int | None,
    typer.Option("--particles", metavar="N", help="left-to-right: particles per run; 20."),
]


@with_options(OF_NEW)
def evaluate(
    fit: FitFile,
    input: Input,
    method: Method = "completion",
    fraction: Fraction = 0.5,
    particles: Particles = None,
    seed: Seed = 0,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Score a fit on documents that it has not seen.

    Document completion: a random half of each document's tokens gives its scores, and the other
    half is predicted. Shown are the perplexity of that half (lower is better) and its standard
    error over documents; and, beside it, the lower bound on the documents' log-probability,
    which is no perplexity. A model without mean field has no bound: the line is left out (null
    in JSON).

    With --method left-to-right it is the perplexity of whole documents given their lengths, with
    the error of that estimate itself as well.

    \b
    Example:
      dcomp evaluate fit.dcomp test.jsonl
      dcomp evaluate fit.dcomp test.jsonl --method left-to-right
      dcomp evaluate fit.dcomp test.jsonl --json
    """

    from dcomp.evaluate.heldout import said_of_training

    options = _options(method, fraction, particles)
    source = Source(input, said(OF_NEW, typed))
    fitted = source.load(fit)
    counts, dropped = counts_for(fitted, source, quiet)
    observed = fitted.observe(counts, exposure)  # of which no score says what the note below does
    bound = None
    with working(f"scoring {counts.n_docs:,} documents, {method}", quiet=quiet):
        score = _score(fitted, observed, options, seed=seed, n_jobs=jobs)
        if fitted.has_bound:
            parts = fitted.bound(counts, exposure=exposure, n_jobs=jobs)
            bound = float(parts.sum()) / counts.n_tokens
    seen = said_of_training(fitted, counts)
    if seen is not None and not quiet:
        say(f"note: {seen}")
    if as_json:
        print_json(_record(score, bound, options, seed, dropped, seen is not None))
    else:
        show("\n".join(_lines(score, bound, options)))


def _options(method: str, fraction: float, particles: int | None) -> dict[str, Any]:
    """The method's own options; an error for those of the other."""
    if method not in ("completion", "left-to-right"):
        raise InvalidParameter(f"--method must be completion or left-to-right; got {method!r}")
    if method == "completion":
        if particles is not None:
            raise InvalidParameter("--particles is an option of --method left-to-right")
        return {"fraction": fraction}
    if fraction != 0.5:
        raise InvalidParameter("--fraction is an option of --method completion")
    return {"particles": 20 if particles is None else particles}


def _score(fitted: Fit, observed: Any, options: dict[str, Any], **common: Any) -> HeldOut:
    from dcomp.evaluate import completion, left_to_right

    how: Any = completion if "fraction" in options else left_to_right
    score: HeldOut = how(fitted, observed, **options, **common)
    return score


def _lines(score: HeldOut, bound: float | None, options: dict[str, Any]) -> list[str]:
    from dcomp.data.counts import amount

    how = f"document completion, {options.get('fraction', 0):g} of the tokens seen"
    if "particles" in options:
        how = f"left to right, {options['particles']} particles"
    digits = 3 if score.perplexity < 10 else 1  # of votes it is below 2
    lines = [
        f"perplexity      {score.perplexity:.{digits}f} "
        f"{_error(score.perplexity_error, digits)} ({how})",
        f"log-likelihood  {score.log_likelihood:.4f} {_error(score.standard_error, 4)} per token",
        f"predicted       {amount(score.n_tokens)} tokens of {score.n_docs:,} documents",
    ]
    noise = getattr(score, "monte_carlo_error", None)
    if noise is not None:
        lines.insert(
            2, f"Monte Carlo     ± {noise:.4f} per token, the error of the estimate itself"
        )
    if bound is not None:
        lines.append(
            f"bound           {bound:.4f} per token (a lower bound on log p, not a perplexity)"
        )
    return lines


def _error(value: float, digits: int) -> str:
    return "(no error from one document)" if math.isnan(value) else f"± {value:.{digits}f}"


def _record(
    score: HeldOut,
    bound: float | None,
    options: dict[str, Any],
    seed: int,
    dropped: int,
    seen: bool,
) -> dict[str, Any]:
    is_completion = "fraction" in options
    return {
        "method": "document completion" if is_completion else "left-to-right",
        **options,
        "seed": seed,
        "perplexity": score.perplexity,
        "perplexity_standard_error": score.perplexity_error,
        "log_likelihood_per_token": score.log_likelihood,
        "log_likelihood_standard_error": score.standard_error,
        "tokens": score.n_tokens,
        "documents": score.n_docs,
        "bound_per_token": bound,
        "dropped_tokens": dropped,
        "training_data": seen,
        "monte_carlo_error": getattr(score, "monte_carlo_error", None),
        "bias": getattr(score, "bias", None),
    }
