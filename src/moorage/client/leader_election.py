"""Run a component while it holds a Lease. Kubernetes: client-go's tools/leaderelection.

A leader that cannot renew stops before another candidate may begin. Validity is measured by the candidate's monotonic
clock since the Lease was last seen to change; the times in the Lease are for people to read. Differs: a renewal counts
from when its write began, not from its answer, so that a slow answer cannot make two leaders; and the leader's writes
are fenced by the Lease (`lease_fence`), so that one that was stopped for longer writes nothing when it goes on.
"""

import asyncio
import random as randomness
import socket
import time
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from moorage.client.event_recorders import NORMAL, CountingRecorder
from moorage.client.lease_fence import LeaseFence
from moorage.client.protocol import Client, Object, Raw, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.go.times import micro_time_text
from moorage.model.kinds import KINDS
from moorage.telemetry.logs import get_logger

JITTER = 1.2

_LOG = get_logger("client")
_CONFLICT = 409
_FIELDS = ("holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions")


class ElectionRecord(NamedTuple):
    """The contents of a Lease. An empty `holder`: it is free."""

    holder: str = ""
    seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    def spec(self) -> Raw:
        return dict(zip(_FIELDS, self, strict=True))


def read_record(lease: Raw) -> ElectionRecord:
    """Read a Lease; malformed fields count as absent."""
    spec = lease.get("spec")
    values = map(spec.get, _FIELDS) if isinstance(spec, dict) else ElectionRecord()
    pairs = zip(values, ElectionRecord(), strict=True)
    return ElectionRecord._make(value if type(value) is type(absent) else absent for value, absent in pairs)


class Candidate:
    """What one candidate knows. `now` is its monotonic clock, `clock` its time of day, in seconds."""

    def __init__(self, identity: str, lease_seconds: int) -> None:
        self.identity = identity
        self._lease_seconds = lease_seconds
        self._observed = ElectionRecord()
        self._observed_at = float("-inf")

    @property
    def leader(self) -> str:
        """The identity last seen to lead; empty if none."""
        return self._observed.holder

    @property
    def is_leader(self) -> bool:
        return self._observed.holder == self.identity

    def observe(self, record: ElectionRecord, now: float) -> None:
        """Record what the Lease says. Only a change restarts its validity."""
        if record != self._observed:
            self._observed, self._observed_at = record, now

    def wrote(self, record: ElectionRecord, began: float) -> None:
        """Record a Lease that this candidate wrote, after `began`."""
        self._observed, self._observed_at = record, began

    def _is_valid(self, now: float) -> bool:
        return self._observed_at + self._observed.seconds > now

    def renewal(self, now: float, clock: float) -> ElectionRecord | None:
        """Return what a leader writes without reading first; None if this candidate may not lead."""
        if not self.is_leader or not self._is_valid(now):
            return None
        return self._observed._replace(seconds=self._lease_seconds, renewed=_text(clock))

    def first_claim(self, clock: float) -> ElectionRecord:
        """Return what to write where there is no Lease."""
        return ElectionRecord(self.identity, self._lease_seconds, _text(clock), _text(clock), 0)

    def claim(self, now: float, clock: float) -> ElectionRecord | None:
        """Return what to write over the observed Lease; None while another candidate leads."""
        seen = self._observed
        if seen.holder and not self.is_leader and self._is_valid(now):
            return None
        if self.is_leader:
            return seen._replace(seconds=self._lease_seconds, renewed=_text(clock))
        return self.first_claim(clock)._replace(transitions=seen.transitions + 1)

    def release(self, clock: float) -> ElectionRecord:
        """Return what a leader writes to give up: no holder, valid for one second."""
        return ElectionRecord("", 1, _text(clock), _text(clock), self._observed.transitions)


def _text(clock: float) -> str:
    return micro_time_text(int(clock * 1_000_000))


class ElectionTimes(NamedTuple):
    """Seconds: the Lease is valid for `lease`; a leader tries for `deadline` to renew it, every `retry`."""

    lease: int = 15
    deadline: float = 10.0
    retry: float = 2.0

    def complaint(self) -> str:
        """Return why the times are invalid; empty if they are valid."""
        if self.lease < 1 or self.retry <= 0 or self.deadline <= 0:
            return "leaseDuration must be at least one second, renewDeadline and retryPeriod greater than zero"
        if self.lease <= self.deadline:
            return "leaseDuration must be greater than renewDeadline"
        if self.deadline <= JITTER * self.retry:
            return "renewDeadline must be greater than retryPeriod*JitterFactor"
        return ""


class LeadershipLost(Exception):
    """The Lease could not be renewed in time, and the work has been stopped."""


