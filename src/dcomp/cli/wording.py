"""The library's messages in the words of the shell: options are called by their flags.

The library says `max_iter`, `n_draws=` or `gamma='auto'`, as its users type it; whoever reads the
same message in a shell types --max-iter, --draws or --gamma auto.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from dcomp.errors import InvalidConfig

# Parameters of the library that the shell calls otherwise.
_IN_SHELL = {
    "n_components": "k",
    "n_chains": "chains",
    "n_draws": "draws",
    "n_jobs": "jobs",
    "n_starts": "starts",
    "n_top": "top",
    "random_state": "seed",
    "with_evidence": "evidence",
    "measure": "coherence",
}
# What can be given in Python only.
_NOT_IN_SHELL = (
    (r"must be None(?:,| or) ", "must be "),
    (r"(?<!['\"])\bNone\b", "none"),
    (r", a number or an array", " or a number"),
    (r" or an array", ""),
    (r", mask=", ""),
    (r"; its options are: .*$", ""),
    (r"Retriever\(\.\.\., (--lsa \w+)\)", r"\1, or for an index dcomp index \1"),
    (r"a Retriever that has a fit", "an index that dcomp index made"),
    (r"(--[\w-]+)=…", r"\1 …"),
    (r"limits=dcomp\.Limits\((\w+)=…\)", r"--limit \1=…"),
)
# What is said of frames, of which the shell has none.
_OF_FRAMES = (
    (
        "dcomp.read takes genotypes, votes and answers as they are, "
        "as_counts(frame, categories=True, codes=True) a frame",
        "genotypes and votes are read as they are, by --format, a table of answers by "
        "--format categories --codes all",
    ),
    ("as_counts(frame, categories=True)", "--format categories"),
    ("dcomp.read takes votes", "dcomp fit takes votes"),
)
_VALUE = r"(?:'(?P<quoted>[^']*)'|(?P<plain>[\w.+-]*\w)?)"
# A name stands alone: it is no part of a path, nor what the user typed in quotes.
_ALONE, _ENDS = r"(?<![\w./'\"-])", r"(?![\w./'\"-])"


@dataclass(frozen=True)
class Flags:
    """What the options of the command that runs are called, and those of the one that fits, of
    which all speak; by the library's names."""

    own: dict[str, str] = field(default_factory=dict)
    of_fit: dict[str, str] = field(default_factory=dict)
    switches: frozenset[str] = frozenset()  # of which nothing is asked: "counts must be …" are data

    @classmethod
    def from_params(cls, parameters: Iterable[Any], of_fit: Iterable[Any] = ()) -> Flags:
        """From the parameters of commands, as typer has them."""
        own = list(parameters)
        switches = frozenset(p.name for p in own if getattr(p, "is_flag", False))
        return cls(_by_name(own), _by_name(of_fit), switches)

    def translate(self, text: str) -> str:
        """A message of the library as the shell says it.

        >>> flags = Flags({"max_iter": "--max-iter", "gamma": "--gamma", "n_jobs": "--jobs"})
        >>> flags.translate("burn_in must be below max_iter = 9")
        'burn_in must be below --max-iter 9'
        >>> flags.translate("gamma='auto' is learned by gibbs: give gamma=1")
        '--gamma auto is learned by gibbs: give --gamma 1'
        >>> flags.translate("not settled: raise max_iter and burn_in")
        'not settled: raise --max-iter'
        >>> flags.translate("gamma must be positive")
        '--gamma must be positive'
        """
        known = self.of_fit | self.own
        for of_frames, words in _OF_FRAMES:
            text = text.replace(of_frames, words)
        if "max_iter" in self.own and "burn_in" not in self.own:  # half of them
            text = text.replace("max_iter and burn_in", "max_iter")
        for name, flag in known.items():
            is_no_word = "_" in name or name == "tol"
            gap = " ?" if is_no_word else ""  # "max_iter = 9"; "alpha = 1" is mathematics
            text = re.sub(f"{_ALONE}{name}{gap}={gap}{_VALUE}", _with_value(flag), text)
            if is_no_word:
                text = re.sub(f"{_ALONE}{name}{_ENDS}", flag, text)
        for name, flag in self.own.items():
            if name in self.switches:
                continue
            text = re.sub(rf"(^|[;:] ){name}(?= (?:must|has|needs) )", rf"\1{flag}", text)
        for name, flag in self.own.items():
            text = text.replace(f"option '{name}'", flag)
        for pattern, words in _NOT_IN_SHELL:
            text = re.sub(pattern, words, text)
        return text


def _by_name(parameters: Iterable[Any]) -> dict[str, str]:
    flags = {p.name: _longest(p.opts) for p in parameters if p.param_type_name == "option"}
    if "ks" in flags:  # of dcomp select
        flags["k"] = flags["ks"]
    return flags | {name: flags[ours] for name, ours in _IN_SHELL.items() if ours in flags}


def _longest(spellings: list[str]) -> str:
    return max(spellings, key=len)


def _with_value(flag: str) -> Any:
    def spelt(found: re.Match[str]) -> str:
        value = found["quoted"] or found["plain"]
        is_switch = value == "True"  # which a flag says by being there
        return f"{flag} {shlex.quote(value)}" if value and not is_switch else flag

    return spelt


_current: ContextVar[Callable[[], Flags]] = ContextVar("flags", default=Flags)


def speak_for(command_of: Callable[[str], Any], name: str) -> None:
    """From now on messages are about this command of the program; command_of: gives commands by
    name. What they are called is looked up when there is something to say."""

    def flags() -> Flags:
        return Flags.from_params(command_of(name).params, command_of("fit").params)

    _current.set(flags)


def in_shell_words(message: object) -> str:
    """A message of the library in the words of the command that runs; one about a config file keeps
    the names of the file."""
    if isinstance(message, InvalidConfig):
        return str(message)
    return _current.get()().translate(str(message))
