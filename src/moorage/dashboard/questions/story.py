"""Tell what happens in virtual time while the cluster of the input comes to rest: who did what, in its order.

Entries are `[time, kind, subject, workload, detail, actor]`; time is in seconds since the beginning. Pods and nodes are
told as `moorage watch` tells them, controllers by what they create and their events; equal ones in a row become one.
"""

from collections.abc import Iterator
from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import Report
from moorage.control.framework.world import controller_of
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.state.progress import Teller
from moorage.dashboard.state.timeline_entry import TimelineEntry
from moorage.dashboard.state.workload_changes import CREATED_BY_CONTROLLERS, created_line
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Key
from moorage.plan.report.reasons import without_preemption
from moorage.plan.simulation.scheduling import SCHEDULER
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import Action, NoNode
from moorage.watch.happenings import Chronicle, Happening, HappeningKind, of_node

MAX_ENTRIES = 20_000
_AT_ONCE = 1_000
_USER = "you"
_YEAR = 366 * 86_400


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    until = arguments.get("until")
    if until is not None and not (type(until) in (int, float) and 0 <= until <= _YEAR):
        raise BadQuestion(f"until: {until!r} is not a number of seconds up to a year")
    storyteller = _Storyteller(base.simulation)
    # It takes as long as simulating the input did.
    base.planner.plan(base.simulation, Teller(base.tell, "Playing what happened, placing pods").tick, until)
    entries = storyteller.entries
    for start in range(0, len(entries), _AT_ONCE):
        yield {"entries": entries[start : start + _AT_ONCE]}
    yield {
        "start": base.simulation.clock.start,
        "end": base.simulation.clock.elapsed,
        "leftOut": storyteller.left_out,
        "stopped": base.simulation.stopped or "",
        "done": True,
    }


class _Storyteller:
    """Hears of everything that happens in a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.entries: list[TimelineEntry] = []
        self.left_out = 0
        self._simulation = simulation
        self._chronicle = Chronicle()
        self._nodes = {node.name: node.view for node in simulation.world.all(KINDS.NODE)}
        for item in simulation.world.all(KINDS.REPLICA_SET):
            self._chronicle.replica_set_changed(None, item, simulation.clock.elapsed)
        self._waiting: dict[str, str] = {}
        self._last = ("", 0)  # what the last entry was about before equal ones were added, and how many were
        simulation.api.listeners.append(self._changed)
        simulation.told = self._reported
        simulation.scheduling.follow = self._decided

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        now = self._simulation.clock.elapsed
        if old is None and new is not None and kind in CREATED_BY_CONTROLLERS:
            self._created(new)
        if kind is KINDS.POD:
            pod = new or old
            workload = self._workload(pod) if pod is not None else ""
            for happening in self._chronicle.of_pod(_view(old), _view(new), self._nodes, now):
                self._waiting.pop(happening.subject, None)
                self._tell(happening._replace(workload=workload))
        elif kind is KINDS.REPLICA_SET:
            self._chronicle.replica_set_changed(old, new, now)
        elif kind is KINDS.NODE:
            if new is not None:
                self._nodes[new.name] = new.view
            for happening in of_node(_view(old), _view(new), now):
                self._tell(happening)

    def _created(self, created: Object) -> None:
        owner = controller_of(created.view.metadata)
        if owner is not None:
            subject = f"{owner.kind} {created.namespace}/{owner.name}"
            text = created_line(created.kind, [created.name])
            self._controlled(subject, self._workload(created), text, f"created {created.kind.name}")

    def _reported(self, report: Report) -> None:
        regarding = report.regarding
        where = f"{regarding['namespace']}/" if regarding.get("namespace") else ""
        subject = f"{regarding.get('kind', '')} {where}{regarding.get('name', '')}"
        self._controlled(subject, subject, f"{report.reason}: {report.message}", report.reason)

    def _controlled(self, subject: str, workload: str, detail: str, about: str) -> None:
        """Tell what a controller did; the same again is added to the last entry."""
        actor, now = self._simulation.api.actor, round(self._simulation.clock.elapsed, 3)
        about = f"{actor} {subject} {about} {now}"
        if self._last[0] == about and self.entries:
            self._last = (about, self._last[1] + 1)
            first = self.entries[-1].detail.rpartition(" and ")[0] if self._last[1] > 1 else self.entries[-1].detail
            self.entries[-1] = self.entries[-1]._replace(detail=f"{first} and {self._last[1]} more")
            return
        self._add(TimelineEntry(now, HappeningKind.CONTROL.value, subject, workload, detail, actor or _USER))
        self._last = (about, 0)

    def _decided(self, action: Action) -> None:
        """Tell when the scheduler finds no node for a pod, and again when its reason is another."""
        if not isinstance(action, NoNode) or action.is_waiting:
            return
        key, why = action.record.key, without_preemption(action.message)
        if self._waiting.get(key) == why:
            return
        self._waiting[key] = why
        pod = self._simulation.world.get(KINDS.POD, key)
        workload = self._workload(pod) if pod is not None else ""
        now = self._simulation.clock.elapsed
        self._tell(Happening(now, HappeningKind.PENDING, key, workload, why), SCHEDULER)

    def _tell(self, happening: Happening, actor: str = "") -> None:
        actor = actor or self._simulation.api.actor or _USER
        time, kind, subject, workload, detail = happening
        self._add(TimelineEntry(round(time, 3), kind.value, subject, workload, detail, actor))

    def _add(self, entry: TimelineEntry) -> None:
        self._last = ("", 0)
        if len(self.entries) < MAX_ENTRIES:
            self.entries.append(entry)
        else:
            self.left_out += 1

    def _workload(self, item: Object) -> str:
        owner = self._simulation.owner_of(item)
        return str(Key(*owner)) if owner is not None else ""


def _view(item: Object | None) -> Any:
    return item.view if item is not None else None
