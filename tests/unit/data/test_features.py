"""FeatureSpace: names, blocks, identity."""

import copy
import pickle

import numpy as np
import pytest

from dcomp.data import FeatureSpace
from dcomp.errors import InvalidCounts, InvalidParameter


def test_defaults():
    space = FeatureSpace.build(3)
    assert space.names is None
    assert space.block_names is None
    assert space.blocks.dtype == np.int32
    assert space.blocks.tolist() == [0, 0, 0]
    assert (space.n_features, space.n_blocks) == (3, 1)
    assert space.name(2) == "feature 2"


def test_blocks_are_numbered_by_first_appearance():
    assert FeatureSpace.build(4, blocks=np.array([9, 2, 9, 5])).blocks.tolist() == [0, 1, 0, 2]
    space = FeatureSpace.build(3, blocks=["body", "title", "body"])
    assert space.block_names == ("body", "title")
    assert FeatureSpace.build(2, blocks=[(1, 2), (1, 2)]).n_blocks == 1


def test_features_of_several_blocks_are_called_by_both_names():
    space = FeatureSpace.build(4, ["yea", "nay", "yea", "RC6=nay"], ["RC5", "RC5", "RC6", "RC6"])
    assert space.labels == ("RC5=yea", "RC5=nay", "RC6=yea", "RC6=nay")
    assert [space.name(j) for j in range(4)] == list(space.labels)
    known = space.numbers_by_name()
    assert (known["RC6=yea"], known["nay"], "yea" in known) == (2, 1, False)
    assert FeatureSpace.build(2, blocks=["p", "q"]).name(1) == "q=feature 1"
    assert FeatureSpace.build(2, blocks=["p", "q"]).labels is None
    assert FeatureSpace.build(2).numbers_by_name() == {"feature 0": 0, "feature 1": 1}
    alone = FeatureSpace.build(2, ["yea", "nay"], ["RC5", "RC5"])
    assert (alone.labels, alone.name(1)) == (("yea", "nay"), "nay")
    assert space.select([0, 1]).name(0) == "yea"


def test_duplicate_name_is_named():
    with pytest.raises(InvalidParameter, match=r"'b' appears more than once$"):
        FeatureSpace.build(4, names=["a", "b", "b", "a"])
    with pytest.raises(InvalidParameter, match="'x' appears more than once in block 'q'"):
        FeatureSpace.build(3, names=["x", "x", "x"], blocks=["p", "q", "q"])
    assert FeatureSpace.build(2, names=["x", "x"], blocks=[0, 1]).names == ("x", "x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["a"]}, "2 features, 1 names"),
        ({"blocks": [0]}, "2 features, 1 ids"),
        ({"names": "ab"}, "sequence of names"),
        ({"blocks": "ab"}, "sequence of ids"),
        ({"blocks": [[1], [2]]}, "hashable"),
        ({"blocks": 3}, "sequence of ids"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        FeatureSpace.build(2, **arguments)


def test_direct_construction_is_checked():
    with pytest.raises(InvalidParameter, match="every number"):
        FeatureSpace(None, np.array([0, 2], np.int32))
    with pytest.raises(InvalidParameter, match="one name per block"):
        FeatureSpace(None, np.array([0, 1], np.int32), ("only",))


def test_immutable_equal_hashable_and_pickles():
    space = FeatureSpace.build(3, ["a", "b", "c"], ["x", "x", "y"])
    with pytest.raises(AttributeError):
        space.names = None
    with pytest.raises(ValueError, match="read-only"):
        space.blocks[0] = 1
    for twin in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
        assert twin == space
        assert hash(twin) == hash(space)
        assert not twin.blocks.flags.writeable
    assert space != FeatureSpace.build(3, ["a", "b", "c"])
    assert space != "space"
    assert repr(space) == "FeatureSpace(3 named features, 2 blocks)"


def test_two_spaces_say_what_differs():
    names, ids = ["a", "b", "c"], ["x", "x", "y"]
    space = FeatureSpace.build(3, names, ids)
    assert space.difference(FeatureSpace.build(3, names, ids)) is None
    for other, said in (
        (FeatureSpace.build(4), "the first has 3 and the second 4"),
        (FeatureSpace.build(3, blocks=ids), "first has names of features and the second has none"),
        (FeatureSpace.build(3, names), "the first has blocks of features and the second has none"),
        (
            FeatureSpace.build(3, ["a", "d", "c"]),
            "names of features differ, at number 1 'b' in the",
        ),
        (
            FeatureSpace.build(3, names, ["x", "y", "y"]),
            "blocks of features differ, at number 1 'x'",
        ),
    ):
        assert said in space.difference(other)
    assert "first has none and the second has names" in FeatureSpace.build(3).difference(
        FeatureSpace.build(3, names)
    )
    # Nameless blocks of earlier files against the same blocks with names.
    nameless = FeatureSpace(None, np.array([0, 1]))
    assert "0 in the first and '0' in the second" in nameless.difference(
        FeatureSpace.build(2, blocks=[0, 1])
    )


def test_select_drops_vanished_blocks():
    space = FeatureSpace.build(4, ["a", "b", "c", "d"], ["x", "y", "z", "x"])
    chosen = space.select([3, 2])
    assert chosen.names == ("d", "c")
    assert chosen.block_names == ("x", "z")
    assert chosen.blocks.tolist() == [0, 1]
    assert space.select(np.array([True, False, False, True])).names == ("a", "d")
    assert space.select(slice(1, 3)).names == ("b", "c")


def test_positions_need_comparable_blocks():
    named = FeatureSpace.build(2, ["a", "b"], ["x", "y"])
    single = FeatureSpace.build(2, ["a", "b"])
    with pytest.raises(InvalidCounts, match="blocks must have names on both sides"):
        named.positions_in(single)
    others = FeatureSpace.build(2, ["a", "b"], [0, 1])
    with pytest.raises(InvalidCounts, match=r"names in common.*'x', 'y' and '0', '1'"):
        named.positions_in(others)
    only_y = FeatureSpace.build(2, ["b", "a"], ["y", "y"])
    assert only_y.positions_in(named).tolist() == [1, -1]
    # Blocks without names, as in files of earlier versions, are matched by number.
    nameless = FeatureSpace(("b", "a"), np.array([1, 0]))
    assert nameless.positions_in(named).tolist() == [1, 0]


def test_block_ids_of_any_kind_are_names():
    for ids in ([101, 101, 205], np.array([101, 101, 205]), ["101", "101", "205"]):
        space = FeatureSpace.build(3, ["yea", "nay", "yea"], ids)
        assert space.block_names == ("101", "205")
        assert FeatureSpace.build(3, space.names, space.block_ids) == space
    assert FeatureSpace.build(3).block_ids is None
    assert FeatureSpace(None, np.array([0, 1, 1])).block_ids == (0, 1, 1)
    with pytest.raises(InvalidParameter, match="two ids are called '1'"):
        FeatureSpace.build(2, blocks=[1, "1"])
