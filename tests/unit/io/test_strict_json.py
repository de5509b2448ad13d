"""JSON from strangers: numbers that are too large are refused wherever they stand, and a text
without one is parsed by a shorter way to the same values."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcomp.errors import InvalidFile
from dcomp.io.limits import Budget
from dcomp.io.strict_json import parse_json

LARGE = ["1e400", "-1e309", "1E+400", "1e0400", "0.001e312", "9" * 400 + ".0", "1" * 41]
NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,45})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)


def parsed(text: str) -> object:
    return parse_json(text.encode(), Budget("x"), "the text", nan=False)


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("around", ["{}", "[1, {}, 2]", '{{"a": [1.5, {{"b": {}}}]}}'])
def test_a_number_that_is_too_large_is_refused(number, around):
    with pytest.raises(ValueError, match=r"no finite number|digits"):
        parsed(around.format(number))


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_other_numbers_are_those_that_python_reads(numbers):
    text = f"[{', '.join(numbers)}]"
    right = json.loads(text)
    whole = [n for n in numbers if n.lstrip("-").isdigit()]
    if any(not math.isfinite(n) for n in right) or any(len(n) > 40 for n in whole):
        with pytest.raises(ValueError, match=r"no finite number|digits"):
            parsed(text)
        return
    found = parsed(text)
    assert found == right
    assert [type(n) for n in found] == [type(n) for n in right]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_words_for_numbers_are_refused_unless_they_may_be(word):
    with pytest.raises(ValueError, match="no finite number"):
        parsed(f"[1, {word}]")
    assert not math.isfinite(parse_json(word.encode(), Budget("x"), "the text"))


def test_keys_that_stand_twice_are_refused_with_large_numbers_and_without():
    for number in ("1", "1e200"):
        with pytest.raises(ValueError, match="'a' is there twice"):
            parsed(f'{{"a": {number}, "a": 2}}')


def test_what_takes_too_much_is_refused():
    with pytest.raises(InvalidFile):
        parsed("[" + "{}," * 3_000_000 + "1]")
