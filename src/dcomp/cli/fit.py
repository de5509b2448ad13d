"""dcomp fit: from a file of counts to a fit on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dcomp.cli.checkpoint import Folder, Keeping, Minutes, Sweeps
from dcomp.cli.cluster import Dask, Parts, Where
from dcomp.cli.common import INTERRUPTED, check_output, print_json, say
from dcomp.cli.fitting import Order, run_fit
from dcomp.cli.flags import ConfigFile, with_options
from dcomp.cli.options import Force, Input, Jobs, Json, Quiet, TopBy, Weight, to_write
from dcomp.cli.resume import resume_command, shell_word
from dcomp.cli.show import Ranking
from dcomp.cli.source import STDIN
from dcomp.errors import InvalidParameter
from dcomp.recipe import READING, table

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.result import Fit

Output = Annotated[
    Path | None,
    to_write(
        "FIT",
        "Where to keep the fit; INPUT's name with .dcomp in this folder unless given, or the "
        "resumed file.",
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="FIT",
        readable=False,
        help="Go on from this fit of the same data, or from a folder of --checkpoint.",
    ),
]
SaveConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        help="Write the options of this fit to a file that --config takes.",
    ),
]
KeepAttributes = Annotated[
    bool,
    typer.Option(
        "--keep-attributes",
        help="Save what INPUT says of its documents with the fit, for dcomp show --by.",
    ),
]


@with_options((*table().values(), *READING))
def fit(
    context: typer.Context,
    input: Input,
    output: Output = None,
    resume: Resume = None,
    config: ConfigFile = None,
    save_config: SaveConfig = None,
    checkpoint: Folder = None,
    checkpoint_minutes: Minutes = None,
    checkpoint_sweeps: Sweeps = None,
    keep_attributes: KeepAttributes = False,
    jobs: Jobs = None,
    dask: Dask = None,
    parts: Parts = None,
    top: Annotated[int, typer.Option(min=1, help="Top features to show.")] = 10,
    top_by: TopBy = None,
    weight: Weight = None,
    as_json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
    **typed: Any,
) -> None:
    """Fit a model to a file of counts or text.

    The fit is saved, and its components are shown. Ctrl-C keeps the last complete sweep: the fit
    is saved, a line says how to go on, and the exit code is 130. An existing file is replaced
    only with --force, or by the fit that resumes it.

    \b
    Example:
      dcomp fit corpus.jsonl -k 50 --min-docs 5 -o fit.dcomp
      dcomp fit news.jsonl -k 50 --text-field title,body --text-blocks
      dcomp fit news.jsonl -k 50 --where split=train --max-docs 0.5
      dcomp fit reviews.csv -k 20 --text-field review --stem english
      zcat mail.gz | dcomp fit - -k 20 --without headers,quotes -o mail.dcomp
      dcomp fit corpus.jsonl -k 50 --model GP --exposure total
      dcomp fit corpus.jsonl -k 50 --algorithm collapsed-gibbs --chains 4
      dcomp fit corpus.jsonl -k 50 --model CGP --draws 50 --draw-budget "2 GiB"
      dcomp fit corpus.jsonl -k 50 --model LN --shrinkage auto
      dcomp fit corpus.jsonl --model tree --branching 7 --depth 3 --chains 4
      dcomp fit corpus.jsonl --model structured -k 20 --structure phi --chains 4
      dcomp fit corpus.jsonl --min-docs 5 --resume fit.dcomp --max-iter 500
      dcomp fit corpus.jsonl -k 50 --checkpoint run --checkpoint-minutes 5
      dcomp fit corpus.jsonl --resume run
      dcomp fit corpus.jsonl -k 50 --dask tcp://10.0.0.1:8786 --parts 40
      dcomp fit corpus.jsonl -k 50 --seed-words seeds.txt
      dcomp fit corpus.jsonl -k 50 --model GP --save-config run.toml
      dcomp fit corpus.jsonl --config run.toml --seed 1 -o again.dcomp
    """
    ranking = Ranking(top, top_by, weight)
    ranking.check()
    keeping = Keeping.from_params(checkpoint, checkpoint_minutes, checkpoint_sweeps, resume)
    order = Order.from_params(input, typed, config, resume, keeping)
    target = output or order.resume or default_output(input)
    own = resume is not None and target.exists() and target.samefile(resume)
    check_output(target, force=force or own, inputs=(input,))
    if save_config is not None:
        check_output(save_config, force=force, inputs=(input,))
        order.save(save_config)
    fitted, counts = run_fit(order, Where(jobs, dask, parts), show=not quiet)
    if keep_attributes:
        fitted = _keeping(fitted, counts)
    from dcomp.result import save

    save(fitted, target, overwrite=True)  # which was checked before the work
    if as_json:
        from dcomp.cli.show import as_record

        print_json({"output": str(target), **as_record(fitted, ranking)})
    elif not quiet:
        from dcomp.cli.show import print_fit

        print_fit(fitted, counts, target, ranking)
    settings = order.recipe.settings()
    if was_interrupted(fitted, settings.n_chains, settings.max_iter):
        begun = f" (the best of {len(fitted.chains)} chains begun)" if fitted.chains else ""
        say(f"interrupted; {fitted.n_sweeps} complete sweeps{begun} are saved in {target}")
        say(f"to go on: {_to_go_on(context, order, target)}", whole=True)
        raise typer.Exit(INTERRUPTED)


def _to_go_on(context: typer.Context, order: Order, target: Path) -> str:
    """From the fit that was saved, or in the folder of its checkpoints."""
    folder = order.keeping.folder
    if folder is None:
        return resume_command(context, target, order.to_repeat())
    # The folder has the options of the fit; the file that was saved is to be replaced.
    return f"{resume_command(context, folder, {})} --output {shell_word(str(target))} --force"


def _keeping(fitted: Fit, counts: Counts) -> Fit:
    if not counts.attributes:
        raise InvalidParameter("keep_attributes= needs an input that says something of documents")
    return fitted.with_attributes(counts)


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

    if str(source) == STDIN:
        return Path("stdin.dcomp")
    whole = source.resolve()
    return Path((whole.name if whole.is_dir() else Path(plain_name(whole)).stem) + ".dcomp")
