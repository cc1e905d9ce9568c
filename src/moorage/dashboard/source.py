"""Bring the cluster to the page and to the simulator: a live one as it changes, or files as they are edited.

The simulator gets the cluster again when it has changed and a question is asked, or a page looks on; while it loads,
the one before answers. How often is bounded by how long loading takes, so that a large, busy cluster does not keep a
core busy.
"""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from moorage.admit.extension.registered import REGISTERED_KINDS
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Object, Unreachable
from moorage.dashboard.actions import ActionContext
from moorage.dashboard.simulator.client import LOAD_SECONDS, Simulator
from moorage.dashboard.simulator.spec import InputSpec, LiveInput
from moorage.dashboard.state.board import Board, SourceInfo, Unread
from moorage.dashboard.state.details import node_details, pod_details
from moorage.dashboard.state.live import Listener, LiveSource
from moorage.dashboard.state.progress import Report
from moorage.dashboard.state.rows import rows_of_table
from moorage.model.kinds import KINDS, Kind
from moorage.plan.gates.kep_states import KepState, kep_states
from moorage.plan.gates.live_keps import ask_keps
from moorage.plan.input.extensions.live_parameters import LiveParameters, read_parameters
from moorage.plan.input.live_cluster import WANTED, Missing
from moorage.plan.input.live_gates import LiveGates, ask_endpoints, ask_server, gates_in
from moorage.watch.session import CannotWatch


class DashboardSettings(msgspec.Struct, frozen=True):
    """The options of `moorage dashboard`. Without `kubeconfig` it shows `files`."""

    kubeconfig: str | None = None
    context: str = ""
    files: tuple[str, ...] = ()
    stdin: str = ""  # what the file `-` holds
    feature_gates: dict[str, bool] = {}
    configuration: str | None = None  # the text of a KubeSchedulerConfiguration
    configuration_name: str = "configuration"
    seed: int = 0
    namespace: str = ""
    endpoints: tuple[str, ...] = ()  # where components other than the API server serve metrics
    bind_address: str = "127.0.0.1"
    port: int = 0
    host_names: tuple[str, ...] = ()  # by which browsers may call it, besides its addresses
    allow_changes: bool = False
    command: str = "moorage dashboard"  # what started it: the page says so when it is gone


Document = dict[str, Any]

_LOOK_EVERY = 1.0
_READ_SECONDS = 3.0  # files that take longer are read while the page is open
_LEAST_PAUSE = 2.0  # seconds between two loads, and this many times as long as a load takes
_PAUSE_FACTOR = 4.0
_QUICK = 2.0  # seconds that a question may wait for the newest state
_GATES_EVERY = 30.0
_MAX_WATCHED_FILES = 10_000


class CannotShow(Exception):
    """Why there is nothing to show: one line for the user."""


class ClusterSource(Protocol):
    """Where the page's rows and the simulator's input come from."""

    board: Board
    simulator: Simulator

    async def start(self) -> None:
        """Wait until it is likely that there is something to show. Raises CannotShow, CannotWatch."""

    async def complete(self) -> None:
        """Wait until the board has all rows. Raises CannotShow, CannotWatch."""

    async def stop(self) -> None: ...

    async def failure(self) -> BaseException: ...

    async def refresh(self) -> None:
        """Let the simulator have the cluster as it is now, where that is due."""

    async def gates(self) -> LiveGates | None:
        """Return the gates that the components tell; None for files."""

    async def keps(self) -> Sequence[KepState]:
        """Return how the cluster has each KEP that attach brings; nothing for files."""

    async def node(self, name: str) -> Document | None: ...

    async def pod(self, key: str) -> Document | None: ...

    async def earlier(self) -> Document:
        """Return what happened before the dashboard started; nothing for files."""

    async def actions(self) -> ActionContext:
        """Return what is needed to change the cluster, and whether that is allowed."""


