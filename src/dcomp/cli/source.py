"""An input and how it is read, as it was typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcomp.cli.common import one_line_warnings, say
from dcomp.cli.working import working
from dcomp.errors import InvalidCounts, InvalidFile, InvalidParameter

if TYPE_CHECKING:
    from dcomp.data import Counts
    from dcomp.io import Limits
    from dcomp.io.read import Format
    from dcomp.result import Fit

STDIN, SUFFIX, INDEX = "-", ".dcomp", ".dindex"
# What may be said of every table; for text it is said to the reader.
_HOW_OFTEN = ("min_count", "min_docs", "max_docs", "max_features")
_LISTS = ("text", "labels", "without")


@dataclass(frozen=True)
class Source:
    """An input file, or standard input, and what was said of it, by the names of options."""

    path: Path
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limits(self) -> Limits | None:
        """What files may cost, where that was said."""
        from dcomp.io import Limits

        limit = self.said.get("limit")
        return None if limit is None else Limits.parse(limit)

    def refuse_a_fit(self) -> None:
        """An error where the input is a fit, since the two were perhaps turned around, or an index
        of documents."""
        if self.path.suffix == SUFFIX:
            raise InvalidFile(
                f"{self.path} is a fit (dcomp show shows it), and INPUT must be a file of counts "
                "or text"
            )
        if self.path.suffix == INDEX:
            raise InvalidFile(
                f"{self.path} is an index (dcomp query asks it), and INPUT must be a file of "
                "counts or text"
            )

    def load(self, fit: Path) -> Fit:
        """A fit, by the same limits."""
        from dcomp.result import load

        if fit.suffix != SUFFIX and self.path.suffix == SUFFIX:
            raise InvalidFile(f"the fit comes first: {self.path} before {fit}")
        return load(fit, limits=self.limits)

    def read(self, like: Fit | None = None, *, quiet: bool = True) -> Counts:
        """The counts, with a bar on a terminal and a line about the words that are left out; blocks
        are given before features are. like: a fit whose text was read in the same way."""
        from dcomp.io import read

        options = text_options(self.said)
        if like is not None:  # which has the calls that were contested when it was made
            options.pop("contested", None)
        name = self.format(like)
        is_text, in_blocks = bool(name.words), self.said.get("blocks") is not None
        often = {key: options.pop(key) for key in _HOW_OFTEN if key in options}
        if is_text and not in_blocks:
            options |= often
        if self._is_fractional(like, name.options):
            options["fractional"] = True
        silent = quiet or str(self.path) == STDIN
        with one_line_warnings(), working("reading", quiet=silent, unit="bytes") as show:
            counts = read(
                self.path,
                format=self.said.get("format"),
                limits=self.limits,
                like=like if _is_known(like, is_text) else None,
                progress=show,
                **options,
            )
        counts = self._with_blocks(counts) if in_blocks else counts
        if often and (in_blocks or not is_text):
            counts = counts.drop_rare(**{"min_count": 1, "min_docs": 1, **often})
        if counts.vocabulary is not None and like is None and not quiet:
            say(str(counts.vocabulary))
        return counts

    def format(self, like: Fit | None = None) -> Format:
        """What the input is read as."""
        from dcomp.io.read import format_of

        self.refuse_a_fit()
        known = like if _is_known(like, True) or _is_known(like, False) else None
        return format_of(self.path, self.said.get("format"), known, text_options(self.said))

    def with_label(self, name: str, like: Fit) -> Source:
        """The same with this field of texts as their label, unless labels were said; the name as
        the fit has it, in whatever case it was typed."""
        if "labels" in self.said or "labels" not in self.format(like).words:
            return self
        known = () if like.text is None else like.text.labels
        alike = [own for own in known if own.casefold() == name.casefold()]
        label = name if name in known or not alike else alike[0]
        return replace(self, said={**self.said, "labels": [label]})

    def _is_fractional(self, like: Fit | None, options: tuple[str, ...]) -> bool:
        """As said, or as the counts of a fit were where the format can say such numbers."""
        if like is None:
            return bool(self.said.get("fractional"))
        return like.provenance.fractional and "fractional" in options

    def _with_blocks(self, counts: Counts) -> Counts:
        from dcomp.io.files import text_lines
        from dcomp.io.limits import Budget

        path = Path(self.said["blocks"])
        lines = text_lines(path, budget=Budget(path, self.limits))
        return counts.with_blocks([line.strip() for _, line in lines])


def _is_known(like: Fit | None, is_text: bool) -> bool:
    """Whether a fit remembers how its texts were read, or its table."""
    return like is not None and (like.text if is_text else like.reading) is not None


def text_options(said: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed, as `dcomp.read` takes it.

    >>> text_options({"text": "title,body", "ngrams": "2-3", "where": "split=train,year=1999"})
    {'text': ['title', 'body'], 'ngrams': (2, 3), 'where': {'split': ['train'], 'year': ['1999']}}
    """
    own = ("format", "limit", "blocks", "fractional")
    options = {name: value for name, value in said.items() if name not in own}
    for name in _LISTS:
        if name in options:
            options[name] = _parts(options[name])
    if "where" in options:
        options["where"] = _conditions(_parts(options["where"]))
    if "stop_words" in options:
        options["stop_words"] = _stop_words(options["stop_words"])
    if "ngrams" in options:
        options["ngrams"] = _row_lengths(str(options["ngrams"]))
    most = options.get("max_docs")
    if isinstance(most, float) and most > 1 and most.is_integer():
        options["max_docs"] = int(most)
    return options


def _parts(value: Any) -> list[str]:
    words = value.split(",") if isinstance(value, str) else list(value)
    return [word.strip() for word in words if word.strip()]


def _conditions(parts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise InvalidParameter(f"--where must be FIELD=VALUE, or several; got {part!r}")
        found.setdefault(name.strip(), []).append(value.strip())
    return found


def _stop_words(value: str) -> Any:
    """None, a file, or a language; a name with a dot or a slash is one of a file."""
    if value == "none":
        return None
    is_path = Path(value).is_file() or "/" in value or "." in value
    return Path(value) if is_path else value


def _row_lengths(value: str) -> tuple[int, int]:
    least, dash, most = value.partition("-")
    if not (least.isdecimal() and (most.isdecimal() or not dash)):
        raise InvalidParameter(f"--ngrams must be a number, or two as in 2-3; got {value!r}")
    return (int(least), int(most)) if dash else (1, int(least))


def counts_for(fit: Fit, source: Source, quiet: bool) -> tuple[Counts, int]:
    """New documents in a fit's features, and how many tokens had to be dropped (said on stderr);
    if all of them, an error."""
    from dcomp.data.counts import amount
    from dcomp.printable import shortened
    from dcomp.validation import unknown_features

    counts = source.read(fit, quiet=quiet)
    tokens = counts.n_tokens
    counts, dropped = counts.aligned_to(fit.features)
    if dropped and not counts.n_tokens:
        known = ", ".join(repr(shortened(name, 30)) for name in (fit.features.names or ())[:3])
        raise InvalidCounts(
            f"{source.path} shares no feature with the fit: none of its {amount(tokens)} tokens is "
            f"of one that the fit knows, such as {known}"
        )
    if dropped and not quiet and not fit.is_of(counts):  # whose own drop what was not fitted
        say(f"note: {unknown_features(dropped, tokens, fit.features.n_blocks)}")
    return counts, dropped
