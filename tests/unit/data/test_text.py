"""Words out of text."""

from collections import Counter

import pytest

from dcomp.data import bag, english_stop_words, tokenize
from dcomp.errors import InvalidCounts, InvalidParameter

THINGS = (
    "So, as fast as I could, I went after my net. And I said, "
    '"With my net I can bet them I bet, I bet, with my net, I can get those Things yet!"'
)


def test_the_example_of_bj06():
    words = Counter(tokenize(THINGS))
    assert len(words) == 19
    assert (words["i"], words["bet"], words["my"], words["net"]) == (7, 3, 3, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't 'quote' rock'n'roll", ["don't", "quote", "rock'n'roll"]),
        ("it\N{RIGHT SINGLE QUOTATION MARK}s", ["it's"]),
        ("x2 snake_case a-b 42", ["x", "snake", "case", "a", "b"]),
        ("Ärger cafe\N{COMBINING ACUTE ACCENT} Ελλάδα", ["ärger", "café", "ελλάδα"]),
        ("", []),
    ],
)
def test_rules(text, words):
    assert tokenize(text) == words


def test_case_can_be_kept():
    assert tokenize("The Cat", lower=False) == ["The", "Cat"]


def test_bag_filters():
    texts = ["The cat x sat; the cat!", "", "a cat and a dog", "dog eel"]
    counts = bag(texts, doc_ids="pqrs")
    assert counts.features.names == ("cat", "dog", "eel", "sat")
    assert counts.to_scipy().toarray().tolist() == [
        [2, 0, 0, 1],
        [0, 0, 0, 0],
        [1, 1, 0, 0],
        [0, 1, 1, 0],
    ]
    assert counts.doc_ids == ("p", "q", "r", "s")
    assert bag(texts, min_count=3).features.names == ("cat",)
    assert bag(texts, min_docs=2).features.names == ("cat", "dog")
    assert bag(texts, max_docs=1).features.names == ("eel", "sat")
    assert bag(texts, max_docs=0.25).features.names == ("eel", "sat")
    assert "the" in bag(texts, stop_words=None).features.names
    assert "sat" not in bag(texts, stop_words={"sat"}).features.names
    assert isinstance(english_stop_words(), frozenset)
    assert "the" in english_stop_words()


def test_bag_refuses():
    with pytest.raises(InvalidCounts, match="found one string"):
        bag("text")
    with pytest.raises(InvalidCounts, match="document 1 is of type int"):
        bag(["text", 3])
    with pytest.raises(InvalidCounts, match="no word is left: 1 distinct words"):
        bag(["the the"])
    with pytest.raises(InvalidParameter, match="'english'"):
        bag(["text"], stop_words="klingon")
    for wrong in (0.0, 1.5, 0):
        with pytest.raises(InvalidParameter, match="max_docs must be"):
            bag(["text"], max_docs=wrong)
