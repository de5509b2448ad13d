"""Which words are kept, and what is said of the others."""

import builtins
import pickle

import numpy as np
import pytest

import dcomp
from dcomp.data import Counts, TextOptions, bag
from dcomp.errors import InvalidParameter, MissingDependency

TEXTS = ["The cats sat on the mat; a cat!", "", "cats, and dogs in 1984", "x-rays of dogs' bones"]


def names(**options):
    return Counts.from_texts(TEXTS, **options).features.names


def test_stop_words():
    assert "the" not in names()
    assert "the" in names(stop_words=None)
    assert names(stop_words=["cats", "cat", "dogs", "the"]) == (
        "and", "bones", "in", "mat", "of", "on", "rays", "sat",
    )  # fmt: skip
    assert bag(["der Hund und die Katze"], stop_words="german").features.names == ("hund", "katze")
    with pytest.raises(InvalidParameter, match=r"there are .*german"):
        names(stop_words="klingon")
    # Also those that are written large.
    assert bag(["The Cat"], case="keep").features.names == ("Cat",)


def test_words_and_numbers():
    assert "1984" in names(numbers="years")
    assert "1984" in names(numbers="all")
    assert names(token=r"\S+-\S+") == ("x-rays",)
    assert bag(["(cat) [dog]"], token=r"\((\w+)\)").features.names == ("cat",)
    assert names(min_length=5) == ("bones",)
    assert names(max_length=3) == ("cat", "mat", "sat")
    assert bag(["The Cat the cat"], case="keep", stop_words=None, min_count=1).n_features == 4
    assert bag(["a\ud800b"], token=r"\S+").features.names == ("a?b",)  # half a character is none


def test_stems_are_merged():
    counts = Counts.from_texts(TEXTS, stem="english")
    assert counts.features.names == ("bone", "cat", "dog", "mat", "ray", "sat")
    assert counts.to_scipy().toarray()[0].tolist() == [0, 2, 0, 1, 0, 1]
    assert counts.vocabulary.merged == 1
    with pytest.raises(InvalidParameter, match=r"stem must be one of .*porter.*found 'klingon'"):
        names(stem="klingon")


@pytest.mark.parametrize(
    ("options", "module"),
    [({"stem": "english"}, "snowballstemmer"), ({"stop_words": "german"}, "stop_words")],
)
def test_a_library_that_is_missing_is_named(options, module, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == module:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match=r'pip install "dcomp\[text\]"'):
        names(**options)


