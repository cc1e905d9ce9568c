"""Call an etcd cluster. Kubernetes: go.etcd.io/etcd/client/v3.

Every call has a deadline. What only reads is tried again, at another member if need be, until it is over. A write is
tried again only if etcd has surely not begun with it; else EtcdUncertain is raised.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from moorage.store.etcd.errors import (
    EtcdCompacted,
    EtcdError,
    EtcdRefused,
    EtcdTooManyRequests,
    EtcdUncertain,
    EtcdUnreachable,
)
from moorage.store.etcd.members import Member, Members, NotYet
from moorage.store.etcd.messages import Compare, Get, MemberStatus, Operation, Put, RangeResult, TxnResult
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.watch import EtcdWatch
from moorage.store.etcd.wire import dial, requests
from moorage.store.etcd.wire.answers import BadAnswer, decode_lease, decode_range, decode_txn
from moorage.store.etcd.wire.refusals import NO_LEADER, EtcdBadToken, meaning
from moorage.store.etcd.wire.streams import GrpcStatus

_RANGE = "/etcdserverpb.KV/Range"
_TXN = "/etcdserverpb.KV/Txn"
_COMPACT = "/etcdserverpb.KV/Compact"
_GRANT = "/etcdserverpb.Lease/LeaseGrant"
_REVOKE = "/etcdserverpb.Lease/LeaseRevoke"
_MOST_ATTEMPTS = 30
_MOST_TOKENS = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.4
_NOT_FOUND = 5


class EtcdClient:
    """A client of all members of a cluster, connected to one at a time. All methods raise EtcdError."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.settings = settings
        self._members = Members(settings)
        self._seconds = settings.call_seconds
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def connect(cls, settings: EtcdSettings) -> "EtcdClient":
        """Return a client that has found a member which answers and can be used.

        Members that do not answer or elect a leader are waited for as long as for any call.
        """
        client = cls(settings)
        end = client._loop.time() + settings.call_seconds
        try:
            while True:
                try:
                    await client._members.member(max(settings.dial_seconds, settings.call_seconds))
                    return client
                except NotYet:
                    if client._loop.time() >= end:
                        raise
                await asyncio.sleep(_LONGEST_PAUSE)
        except BaseException:
            await client.close()
            raise

    @property
    def server(self) -> str:
        """The URL of the member that is called at the moment; empty if there is none."""
        current = self._members.current
        return current.endpoint.url if current is not None and current.connection.is_usable else ""

    async def range(
        self,
        key: bytes,
        end: bytes = b"",
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
    ) -> RangeResult:
        """Return the key, or with `end` all keys from `key` up to but without `end`. Raises EtcdCompacted."""
        message = requests.encode_range(key, end, revision, limit, count_only, keys_only, serializable)
        answer = await self._call(_RANGE, message, is_safe=True)
        try:
            return await decode_range(answer)
        except BadAnswer as error:
            raise EtcdUnreachable(self._bad_answer(error)) from None

    async def note(self, key: bytes, lease: int = 0) -> int:
        """Write a key without a value, twice if need be: it does no harm. Return the revision of the last time."""
        message = requests.encode_txn((), (Put(key, b"", lease),), ())
        try:
            return decode_txn(await self._call(_TXN, message, is_safe=True)).revision
        except BadAnswer as error:
            raise EtcdUnreachable(self._bad_answer(error)) from None

    async def txn(
        self, compares: Iterable[Compare], then: Iterable[Operation], otherwise: Iterable[Operation] = ()
    ) -> TxnResult:
        """Do one or the other at one revision, by whether all conditions hold. Raises EtcdUncertain, EtcdNoSpace."""
        then, otherwise = tuple(then), tuple(otherwise)
        is_safe = True
        for operation in (*then, *otherwise):
            if type(operation) is not Get:
                is_safe = False
                break
        answer = await self._call(_TXN, requests.encode_txn(compares, then, otherwise), is_safe=is_safe)
        try:
            return decode_txn(answer)
        except BadAnswer as error:
            raise EtcdUncertain(self._bad_answer(error)) from None

    def send_txn(self, message: bytes, tell: Callable[[bytes | Exception], None]) -> None:
        """Send an encoded transaction once, and tell a function the answer, or GrpcStatus or EtcdError."""
        member = self._members.current
        if member is None:
            tell(EtcdUnreachable("no member of etcd is connected"))
        else:
            member.connection.send(member.block(_TXN), message, self._seconds, tell)

    async def compact(self, revision: int) -> None:
        """Forget what was superseded before the revision, if it is not forgotten already."""
        with suppress(EtcdCompacted):  # by another server, or by a call of ours that was not answered
            await self._call(_COMPACT, requests.encode_compaction(revision), is_safe=True)

    async def grant(self, seconds: int) -> int:
        """Return a new lease: keys with it are deleted when the seconds are over."""
        answer = await self._call(_GRANT, requests.encode_grant(seconds), is_safe=True)
        try:
            return decode_lease(answer)
        except BadAnswer as error:
            raise EtcdUnreachable(self._bad_answer(error)) from None

    async def revoke(self, lease: int) -> None:
        """End a lease and delete its keys, if there is such a lease."""
        try:
            await self._call(_REVOKE, requests.encode_revoke(lease), is_safe=True)
        except EtcdRefused as error:
            if error.code != _NOT_FOUND:
                raise

    def watch(self, key: bytes, end: bytes, start: int) -> EtcdWatch:
        """Watch keys from `key` up to but without `end`, from revision `start` on (0: from now on)."""
        return EtcdWatch(self._members, requests.encode_watch(key, end, start), start, self._seconds)

    async def status(self) -> MemberStatus:
        """Return what the member that we are connected to says about itself."""
        member = await self._members.member(self._seconds)
        status, _ = await dial.ask_status(member.connection, member.block(dial.STATUS), self._seconds)
        return status

    async def close(self) -> None:
        """End all calls and watches."""
        await self._members.close()

    def _bad_answer(self, error: BadAnswer) -> str:
        return f"etcd at {self.server} sent an answer that cannot be read: {error}"

    async def _call(self, path: str, message: bytes, *, is_safe: bool) -> bytes:
        """Return the answer. `is_safe`: doing it twice does no harm, so that it is tried again after any failure."""
        end = self._loop.time() + self._seconds
        pause, renewals, refused = _FIRST_PAUSE, 0, ""
        longest = self.settings.attempt_seconds if is_safe else self._seconds
        trouble: EtcdError = EtcdUnreachable("etcd does not answer")
        for _ in range(_MOST_ATTEMPTS):
            left = end - self._loop.time()
            if left <= 0:
                break
            member: Member | None = None
            try:
                member = await self._members.member(left)
                if refused:
                    await self._members.renew(member, refused)
                token = member.token
                seconds = min(end - self._loop.time(), longest)
                return await member.connection.call(member.block(path), message, seconds)
            except GrpcStatus as status:
                assert member is not None
                trouble = meaning(status, member.endpoint.url)
                if isinstance(trouble, EtcdBadToken) and renewals < _MOST_TOKENS and self.settings.username:
                    renewals, refused = renewals + 1, token
                elif status.text == NO_LEADER:
                    self._members.leaderless(member)
                elif isinstance(trouble, EtcdRefused) and not isinstance(trouble, EtcdTooManyRequests):
                    raise trouble from None
            except EtcdRefused:
                raise
            except EtcdError as error:
                trouble = error
                if self._members.is_closed and not isinstance(error, EtcdUncertain):
                    raise
            if isinstance(trouble, EtcdUncertain) and not is_safe:
                raise trouble from None
            await asyncio.sleep(min(pause, max(0.0, end - self._loop.time())))
            pause = min(2 * pause, _LONGEST_PAUSE)
        if isinstance(trouble, EtcdUncertain):  # of a read, whose fate does not matter
            trouble = EtcdUnreachable(str(trouble))
        raise trouble
