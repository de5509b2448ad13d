"""dcomp evaluate: the held-out score of a fit, by document completion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import Source, counts_for, print_json, say
from dcomp.cli.options import Exposure, FitFile, Format, Input, Jobs, Json, Quiet, Seed, Vocab

if TYPE_CHECKING:
    from dcomp.evaluate import HeldOut

Fraction = Annotated[
    float,
    typer.Option(
        "--fraction", metavar="F", help="Share of each document's tokens that the scores see."
    ),
]


def evaluate(
    fit: FitFile,
    input: Input,
    fraction: Fraction = 0.5,
    seed: Seed = 0,
    exposure: Exposure = None,
    format: Format = None,
    vocab: Vocab = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score a fit on documents that it has not seen.

    Document completion: a random half of each document's tokens gives its scores, and the other
    half is predicted. Shown are the perplexity of that half (lower is better) and its standard
    error over documents; and, beside it, the lower bound on the documents' log-probability,
    which is no perplexity. A model without mean field has no bound: the line is left out (null
    in JSON).

    \b
    Example:
      dcomp evaluate fit.dcomp test.jsonl
      dcomp evaluate fit.dcomp test.jsonl --json
    """
    from dcomp.evaluate import completion
    from dcomp.result import load

    fitted = load(fit)
    counts, dropped = counts_for(fitted, Source(input, format, vocab), quiet)
    score = completion(fitted, counts, exposure=exposure, fraction=fraction, seed=seed, n_jobs=jobs)
    bound = None
    if fitted.has_bound:
        bound = float(fitted.bound(counts, exposure=exposure, n_jobs=jobs).sum()) / counts.n_tokens
    seen = counts.fingerprint() == fitted.provenance.data_fingerprint
    if seen and not quiet:
        say("note: the fit was made from these very documents: the score is not held-out")
    if as_json:
        print_json(_record(score, bound, fraction, seed, dropped, seen))
    else:
        print("\n".join(_lines(score, bound, fraction)))


def _lines(score: HeldOut, bound: float | None, fraction: float) -> list[str]:
    lines = [
        f"perplexity      {score.perplexity:.1f} {_error(score.perplexity_error, 1)} "
        f"(document completion, {fraction:g} of the tokens seen)",
        f"log-likelihood  {score.log_likelihood:.4f} {_error(score.standard_error, 4)} per token",
        f"predicted       {score.n_tokens:,} tokens of {score.n_docs:,} documents",
    ]
    if bound is not None:
        lines.append(
            f"bound           {bound:.4f} per token (a lower bound on log p, not a perplexity)"
        )
    return lines


def _error(value: float, digits: int) -> str:
    return "(no error from one document)" if math.isnan(value) else f"± {value:.{digits}f}"


def _record(
    score: HeldOut, bound: float | None, fraction: float, seed: int, dropped: int, seen: bool
) -> dict[str, Any]:
    return {
        "method": "document completion",
        "fraction": fraction,
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
    }