def new_identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """One candidate for one Lease. Writes of the work go through clients with its `fence`; `client` itself has none."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        times: ElectionTimes | None = None,
        recorder: CountingRecorder | None = None,
        fence: LeaseFence | None = None,
        on_new_leader: Callable[[str], None] = lambda identity: None,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        """Raises ValueError if the times are invalid."""
        times = times or ElectionTimes()
        if complaint := times.complaint():
            raise ValueError(complaint)
        self._client, self._namespace, self._name, self._times = client, namespace, name, times
        self._lock = f"{namespace}/{name}"
        self._recorder, self._on_new_leader = recorder, on_new_leader
        self._now, self._clock, self._random = now, clock, random
        self._candidate = Candidate(identity, times.lease)
        self._lease: Object | None = None
        self._reported = ""
        self.fence = fence or LeaseFence(self._lock, now)
        self._renewed = float("-inf")  # when the last successful write began

    async def run(self, lead: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the Lease, then run `lead` until it returns, the Lease is lost, or this is cancelled.

        `lead` has ended before this returns. Raises LeadershipLost, also if the fence refused a write, and whatever
        `lead` raises.
        """
        await self._acquire()
        work = asyncio.create_task(lead())
        renewing = asyncio.create_task(self._renew())
        refused = asyncio.create_task(_wait_for(self.fence.refused))
        try:
            await asyncio.wait((work, renewing, refused), return_when=asyncio.FIRST_COMPLETED)
            was_lost = not work.done()
        finally:
            await _stop(renewing)
            await _stop(refused)
            await _stop(work)
            state = self.fence.state()
            await self._release()
        if self.fence.refused.is_set():
            raise LeadershipLost(f"failed to renew lease {self._lock}: {state}")
        if was_lost:
            renewing.result()
            raise LeadershipLost(f"failed to renew lease {self._lock}")
        work.result()

    async def _acquire(self) -> None:
        _LOG.info("Attempting to acquire leader lease...", lock=self._lock)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.deadline / 2):
                    if await self._try():
                        break
            await asyncio.sleep(self._times.retry * (1 + JITTER * self._random()))
        _LOG.info("Successfully acquired lease", lock=self._lock)
        self._tell("became leader")

    async def _renew(self) -> None:
        """Renew the Lease; return when it is lost."""
        times = self._times
        while True:
            await asyncio.sleep(times.retry)
            # Other candidates wait for `lease` from the last write on: stop before that.
            deadline = min(self._renewed + times.retry + times.deadline, self._renewed + times.lease)
            while not await self._try_until(deadline):
                if self._now() + times.retry >= deadline:
                    await asyncio.sleep(max(0.0, deadline - self._now()))
                    _LOG.warning("Failed to renew lease", lock=self._lock)
                    return
                await asyncio.sleep(times.retry)

    async def _try_until(self, deadline: float) -> bool:
        # A request that is not answered must not take all of the time: another server may answer the next one.
        seconds = min(deadline - self._now(), self._times.deadline / 2)
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                return await self._try()
        except TimeoutError:
            return False

    async def _try(self) -> bool:
        """Take or renew the Lease; return whether this candidate holds it."""
        try:
            return await self._take()
        except Unreachable as error:
            _LOG.warning("Error retrieving lease lock", lock=self._lock, err=str(error))
        except ApiError as error:
            if error.code == _CONFLICT:
                _LOG.info("Failed to update lease", lock=self._lock, err=error.message)
            else:
                _LOG.warning("Error with lease lock", lock=self._lock, err=error.message)
        finally:
            if self._candidate.leader != self._reported:
                self._reported = self._candidate.leader
                self._on_new_leader(self._reported)
        return False

    async def _take(self) -> bool:
        candidate = self._candidate
        renewal = candidate.renewal(self._now(), self._clock())
        if renewal is not None and self._lease is not None:
            with suppress(ApiError, Unreachable):
                return await self._write(renewal, self._lease)
        try:
            self._lease = await self._client.get(KINDS.LEASE, self._name, self._namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return await self._write(candidate.first_claim(self._clock()), None)
        candidate.observe(read_record(self._lease.raw), self._now())
        claim = candidate.claim(self._now(), self._clock())
        return claim is not None and await self._write(claim, self._lease)

    async def _write(self, record: ElectionRecord, over: Object | None) -> bool:
        """Write the Lease. Raises ApiError if it has changed."""
        began = self._now()
        if over is None:
            metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
            document = {"apiVersion": KINDS.LEASE.api_version, "kind": KINDS.LEASE.name, "metadata": metadata}
            self._lease = await self._client.create(KINDS.LEASE, {**document, "spec": record.spec()}, self._namespace)
        else:
            metadata = {**over.raw["metadata"], "resourceVersion": str(over.revision)}
            document = {**over.raw, "metadata": metadata, "spec": record.spec()}
            self._lease = await self._client.update(KINDS.LEASE, document)
        self._candidate.wrote(record, began)
        self._renewed = began
        if record.holder:
            self.fence.extend(began + record.seconds)
        return True

    async def _release(self) -> None:
        """Give up the Lease, if still held, so that the next candidate need not wait."""
        self.fence.close()
        self._tell("stopped leading")
        if not self._candidate.is_leader or self._lease is None:
            return
        with suppress(ApiError, Unreachable, TimeoutError):
            async with asyncio.timeout(self._times.deadline):
                self._lease = await self._client.get(KINDS.LEASE, self._name, self._namespace)
                if read_record(self._lease.raw).holder == self._candidate.identity:
                    await self._write(self._candidate.release(self._clock()), self._lease)

    def _tell(self, what: str) -> None:
        if self._recorder is not None and self._lease is not None:
            message = f"{self._candidate.identity} {what}"
            self._recorder.report(self._lease.reference, NORMAL, "LeaderElection", message)


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()


async def _stop(task: "asyncio.Task[None]") -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
