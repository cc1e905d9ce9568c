"""Rows of a live cluster: what changes of pods and nodes put on the board."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.unit.watch.test_happenings import EXISTS_30, node, pod

from moorage.client.informer import Delta
from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Object
from moorage.dashboard.state.live import LiveSource
from moorage.dashboard.state.progress import Progress
from moorage.dashboard.state.rows import RowDeadline
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.watch.session import CannotWatch


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


async def _forever() -> None:
    await asyncio.Event().wait()


def test_progress_is_that_of_the_list_that_has_most_left_to_come() -> None:
    heard: list[Progress | None] = []
    source = Live(lambda: Access("https://x"), report=heard.append)
    source._page_listed(KINDS.POD, 500, 1_500)
    source._page_listed(KINDS.NODE, 1, 1)  # comes at any time, and is no news of the pods
    source._page_listed(KINDS.POD, 1_000, 1_500)
    pods = [Progress("Listing pods", done, 1_500) for done in (500, 500, 1_000)]
    assert heard == pods
    source._page_listed(KINDS.NODE, 500, 0)  # a server that does not say how many are left
    assert heard[-1] == Progress("Listing nodes", 500)


async def test_listing_ends_for_lack_of_progress_only() -> None:
    heard: list[Progress | None] = []
    source = Live(lambda: Access("https://x"), report=heard.append)
    source._tasks = [asyncio.create_task(_forever())]
    listing = asyncio.create_task(source._wait_until(lambda: False))
    for page in range(1, 11):  # longer than any fixed time would be
        await asyncio.sleep(29)
        assert not listing.done()
        source._page_listed(KINDS.POD, 500 * page, 50_000)
    with pytest.raises(CannotWatch, match=r"^https://x: pods were not listed: nothing came for 30 s$"):
        await listing
    assert asyncio.get_running_loop().time() == 10 * 29 + 30
    assert heard[-1] == Progress("Listing pods", 5_000, 50_000)
    source._tasks[0].cancel()
