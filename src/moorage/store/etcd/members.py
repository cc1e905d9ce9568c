"""Keep a connection to one member of etcd that works, and move to another member when it fails.

Members are tried in the order of the settings; one that does not answer at once is not waited for before the next is
tried. A member that works is kept, until it fails, has no leader while another one has, or answers no call while
another one does: perhaps the leader does not hear it, or it does not hear us, and a watch goes on all the same.
Kubernetes: clientv3's balancer. Differs: clientv3 spreads calls over all members; here the first is preferred, so that
each API server can have the member on its own machine.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from moorage.store.etcd.errors import EtcdAuthFailed, EtcdError, EtcdRefused, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.messages import MemberStatus
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.wire import dial
from moorage.store.etcd.wire.answers import BadAnswer, decode_status, decode_token
from moorage.store.etcd.wire.connection import TICK, Connection
from moorage.store.etcd.wire.dial import Endpoint
from moorage.store.etcd.wire.refusals import meaning
from moorage.store.etcd.wire.requests import encode_authenticate, encode_range
from moorage.store.etcd.wire.streams import GrpcStatus
from moorage.store.etcd.wire.tls import tls_context

_AUTHENTICATE = "/etcdserverpb.Auth/Authenticate"
_RANGE = "/etcdserverpb.KV/Range"
#: Seconds after which the next member is tried while one is still waited for.
_HEAD_START = 0.3
#: Seconds that calls from before an election have for their answers.
_AFTER_ELECTION = 0.5
#: Seconds after which a member without a leader is asked again.
_ASK_AGAIN = 0.2
#: So many ticks without an answer to any call are enough to look for another member.
_MUTE_TICKS = round(0.75 / TICK)
#: And this many to reconnect to the same member: more often its disk is slow than the connection is broken.
_BROKEN_TICKS = round(2 / TICK)


class Member:
    """A member that answered, and the connection to it. `block` gives the headers of calls."""

    def __init__(self, endpoint: Endpoint, connection: Connection, token: str) -> None:
        self.endpoint, self.connection, self.token = endpoint, connection, token
        self._blocks: dict[str, bytes] = {}
        #: The election since which the member has its leader.
        self.term = 0

    def block(self, path: str) -> bytes:
        """Return the encoded headers of calls to a method."""
        found = self._blocks.get(path)
        if found is None:
            # Status is answered without a leader, too.
            found = self.endpoint.block(path, self.token, needs_leader=path != dial.STATUS)
            self._blocks[path] = found
        return found

    def authorize(self, token: str) -> None:
        """Use another token from now on."""
        if token != self.token:
            self.token = token
            self._blocks.clear()


class NotYet(EtcdUnreachable):
    """A member did not answer in time or has no leader: it may be better soon."""


class Members:
    """All members of the cluster, of which one is connected."""

    def __init__(self, settings: EtcdSettings) -> None:
        """Raises EtcdError for settings that cannot be used."""
        if not settings.servers:
            raise EtcdError("--etcd-servers names no server")
        self._settings = settings
        self._endpoints = [Endpoint(url) for url in settings.servers]
        self._tls = tls_context(settings)
        key = f"{settings.prefix}/moorage/none".encode()
        #: A read that takes most of the members to answer.
        self._proof = encode_range(key, b"", 0, 0, True, False, False)
        #: The member in use. It may not be usable any more.
        self.current: Member | None = None
        self._cluster = 0
        #: Why a member could not be taken when that was tried last.
        self._trouble = ""
        self._token = ""
        self._renewing = asyncio.Lock()
        self._dialing: asyncio.Task[Member] | None = None
        self._moving: asyncio.Task[None] | None = None
        self.is_closed = False

    async def member(self, seconds: float) -> Member:
        """Return a member that can be used, connecting to one if need be. Raises EtcdError."""
        current = self.current
        if current is not None and current.connection.is_usable:
            return current
        if self.is_closed:
            raise EtcdUnreachable("the client of etcd is closed")
        if self._dialing is None:
            self._trouble = ""
            self._dialing = asyncio.create_task(self._replace())
            self._dialing.add_done_callback(self._end_dialing)
        dialing = self._dialing
        await asyncio.wait((dialing,), timeout=max(0.0, seconds))
        if not dialing.done() or dialing.cancelled():
            raise NotYet(self._trouble or f"etcd does not answer at {','.join(self._settings.servers)}")
        return dialing.result()

    def _end_dialing(self, task: "asyncio.Task[Member]") -> None:
        self._dialing = None
        if not task.cancelled():
            task.exception()  # those who waited for it raise it

    def leaderless(self, member: Member) -> None:
        """Look for a member that has a leader, because this one says that it has none."""
        self._leave(member, len(self._endpoints) > 1, self._move)

    def _mute(self, member: Member) -> None:
        """See whether another member answers, because this one lives but answers no call."""
        self._leave(member, True, self._challenge)

    def _leave(self, member: Member, is_possible: bool, way: Callable[[Member], Coroutine[Any, Any, None]]) -> None:
        is_here = member is self.current and member.connection.is_usable
        if is_here and is_possible and self._moving is None and not self.is_closed:
            self._moving = asyncio.create_task(way(member))
            self._moving.add_done_callback(self._end_moving)

    def _end_moving(self, task: "asyncio.Task[None]") -> None:
        self._moving = None
        if not task.cancelled():
            task.result()

    async def _move(self, away_from: Member) -> None:
        with suppress(EtcdError):  # no other member has one either: stay
            self._use(await self._first_to_answer(self._order()[:-1]))
            away_from.connection.close("has no leader, another member has")

    async def _challenge(self, member: Member) -> None:
        """Leave a member if another one, or itself on another connection, answers a call before it does."""
        connection = member.connection
        asking = asyncio.create_task(self._prove(member))
        try:
            while connection.mute_ticks and connection.is_usable:
                await asyncio.wait((asking,), timeout=TICK)
                if asking.done():
                    if asking.exception() is None:
                        return
                    await asyncio.sleep(_ASK_AGAIN)
                    asking = asyncio.create_task(self._prove(member))
                order = self._order() if connection.mute_ticks >= _BROKEN_TICKS else self._order()[:-1]
                if connection.mute_ticks < _MUTE_TICKS or not order:
                    continue
                try:
                    other = await self._first_to_answer(order)
                except EtcdError:
                    continue
                if connection.mute_ticks and member is self.current:
                    self._use(other)
                    connection.close("answers no call, a new connection does")
                else:
                    other.connection.close("was not needed")
        finally:
            asking.add_done_callback(_look_at)
            asking.cancel()

    def _order(self) -> list[Endpoint]:
        """Return all endpoints, that of the current member last."""
        if self.current is None:
            return list(self._endpoints)
        at = self._endpoints.index(self.current.endpoint) + 1
        return self._endpoints[at:] + self._endpoints[:at]

    async def _replace(self) -> Member:
        return self._use(await self._first_to_answer(self._order()))

    def _use(self, member: Member) -> Member:
        if self.is_closed:
            member.connection.close()
            raise EtcdUnreachable("the client of etcd is closed")
        member.authorize(self._token)
        member.connection.question = member.block(dial.STATUS)
        member.connection.on_answer = lambda answer: self._hear(member, answer)
        member.connection.on_mute = lambda: self._mute(member)
        self.current = member
        return member

    def _hear(self, member: Member, answer: bytes) -> None:
        """Take what a member says about itself from time to time."""
        try:
            status, _ = decode_status(answer)
        except BadAnswer:
            return
        if not status.leader:
            self.leaderless(member)
        elif status.raft_term != member.term:
            # What was sent before the election may have gone to a leader that is no more, and is lost then.
            member.term = status.raft_term
            member.connection.hurry(_AFTER_ELECTION)

    async def _first_to_answer(self, order: Sequence[Endpoint]) -> Member:
        """Connect to the first member in this order that can be used. Raises EtcdError."""
        with suppress(EtcdError):
            self._tls = tls_context(self._settings)  # certificates may be renewed at any time
        waiting, errors = list(order), list[EtcdError]()
        end = asyncio.get_running_loop().time() + self._settings.dial_seconds
        tasks: set[asyncio.Task[Member]] = set()
        unused: set[asyncio.Task[Member]] = set()  # several may end in one turn of the loop
        try:
            while waiting or tasks:
                if waiting:
                    task = asyncio.create_task(self._keep_opening(waiting.pop(0), end))
                    tasks.add(task)
                    unused.add(task)
                patience = _HEAD_START if waiting else None
                done, tasks = await asyncio.wait(tasks, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    error = task.exception()
                    if error is None:
                        unused.discard(task)
                        return task.result()
                    if not isinstance(error, EtcdError):
                        raise error
                    errors.append(error)
                    if isinstance(error, EtcdAuthFailed):
                        raise error  # the others would say the same
        finally:
            for task in unused:
                task.add_done_callback(_close_late)
                task.cancel()
            await asyncio.gather(*unused, return_exceptions=True)  # so that their connections are closed
        refusal = next((error for error in errors if isinstance(error, EtcdRefused)), None)
        kind = NotYet if any(isinstance(error, NotYet) for error in errors) else EtcdUnreachable
        raise refusal or kind("; ".join(dict.fromkeys(str(error) for error in errors)))

    async def _keep_opening(self, endpoint: Endpoint, end: float) -> Member:
        """Connect to a member, again and again while it has no leader: an election takes a second or two."""
        while True:
            try:
                return await self._open(endpoint)
            except NotYet as error:
                self._trouble = str(error)
                if asyncio.get_running_loop().time() + _ASK_AGAIN >= end:
                    raise
            await asyncio.sleep(_ASK_AGAIN)

    async def _open(self, endpoint: Endpoint) -> Member:
        connection = None
        seconds = self._settings.dial_seconds
        try:
            async with asyncio.timeout(seconds):
                connection = await dial.dial(endpoint, self._tls, self._settings)
                member = Member(endpoint, connection, self._token)
                status, cluster = await dial.ask_status(connection, member.block(dial.STATUS), seconds)
                self._check(status, cluster, endpoint.url)
                member.term = status.raft_term
                if self._settings.username and not self._token:
                    await self.renew(member, "")
                await self._prove(member)
                return member
        except TimeoutError:
            _close(connection)
            raise NotYet(f"{endpoint.url} does not answer") from None
        except BaseException:
            _close(connection)
            raise

    async def _prove(self, member: Member) -> None:
        """See that a member answers calls, for which it needs most of the others. Raises EtcdUnreachable."""
        try:
            await member.connection.call(member.block(_RANGE), self._proof, self._settings.dial_seconds)
        except EtcdUncertain as error:
            raise NotYet(str(error)) from None
        except GrpcStatus as status:
            said = meaning(status, member.endpoint.url)
            if isinstance(said, EtcdUnreachable | EtcdUncertain):
                raise NotYet(str(said)) from None

    def _check(self, status: MemberStatus, cluster: int, url: str) -> None:
        dial.check_version(status, url)
        if not status.leader:
            raise NotYet(f"etcd at {url} has no leader: does it reach most of the members?")
        if status.is_learner:
            raise EtcdUnreachable(f"etcd at {url} is a learner, which takes no requests")
        if self._cluster and cluster != self._cluster:
            raise EtcdRefused(
                9, "cluster ID mismatch", f"etcd at {url} belongs to another cluster than the other members"
            )
        self._cluster = cluster

    async def renew(self, member: Member, used: str) -> None:
        """Get a token, unless there is another one than the `used` one already. Raises EtcdError."""
        async with self._renewing:
            if self._token == used:
                self._token = await self._authenticate(member)
        member.authorize(self._token)

    async def _authenticate(self, member: Member) -> str:
        message = encode_authenticate(self._settings.username, self._settings.password)
        name, block = member.endpoint.url, member.endpoint.block(_AUTHENTICATE)
        try:
            return decode_token(await member.connection.call(block, message, self._settings.call_seconds))
        except GrpcStatus as status:
            error = meaning(status, name)
        except (EtcdUncertain, BadAnswer) as trouble:
            error = EtcdUnreachable(f"{name} gave no token: {trouble}")
        # Whether there is a token more does not matter.
        raise EtcdUnreachable(str(error)) if isinstance(error, EtcdUncertain) else error

    async def close(self) -> None:
        """Close the connection and connect no more."""
        self.is_closed = True
        tasks = [task for task in (self._dialing, self._moving) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.current is not None:
            self.current.connection.close("the client is closed")
        await asyncio.sleep(0)  # connections close one turn of the loop later


def _close(connection: Connection | None) -> None:
    if connection is not None:
        connection.close("was not used")


def _look_at(task: "asyncio.Task[None]") -> None:
    """Look at the error of a task that is not needed any more."""
    if not task.cancelled():
        task.exception()


def _close_late(task: "asyncio.Task[Member]") -> None:
    """Close the connection to a member that answered when another one was taken already."""
    if not task.cancelled() and task.exception() is None:
        task.result().connection.close("another member was faster")
