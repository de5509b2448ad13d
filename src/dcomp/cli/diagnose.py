"""dcomp diagnose: whether a fit has come to rest, and how good its components are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import console, print_json, say, show
from dcomp.cli.flags import said, with_options
from dcomp.cli.options import Exposure, FitFile, Jobs, Json, Quiet, Seed
from dcomp.cli.source import Source, counts_for
from dcomp.cli.wording import in_shell_words
from dcomp.cli.working import working
from dcomp.recipe import OF_NEW

if TYPE_CHECKING:
    from dcomp.evaluate import (
        Coherence,
        Diagnostics,
        EdgeStability,
        Independence,
        Outliers,
        ScoreShapes,
    )
    from dcomp.models.arrays import FloatArray
    from dcomp.result import Fit

MaybeInput = Annotated[
    Path | None,
    typer.Argument(
        metavar="[INPUT]",
        readable=False,
        help="Documents for coherence and for finding unusual ones; left out without them.",
    ),
]
Measure = Annotated[
    str, typer.Option("--coherence", metavar="NAME", help="npmi, umass, uci or c_v.")
]
Top = Annotated[
    int, typer.Option("--top", "-n", min=2, metavar="N", help="Features of each component.")
]
Unusual = Annotated[
    int, typer.Option("--outliers", min=0, metavar="N", help="Unusual documents to list.")
]


@dataclass(frozen=True)
class _Findings:
    """All that the command shows; None for what needs documents, two components, gammas or chains
    of a tree."""

    diagnostics: Diagnostics
    exclusivity: FloatArray
    independence: Independence | None
    shapes: ScoreShapes | None
    coherence: Coherence | None
    outliers: Outliers | None
    edges: EdgeStability | None


@with_options(OF_NEW)
def diagnose(
    fit: FitFile,
    input: MaybeInput = None,
    coherence: Measure = "npmi",
    top: Top = 10,
    outliers: Unusual = 5,
    seed: Seed = 0,
    exposure: Exposure = None,
    jobs: Jobs = None,
    as_json: Json = False,
    quiet: Quiet = False,
    **typed: Any,
) -> None:
    """Judge a fit, and what its components are worth.

    Has it come to rest? First the verdict: converged, not converged or cannot tell, and why. For
    samplers R-hat and effective sample sizes follow, of quantities that do not depend on how
    components are numbered. Per component: coherence (whether its top features appear together in
    INPUT), exclusivity (whether they are its own, at most 1), R-hat of its loadings where draws
    were kept, and for GP and CGP the shape of the gamma distribution that its scores follow.
    Then the correlations between components, for a tree of several chains the edges that the
    others found too, and the most unusual documents of INPUT.

    \b
    Example:
      dcomp diagnose fit.dcomp
      dcomp diagnose fit.dcomp corpus.jsonl --coherence c_v --outliers 20
      dcomp diagnose fit.dcomp corpus.jsonl --json
    """
    from dcomp import evaluate
    from dcomp.errors import InvalidParameter
    from dcomp.evaluate.coherence import check_measure

    measure = check_measure(coherence)
    source = Source(input or fit, said(OF_NEW, typed))
    fitted = source.load(fit)
    counts = None
    if input is not None:
        counts, _ = counts_for(fitted, source, quiet)
    elif exposure is not None or any(name != "limit" for name in source.said):
        said_of = ", ".join(option.flag for option in OF_NEW if option.name != "limit")
        raise InvalidParameter(f"--exposure, {said_of} are about INPUT: give it")
    seen = (
        counts is not None and counts.fingerprint() == fitted.provenance.data_fingerprint
    )  # then it has a residual, and the exposure that it was fitted with
    exposures: Any = fitted.exposure if seen and exposure is None else exposure
    with working("judging", quiet=quiet):
        found = _Findings(
            evaluate.diagnostics(fitted, counts if seen else None, n_top=top, n_jobs=jobs),
            evaluate.exclusivity(fitted, top),
            _independence(fitted, quiet),
            evaluate.score_shapes(fitted) if fitted.model.has_exposure else None,
            None if counts is None else evaluate.coherence(fitted, counts, measure, top),
            None
            if counts is None or not outliers
            else evaluate.outliers(fitted, counts, exposure=exposures, seed=seed, n_jobs=jobs),
            _edges(fitted, quiet),
        )
    if as_json:
        print_json(_record(fitted, found, top, outliers))
    else:
        _show(fitted, found, top, outliers)


def _independence(fitted: Fit, quiet: bool) -> Independence | None:
    from dcomp.errors import DcompError
    from dcomp.evaluate import independence

    try:
        return independence(fitted)
    except DcompError as error:  # one component, or none that varies: the rest is worth showing
        if not quiet:
            say(f"note: {in_shell_words(error)}")
        return None


def _edges(fitted: Fit, quiet: bool) -> EdgeStability | None:
    from dcomp.errors import InvalidParameter
    from dcomp.evaluate import edge_stability

    if not fitted.endings:
        return None
    try:
        return edge_stability(fitted)
    except InvalidParameter as error:  # an interrupt has left one whole chain
        if not quiet:
            say(f"note: {in_shell_words(error)}")
        return None


def _show(fitted: Fit, found: _Findings, top: int, n_outliers: int) -> None:
    from dcomp.cli.show import Ranking, component_table

    out = console()
    show(in_shell_words(found.diagnostics))
    more = {"exclusive": [f"{value:.2f}" for value in found.exclusivity]}
    if found.coherence is not None:
        more = {"coherence": [f"{v:.3f}" for v in found.coherence.values]} | more
    if found.diagnostics.component_rhat is not None:
        more["R-hat"] = [f"{value:.2f}" for value in found.diagnostics.component_rhat]
    if found.shapes is not None:
        more["shape"] = [f"{value:.2f}" for value in found.shapes.shape]
    out.print(component_table(fitted, Ranking(top), more))
    if found.coherence is not None:
        show(str(found.coherence).splitlines()[0])
    if found.independence is not None:
        show(f"correlation of components, {found.independence}")
    if found.edges is not None:
        show(f"edges, {found.edges}")
    if found.outliers is not None:
        show("unusual documents (log-likelihood per token; z among those of like length):")
        show(found.outliers.top(n_outliers))


def _record(fitted: Fit, found: _Findings, top: int, n_outliers: int) -> dict[str, Any]:
    judged, coherence = found.diagnostics, found.coherence
    return {
        "verdict": judged.verdict,
        "converged": judged.converged,
        "reasons": [in_shell_words(reason) for reason in judged.reasons],
        "remarks": [in_shell_words(remark) for remark in judged.remarks],
        "chains": judged.n_chains,
        "sweeps": judged.n_sweeps,
        "change": judged.change,
        "remaining": None if judged.remaining is None else asdict(judged.remaining),
        "falls": judged.falls,
        "residual": judged.residual,
        "kkt": judged.kkt,
        "dispersion": judged.dispersion,
        "quantities": [
            {
                "name": q.name,
                "rhat": q.rhat,
                "ess_bulk": q.ess_bulk,
                "ess_tail": q.ess_tail,
                "draws": q.n_draws,
            }
            for q in judged.quantities
        ],
        "stability": None if judged.alignment is None else judged.alignment.mean,
        "coherence": None
        if coherence is None
        else {
            "measure": coherence.measure,
            "mean": coherence.mean,
            "window": coherence.window,
            "windows": coherence.n_windows,
        },
        "correlation": _box(found.independence),
        "components": _components(fitted, found, top),
        "edges": _edge_record(found.edges),
        "outliers": _unusual(found.outliers, n_outliers),
    }


def _components(fitted: Fit, found: _Findings, top: int) -> list[dict[str, Any]]:
    """What the table shows of each component."""
    from dcomp.cli.show import shares, top_features

    coherence, rhats = found.coherence, found.diagnostics.component_rhat
    features, part = top_features(fitted, top), shares(fitted)
    return [
        {
            "component": k,
            "share": float(part[k]),
            "exclusivity": float(found.exclusivity[k]),
            "coherence": None if coherence is None else float(coherence.values[k]),
            "rhat": None if rhats is None else float(rhats[k]),
            "score_shape": None if found.shapes is None else float(found.shapes.shape[k]),
            "features": list(features[k]),
        }
        for k in range(fitted.n_components)
    ]


def _box(independence: Independence | None) -> dict[str, float] | None:
    if independence is None:
        return None
    names = ("n", "minimum", "lower_quartile", "median", "upper_quartile", "maximum")
    return {name: getattr(independence.boxes[0], name) for name in names}


def _edge_record(edges: EdgeStability | None) -> dict[str, Any] | None:
    if edges is None:
        return None
    return {
        "chains": edges.n_chains,
        "mean": edges.mean,
        "chance": edges.chance,
        "in_all": edges.in_all,
        "in_none": edges.in_none,
        "behind": edges.behind,
        "edges_of_others": edges.n_edges,
        "chains_left_out": edges.left_out,
        "warning": edges.warning,
        "edges": [asdict(edge) for edge in edges.edges],
        "nodes": [asdict(node) for node in edges.nodes],
    }


def _unusual(outliers: Outliers | None, n: int) -> list[dict[str, Any]] | None:
    if outliers is None:
        return None
    top = outliers.top(n)
    return [
        {
            "document": top.name(i),
            "rank": int(top.rank[i]),
            "tokens": int(top.tokens[i]),
            "log_likelihood_per_token": float(top.per_token[i]),
            "z": float(top.z[i]),
        }
        for i in range(len(top))
    ]