def test_words_in_a_row():
    texts = ["new york city of new york", "york city", "new"]
    counts = bag(texts, ngrams=2)
    assert counts.features.names == ("city", "new", "new york", "york", "york city")
    assert counts.to_scipy().toarray().tolist() == [
        [1, 2, 2, 2, 1],
        [1, 0, 0, 1, 1],
        [0, 1, 0, 0, 0],
    ]
    # A row comes after its last word; the stop word between keeps its place, and rows end there.
    assert counts.sequence(0).tolist() == [1, 3, 2, 0, 4, -1, 1, 3, 2]
    assert bag(texts, ngrams=(3, 3)).features.names == ("new york city",)
    assert bag(texts, ngrams=(2, 3)).features.names == ("new york", "new york city", "york city")
    assert bag(texts, ngrams=2, min_docs=2).features.names == ("city", "new", "york", "york city")
    assert counts.vocabulary.longer == 2
    # Against the plain way to do it.
    rng = np.random.default_rng(1)
    lists = [rng.choice(list("abcd"), n).tolist() for n in (0, 1, 9, 40)]
    rows = bag([" ".join(words) for words in lists], ngrams=(1, 3), stop_words=None, min_length=1)
    wanted = [
        [" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]
        for words in lists
    ]
    assert rows == Counts.from_tokens(wanted)


def test_how_often():
    texts = ["aa bb cc", "aa bb dd", "aa ee ee ee", "aa"]
    assert bag(texts, min_docs=2).features.names == ("aa", "bb")
    assert bag(texts, max_docs=0.5).features.names == ("bb", "cc", "dd", "ee")
    assert bag(texts, max_docs=1).features.names == ("cc", "dd", "ee")
    assert bag(texts, min_count=3).features.names == ("aa", "ee")
    # Of equals the first by name.
    assert bag(texts, max_features=4).features.names == ("aa", "bb", "cc", "ee")
    assert bag(texts, max_features=1).features.names == ("aa",)


def test_what_was_dropped_is_said():
    texts = [*["aa bb the of"] * 6, "aa rare odd x toolongaword", "aa odd"]
    counts = bag(texts, min_docs=2, max_docs=0.8, max_length=8)
    assert counts.features.names == ("bb", "odd")
    assert str(counts.vocabulary) == (
        "kept 2 of 8 words: 2 stop words, 1 too short, 1 too long, 1 in more than 6 documents, "
        "1 in fewer than 2 documents"
    )
    gone = counts.vocabulary
    assert (
        gone.n_words
        == gone.n_kept + gone.stop + gone.short + gone.long + gone.in_few + gone.in_many
    )


def test_options_go_along():
    counts = Counts.from_texts(TEXTS, stem="english", min_docs=2)
    for other in (
        counts.rows([0, 2]),
        counts.columns([0]),
        counts.with_attributes(a=[1, 2, 3, 4]),
        pickle.loads(pickle.dumps(counts)),
        counts.aligned_to(counts.features.select([1, 0]))[0],
    ):
        assert other.text == TextOptions(stem="english", min_docs=2)
        assert other.vocabulary == counts.vocabulary
    again = Counts.from_texts(["Caring for cats"], like=counts)
    assert again.features.names == ("care", "cat")
    with pytest.raises(InvalidParameter, match="like must be a fit or counts"):
        Counts.from_texts(["cat"], like=Counts.from_tokens([["cat"]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": "some"}, "numbers must be 'none', 'all' or 'years'; found 'some'"),
        ({"case": "upper"}, "case must be"),
        ({"without": "footers"}, "without must be 'headers', 'quotes' or 'signatures'"),
        ({"ngrams": 0}, "ngrams must be"),
        ({"ngrams": (3, 2)}, "ngrams must be"),
        ({"ngrams": 2.0}, "ngrams must be"),
        ({"token": "("}, "token must be a regular expression"),
        ({"token": "(a)(b)"}, "at most one group"),
        ({"token": "a", "numbers": "all"}, "numbers has no effect with token"),
        ({"min_length": 0}, "min_length must be a whole number from 1"),
        ({"min_docs": True}, "min_docs must be a whole number from 1"),
        ({"max_length": 1}, "max_length must be min_length or more"),
        ({"max_features": 0}, "max_features must be"),
        ({"text_blocks": True}, "text_blocks needs two fields"),
        ({"text": ()}, "text must name one field or several"),
        ({"text": ("a", "a")}, "each once"),
        ({"labels": 3}, "labels must be a name or several"),
        ({"id": 3}, "id must be a name"),
        ({"stop_words": 3}, "stop_words must be"),
        ({"max_docs": True}, "max_docs must be"),
        ({"nonsense": 1}, "no option of text"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InvalidParameter, match=message):
        bag(["text"], **options)


def test_mail_is_read_without_what_repeats():
    mail = (
        "From: a@b.org\nSubject: cats\n and more\n\nIn article <1@x> b writes:\n> grey at night\n"
        "| grey\n jd> grey\nMine is red: honest\n-- \nsigned B.\n"
    )
    assert bag([mail]).n_features > 6
    short = bag([mail], without=("headers", "quotes", "signatures"))
    assert short.features.names == ("honest", "red")
    assert "grey" in bag([mail], without="headers").features.names
    assert "subject" not in bag([mail], without="headers").features.names
    assert "signed" in bag([mail], without=["headers", "quotes"]).features.names
    # A text that only looks like it.
    assert bag(["Note: no header\nbut a text"], without="headers").n_features > 1


def test_a_fit_knows_how_its_words_were_found(tmp_path):
    counts = Counts.from_texts(TEXTS, stem="english", stop_words=["the", "on"])
    fit = dcomp.LDA(2, max_iter=3, tol=0, verbose=0).fit(counts).fit_
    assert fit.text == counts.text
    dcomp.save(fit, tmp_path / "a.dcomp")
    again = dcomp.load(tmp_path / "a.dcomp")
    assert again.text == counts.text
    assert again.provenance == fit.provenance
    assert Counts.from_texts(["dogs on mats"], like=again).features.names == ("dog", "mat")
    assert dcomp.LDA(2, max_iter=3, tol=0, verbose=0).fit(np.eye(3, dtype=int)).fit_.text is None
