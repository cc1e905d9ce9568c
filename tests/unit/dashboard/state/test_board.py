"""The board: what becomes of changes that are told from several sides."""

from moorage.dashboard.state.board import Board, SourceInfo
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
