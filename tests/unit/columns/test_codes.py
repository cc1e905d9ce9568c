"""Codes of values in use: counted, forgotten with the last user, used again, and read as new by all readers."""

import numpy as np

from moorage.columns.codes import CodeReader, Codes, LabelColumn, TaintSets, resized
from moorage.columns.slots import NamedArrays, Slots
from moorage.model.types.node import Taint


def test_a_value_keeps_its_code_until_its_last_user_is_gone() -> None:
    codes: Codes[str] = Codes("")
    assert [codes.take(value) for value in ("a", "b", "a")] == [1, 2, 1]
    codes.give_back(1)
    assert codes.code_of == {"": 0, "a": 1, "b": 2}
    codes.give_back(1)
    assert codes.code_of == {"": 0, "b": 2}
    assert codes.take("c") == 1
    assert (codes.values, len(codes), codes.in_use) == (["", "c", "b"], 3, 3)


def test_a_reader_is_told_of_each_code_that_got_a_value() -> None:
    codes: Codes[str] = Codes("")
    codes.take("a")
    reader, late = CodeReader(codes), CodeReader(codes)
    assert reader.unread() == [0, 1]
    reader.done()
    codes.give_back(1)
    assert [reader.is_behind, late.is_behind] == [False, True]  # a value less, and nothing to evaluate
    assert late.unread() == [0]
    codes.take("b")
    assert [reader.is_behind, late.is_behind] == [True, True]
    assert reader.unread() == [1]  # the same code, another value
    codes.take("c")
    assert (reader.unread(), late.unread()) == ([1, 2], [0, 1, 2])


def test_a_list_of_taints_is_forgotten_with_its_last_node() -> None:
    sets = TaintSets()
    first, second = ((Taint(key="sla", value=value, effect="NoSchedule"),) for value in ("1", "2"))
    assert sets.take(first) == 1
    sets.give_back(1)
    assert sets.sets == [(), ()]
    assert sets.take(second) == 1
    assert sets.sets == [(), second]


def test_a_label_column_has_the_values_of_its_nodes() -> None:
    slots = Slots()
    column = LabelColumn("zone", slots.array(np.int32))
    column.members(1)
    for round_ in range(100):
        assert column.set(0, f"a{round_}")
        assert column.set(1, "b") is (round_ == 0)
    assert column.values.code_of.keys() == {None, "a99", "b"}
    assert len(column.values) <= 4
    assert {value: set(column.members(code)) for value, code in column.values.code_of.items() if value} == {
        "a99": {0},
        "b": {1},
    }
    column.set(0, None)
    assert column.values.code_of.keys() == {None, "b"}


def test_arrays_of_answers_grow_and_keep_what_they_have() -> None:
    answers = resized(np.array([True, False]), 5)
    assert len(answers) >= 5
    assert answers[:3].tolist() == [True, False, False]
    assert resized(answers, 3) is answers


def test_an_array_that_is_held_or_has_a_value_is_not_forgotten() -> None:
    arrays = NamedArrays(Slots())
    held = arrays["held"]
    arrays["filled"].values[0] = 1
    arrays["empty"]
    arrays.forget_unused()
    assert arrays.keys() == {"held", "filled"}
    assert arrays["held"] is held
