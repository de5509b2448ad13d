"""The first page: what was fitted to what, how well it tells, whether it has come to rest, and how
it was made. All of it is text in the page itself, and needs no script to be read."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dcomp.data import Counts
from dcomp.data.counts import amount
from dcomp.errors import DataWarning, DcompError
from dcomp.evaluate import Diagnostics, HeldOut, completion, diagnostics
from dcomp.evaluate.heldout import said_of_training
from dcomp.registry import ALIASES
from dcomp.report.material import Material
from dcomp.report.packing import name_on_page
from dcomp.result import Fit
from dcomp.version import package_version

Facts = list[tuple[str, str]]

_LIGHT = 2e9  # tokens times components up to which one more sweep is made for the verdict
_SCORED = 2_000  # documents that the score is taken over, unless held-out ones are given
_WITHOUT_PRIORS = ("ml", "tempered-em")
_ENDS = {
    "converged": "the stopping rule was met",
    "rounding": "it came to rest as far as rounding shows",
    "limit": "stopped at the limit of sweeps",
    "callback": "stopped by a callback",
    "interrupted": "interrupted",
    "complete": "all sweeps were made",
}


def judged(material: Material) -> Diagnostics:
    """The verdict; with the counts that were fitted where one more sweep takes seconds."""
    fit, counts = material.fit, material.counts
    light = counts is not None and counts.n_tokens * fit.n_components <= _LIGHT
    X = counts if light and material.are_fitted else None
    return diagnostics(fit, X, n_jobs=material.n_jobs)


def model_facts(material: Material) -> Facts:
    """What was assumed, and which priors came out."""
    fit, said = material.fit, material.speech
    facts = [
        ("Model", _name(fit, said.model)),
        (said.components.capitalize(), f"{fit.n_components:,}"),
        ("Algorithm", fit.algorithm.name + (" (approximate)" if fit.is_approximate else "")),
        ("Sweeps", f"{fit.n_sweeps:,}; {_ENDS.get(fit.reason, fit.reason)}"),
        (f"Final {fit.algorithm.objective_name}", f"{fit.objective:,.1f} (not a perplexity)"),
    ]
    if len(fit.chains) > 1:
        pooled = "the best is shown"
        facts.append(("Chains", f"{len(fit.chains)}; {pooled}"))
    if fit.algorithm.name in _WITHOUT_PRIORS:
        return [*facts, ("Priors", "none: maximum likelihood")]
    for parameter in fit.model.scores.parameters():
        values = np.asarray(parameter.value, np.float64)
        how = "learned" if parameter.name in fit.model.scores.learned else "given"
        spread = f"{values.min():.3g}" if np.ptp(values) == 0 else (
            f"from {values.min():.3g} to {values.max():.3g}"
        )  # fmt: skip
        facts.append((f"Prior {parameter.name}", f"{spread} ({how})"))
    return facts


def _name(fit: Fit, in_the_field: str = "") -> str:
    """What the model is called, by us and by others."""
    key = fit.model.key
    if key == "DM" and in_the_field:
        return f"{key}: {fit.model.long_name}, which is {in_the_field}"
    others = [name.upper() for name in ALIASES.get(key, ()) if len(name) <= 4]
    also = f", also called {' or '.join(others[:2])}" if others else ""
    return f"{key}: {fit.model.long_name}{also}"


def data_facts(material: Material) -> Facts:
    """What was fitted, and what is shown where that is something else."""
    fit, said, made = material.fit, material.speech, material.fit.provenance
    one_more = ", and the outcomes as one more" if material.has_outcome else ""
    facts = [(said.documents.capitalize(), f"{material.n_fitted:,}{one_more}")]
    if fit.features.n_blocks > 1:
        facts.append((said.blocks.capitalize(), f"{fit.features.n_blocks:,}"))
    if said.field != "votes":  # a roll call has two
        facts.append((f"Distinct {said.features}", f"{made.n_features:,}"))
    in_all = "in all" if said.tokens == said.features else ""
    facts.append((f"{said.tokens} {in_all}".strip().capitalize(), amount(made.n_tokens)))
    if not material.are_fitted and material.counts is not None:
        facts.append(
            ("Shown here", f"{material.n_docs:,} other {said.documents}, folded in afterwards")
        )
    if material.counts is None:
        facts.append(("Shown here", f"scores alone: no {said.documents} were given to the report"))
    if material.attributes:
        names = [name_on_page(name, 30) for name in material.attributes]
        facts.append(("Known of them", ", ".join(names)))
    return facts


def left_out(material: Material) -> list[str]:
    """What was not counted, and why, as far as it is known."""
    said, made = material.speech, material.fit.provenance
    lines = []
    counts = material.counts
    kept = None if counts is None else counts.vocabulary
    # Counts that were read anew in the words of the fit have left out nothing for being rare.
    if kept is not None and kept.n_kept == made.n_features and not material.dropped:
        lines.append(f"{str(kept)[0].upper()}{str(kept)[1:]}.")
    lines += _of_text(material.fit)
    if made.n_empty_docs:
        lines.append(
            f"{made.n_empty_docs:,} {said.documents} are empty; they keep their row, and have the "
            "scores of their prior."
        )
    if material.dropped and counts is not None:
        whole = material.dropped + counts.n_tokens
        which = "were not fitted" if material.are_fitted else "the fit does not know"
        lines.append(
            f"{100 * material.dropped / whole:.1f} % of the {said.tokens} of the file "
            f"({amount(material.dropped)} of {amount(whole)}) are {said.features} that {which}."
        )
    return lines or ["Nothing that the fit knows of."]


def _of_text(fit: Fit) -> list[str]:
    """How words were chosen, where counts were of text."""
    text = fit.text
    if text is None:
        return []
    rules = []
    if text.stop_words is not None:
        own = text.stop_words
        which = own.capitalize() if isinstance(own, str) else f"{len(own):,}"
        rules.append(f"{which} stop words")
    if text.numbers == "none" and text.token is None:
        rules.append("numbers")
    if text.min_length > 1:
        rules.append(f"words of fewer than {text.min_length} letters")
    if text.min_docs > 1:
        rules.append(f"words in fewer than {text.min_docs:,} documents")
    if text.min_count > 1:
        rules.append(f"words that come fewer than {text.min_count:,} times")
    if text.max_docs != 1.0:
        share = isinstance(text.max_docs, float)
        most = f"{100 * text.max_docs:g} % of" if share else f"{text.max_docs:,}"
        rules.append(f"words in more than {most} documents")
    if text.max_features is not None:
        rules.append(f"all but the {text.max_features:,} most frequent words")
    rules += [f"{part} of mail" for part in text.without]
    return [f"By rule: {', '.join(rules)}."] if rules else []


def making(material: Material, command: str | None) -> Facts:
    """Versions, times, seed and the command: what it takes to do it again."""
    made = material.fit.provenance
    facts = [
        ("Fitted", f"{made.created[:16].replace('T', ' ')} UTC by dcomp {made.dcomp}"),
        ("Report", f"by dcomp {package_version()}"),
        ("Seed", str(material.fit.seed)),
        ("Versions", f"Python {made.python}, NumPy {made.numpy}, SciPy {made.scipy}"),
        ("Time", _duration(float(material.fit.history["seconds"].sum()))),
        ("Fingerprint of the data", made.data_fingerprint[:16]),
    ]
    if command:
        facts.append(("Command of this page", name_on_page(command, 400)))
    return facts


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def score(material: Material, heldout: HeldOut | Counts | None) -> dict[str, str] | None:
    """How well words are predicted that were hidden, with the standard error, and of which
    documents; None where it cannot be said."""
    said = material.speech
    if isinstance(heldout, HeldOut):
        return _score_lines(material, heldout, f"{heldout.n_docs:,} {said.documents} held out")
    counts = material.counts if heldout is None else heldout
    if counts is None:
        return None
    some = counts
    if heldout is None and counts.n_docs > _SCORED:
        some = counts.rows(np.linspace(0, counts.n_docs - 1, _SCORED).astype(np.int64))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # it is said below
            found = completion(material.fit, some, exposure=_exposure(material, some),
                               n_jobs=material.n_jobs)  # fmt: skip
    except DcompError:  # a model or a table that words cannot be hidden in
        return None
    seen = heldout is None and material.are_fitted
    seen = seen or said_of_training(material.fit, counts) is not None
    where = "of the fit itself: not held out, so better than new ones would do"
    which = where if seen else "that the fit has not seen"
    who = f"{found.n_docs:,} {said.documents}"
    if material.has_outcome and heldout is None and material.are_fitted:
        who = f"{found.n_docs - 1:,} {said.documents} and the outcome"
    return _score_lines(material, found, f"{who} {which}")


def _exposure(material: Material, some: Counts) -> Any:
    """Documents that were fitted have the exposure that they were fitted with."""
    given = material.fit.exposure
    if given is None or not material.are_fitted or len(given) != some.n_docs:
        return None
    return given


def _score_lines(material: Material, found: HeldOut, which: str) -> dict[str, str]:
    said, one = material.speech, material.speech.token
    digits = 3 if found.perplexity < 10 else 1
    # Among many words a probability is too small to mean anything to a reader.
    told = f"A hidden {one} was given a probability of {1 / found.perplexity:.3g} on (geometric) "
    meaning = f"{told}average. " if found.perplexity < 50 else ""
    return {
        "value": f"{found.perplexity:,.{digits}f} ± {found.perplexity_error:,.{digits}f}",
        "name": "perplexity",
        "detail": f"Half of each is given, the other half told: {amount(found.n_tokens)} "
        f"{said.tokens} of {which}. {meaning}Log-likelihood {found.log_likelihood:.4f} ± "
        f"{found.standard_error:.4f} per {one}; ± is one standard error over {said.documents}. "
        "Lower perplexity is better.",
    }
