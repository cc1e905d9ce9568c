"""Watch the pods and nodes of an API server, through its restarts, into a `Watched`."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from moorage.client.http_client import HttpClient
from moorage.client.informer import Delta, Handler, Informer
from moorage.client.kubeconfig.access import Access, KubeconfigError
from moorage.client.protocol import Object, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.watch.state import Watched

_MAX_DELAY = 2.0
_PROBE_EVERY = 0.5
_PROBE_SECONDS = 5.0


class CannotWatch(Exception):
    """Why there is nothing to watch: one line for the user."""


class Session:
    """Keeps `watched` up to date; `on_change` is called after every change."""

    def __init__(
        self,
        load: Callable[[], Access],
        watched: Watched,
        on_change: Callable[[], None],
        *,
        namespace: str = "",
        listeners: Mapping[Kind, Handler] = MappingProxyType({}),
        component: str = "watch",
        on_page: Callable[[Kind, int, int], None] | None = None,
    ) -> None:
        """`load` reads the kubeconfig, again when the server is gone: a new one may have other certificates.

        `listeners` hear of the changes of a kind, pods and nodes after `watched`; other kinds are watched for them.
        Such a kind may be forbidden or unknown to the server: `refusals` of `watched` says so, and the rest goes on.
        `on_page` hears of each page of a list, as `HttpClient.on_page` does.
        """
        self._load, self._watched, self._on_change = load, watched, on_change
        self._namespace, self._listeners, self._component = namespace, listeners, component
        self._on_page = on_page
        self.access = load()
        self.client: HttpClient | None = None  # the one that is watched with
        self._informers: dict[str, Informer] = {}  # by resource
        self._failures: dict[str, str] = {}  # by resource, since the last probe
        self._has_failed = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled. Raises CannotWatch if the server cannot be reached or refuses at the beginning."""
        while True:
            client = self.client = HttpClient(self.access, self._component, request_seconds=30.0)
            client.on_page = self._on_page
            try:
                await self._run(client)
            finally:
                await client.close()

    async def _run(self, client: HttpClient) -> None:
        """Watch with one client until the kubeconfig changes."""
        pods = self._informer(client, KINDS.POD.plural)
        nodes = self._informer(client, KINDS.NODE.plural)
        others = [self._other_informer(client, kind) for kind in self._listeners if kind not in (KINDS.POD, KINDS.NODE)]
        tasks = [asyncio.create_task(one.run()) for one in (pods, nodes, *others)]
        tasks.append(asyncio.create_task(self._complete(pods, nodes)))
        tasks.append(probing := asyncio.create_task(self._probe(client)))
        try:
            while not probing.done():
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # raises what it raised
                    tasks.remove(task)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _informer(self, client: HttpClient, resource: str) -> Informer:
        is_pods = resource == KINDS.POD.plural

        def changed(deltas: list[Delta]) -> None:
            self._watched.refusals.pop(resource, None)
            (self._watched.pods_changed if is_pods else self._watched.nodes_changed)(deltas, time.time())
            listener = self._listeners.get(KINDS.POD if is_pods else KINDS.NODE)
            if listener is not None:
                listener(deltas)
            self._on_change()

        def failed(why: str) -> None:
            self._failures[resource] = why
            self._has_failed.set()

        informer = Informer(
            client,
            KINDS.POD if is_pods else KINDS.NODE,
            changed,
            namespace=self._namespace if is_pods else "",
            max_delay=_MAX_DELAY,
            on_failure=failed,
        )
        return self._remembering(informer)

    def _other_informer(self, client: HttpClient, kind: Kind) -> Informer:
        """Watch a kind that is not needed: why it cannot be is noted, and it is asked for again, ever more seldom."""

        def changed(deltas: list[Delta]) -> None:
            self._watched.refusals.pop(kind.plural, None)
            self._listeners[kind](deltas)
            self._on_change()

        def failed(why: str) -> None:
            if not informer.has_synced:
                self._watched.refusals[kind.plural] = why

        informer = Informer(client, kind, changed, namespace=self._namespace, on_failure=failed)
        return self._remembering(informer)

    def _remembering(self, informer: Informer) -> Informer:
        """Let an informer compare what a new server has with what the last one had."""
        resource = informer.kind.plural
        if resource in self._informers:
            informer.cache = self._informers[resource].cache
        self._informers[resource] = informer
        return informer

    def look_again(self) -> None:
        """Ask whether the server answers, and read the kubeconfig again: something else has failed."""
        self._has_failed.set()

    def objects(self, kind: Kind) -> Iterable[Object]:
        """Return the objects of a kind that is watched, as they are now."""
        informer = self._informers.get(kind.plural)
        return informer.cache.values() if informer is not None else ()

    def object(self, kind: Kind, key: str) -> Object | None:
        informer = self._informers.get(kind.plural)
        return informer.cache.get(key) if informer is not None else None

    async def _complete(self, pods: Informer, nodes: Informer) -> None:
        await pods.synced()
        if not self._watched.is_complete:
            # Nodes may be forbidden: pods are told without them.
            sync = asyncio.create_task(nodes.synced())
            failure = asyncio.create_task(self._has_failed.wait())
            await asyncio.wait([sync, failure], return_when=asyncio.FIRST_COMPLETED)
            sync.cancel()
            failure.cancel()
        self._watched.is_complete = True
        self._on_change()

    async def _probe(self, client: HttpClient) -> None:
        """After a failure ask whether the server answers at all; end when the kubeconfig leads elsewhere."""
        while True:
            await self._has_failed.wait()
            self._has_failed.clear()
            failures, self._failures = self._failures, {}
            why = await _silence(client)
            if not self._watched.is_complete:
                self._give_up(why, failures)
            self._watched.server_changed(why, time.time())
            if not why:
                needed = (KINDS.POD.plural, KINDS.NODE.plural)
                unknown = {name for name in needed if not self._informers[name].has_synced}
                self._watched.refusals |= {name: text for name, text in failures.items() if name in unknown}
            self._on_change()
            if self._has_moved():
                return
            if why:
                self._has_failed.set()
                await asyncio.sleep(_PROBE_EVERY)

    def _has_moved(self) -> bool:
        """Read the kubeconfig again; return whether it leads elsewhere, or has other credentials."""
        try:
            access = self._load()
        except KubeconfigError:
            return False
        moved, self.access = access != self.access, access
        return moved

    def _give_up(self, why: str, failures: dict[str, str]) -> None:
        """Raise CannotWatch for a server that has never answered, or does not let pods be listed."""
        server = self.access.server
        if why:
            raise CannotWatch(f"{server}: the API server cannot be reached: {why.removeprefix(f'{server}: ')}")
        if KINDS.POD.plural in failures:
            raise CannotWatch(f"{server}: pods cannot be watched: {failures[KINDS.POD.plural]}")


async def _silence(client: HttpClient) -> str:
    """Return why the server does not answer; empty if it does, be it with a refusal."""
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await client.get_path("/version")
    except ApiError:
        return ""
    except Unreachable as error:
        return str(error)
    except TimeoutError:
        return f"no answer within {_PROBE_SECONDS:.0f} s"
    return ""