class LiveCluster:
    """A cluster behind a kubeconfig."""

    def __init__(self, settings: DashboardSettings, simulator: Simulator, listener: Listener, report: Report) -> None:
        """Raises KubeconfigError."""
        self._settings, self.simulator = settings, simulator
        kubeconfig, context = settings.kubeconfig or "", settings.context
        self.live = LiveSource(lambda: load_access(kubeconfig, context=context), kubeconfig, listener, report)
        self.board = self.live.board
        self._gates: tuple[float, LiveGates] | None = None
        self._loaded_version = -1
        self._load_seconds = self._pause_until = 0.0
        self._loading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._actions = ActionContext(allow_changes=settings.allow_changes)
        self._trial: HttpClient | None = None

    async def start(self) -> None:
        """Raises CannotWatch."""
        await self.live.start()

    async def complete(self) -> None:
        """Raises CannotWatch."""
        await self.live.complete()
        self._task = asyncio.create_task(self._keep_fresh())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._trial is not None:
            await self._trial.close()
        await self.live.stop()

    async def failure(self) -> BaseException:
        return await self.live.failure()

    async def refresh(self) -> None:
        """Load what has changed before a question is answered, unless that takes long: then when it is due."""
        await self._refresh(pauses=self._load_seconds > _QUICK)

    async def _refresh(self, *, pauses: bool) -> None:
        if self._is_due(pauses):
            async with self._loading:
                if self._is_due(pauses):
                    await self._load()

    def _is_due(self, pauses: bool) -> bool:
        is_new = self.live.version != self._loaded_version
        return is_new and not (pauses and time.monotonic() < self._pause_until)

    async def _keep_fresh(self) -> None:
        """Load at once, then while a page looks on, so that a question need not wait for it."""
        await self.refresh()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self.board.followers:
                await self._refresh(pauses=True)

    async def _load(self) -> None:
        began, version = time.monotonic(), self.live.version
        gates = await self.gates()
        spec = self._spec(gates, await self._parameters())
        await self.simulator.load(spec)
        self._loaded_version = version
        self._load_seconds = time.monotonic() - began
        self._pause_until = time.monotonic() + max(_LEAST_PAUSE, _PAUSE_FACTOR * self._load_seconds)

    async def _parameters(self) -> LiveParameters:
        """Read what the policies of the cluster look up, if they do; without contact, nothing is known."""
        live = self.live
        registered = [
            {"apiVersion": kind.api_version, "kind": kind.name, **item.raw}
            for kind in REGISTERED_KINDS
            for item in live.all(kind)
        ]
        try:
            return await read_parameters(live.client, registered, WANTED)
        except (Unreachable, CannotWatch):
            return LiveParameters()

    def _spec(self, gates: LiveGates, parameters: LiveParameters) -> InputSpec:
        live, settings = self.live, self._settings
        refusals = live.refusals
        missing = [Missing(kind.name, refusals[kind.plural]) for kind in WANTED if kind.plural in refusals]
        missing += parameters.missing
        objects: list[Any] = [_document(kind, item) for kind in WANTED for item in live.all(kind)]
        return InputSpec(
            live=LiveInput(live.access.server, live.access.namespace, missing, gates, time.time(), parameters.kinds),
            objects=[*objects, *parameters.objects],
            feature_gates=settings.feature_gates,
            seed=settings.seed,
            namespace=settings.namespace,
            configuration=settings.configuration,
            configuration_name=settings.configuration_name,
            seq=self.board.seq,
        )

    async def gates(self) -> LiveGates:
        """Return the gates that the components tell, asked again when what is known is old."""
        known = self._gates
        if known is not None and time.monotonic() < known[0] + _GATES_EVERY:
            return known[1]
        texts: dict[str, str] = {}
        problems: list[str] = []
        await ask_server(self.live.client, texts, problems)
        await asyncio.to_thread(ask_endpoints, self._settings.endpoints, texts, problems)
        gates = gates_in(texts, problems)
        self._gates = (time.monotonic(), gates)
        return gates

    async def keps(self) -> Sequence[KepState]:
        found = await ask_keps(self.live.client)
        return kep_states(await self.gates(), found.minor, found.lowering)

    async def node(self, name: str) -> Document | None:
        row = self.board.rows.nodes.get(name)
        if row is None:
            return None
        return node_details(self.live, name, row, await self.live.events_of("Node", name), self.live.deadline_of)

    async def pod(self, key: str) -> Document | None:
        namespace, _, name = key.partition("/")
        pod = self.live.get(KINDS.POD, key)
        events = await self.live.events_of("Pod", name, namespace, pod.uid) if pod is not None else []
        return pod_details(self.live, key, events, self.live.deadline_of)

    async def earlier(self) -> Document:
        return await self.live.earlier()

    async def actions(self) -> ActionContext:
        """Return a context with the clients of today: after the kubeconfig has changed there are others."""
        client = self.live.client
        if self._actions.client is not client:
            before, self._trial = self._trial, HttpClient(self.live.access, "dashboard", dry_run=True)
            self._actions = ActionContext(client, self._trial, self._settings.allow_changes)
            if before is not None:
                await before.close()
        return self._actions


