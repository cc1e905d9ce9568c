"""Rows of a live cluster: what changes of pods and nodes put on the board."""

from __future__ import annotations

import time

from tests.unit.watch.test_happenings import EXISTS_30, node, pod

from moorage.client.informer import Delta
from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Object
from moorage.dashboard.state.live import LiveSource
from moorage.dashboard.state.rows import RowDeadline
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS


class Live(LiveSource):
    """A source that is told changes as its informers would tell them."""

    def tell(self, *deltas: Delta) -> None:
        for delta in deltas:
            found = delta.new or delta.old
            assert found is not None
            watched = self._watched
            (watched.pods_changed if found.kind is KINDS.POD else watched.nodes_changed)([delta], time.time())
            self._handler(found.kind)([delta])

    def deadlines(self) -> dict[str, RowDeadline | None]:
        return {row.key: row.deadline for row in self.board.rows.pods.values()}


def tainted(added: float) -> Object:
    return node("n1", {"key": "a", "effect": "NoExecute", "timeAdded": time_text(added)})


async def test_rows_have_the_deadlines_of_pods_as_taints_come_and_go() -> None:
    source, began = Live(lambda: Access("https://x")), round(time.time()) - 7
    source.tell(
        Delta(None, node("n1")), Delta(None, pod("a", "n1", tolerations=EXISTS_30)), Delta(None, pod("b", "n1"))
    )
    assert source.deadlines() == {"default/a": None, "default/b": None}
    source.tell(Delta(node("n1"), tainted(began)))
    leaves = RowDeadline(began + 30, "a is tolerated for 30 s")
    at_once = RowDeadline(-1, "a is not tolerated: no toleration is for its key and effect")
    assert source.deadlines() == {"default/a": leaves, "default/b": at_once}
    source.tell(Delta(None, pod("c", "n1", tolerations=EXISTS_30)), Delta(pod("b", "n1"), None))
    assert source.deadlines() == {"default/a": leaves, "default/c": leaves}
    running = pod("a", "n1", tolerations=EXISTS_30, phase="Running")
    source.tell(Delta(pod("a", "n1", tolerations=EXISTS_30), running))
    assert source.deadlines()["default/a"] == leaves
    source.tell(Delta(tainted(began), node("n1")))
    assert source.deadlines() == {"default/a": None, "default/c": None}
