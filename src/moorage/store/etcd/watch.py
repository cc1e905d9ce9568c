"""Follow the changes of a range of keys. Kubernetes: clientv3's Watcher. Differs: the caller resumes it."""

import asyncio
import re

from moorage.store.etcd.errors import EtcdAuthFailed, EtcdError, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.members import Member, Members
from moorage.store.etcd.messages import WatchResult
from moorage.store.etcd.wire.answers import BadAnswer, WatchAnswer, decode_watch
from moorage.store.etcd.wire.refusals import NO_LEADER, meaning
from moorage.store.etcd.wire.requests import WATCH_PROGRESS
from moorage.store.etcd.wire.streams import GrpcStatus, MessageStream

_WATCH = "/etcdserverpb.Watch/Watch"
#: Events that are given at once, and the bytes of a message that cannot have more than `decode_watch` takes at once.
_ENOUGH, _SHORT = 500, 16 * 1024
#: Reasons for which a watch is cancelled are statuses in words.
_STATUS_IN_TEXT = re.compile(r"^rpc error: code = \w+ desc = ")


class EtcdWatch:
    """One watch on one stream. It ends with an error when its server fails; the caller starts another one.

    The first result says that the watch is there: progress, up to the revision before its first.
    """

    def __init__(self, members: Members, message: bytes, start: int, seconds: float) -> None:
        """`message` creates the watch, which is done by the first `next`."""
        self._members, self._message, self._start, self._seconds = members, message, start, seconds
        self._member: Member | None = None
        self._stream: MessageStream | None = None
        self._end: EtcdError | None = None

    async def next(self) -> WatchResult:
        """Wait for what comes next. Raises EtcdError when the watch has ended."""
        if self._end is not None:
            raise self._end
        try:
            if self._stream is None:
                return await self._open()
            while True:
                answer = await self._read(self._stream)
                if answer.is_canceled:
                    return self._canceled(answer)
                if not answer.is_created:
                    return await self._with_more(self._stream, answer)
        except (EtcdError, GrpcStatus, BadAnswer) as error:
            self._end = self._error_of(error)
            self.close()
            raise self._end from None

    async def request_progress(self) -> None:
        """Ask etcd to say how far it is; unreliable before etcd 3.5.13."""
        if self._stream is not None and self._end is None:
            try:
                self._stream.write(WATCH_PROGRESS)
            except (EtcdError, GrpcStatus) as error:
                raise self._error_of(error) from None

    def close(self) -> None:
        """End the watch."""
        if self._end is None:
            self._end = EtcdUnreachable("the watch is closed")
        if self._stream is not None:
            self._stream.close()

    async def _with_more(self, stream: MessageStream, answer: WatchAnswer) -> WatchResult:
        """Return events with those of the short messages that are there already: etcd sends one for each write.

        Short ones are decoded without a pause, so that no caller can be cancelled when they are taken already.
        """
        revision, events = answer.revision, answer.events
        while events and len(events) < _ENOUGH and (message := stream.next_in_line()) is not None:
            if len(message) > _SHORT:
                break
            more = await decode_watch(message)
            if more.is_canceled or not more.events:
                break
            stream.take()
            revision = more.revision
            events += more.events
        return WatchResult(revision, events)

    async def _read(self, stream: MessageStream) -> WatchAnswer:
        """Return the next message. If the caller is cancelled meanwhile, it is still the next one."""
        answer = await decode_watch(await stream.peek())
        stream.take()
        return answer

    async def _open(self) -> WatchResult:
        """Create the watch, with a new token if the one that we have is not accepted."""
        try:
            async with asyncio.timeout(self._seconds):
                for is_last in (False, True):
                    member = self._member = await self._members.member(self._seconds)
                    token = member.token
                    self._stream = member.connection.open_stream(member.block(_WATCH), self._message)
                    answer = await self._read(self._stream)
                    if not answer.is_canceled:
                        return WatchResult(self._start - 1 if self._start else answer.revision, [])
                    if is_last or not token or answer.compacted:
                        return self._canceled(answer)
                    self._stream.close()
                    await self._members.renew(member, token)  # etcd says "permission denied" to expired tokens, too
        except TimeoutError:
            raise EtcdUnreachable("etcd did not start the watch in time") from None
        raise AssertionError("unreachable")

    def _canceled(self, answer: WatchAnswer) -> WatchResult:
        """Return that history is compacted, or raise why else etcd ended the watch."""
        if answer.compacted:
            self._end = EtcdUnreachable("the watch has ended, because history was compacted")
            self.close()
            return WatchResult(answer.revision, [], answer.compacted)
        text = _STATUS_IN_TEXT.sub("", answer.reason)
        raise GrpcStatus(14, text or "etcd ended the watch")

    def _error_of(self, error: Exception) -> EtcdError:
        name = self._member.endpoint.url if self._member is not None else "etcd"
        if isinstance(error, GrpcStatus):
            if error.text == NO_LEADER and self._member is not None:
                self._members.leaderless(self._member)
            error = meaning(error, name)
        if isinstance(error, EtcdAuthFailed):
            return error
        if isinstance(error, EtcdUncertain | BadAnswer):  # a watch changes nothing
            return EtcdUnreachable(str(error))
        assert isinstance(error, EtcdError)
        return error
