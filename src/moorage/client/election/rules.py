"""Rules of leader election for one candidate, without I/O. Kubernetes: tryAcquireOrRenew.

Validity is measured by the candidate's monotonic clock since the Lease was last seen to change; the times in the Lease
are for people to read.
"""

from typing import Any, NamedTuple

from moorage.model.go.times import micro_time_text

Raw = dict[str, Any]


class ElectionRecord(NamedTuple):
    """The contents of a Lease. An empty `holder`: it is free."""

    holder: str
    seconds: int
    acquired: str
    renewed: str
    transitions: int

    def spec(self) -> Raw:
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }


def read_record(lease: Raw) -> ElectionRecord:
    """Read a Lease; malformed fields count as absent."""
    spec = lease.get("spec")
    found: Raw = spec if isinstance(spec, dict) else {}

    def text(field: str) -> str:
        value = found.get(field)
        return value if isinstance(value, str) else ""

    def number(field: str) -> int:
        value = found.get(field)
        return value if type(value) is int else 0

    return ElectionRecord(
        text("holderIdentity"),
        number("leaseDurationSeconds"),
        text("acquireTime"),
        text("renewTime"),
        number("leaseTransitions"),
    )


class Candidate:
    """What one candidate knows. `now` is its monotonic clock, `clock` its time of day, in seconds."""

    def __init__(self, identity: str, lease_seconds: int) -> None:
        self.identity = identity
        self._lease_seconds = lease_seconds
        self._observed = ElectionRecord("", 0, "", "", 0)
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
