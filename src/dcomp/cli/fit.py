"""dcomp fit: from a file of counts to a fit on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.common import INTERRUPTED, Source, check_output, console, print_json, say
from dcomp.cli.fitting import Settings, run_fit
from dcomp.cli.options import (
    ALGORITHM_NAMES,
    DRAW_BUDGET,
    KINDS,
    MODEL_NAMES,
    WITH_EXPOSURE,
    Exposure,
    Force,
    Format,
    Input,
    Jobs,
    Json,
    Quiet,
    Vocab,
)
from dcomp.cli.resume import resume_command

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.result import Fit


def _option(*names: str, help: str, metavar: str | None = None, default: Any = False) -> Any:
    # Paths are not checked for being readable: using them says more.
    return typer.Option(*names, help=help, metavar=metavar, show_default=default, readable=False)


def fit(
    context: typer.Context,
    input: Input,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Number of components.", show_default="10")
    ] = None,
    model: Annotated[
        str | None,
        _option("--model", help=f"{MODEL_NAMES}; see dcomp models.", metavar="NAME", default="DM"),
    ] = None,
    algorithm: Annotated[
        str | None,
        _option(
            "--algorithm",
            help=f"auto, {ALGORITHM_NAMES}; dcomp models shows which fits what.",
            metavar="NAME",
            default="auto",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        _option(
            "--output",
            "-o",
            metavar="FIT",
            help="Where to keep the fit; INPUT's name with "
            ".dcomp in this folder unless given, or the resumed file.",
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        _option(
            "--alpha",
            help="Number, auto (learned; 1.1 for map, 1 for ml, tempered-em) or total-one (1/K).",
            default="auto",
        ),
    ] = None,
    beta: Annotated[
        str | None,
        _option("--beta", help=f"{WITH_EXPOSURE}: number or auto (learned).", default="auto"),
    ] = None,
    rho: Annotated[
        str | None,
        _option(
            "--rho",
            help="CGP: probability that a score is zero, a number or auto (learned).",
            default="auto",
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        _option(
            "--gamma",
            help="Number, empirical, or auto (learned by the samplers).",
            default="0.05, as for LDA; 0.5 with --blocks; 1, none, for ml and tempered-em",
        ),
    ] = None,
    shrinkage: Annotated[
        str | None,
        _option(
            "--shrinkage",
            help="LN: how far correlations are drawn to none, a number from 0 to 1, or auto.",
            default="0",
        ),
    ] = None,
    loadings: Annotated[
        str | None,
        _option(
            "--loadings",
            metavar="NAME",
            help="mean-field and laplace: mean, map or vb; map: mean or map.",
            default="mean; vb",
        ),
    ] = None,
    branching: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="TM and ST: children of an internal node.", show_default="7"
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="TM and ST: levels of the tree, in place of -k.",
            show_default="3: 57 nodes",
        ),
    ] = None,
    grow_to: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="TM: the leaves with the most words grow children, to at most N nodes.",
        ),
    ] = None,
    grow_at: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="TM: sweeps before it grows, in the burn-in.",
            show_default="50",
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        _option(
            "--tree",
            metavar="FILE",
            help="TM and ST: the tree as JSON, names within names or a list of parents.",
        ),
    ] = None,
    structure: Annotated[
        str | None,
        _option(
            "--structure",
            metavar="NAME",
            help="ST: shared, phi, document or document-phi; without --tree, --branching and "
            "--depth the nodes above -k leaves are searched for.",
            default="shared",
        ),
    ] = None,
    leaves: Annotated[
        str | None,
        _option(
            "--leaves", metavar="NAME", help="ST: scores of leaves, DM, GP or CGP.", default="DM"
        ),
    ] = None,
    exposure: Exposure = None,
    max_iter: Annotated[int, typer.Option(min=1, help="Sweeps at most, resumed ones too.")] = 200,
    tol: Annotated[
        float,
        typer.Option(help="Stop at this relative change; 0: never. Samplers run all sweeps."),
    ] = 1e-4,
    burn_in: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Samplers: sweeps before the averages begin.",
            show_default="half of max-iter",
        ),
    ] = None,
    start: Annotated[
        str | None,
        _option(
            "--start",
            metavar="NAME",
            help="Samplers: random, or mean-field to begin near a mode; laplace: "
            "collapsed-gibbs, mean-field or seeded.",
            default="random; collapsed-gibbs",
        ),
    ] = None,
    anneal: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Samplers: first sweeps with priors that begin stronger.",
            show_default="0",
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Samplers: keep this many draws of the posterior, spread over the sweeps after "
            "the burn-in.",
            show_default="none",
        ),
    ] = None,
    draws_of: Annotated[
        str | None,
        _option(
            "--draws-of",
            metavar="KINDS",
            help=f"What a draw holds: {', '.join(KINDS)} (collapsed-gibbs), with commas between.",
            default="scores,loadings",
        ),
    ] = None,
    draw_budget: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory that the draws may take, or none.")
    ] = DRAW_BUDGET,
    chains: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs from different starts, of which the best is kept.",
            show_default="1",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the random start.", show_default="0")
    ] = None,
    jobs: Jobs = None,
    format: Format = None,
    vocab: Vocab = None,
    min_count: Annotated[int, typer.Option(min=1, help="Drop features with fewer tokens.")] = 1,
    min_docs: Annotated[int, typer.Option(min=1, help="Drop features in fewer documents.")] = 1,
    blocks: Annotated[
        Path | None,
        _option("--blocks", metavar="FILE", help="A block id per line, in feature order."),
    ] = None,
    resume: Annotated[
        Path | None,
        _option("--resume", metavar="FIT", help="Go on from this fit of the same data."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Top features to show.")] = 10,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Fit a model to a file of counts or text.

    The fit is saved, and its components are shown. Ctrl-C keeps the last complete sweep: the fit
    is saved, a line says how to go on, and the exit code is 130. An existing file is replaced
    only with --force, or by the fit that resumes it.

    \b
    Example:
      dcomp fit corpus.jsonl -k 50 --min-docs 5 -o fit.dcomp
      dcomp fit corpus.jsonl -k 50 --model GP --exposure total
      dcomp fit corpus.jsonl -k 50 --algorithm collapsed-gibbs --max-iter 400 --chains 4
      dcomp fit corpus.jsonl -k 50 --model CGP --draws 50 --draw-budget "2 GiB"
      dcomp fit corpus.jsonl -k 50 --model LN --shrinkage auto
      dcomp fit corpus.jsonl --model tree --branching 7 --depth 3 --algorithm collapsed-gibbs
      dcomp fit corpus.jsonl --model structured -k 20 --structure phi --chains 4
      dcomp fit corpus.jsonl --min-docs 5 --resume fit.dcomp --max-iter 500
    """
    source = Source(input, format, vocab, min_count, min_docs, blocks)
    settings = Settings(
        k,
        model,
        algorithm,
        alpha,
        beta,
        rho,
        gamma,
        loadings,
        exposure,
        seed,
        burn_in,
        start,
        anneal,
        chains,
        draws,
        draws_of,
        shrinkage,
        branching,
        depth,
        grow_to,
        grow_at,
        structure,
        leaves,
        tree,
    )
    settings.check(resume)
    target = output or resume or default_output(input)
    own = resume is not None and target.exists() and target.samefile(resume)
    check_output(target, force=force or own, inputs=(input,))
    budget = None if draw_budget == "none" else draw_budget
    fitted, counts = run_fit(
        source, settings, resume, max_iter, tol, jobs, draw_budget=budget, show=not quiet
    )
    from dcomp.result import save

    save(fitted, target)
    if as_json:
        from dcomp.cli.show import as_record

        print_json({"output": str(target), **as_record(fitted, top)})
    elif not quiet:
        _print(fitted, counts, target, top)
    if was_interrupted(fitted, chains or 1, max_iter):
        begun = f" (the best of {len(fitted.chains)} chains begun)" if fitted.chains else ""
        say(f"interrupted; {fitted.n_sweeps} complete sweeps{begun} are saved in {target}")
        settled = (*Settings.__dataclass_fields__, "output", "resume", "force")
        say(f"to go on: {resume_command(context, target, settled)}")
        raise typer.Exit(INTERRUPTED)


def was_interrupted(fitted: Fit, n_chains: int, max_iter: int) -> bool:
    """Whether Ctrl-C ended the work: the kept chain may be an earlier one that was complete."""
    if fitted.reason == "interrupted":
        return True
    short = fitted.algorithm.samples and any(len(chain) < max_iter for chain in fitted.chains)
    return bool(fitted.chains) and (short or len(fitted.chains) < n_chains)


def default_output(source: Path) -> Path:
    """INPUT's name with .dcomp, in the current folder.

    >>> default_output(Path("data/corpus.jsonl.gz")).name
    'corpus.dcomp'
    """
    from dcomp.io.files import plain_name

    whole = source.resolve()
    return Path((whole.name if whole.is_dir() else Path(plain_name(whole)).stem) + ".dcomp")


def _print(fitted: Fit, counts: Counts, target: Path, top: int) -> None:
    from dcomp.cli.show import component_table, has_tree, print_tree, summary_lines

    out = console()
    for line in summary_lines(fitted, counts):
        out.print(line)
    if has_tree(fitted):
        print_tree(out, fitted, top)
    else:
        out.print(component_table(fitted, top))
    out.print(f"saved in {target}", soft_wrap=True)
