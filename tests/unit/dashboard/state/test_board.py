"""The board: what becomes of changes that are told from several sides."""

import msgspec

from moorage.dashboard.state.board import Board, SourceInfo
from moorage.dashboard.state.rows import PodRow
from moorage.watch.happenings import Happening, HappeningKind


def test_what_was_told_later_but_happened_earlier_comes_first() -> None:
    board = Board(SourceInfo("live", "https://here"))
    created = Happening(2.0, HappeningKind.CONTROL, "ReplicaSet default/web-1", "", "created Pod web-1-x")
    tainted = Happening(1.0, HappeningKind.NODE, "n1", "", "has a new taint a=b:NoExecute")
    board.tell([created])
    board.tell([tainted])
    delta = board.commit(3.0)
    assert delta is not None
    assert delta.happenings == [tainted, created]
    assert list(board.happenings) == [tainted, created]
    assert board.commit(4.0) is None


async def test_a_page_that_is_too_far_behind_is_told_the_number_to_go_on_from() -> None:
    board = Board(SourceInfo("live", "https://here"))
    board.begin_anew(5.0)
    events = board.follow(0)
    assert [await anext(events) for _ in range(3)][2] == b'event: reload\ndata: {"seq":1}\n\n'
    assert board.followers == 1
    await events.aclose()
    assert board.followers == 0


def test_the_state_says_since_when_it_is_followed_and_when_it_last_changed() -> None:
    board = Board(SourceInfo("live", "https://here"))
    board.begin_anew(5.0)
    state = msgspec.json.decode(board.snapshot({}))
    assert (state["since"], state["changed"]) == (5.0, 0.0)
    board.set_pod("default/a", PodRow("default/a", "", "", "Pending"))
    board.commit(9.0)
    state = msgspec.json.decode(board.snapshot({}))
    assert (state["since"], state["changed"]) == (5.0, 9.0)