def _document(kind: Kind, item: Object) -> Document | msgspec.Raw:
    """Return an object with its kind, which objects in lists do not name; not decoded, where it came as JSON."""
    if not item.body.startswith(b"{"):
        return {"apiVersion": kind.api_version, "kind": kind.name, **item.raw}
    return msgspec.Raw(
        b'{"apiVersion":"%b","kind":"%b",' % (kind.api_version.encode(), kind.name.encode()) + item.body[1:]
    )


class FileCluster:
    """A cluster in files: what `moorage plan` makes of them. It is read again when a file changes."""

    def __init__(self, settings: DashboardSettings, simulator: Simulator) -> None:
        self._settings, self.simulator = settings, simulator
        names = ", ".join(settings.files[:3]) + (" …" if len(settings.files) > 3 else "")
        self._name = names.replace("-", "standard input") if settings.files == ("-",) else names
        self._unread: tuple[Unread, ...] = ()
        self.board = Board(SourceInfo("files", self._name, time=time.time()))
        self._seen: dict[str, tuple[int, int]] = {}
        self._first: asyncio.Task[str] | None = None  # reads the files for the first time
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Wait until the files are read, or some seconds: large ones are read while the page says so."""
        self._seen = await asyncio.to_thread(self._stamps)
        self._first = asyncio.create_task(self._load())
        await asyncio.wait([self._first], timeout=_READ_SECONDS)
        if self._first.done() and (problem := self._first.result()):
            raise CannotShow(problem)

    async def complete(self) -> None:
        """Raises CannotShow."""
        assert self._first is not None, "it has not been started"
        problem = await self._first
        if problem:
            raise CannotShow(problem)
        self._tell_source("")
        self._task = asyncio.create_task(self._look_again())

    async def stop(self) -> None:
        for task in (self._first, self._task):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def failure(self) -> BaseException:
        if self._task is None:
            return RuntimeError("the files were never read")
        await asyncio.wait([self._task])
        return self._task.exception() or RuntimeError("looking at the files has ended by itself")

    async def refresh(self) -> None:
        """Nothing is due: files are looked at all the time."""

    async def gates(self) -> None:
        return None

    async def keps(self) -> Sequence[KepState]:
        return ()

    async def _load(self) -> str:
        """Read the files and show the plan. Return what is wrong; what was shown before stays then."""
        settings = self._settings
        await self.simulator.load(
            InputSpec(
                files=list(settings.files),
                stdin=settings.stdin,
                feature_gates=settings.feature_gates,
                seed=settings.seed,
                namespace=settings.namespace,
                configuration=settings.configuration,
                configuration_name=settings.configuration_name,
                seq=self.board.seq + 1,
            )
        )
        problem = self.simulator.generation.problem
        if problem:
            return problem
        async for part in self.simulator.ask("rows", {}, seconds=LOAD_SECONDS):
            if "error" in part:
                return str(part["error"])
            if "nodes" in part:
                self._show(part)
        return ""

    def _show(self, part: Document) -> None:
        """Put the rows of a plan on the board: pages see what a change of the files changed."""
        board = self.board
        self._unread = tuple(Unread(*refused) for refused in part["refused"])
        nodes = {row["name"]: row for row in part["nodes"]}
        pods = rows_of_table(part["pods"])
        for name in [*board.rows.nodes, *nodes]:
            board.set_node(name, nodes.get(name))
        for key in [*board.rows.pods, *pods]:
            board.set_pod(key, pods.get(key))
        if board.seq:
            board.commit(time.time())
        else:
            board.begin_anew(time.time())

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            seen = await asyncio.to_thread(self._stamps)
            if seen == self._seen:
                continue
            self._seen = seen
            self._tell_source(await self._load())

    def _tell_source(self, problem: str) -> None:
        self.board.set_source(SourceInfo("files", self._name, "", not problem, problem, time.time(), self._unread))

    def _stamps(self) -> dict[str, tuple[int, int]]:
        """Return when each file was written and how large it is."""
        stamps: dict[str, tuple[int, int]] = {}
        for name in self._settings.files:
            path = Path(name)
            for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
                if len(stamps) >= _MAX_WATCHED_FILES:
                    return stamps
                try:
                    status = file.stat()
                except OSError:
                    continue
                stamps[str(file)] = (status.st_mtime_ns, status.st_size)
        return stamps

    async def node(self, name: str) -> Document | None:
        return await self._details({"node": name})

    async def pod(self, key: str) -> Document | None:
        return await self._details({"pod": key})

    async def _details(self, arguments: Document) -> Document | None:
        async for part in self.simulator.ask("details", arguments):
            return None if "error" in part else part
        return None

    async def earlier(self) -> Document:
        return {"until": 0.0, "entries": [], "leftOut": 0, "problem": ""}

    async def actions(self) -> ActionContext:
        return ActionContext()
