"""Tell what changes do to a cluster: the plan with them, the plan without them at the same time, and what differs."""

import msgspec

from moorage.lint.report.form import counted
from moorage.plan.departures import Cause, Departure, EvictionLoop
from moorage.plan.difference.comparison import Becomes, Comparison, Pair, sentence
from moorage.plan.difference.two_inputs import InputDiff
from moorage.plan.outcome import Outcome
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.pool_upgrade import Upgrade
from moorage.plan.simulation.drain import Blocked


class PodDifference(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What differs for one place of a workload: its pod and node without the changes, and with them."""

    becomes: Becomes
    workload: str = ""
    pod: str = ""
    node: str = ""
    new_pod: str = ""
    new_node: str = ""
    reason: str = ""
    message: str = ""


def _pod_difference(pair: Pair) -> PodDifference:
    old, new = pair.before or pair.left_before, pair.after or pair.left
    return PodDifference(
        pair.becomes,
        pair.workload,
        *((old.key, old.node or old.last_node) if old is not None else ("", "")),
        *((new.key, new.node, new.reason, new.message) if new is not None else ()),
    )


class Difference(msgspec.Struct):
    """What changes do. `before` is the plan without them at the same time, `after` the plan with them.

    `departures` are the pods that leave because of the changes, `anyway` those that leave without them, too. `placed`,
    `pending` and `failed` are pods that replace none of those that left.
    """

    changes: tuple[str, ...]
    before: Outcome
    after: Outcome
    comparison: Comparison
    departures: list[Departure]
    anyway: list[Departure]
    blocked: list[Blocked]
    upgrade: Upgrade | None = None
    diff: InputDiff | None = None

    @property
    def title(self) -> str:
        return "What if" if self.diff is None else "What changes"

    @property
    def evicted(self) -> list[Departure]:
        """The departures that no rolling update explains."""
        return [departure for departure in self.departures if departure.cause is not Cause.NEW_TEMPLATE]

    @property
    def replaced(self) -> list[Departure]:
        """The pods that a rolling update replaces, as its strategy allows."""
        return [departure for departure in self.departures if departure.cause is Cause.NEW_TEMPLATE]

    @property
    def differences(self) -> list[PodDifference]:
        """What differs, pod by pod."""
        return [_pod_difference(pair) for pair in self.comparison.differences]

    @property
    def placed(self) -> list[PodLine]:
        return self._unexplained(Becomes.PLACED, Becomes.NEW, Becomes.EVICTING)

    @property
    def pending(self) -> list[PodLine]:
        return self._unexplained(Becomes.PENDING, Becomes.NEW_PENDING)

    @property
    def failed(self) -> list[PodLine]:
        """The pods that their kubelets refuse."""
        lines = (pair.left for pair in self.comparison.of(Becomes.FAILED))
        return [line for line in lines if line is not None and line.state is State.FAILED]

    def _unexplained(self, *kinds: Becomes) -> list[PodLine]:
        explained = {departure.replaced_by for departure in self.departures}
        found = (pair.after for pair in self.comparison.of(*kinds) if pair.before is None or not pair.before.node)
        lines = [line for line in found if line is not None and line.key not in explained]
        return [line for line in lines if line.is_on_node or Becomes.PENDING in kinds]

    @property
    def loops(self) -> list[EvictionLoop]:
        """The workloads whose pods are evicted again and again because of the changes."""
        anyway = {loop.workload for loop in self.before.loops}
        return [loop for loop in self.after.loops if loop.workload not in anyway]

    @property
    def is_empty(self) -> bool:
        return self.comparison.is_empty and not self.stops

    @property
    def is_worse(self) -> bool:
        """Whether the changes make something worse, as `Comparison.is_worse` says, or a drain or upgrade stops."""
        return self.comparison.is_worse or self.stops

    @property
    def stops(self) -> bool:
        """Whether a drain is blocked or an upgrade stops."""
        return bool(self.blocked) or (self.upgrade is not None and not self.upgrade.completes)

    @property
    def sentence(self) -> str:
        """What changes, in one sentence: `8 pods move, 1 becomes Pending; 3 would be evicted anyway`."""
        drains = len({one.node for one in self.blocked if one.node})
        others = [f"{counted(drains, 'drain')} blocked"] if drains else []
        if evictions := sum(not one.node for one in self.blocked):
            others.append(f"{counted(evictions, 'eviction')} refused")
        if self.upgrade is not None and not self.upgrade.completes:
            others.append(f"the upgrade stops at {self.upgrade.stops_at}")
        return sentence(self.comparison, others, self._anyway)

    @property
    def _anyway(self) -> str:
        """`3 would be evicted anyway, 1 would be Pending anyway`; pods that are evicted again and again count once."""
        again = {departure.replaced_by for departure in (*self.before.evicted, *self.anyway)}
        causes = (Cause.TAINT, Cause.DEVICE_TAINT)
        evicted = sum(one.cause in causes and one.pod not in again for one in (*self.before.evicted, *self.anyway))
        waits = len(waiting_anyway(self))
        parts = [
            f"{number:,} would be {what} anyway"
            for number, what in ((evicted, "evicted"), (waits, "Pending"))
            if number
        ]
        return ", ".join(parts)


def waiting_anyway(difference: Difference) -> list[PodLine]:
    """Return the pods that wait for a node in both plans, as they do without the changes."""
    others = {id(pair.before) for pair in difference.comparison.differences}
    return [line for line in difference.before.pending if id(line) not in others]


class Anyway(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod to which the same happens without the changes: it `leaves`, `waits` for a node or `lands` on one."""

    what: str
    pod: str
    workload: str = ""
    node: str = ""
    after_seconds: int | None = None
    new_node: str = ""
    because: str = ""


def happens_anyway(difference: Difference, now: Outcome) -> list[Anyway]:
    """Return what happens from now on with the changes and without them: pods that leave, wait, and get a node."""
    successors = {one.replaced_by for one in difference.anyway}
    left = [
        Anyway("leaves", one.pod, one.workload, one.node, one.after_seconds, one.new_node, one.because)
        for one in difference.anyway
    ]
    differs = {line.key for pair in difference.comparison.differences for line in (pair.before, pair.after) if line}
    waiting = {line.key for line in now.pending}
    rest: list[Anyway] = []
    for line in difference.after.pods:
        if line.key in differs or not line.is_present:
            continue
        if line.state is State.PENDING:
            rest.append(Anyway("waits", line.key, line.workload, because=line.message))
        elif line.key in waiting and line.key not in successors:
            rest.append(Anyway("lands", line.key, line.workload, new_node=line.node))
    return [*left, *rest]
