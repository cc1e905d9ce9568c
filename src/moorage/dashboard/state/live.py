"""Follow a live cluster: its nodes and pods become rows of the board, and all that a plan reads is at hand.

Changes are gathered for a tenth of a second. Whether the API server still answers, and lets this user in, is asked
every few seconds: a watch of a quiet cluster would not tell. The kubeconfig is read again when it does not.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from moorage.client.http_client import HttpClient
from moorage.client.informer import Delta
from moorage.client.kubeconfig.access import Access
from moorage.client.protocol import Object, Unreachable
from moorage.columns.cluster import Cluster
from moorage.dashboard.earlier.reading import KINDS_READ, read_earlier, without_live
from moorage.dashboard.state.board import Board, SourceInfo, Unread
from moorage.dashboard.state.progress import Progress, Report
from moorage.dashboard.state.rows import RowDeadline, node_row, pod_row, row_deadline
from moorage.dashboard.state.silence import Silence, silence_of
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
_ANSWER_SECONDS = 30.0
_FORBIDDEN = "forbidden"

Listener = Callable[[Kind, list[Delta]], None]


class LiveSource:
    """A cluster behind a kubeconfig. `version` counts all changes that a plan may depend on."""

    def __init__(
        self,
        load: Callable[[], Access],
        kubeconfig: str = "",
        listener: Listener | None = None,
        report: Report = lambda progress: None,
    ) -> None:
        """`listener` hears of the changes of every kind, `report` of what is listed before `complete` returns.

        `kubeconfig` is the file to name in commands for the user.
        Raises KubeconfigError.
        """
        self._watched = Watched(self._deadline_changed)
        self._listener = listener
        listeners = {kind: self._handler(kind) for kind in WANTED}
        self._session = Session(
            load, self._watched, self._changed, listeners=listeners, component="dashboard", on_page=self._page_listed
        )
        self._report = report
        self._has_contact = False  # a page of pods has been listed
        self._listed: dict[Kind, Progress] = {}
        self._kubeconfig = kubeconfig
        self.board = Board(self._info(Silence()))
        self.version = 0
        self._devices = Cluster(0, all_gates()).devices
        self._dirty: set[str] = set()
        self._has_changed = asyncio.Event()
        self._told = 0
        self._earlier: asyncio.Task[dict[str, Any]] | None = None
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
        """Wait for the first pods, so that it is certain that they can be listed. Raises CannotWatch."""
        self._tasks = [asyncio.create_task(self._session.run())]
        await self._wait_until(lambda: self._has_contact or self._watched.is_complete)

    async def complete(self) -> None:
        """Wait until pods and nodes are listed, and follow them from then on. Raises CannotWatch."""
        await self._wait_until(lambda: self._watched.is_complete)
        self._show_dirty()
        began = time.time()
        self.board.begin_anew(began)
        self._earlier = asyncio.create_task(self._read_earlier(began))
        self._tasks += [asyncio.create_task(self._gather()), asyncio.create_task(self._check())]

    async def _wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait for as long as something comes. Raises CannotWatch."""
        running = self._tasks[0]
        while not is_done():
            self._has_changed.clear()
            waiting = asyncio.create_task(self._has_changed.wait())
            done, _ = await asyncio.wait(
                [running, waiting], timeout=_FIRST_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            waiting.cancel()
            if running.done():
                running.result()
            if not done and not is_done():
                text = f"pods were not listed: nothing came for {_FIRST_SECONDS:.0f} s"
                raise CannotWatch(f"{self.access.server}: {text}")

    def _page_listed(self, kind: Kind, number: int, total: int) -> None:
        """Note that a page of a list came, and say how far the list is that has most left to come."""
        self._has_contact |= kind is KINDS.POD
        if not self._watched.is_complete:
            if kind in (KINDS.POD, KINDS.NODE):
                self._listed[kind] = Progress(f"Listing {kind.plural}", number, total)
                self._report(max(self._listed.values(), key=lambda listed: listed.left))
            self._has_changed.set()

    async def _read_earlier(self, began: float) -> dict[str, Any]:
        objects = [item for kind in KINDS_READ for item in self.all(kind)]
        document = await read_earlier(self.client, objects, began)
        document["entries"] = without_live(document["entries"], [*self._watched.happenings], began)
        return document

    async def earlier(self) -> dict[str, Any]:
        """Return what happened before, as `GET /api/earlier` answers it, when it has been read."""
        if self._earlier is None:
            return {"until": 0.0, "entries": [], "leftOut": 0, "problem": ""}
        return await asyncio.shield(self._earlier)

    async def stop(self) -> None:
        tasks = [*self._tasks, *([self._earlier] if self._earlier is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        take[KINDS.REPLICA_SET] = lambda deltas: self._watched.replica_sets_changed(deltas, time.time())
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
            self._tell_source(Silence(self.board.source.problem, self.board.source.command))

    async def _check(self) -> None:
        """Ask now and then whether pods can still be listed, and say on the board if not."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            silence = await self._silence()
            if silence.problem:
                self._session.look_again()
            self._tell_source(silence)

    async def _silence(self) -> Silence:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                await self.client.get_path("/api/v1/pods?limit=1")
        except (ApiError, Unreachable, TimeoutError) as error:
            return silence_of(error, self.access, self._kubeconfig, _ANSWER_SECONDS)
        return Silence()

    def _tell_source(self, silence: Silence) -> None:
        """Say on the board what is wrong, and what may not be read, where that differs from what it says."""
        source = self._info(silence)
        if msgspec.structs.replace(source, time=self.board.source.time) != self.board.source:
            self.board.set_source(source)

    def _info(self, silence: Silence) -> SourceInfo:
        access, (problem, command) = self.access, silence
        unread = self._unread()
        return SourceInfo("live", access.server, access.context, not problem, problem, time.time(), unread, command)

    def _unread(self) -> tuple[Unread, ...]:
        """Return the kinds that this user may not list, nodes first. Kinds that the server lacks are no news."""
        refused = {plural: why for plural, why in self._watched.refusals.items() if _FORBIDDEN in why}
        return tuple(
            Unread(plural, refused[plural])
            for plural in sorted(refused, key=lambda resource: (resource != KINDS.NODE.plural, resource))
        )

    async def events_of(self, kind: str, name: str, namespace: str = "", uid: str = "") -> list[dict[str, Any]]:
        """List the events about an object in the order of kubectl describe; empty where they may not be listed.

        With `uid`, those about an earlier object of the same name are left out.
        """
        fields = f"involvedObject.kind={kind},involvedObject.name={name}"
        if uid:
            fields += f",involvedObject.uid={uid}"
        with suppress(ApiError, Unreachable, CannotWatch):
            listing = await self.client.list_all(KINDS.EVENT, namespace, fields=fields)
            events = sorted((item.view for item in listing.items), key=lambda event: event.lastTimestamp or "")
            return [_event_line(event) for event in events]
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
