"""Follow a live cluster: its nodes and pods become rows of the board, and all that a plan reads is at hand.

Changes are gathered for a tenth of a second. Whether the API server still answers, and lets this user in, is asked
every few seconds: a watch of a quiet cluster would not tell. The kubeconfig is read again when it does not.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from moorage.client.http_client import HttpClient
from moorage.client.informer import Delta
from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Object, Unreachable
from moorage.columns.cluster import Cluster
from moorage.dashboard.state.board import Board, SourceInfo, Unread
from moorage.dashboard.state.rows import RowDeadline, node_row, pod_row, row_deadline
from moorage.dashboard.state.workload_changes import workload_changes
from moorage.model.api_error import ApiError
from moorage.model.gates import all_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node
from moorage.plan.devices import device_counts_of
from moorage.plan.input.live_cluster import WANTED
from moorage.watch.happenings import workload_of
from moorage.watch.session import CannotWatch, Session
from moorage.watch.state import Watched

_GATHER = 0.1
_CHECK_EVERY = 3.0
_FIRST_SECONDS = 30.0
_FORBIDDEN = "forbidden"

Listener = Callable[[Kind, list[Delta]], None]


class LiveSource:
    """A cluster behind a kubeconfig. `version` counts all changes that a plan may depend on."""

    def __init__(self, load: Callable[[], Access], context: str = "", listener: Listener | None = None) -> None:
        """`listener` hears of the changes of every kind. Raises KubeconfigError."""
        self._watched = Watched(self._deadline_changed)
        self._listener = listener
        listeners = {kind: self._handler(kind) for kind in WANTED}
        self._session = Session(load, self._watched, self._changed, listeners=listeners, component="dashboard")
        self._context = context
        self.board = Board(self._info(""))
        self.version = 0
        self._devices = Cluster(0, all_gates()).devices
        self._dirty: set[str] = set()
        self._has_changed = asyncio.Event()
        self._told = 0
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def access(self) -> Access:
        return self._session.access

    @property
    def client(self) -> HttpClient:
        """The client that is used now; another one after the kubeconfig has changed."""
        client = self._session.client
        if client is None:
            raise CannotWatch(f"{self.access.server}: there is no connection yet")
        return client

    async def start(self) -> None:
        """Wait until pods and nodes are listed. Raises CannotWatch."""
        running = asyncio.create_task(self._session.run())
        self._tasks = [running]
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                while not self._watched.is_complete:
                    waiting = asyncio.create_task(self._has_changed.wait())
                    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    if running.done():
                        running.result()
                    self._has_changed.clear()
        except TimeoutError:
            raise CannotWatch(f"{self.access.server}: pods were not listed within {_FIRST_SECONDS:.0f} s") from None
        self._show_dirty()
        self.board.begin_anew(time.time())
        self._tasks += [asyncio.create_task(self._gather()), asyncio.create_task(self._check())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def failure(self) -> BaseException:
        """Wait until following has ended, which it should not."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(iter(done)).exception() or RuntimeError("following the cluster has ended by itself")

    def all(self, kind: Kind) -> Iterable[Object]:
        return self._session.objects(kind)

    def get(self, kind: Kind, key: str) -> Object | None:
        return self._session.object(kind, key)

    @property
    def refusals(self) -> dict[str, str]:
        """Why kinds are not watched, by plural."""
        return dict(self._watched.refusals)

    # -- what informers tell ------------------------------------------------------------------------------------------

    def _handler(self, kind: Kind) -> Callable[[list[Delta]], None]:
        take = {
            KINDS.POD: self._pods_changed,
            KINDS.NODE: self._nodes_changed,
            KINDS.RESOURCE_SLICE: self._device_objects_changed,
        }
        take[KINDS.RESOURCE_CLAIM] = self._device_objects_changed
        taking = take.get(kind)

        def changed(deltas: list[Delta]) -> None:
            self.version += 1
            if taking is not None:
                taking(deltas)
            if self._watched.is_complete:
                self.board.tell(workload_changes(kind, deltas, time.time()))
            if self._listener is not None:
                self._listener(kind, deltas)

        return changed

    def _changed(self) -> None:
        self._has_changed.set()

    def _pods_changed(self, deltas: list[Delta]) -> None:
        for old, new in deltas:
            self._dirty |= {pod.view.spec.nodeName for pod in (old, new) if pod is not None}
            if new is not None:
                self.board.set_pod(new.key, pod_row(new.view, workload_of(new.view), self.deadline_of(new.key)))
            elif old is not None:
                self.board.set_pod(old.key, None)

    def deadline_of(self, key: str) -> RowDeadline | None:
        """Return when a pod has to leave its node because of taints; None if it may stay."""
        return row_deadline(self._watched.deadline_of(key))

    def _deadline_changed(self, key: str) -> None:
        """Show another deadline of a pod that may not have changed itself: its node's taints have."""
        row = self.board.rows.pods.get(key)
        if row is not None:
            self.board.set_pod(key, row._replace(deadline=self.deadline_of(key)))

    def _nodes_changed(self, deltas: list[Delta]) -> None:
        self._dirty |= {node.name for delta in deltas for node in delta if node is not None}

    def _device_objects_changed(self, deltas: list[Delta]) -> None:
        for old, new in deltas:
            if new is not None:
                self._devices.set(new.view, new.revision)
            elif old is not None:
                self._devices.remove(old.view)
        # A claim does not say which nodes its devices are of; few nodes have devices.
        self._dirty |= {name for name in self._watched.nodes if any(self._devices.pools.local_to(name))}

    def _show_dirty(self) -> None:
        dirty, self._dirty = self._dirty, set()
        for name in dirty:
            node: Node | None = self._watched.nodes.get(name)
            row = None
            if node is not None:
                row = node_row(node, self._watched.usage.of(name), device_counts_of(self._devices, name))
            if name:
                self.board.set_node(name, row)

    # -- tasks --------------------------------------------------------------------------------------------------------

    async def _gather(self) -> None:
        while True:
            await self._has_changed.wait()
            await asyncio.sleep(_GATHER)
            self._has_changed.clear()
            self._show_dirty()
            new = self._watched.total - self._told
            self._told = self._watched.total
            latest = list(self._watched.happenings)
            self.board.tell(latest[len(latest) - min(new, len(latest)) :])
            self.board.commit(time.time())
            self._tell_source(self.board.source.problem)

    async def _check(self) -> None:
        """Ask now and then whether pods can still be listed, and say on the board if not."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            problem = await self._problem()
            if problem:
                self._session.look_again()
            self._tell_source(problem)

    async def _problem(self) -> str:
        server = self.access.server
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                await self.client.get_path("/api/v1/pods?limit=1")
        except ApiError as error:
            return f"{server} does not let pods be listed any more: {error.message}"
        except Unreachable as error:
            return f"{server} cannot be reached: {str(error).removeprefix(f'{server}: ')}"
        except TimeoutError:
            return f"{server} gave no answer within {_FIRST_SECONDS:.0f} s"
        return ""

    def _tell_source(self, problem: str) -> None:
        """Say on the board what is wrong, and what may not be read, where that differs from what it says."""
        if (problem, self._unread()) != (self.board.source.problem, self.board.source.unread):
            self.board.set_source(self._info(problem))

    def _info(self, problem: str) -> SourceInfo:
        return SourceInfo("live", self.access.server, self._context, not problem, problem, time.time(), self._unread())

    def _unread(self) -> tuple[Unread, ...]:
        """Return the kinds that this user may not list, nodes first. Kinds that the server lacks are no news."""
        refused = {plural: why for plural, why in self._watched.refusals.items() if _FORBIDDEN in why}
        return tuple(
            Unread(plural, refused[plural])
            for plural in sorted(refused, key=lambda resource: (resource != KINDS.NODE.plural, resource))
        )

    async def events_of(self, kind: str, name: str, namespace: str = "") -> list[dict[str, Any]]:
        """List the events about an object, newest last; empty where they may not be listed."""
        fields = f"involvedObject.kind={kind},involvedObject.name={name}"
        with suppress(ApiError, Unreachable, CannotWatch):
            listing = await self.client.list_all(KINDS.EVENT, namespace, fields=fields)
            return [_event_line(item.view) for item in listing.items]
        return []


def _event_line(event: Any) -> dict[str, Any]:
    series = event.series
    when = event.lastTimestamp or event.eventTime or event.firstTimestamp or event.metadata.creationTimestamp or ""
    return {
        "time": when,
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "count": series.count if series is not None else event.count or 1,
        "source": event.reportingComponent or event.source.component,
    }
