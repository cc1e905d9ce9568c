"""History: what was at each moment, what bounds do to it, and what a scrubber shows."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.dashboard.state.history import History, NotKept
from moorage.dashboard.state.rows import PodRow, Rows, RowsDelta, inverse, redo, undo
from moorage.watch.happenings import Happening, HappeningKind

names = st.sampled_from(["a", "b", "c"])
node_rows = st.none() | st.integers(0, 3)
pod_rows = st.none() | st.tuples(st.sampled_from(["", "n1", "n2"]), st.sampled_from(["Pending", "Running"]))
edits = st.tuples(st.dictionaries(names, node_rows), st.dictionaries(names, pod_rows))
stories = st.lists(edits, max_size=12)


def copy(rows: Rows) -> Rows:
    return Rows(dict(rows.nodes), dict(rows.pods))


def delta_of(rows: Rows, edit: tuple[dict[str, int | None], dict[str, tuple[str, str] | None]], seq: int) -> RowsDelta:
    """The change that sets these nodes and pods, as the state would record it."""
    nodes, pods = edit
    new_nodes = [
        (rows.nodes.get(name), None if cpu is None else {"name": name, "cpu": cpu}) for name, cpu in nodes.items()
    ]
    new_pods = [
        (rows.pods.get(name), None if found is None else PodRow(name, "", *found)) for name, found in pods.items()
    ]
    return RowsDelta(
        seq,
        float(seq),
        [pair for pair in new_nodes if pair[0] != pair[1]],
        [pair for pair in new_pods if pair[0] != pair[1]],
    )


def played(story: list[tuple[dict[str, int | None], dict[str, tuple[str, str] | None]]]) -> tuple[list[Rows], History]:
    """Every state there was, and the history of it."""
    rows, history = Rows({}, {}), History(10, 10.0)
    states = [copy(rows)]
    for number, edit in enumerate(story, 11):
        delta = delta_of(rows, edit, number)
        redo(rows, delta)
        history.record(delta)
        states.append(copy(rows))
    return states, history


def test_undo_takes_back_what_redo_did() -> None:
    def law(back: Callable[[Rows, RowsDelta], None]) -> Callable[[], None]:
        @LAW_SETTINGS
        @given(edits, edits)
        def holds(
            first: tuple[dict[str, int | None], dict[str, tuple[str, str] | None]],
            second: tuple[dict[str, int | None], dict[str, tuple[str, str] | None]],
        ) -> None:
            rows = Rows({}, {})
            redo(rows, delta_of(rows, first, 1))
            before = copy(rows)
            delta = delta_of(rows, second, 2)
            redo(rows, delta)
            back(rows, delta)
            assert rows == before

        return holds

    law(undo)()

    def forgets_pods(rows: Rows, delta: RowsDelta) -> None:
        redo(rows, RowsDelta(delta.seq, delta.time, inverse(delta).nodes))

    assert_notices(law(forgets_pods))


@LAW_SETTINGS
@given(stories)
def test_every_moment_is_as_it_was(
    story: list[tuple[dict[str, int | None], dict[str, tuple[str, str] | None]]],
) -> None:
    states, history = played(story)
    for seq, state in enumerate(states, 10):
        assert history.at(seq, states[-1]) == state
        assert history.time_of(seq) == float(seq)


@LAW_SETTINGS
@given(stories, st.integers(0, 20), st.integers(0, 2000))
def test_a_bounded_history_keeps_its_bounds_and_stays_correct(
    story: list[tuple[dict[str, int | None], dict[str, tuple[str, str] | None]]], max_rows: int, max_bytes: int
) -> None:
    rows, history = Rows({}, {}), History(10, 10.0, max_rows=max_rows, max_bytes=max_bytes)
    states = [copy(rows)]
    for number, edit in enumerate(story, 11):
        delta = delta_of(rows, edit, number)
        redo(rows, delta)
        history.record(delta)
        states.append(copy(rows))
        kept = history.steps(after=history.first)
        assert sum(step.size for step in kept) <= max_rows
    assert history.last == 10 + len(story)
    for seq in range(history.first, history.last + 1):
        assert history.at(seq, rows) == states[seq - 10]


def test_steps_lead_from_any_moment_to_its_neighbours() -> None:
    states, history = played([({}, {"a": ("", "Pending")}), ({"n": 1}, {}), ({}, {"a": ("n1", "Running")})])
    rows = history.at(11, states[-1])
    for step in history.steps(after=11):
        redo(rows, step)
    assert rows == states[-1]
    for step in history.steps_back(upto=13):
        undo(rows, step)
    assert rows == states[0]
    assert [step.seq for step in history.steps(after=10, most=2)] == [11, 12]
    assert [step.seq for step in history.steps_back(upto=12, most=1)] == [12]


@pytest.mark.parametrize(
    ("seq", "why"),
    [
        (9, "moment 9 is not kept any more: history begins with 10"),
        (12, "moment 12 has not come yet: the last one is 11"),
    ],
)
def test_a_moment_that_is_not_kept_is_refused(seq: int, why: str) -> None:
    states, history = played([({"a": 1}, {})])
    for ask in (lambda: history.at(seq, states[-1]), lambda: history.time_of(seq), lambda: history.steps(after=seq)):
        with pytest.raises(NotKept, match=f"^{why}$"):
            ask()


def test_moments_say_what_led_to_them() -> None:
    history = History(1, 5.0)
    placed = Happening(6.0, HappeningKind.PLACED, "default/web-1", "", "on n1")
    history.record(RowsDelta(2, 6.0, [], [(None, PodRow("default/web-1", "", "n1", "Pending"))], [placed]))
    history.record(RowsDelta(3, 7.0, [({"name": "n1"}, {"name": "n1", "ready": False})]))
    gone = Happening(8.0, HappeningKind.NODE, "n1", "", "is gone")
    history.record(RowsDelta(4, 8.0, [({"name": "n1"}, None)], [], [gone]))
    pod = PodRow("default/web-1", "", "n1", "Pending")
    history.record(RowsDelta(5, 9.0, [], [(pod, pod._replace(phase="Running"))]))
    history.record(RowsDelta(6, 9.5, [], [(pod, None)], [placed, gone]))
    assert [tuple(moment) for moment in history.moments()] == [
        (1, 5.0, "the earliest state that is kept"),
        (2, 6.0, "default/web-1 placed on n1"),
        (3, 7.0, "node n1 changed"),
        (4, 8.0, "n1 is gone"),
        (5, 9.0, "default/web-1 running"),
        (6, 9.5, "1 placed, 1 change of nodes"),
    ]


def test_many_moments_are_merged_and_the_last_is_always_there() -> None:
    history = History(0, 0.0)
    for seq in range(1, 1001):
        placed = Happening(float(seq), HappeningKind.PLACED, f"default/p{seq}", "", "on n1")
        history.record(RowsDelta(seq, float(seq), [], [], [placed]))
    moments = history.moments(most=11)
    assert len(moments) == 11
    assert moments[1] == (100, 100.0, "100 placed")
    assert moments[-1].seq == history.last == 1000
    assert history.document()["first"] == 0


def test_a_state_that_is_replaced_has_no_past() -> None:
    _, history = played([({"a": 1}, {})])
    history.reset(20, 3.0)
    assert (history.first, history.last) == (20, 20)
    assert [tuple(moment) for moment in history.moments()] == [(20, 3.0, "now")]


def test_numbers_only_grow() -> None:
    _, history = played([({"a": 1}, {})])
    with pytest.raises(ValueError, match="change 11 after 11"):
        history.record(RowsDelta(11, 0.0))
