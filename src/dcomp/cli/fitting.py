"""From what the user typed to a Fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.checkpoint import RUN, Keeping, config_of
from dcomp.cli.cluster import Where
from dcomp.cli.common import one_line_warnings, say
from dcomp.cli.flags import said
from dcomp.cli.source import Source, text_options
from dcomp.errors import InvalidConfig, InvalidParameter, UnsupportedCombination
from dcomp.recipe import READING, Config, Recipe, table

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.executors import Executor
    from dcomp.result import Checkpoint, Fit


@dataclass(frozen=True)
class Order:
    """What one run of dcomp fit is to do: a recipe for an input, or a fit to go on from."""

    source: Source
    recipe: Recipe
    reading: Mapping[str, Any]
    resume: Path | None = None
    keeping: Keeping = field(default_factory=lambda: Keeping(None))

    @classmethod
    def from_params(
        cls,
        path: Path,
        typed: Mapping[str, Any],
        config: Path | None = None,
        resume: Path | None = None,
        keeping: Keeping | None = None,
    ) -> Order:
        """From what was typed and a config file, of which what was typed wins. Wrong names and
        options without effect are refused here, before a large file is read."""
        rows = table()
        goes_on = resume is not None
        resume, config = config_of(resume, config)
        from_file = Config({}) if config is None else Config.read(config)
        own = said(rows.values(), typed)
        given = {**from_file.recipe, **own}
        reading = {**from_file.input, **said(READING, typed)}
        if goes_on:
            kept = [name for name in (own if resume is None else given) if not rows[name].resumes]
            if kept:
                flags = ", ".join(rows[name].flag for name in kept)
                raise InvalidParameter(
                    f"a resumed fit keeps its own settings: leave out {flags}, or fit anew"
                )
        text_options(reading)
        source = Source(path, reading)
        source.refuse_a_fit()
        recipe = _recipe(given, from_file, config)
        return cls(source, recipe, reading, resume, keeping or Keeping(None))

    def save(self, path: Path) -> None:
        """To a config file that repeats it."""
        if self.resume is not None:
            raise InvalidParameter(
                "--save-config has no effect with --resume: a resumed fit keeps its own settings"
            )
        Config(self.recipe.effective(), self.reading).write(path)

    def keep(self) -> None:
        """In the folder of checkpoints, for --resume, unless it is there."""
        folder = self.keeping.folder
        if folder is None or self.resume is not None or (folder / RUN).exists():
            return
        if not folder.is_dir():
            folder.mkdir(parents=True)
        self.save(folder / RUN)

    def to_repeat(self) -> dict[str, Any]:
        """What to type again beside --resume, by name: how the input is read, and what a resumed
        fit may be told; wherever it was said."""
        rows = table()
        again = {name: value for name, value in self.recipe.given.items() if rows[name].resumes}
        return {**again, **self.reading}


def _recipe(given: Mapping[str, Any], from_file: Config, path: Path | None) -> Recipe:
    """The recipe; what is wrong with a file that says it all is said of the file."""
    try:
        return Recipe(**given)
    except (InvalidParameter, UnsupportedCombination) as error:
        if path is None or set(given) - set(from_file.recipe):
            raise
        raise InvalidConfig(f"{path}: {error}") from None


def run_fit(order: Order, where: Where, *, show: bool) -> tuple[Fit, Counts]:
    """Read, then fit or resume, with a bar on a terminal."""
    try:
        earlier = None if order.resume is None else order.source.load(order.resume)
        counts = order.source.read(quiet=not show)
        counts = where.cut(counts, resumes=earlier is not None)
        order.keep()
        with where.executor() as executor:
            how = (where.jobs, earlier, order.keeping.told, executor)
            return run_recipe(counts, order.recipe, *how, show=show), counts
    except KeyboardInterrupt:
        say("interrupted before the first sweep was complete: there is nothing to save")
        raise


def with_open_fit(recipe: Recipe) -> Recipe:
    """The recipe with a fit in the place of its path, where one gives components."""
    fixed = recipe.given.get("fixed")
    if not isinstance(fixed, Path) or fixed.suffix != ".dcomp":
        return recipe
    from dcomp.result import load

    return Recipe(**{**recipe.given, "fixed": load(fixed)})


def run_recipe(
    counts: Counts,
    recipe: Recipe,
    jobs: int | None,
    earlier: Fit | None = None,
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
    *,
    show: bool,
) -> Fit:
    """Fit, or go on from an earlier fit."""
    from dcomp.data import as_counts
    from dcomp.result import fit
    from dcomp.result.estimate import estimate
    from dcomp.result.fitting import plan_draws
    from dcomp.result.progress import progress

    if earlier is None:
        with one_line_warnings():
            resolved = with_open_fit(recipe).resolve(counts)
        model, algorithm, settings = resolved.model, resolved.algorithm, resolved.settings
    else:  # which brings its own exposure and seed, too
        model, algorithm = earlier.model, earlier.algorithm
        settings = recipe.settings(algorithm)
    max_iter = settings.max_iter
    why = None if earlier is not None else recipe.told_by_the_table(counts)
    if why is not None and show:
        say(why)
    plan = plan_draws(counts, model, algorithm, max_iter, settings.n_chains, settings.draw_budget)
    if plan is not None and show:
        say(str(plan))
    if counts.mapped is not None and show:
        say(str(estimate(as_counts(counts), model, algorithm, n_jobs=jobs)))
    label = f"{model.key} K={model.n_components}"
    with one_line_warnings(), progress(int(show), max_iter, label) as bars:
        return fit(
            counts,
            model,
            algorithm,
            **vars(settings),
            n_jobs=jobs,
            executor=executor,
            callbacks=bars,
            resume=earlier,
            checkpoint=checkpoint,
        )
