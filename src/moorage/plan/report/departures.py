"""Group pods that leave by workload and reason, and put what becomes of a group into a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from moorage.lint.report.form import counted
from moorage.plan.departures import Cause, Departure
from moorage.plan.difference.comparison import Becomes, Pair
from moorage.plan.difference.difference import Difference, waiting_anyway
from moorage.plan.pod_lines import PodLine, State, when_text
from moorage.plan.report.deadlines import deadline_note
from moorage.plan.report.grouping import MAX_NAMES, NO_WORKLOAD, STATE_WORDS, by_reason
from moorage.plan.report.node_lists import MAX_NAMED, shown_nodes
from moorage.plan.report.reasons import shortened
from moorage.plan.simulation.drain import Blocked

#: States of pods that are mentioned if they are the same without the changes.
_TROUBLE = (State.FAILED, State.REFUSED)
#: Why up to this many workloads wait anyway is said of each; more are named only.
_FEW_WORKLOADS = 2
_PREEMPTED = "makes room for a pod of higher priority"


class DepartureGroup(msgspec.Struct):
    """Pods of one workload that leave for one reason."""

    workload: str
    cause: Cause
    because: str
    departures: list[Departure]

    @property
    def title(self) -> str:
        return self.workload or NO_WORKLOAD

    @property
    def reason(self) -> str:
        """Why they leave; if without the changes they leave at another time, when that is."""
        without = next((one.without for one in self.departures if one.without), "")
        because = self.because if len({one.because for one in self.departures}) == 1 else _PREEMPTED
        return f"{self.cause.value}: {because}" + (f"; {without}" if without else "")

    @property
    def when(self) -> str:
        times = [one.after_seconds for one in self.departures]
        first, last = min(times), max(times)
        return when_text(first) if first == last else f"within {last:,} s"

    def leaves(self, *, everything: bool = False) -> str:
        """`8 pods leave node-1 at once`; pods without a controller by name."""
        number = len(self.departures)
        pods = counted(number, "pod")
        if not self.workload:
            pods = _listed([one.pod for one in self.departures], everything=everything)
        nodes = list(dict.fromkeys(one.node for one in self.departures if one.node))
        where = shown_nodes(nodes, everything) if nodes else "the queue"
        return f"{pods} {'leaves' if number == 1 else 'leave'} {where} {self.when}"

    def then(self) -> str:
        """`5 on node-2, 2 on node-3, 1 Pending`; without numbers if it is one pod."""
        return landings_of(self.departures)


def grouped(departures: Iterable[Departure]) -> list[DepartureGroup]:
    """Group pods by workload and reason, in the order in which the first of each leaves."""
    groups: dict[tuple[str, Cause, str, bool], DepartureGroup] = {}
    for one in departures:
        because = "" if one.cause is Cause.PREEMPTED else one.because
        key = one.workload, one.cause, because, bool(one.without)
        group = groups.setdefault(key, DepartureGroup(one.workload, one.cause, one.because, []))
        group.departures.append(one)
    return list(groups.values())


def rolled(departures: Iterable[Departure]) -> dict[str, list[Departure]]:
    """Return the pods that a rolling update replaces, by workload."""
    found: dict[str, list[Departure]] = {}
    for one in departures:
        found.setdefault(one.workload, []).append(one)
    return found


def rolled_text(departures: Sequence[Departure]) -> str:
    return f"{counted(len(departures), 'pod')} → {landings_of(departures)}"


def landings_of(departures: Iterable[Departure]) -> str:
    """Count where the successors of pods are."""
    return landings(map(_landing, departures))


def _landing(one: Departure) -> str:
    if one.new_node:
        return f"on {one.new_node}"
    if one.replaced_by:
        return "Pending"
    return "not replaced" if one.workload else "not replaced: no controller"


def landings(places: Iterable[str]) -> str:
    """Count places: `5 on node-2, 1 Pending`; many nodes are counted together."""
    counts = Counter(places)
    nodes = [place for place in counts if place.startswith("on ")]
    if len(nodes) > MAX_NAMED:
        number = sum(counts.pop(place) for place in nodes)
        counts = Counter({f"on {shown_nodes([place[3:] for place in nodes])}": number}) + counts
    if sum(counts.values()) == 1:
        return next(iter(counts)).removeprefix("on ")
    return ", ".join(f"{number:,} {place}" for place, number in counts.items())


def _listed(names: Sequence[str], *, everything: bool) -> str:
    shown = names if everything or len(names) <= MAX_NAMES + 1 else names[:MAX_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


class BlockedGroup(msgspec.Struct):
    """Pods that one drain cannot evict because of the same budgets."""

    title: str
    lines: list[str]


def by_budget(blocked: Iterable[Blocked], *, everything: bool) -> list[BlockedGroup]:
    """Group pods that drains cannot evict by their PodDisruptionBudgets."""
    groups: dict[tuple[str, ...], dict[str, list[Blocked]]] = {}
    for one in blocked:
        names = tuple(map(str, one.budgets)) or (one.reason,)
        groups.setdefault(names, {}).setdefault(one.node, []).append(one)
    made = []
    for names, nodes in groups.items():
        lines = list(names[1:])
        for node, pods in nodes.items():
            which = _listed([one.pod for one in pods], everything=everything)
            reason = f" ({pods[0].reason})" if len(pods[0].budgets) > 1 else ""
            waits = f"the drain of {node} waits for" if node else "the API server refuses to evict"
            lines.append(f"{waits} {counted(len(pods), 'pod')}: {which}{reason}")
        made.append(BlockedGroup(names[0], lines))
    return made


class AnywayGroup(msgspec.Struct):
    """Pods of one workload to which the same happens without the changes, too."""

    workload: str
    number: int
    what: str
    reason: str
    leaves: bool = False

    @property
    def counted(self) -> str:
        return f"{counted(self.number, 'pod')} {self.what}" if self.number else self.what


def anyway_in_short(difference: Difference) -> Iterator[AnywayGroup]:
    """Count what happens without the changes, too; name many workloads that wait or fail without their reasons."""
    waiting: dict[str, list[AnywayGroup]] = {}
    for group in anyway(difference):
        if group.leaves:
            yield group
        else:
            waiting.setdefault(group.what, []).append(group)
    for what, groups in waiting.items():
        numbers: Counter[str] = Counter()
        for group in groups:
            numbers[group.workload] += group.number or 1
        if len(numbers) <= _FEW_WORKLOADS:
            yield from groups
            continue
        named = [f"{name} ({number:,})" if number > 1 else name for name, number in numbers.items()]
        title = f"{numbers.total():,} pods of {len(numbers):,} workloads"
        yield AnywayGroup(title, 0, what, _listed(named, everything=False))


def anyway(difference: Difference) -> Iterator[AnywayGroup]:
    """Count by workload and reason what happens without the changes, too: evictions, pods that wait or fail."""
    first = {one.replaced_by for one in (*difference.before.evicted, *difference.anyway)}
    leaving = [one for one in (*difference.before.evicted, *difference.anyway) if one.pod not in first]
    still = {line.workload for line in difference.after.of_state(State.EVICTING)}
    for group in grouped(leaving):
        what = "evicted" if group.cause in (Cause.TAINT, Cause.DEVICE_TAINT) else "gone"
        loops = (loop for loop in difference.before.loops if loop.workload == group.workload and loop.workload in still)
        again = next((f", {loop.text.removeprefix('evicted ')}" for loop in loops), "")
        title = group.workload or _listed([one.pod for one in group.departures], everything=False)
        yield AnywayGroup(title, len(group.departures), f"{what}{again}", group.because, leaves=True)
    yield from _lines_anyway(waiting_anyway(difference), STATE_WORDS[State.PENDING])
    new = {id(pair.left) for pair in difference.comparison.of(Becomes.FAILED, Becomes.REFUSED)}
    for state in _TROUBLE:
        lines = (line for line in difference.after.of_state(state) if id(line) not in new)
        yield from _lines_anyway(lines, STATE_WORDS[state])
    new_refusals = {one.line.workload for one in difference.comparison.refusals}
    for failed in difference.after.failed:
        if failed.workload not in new_refusals:
            yield AnywayGroup(failed.workload, failed.refused, "refused", f"FailedCreate: {failed.message}")


def _lines_anyway(lines: Iterable[PodLine], what: str) -> Iterator[AnywayGroup]:
    for group in by_reason(lines):
        for workload, pods in group.workloads.items():
            message = shortened(group.message)
            reason = f"{group.reason}: {message}" if message else group.reason
            title = workload or _listed([pod.key for pod in pods], everything=False)
            yield AnywayGroup(title, len(pods) if workload or len(pods) > 1 else 0, what, reason)


def elsewhere(pairs: Iterable[Pair], *, everything: bool) -> Iterator[tuple[str, str]]:
    """Return the workloads whose pods get other nodes: `3 pods, such as one on node-2 instead of node-1`."""
    found: dict[str, Counter[str]] = {}
    for pair in pairs:
        if pair.before is not None and pair.after is not None:
            text = f"on {pair.after.node} instead of {pair.before.node}"
            found.setdefault(pair.workload or pair.after.key, Counter())[text] += 1
    for workload, counts in found.items():
        first, number = next(iter(counts)), counts.total()
        if everything or len(counts) == 1:
            yield workload, ", ".join(f"{counted(count, 'pod')} {text}" for text, count in counts.items())
        else:
            yield workload, f"{number:,} pods, such as one {first}"


def placements_of(lines: Iterable[PodLine]) -> str:
    """Count where pods are, with the deadlines of those that a taint evicts later."""
    return landings(f"on {line.node}{deadline_note(line)}" for line in lines)


def evicted_later(difference: Difference) -> list[PodLine]:
    """Return the pods that were on a node and that a taint evicts later because of the changes."""
    pairs = difference.comparison.of(Becomes.EVICTING)
    found = (pair.after for pair in pairs if pair.before is not None and pair.before.node)
    return [line for line in found if line is not None]


def placed_by_workload(lines: Iterable[PodLine]) -> dict[str, list[PodLine]]:
    """Return pods by workload; pods without a controller by their own name."""
    found: dict[str, list[PodLine]] = {}
    for line in lines:
        found.setdefault(line.workload or line.key, []).append(line)
    return found
