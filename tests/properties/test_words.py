"""The native tokeniser finds the words that Python's expressions find, whatever the text."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcomp.data import tokenize
from dcomp.data.text_options import CASES, NUMBERS, TextOptions
from dcomp.data.words import NativeCounting, PatternCounting, WordReader

# Any text, and text of what matters to the rules: cases, joining marks, digits of other scripts.
ODD = "aZé'\u2019_ \n0129٣²½Ⅷ\u0301İßΣσςﬁ日\U00010400\U0001d7d9\ud800-@\u00ad\u200d"
TEXTS = st.lists(st.text() | st.text(ODD) | st.text("ab'1902_ "), max_size=6)


def read(texts, options, counting):
    reader = WordReader(options, counting=counting)
    for text in texts:
        reader.add(text)
    return reader.finish()


def assert_same(one, other):
    assert one.names == other.names
    np.testing.assert_array_equal(one.tokens, other.tokens)
    np.testing.assert_array_equal(one.starts, other.starts)


@settings(max_examples=400, deadline=None)
@given(
    texts=TEXTS,
    numbers=st.sampled_from(NUMBERS),
    case=st.sampled_from(CASES),
    n_threads=st.integers(1, 3),
)
def test_native_is_python(texts, numbers, case, n_threads):
    options = TextOptions(numbers=numbers, case=case)
    native = read(texts, options, NativeCounting(options, n_threads))
    assert_same(native, read(texts, options, PatternCounting(options)))
    lower = case == "lower"
    for i, text in enumerate(texts):
        own = native.tokens[native.starts[i] : native.starts[i + 1]]
        assert [native.names[j] for j in own] == tokenize(text, lower=lower, numbers=numbers)


@pytest.mark.parametrize("numbers", NUMBERS)
def test_every_character_there_is(numbers):
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    # Alone, between letters, and after a digit: a thousand to a text.
    spread = [f" {c} a{c}b 1{c}" for c in every]
    texts = ["".join(spread[i : i + 1000]) for i in range(0, len(spread), 1000)]
    options = TextOptions(numbers=numbers, case="keep")
    native = read(texts, options, NativeCounting(options))
    assert_same(native, read(texts, options, PatternCounting(options)))


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_threads_and_pieces_change_nothing(n_threads):
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoin shrdlu é'1 "))
    # Long ones are read in pieces, many short ones in one call.
    texts = ["".join(rng.choice(letters, n)) for n in (0, 3, 300_000, 70_000, *[2_000] * 500)]
    options = TextOptions()
    native = read(texts, options, NativeCounting(options, n_threads))
    assert_same(native, read(texts, options, PatternCounting(options)))
