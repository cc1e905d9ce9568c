"""Tell what follows when taints evict pods: where replacements land, that no pod is replaced, or that it never ends.

What has happened is read from the simulation's history. What is still ahead is played in a copy of the process, so that
the simulation stays at the moment that is shown.
"""

from collections.abc import Callable, Iterable

import msgspec

from moorage.model.kinds import KINDS
from moorage.plan.departures import Departure, EvictionLoop, evictions_of
from moorage.plan.outcome import Outcome
from moorage.plan.pod_lines import PodDeadline, PodLine, PodRows, State
from moorage.plan.report.reasons import without_preemption
from moorage.plan.simulation.forked import CopyFailed, in_fork
from moorage.plan.simulation.simulation import Simulation

#: How many real seconds a copy may work, and how many virtual ones it looks ahead where CronJobs go on for ever.
MAX_SECONDS = 5.0
_AHEAD = 3600.0
#: Time for a replacement to be placed after the last eviction.
_REST = 10.0
NOT_REPLACED = "it is not replaced: it has no controller"


class FollowUps(msgspec.Struct, frozen=True):
    """What follows each eviction, by the pod's key in the order of the evictions, and the loops by workload."""

    then: dict[str, list[str]] = {}
    loops: dict[str, EvictionLoop] = {}

    def of(self, pod: str, workload: str, earlier: int = 0) -> str:
        """Return what follows the eviction of a pod; `earlier` ones of its name were evicted before it."""
        found = self.then.get(pod, [])
        if earlier < len(found):
            return found[earlier]
        loop = self.loops.get(workload)
        if loop is not None:
            return loop.text
        return "" if workload else NOT_REPLACED


def follow_ups(simulation: Simulation, work: Callable[[], None] | None = None) -> FollowUps:
    """Return what followed all evictions so far; with `work`, what follows once a copy of the simulation did that."""
    if work is None:
        return _follow_ups(simulation)

    def play() -> FollowUps:
        work()
        return _follow_ups(simulation)

    try:
        return msgspec.convert(in_fork(play, MAX_SECONDS), FollowUps)
    except CopyFailed:
        return FollowUps()


def _follow_ups(simulation: Simulation) -> FollowUps:
    departures, loops = evictions_of(simulation)
    by_workload = {loop.workload: loop for loop in loops}
    rows = PodRows(simulation)
    evicted_again = {timer.pod.key for timer in rows.timers.values()}
    then: dict[str, list[str]] = {}
    for departure in reversed(departures):
        successor = simulation.world.get(KINDS.POD, departure.replaced_by)
        if successor is not None and not departure.new_node:
            departure.message = rows.pod(successor).message
        loop = by_workload.get(departure.workload) if departure.replaced_by in evicted_again else None
        then.setdefault(departure.pod, []).insert(0, what_follows(departure, loop))
        evicted_again.add(departure.pod)
    return FollowUps(then, by_workload)


def what_follows(departure: Departure, loop: EvictionLoop | None = None) -> str:
    """Say in one sentence what follows the eviction of a pod; `loop` if that is another eviction, without end."""
    if not departure.replaced_by:
        return "it is not replaced" if departure.workload else NOT_REPLACED
    comes = "it comes again" if departure.replaced_by == departure.pod else f"{departure.replaced_by} replaces it"
    if not departure.new_node:
        why = without_preemption(departure.message)
        return f"{comes} and is Pending{f': {why}' if why else ''}"
    return f"{comes} on {departure.new_node}{f', {loop.text}' if loop is not None else ''}"


def add_follow_ups(simulation: Simulation, outcome: Outcome, *, goes_on: bool = False, lives: bool = False) -> None:
    """Add to all deadlines of the outcome what follows, and to its loops those that are still ahead.

    Where the simulation `goes_on`, evictions are ahead that are not played yet. Where it `lives`, Jobs end and begin
    without end, so that it goes on for a limited time.
    """
    if not any(line.deadline is not None for line in outcome.pods):
        return
    awaited = [line for line in outcome.pods if line.state is State.EVICTING] if goes_on else []
    found = follow_ups(simulation, (lambda: _go_on(simulation, awaited, lives=lives)) if awaited else None)
    earlier: dict[str, int] = {}
    for place, line in enumerate(outcome.pods):
        if line.deadline is not None:
            number = earlier.get(line.key, 0)
            earlier[line.key] = number + 1
            deadline = with_then(line.deadline, found.of(line.key, line.workload, number))
            outcome.pods[place] = msgspec.structs.replace(line, deadline=deadline)
    known = {loop.workload for loop in outcome.loops}
    outcome.loops = [*outcome.loops, *(loop for name, loop in found.loops.items() if name not in known)]


def with_then(deadline: PodDeadline, then: str) -> PodDeadline:
    return msgspec.structs.replace(deadline, then=then)


def _go_on(simulation: Simulation, awaited: Iterable[PodLine], *, lives: bool) -> None:
    if not lives:
        simulation.settle_with_evictions()
        return
    last = max(line.deadline.seconds or 0 for line in awaited if line.deadline is not None)
    simulation.run_until(simulation.clock.now + min(last, _AHEAD) + _REST)
