"""Who leads, as one candidate sees it: the rules of leader election, without a network or a clock.

In: what a Lease says, when that was seen, and what was written. Out: what to write next, or that somebody else leads.
Two clocks: times in the Lease are for people to read; what counts is how long ago, on the candidate's own monotonic
clock, the Lease was last seen to change. So candidates may disagree about the time of day as much as they like.
Kubernetes: client-go's tools/leaderelection, tryAcquireOrRenew.
"""

from typing import Any, NamedTuple

from moorage.client.events.event_action import NANOSECONDS, micro_text

Raw = dict[str, Any]


class ElectionRecord(NamedTuple):
    """What a Lease says. Nobody holds it if there is no `holder`."""

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
    """A Lease of any origin; what is missing or odd counts as absent."""
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
    """See the module. `now` is always the candidate's monotonic clock, `clock` its time of day, in seconds."""

    def __init__(self, identity: str, lease_seconds: int) -> None:
        self.identity = identity
        self._lease_seconds = lease_seconds
        self._observed = ElectionRecord("", 0, "", "", 0)
        self._observed_at = float("-inf")

    @property
    def leader(self) -> str:
        """Who was last seen to lead; empty: nobody."""
        return self._observed.holder

    @property
    def is_leader(self) -> bool:
        return self._observed.holder == self.identity

    def observe(self, record: ElectionRecord, now: float) -> None:
        """The Lease says this. Only a change starts its time anew."""
        if record != self._observed:
            self._observed, self._observed_at = record, now

    def wrote(self, record: ElectionRecord, began: float) -> None:
        """The Lease says this because we wrote it, at some time after `began`."""
        self._observed, self._observed_at = record, began

    def _is_valid(self, now: float) -> bool:
        return self._observed_at + self._observed.seconds > now

    def renewal(self, now: float, clock: float) -> ElectionRecord | None:
        """What the leader writes without looking first; None if we are not, or may not be, the leader."""
        if not self.is_leader or not self._is_valid(now):
            return None
        return self._observed._replace(seconds=self._lease_seconds, renewed=_text(clock))

    def first_claim(self, clock: float) -> ElectionRecord:
        """What to write where there is no Lease yet."""
        return ElectionRecord(self.identity, self._lease_seconds, _text(clock), _text(clock), 0)

    def claim(self, now: float, clock: float) -> ElectionRecord | None:
        """What to write over what was observed; None while somebody else leads."""
        seen = self._observed
        if seen.holder and not self.is_leader and self._is_valid(now):
            return None
        if self.is_leader:
            return seen._replace(seconds=self._lease_seconds, renewed=_text(clock))
        return self.first_claim(clock)._replace(transitions=seen.transitions + 1)

    def release(self, clock: float) -> ElectionRecord:
        """What a leader writes who leaves: nobody holds the Lease, and nobody has to wait for long."""
        return ElectionRecord("", 1, _text(clock), _text(clock), self._observed.transitions)


def _text(clock: float) -> str:
    return micro_text(int(clock * NANOSECONDS))
