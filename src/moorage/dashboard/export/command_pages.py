"""Write the pages of `moorage plan --output html` and `moorage explain --output html`.

That of a plan has plan, map, why pods wait, what the changes of the command line would do, and what happened; map and
waiting pods are there before the changes and after them. That of an explanation has one pod or one node explained, on
the map of its cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from moorage.dashboard.export.moments import (
    Moment,
    after,
    before,
    came_because,
    changed_nodes,
    left_because,
    planned,
    without,
)
from moorage.dashboard.export.page import render
from moorage.dashboard.export.saved import SavedAnswers, address, state_of
from moorage.dashboard.questions.base import Base
from moorage.dashboard.questions.changes import MAX_TEXT
from moorage.dashboard.questions.rows import rows
from moorage.lint.sources import STDIN, opened, sources_of
from moorage.plan.explain.target import TargetError, with_namespace
from moorage.plan.node_changes import ALL_NODES
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.planner import Planner, rest_of
from moorage.plan.report.plain import summary
from moorage.plan.simulation.forked import Copy, CopyFailed, in_fork
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes, WhatIf

Document = dict[str, Any]


class PlanPage:
    """The page, begun before anything is changed and finished after it. `paths` are what was read.

    It has every moment of the plan: the cluster before the changes, with what they would do to it, and after them.
    """

    def __init__(
        self,
        planner: Planner,
        simulation: Simulation,
        changes: Changes,
        until: float | None,
        paths: Sequence[str],
        *,
        rolls_out: bool = False,
    ) -> None:
        if until is not None and until.is_integer():
            until = int(until)  # as JavaScript writes it, where the page looks for an answer
        self._planner, self._simulation, self._paths, self._until = planner, simulation, paths, until
        self._saved = SavedAnswers()
        self._copy: Copy | None = None
        if not planner.inventory.is_live:  # the timeline of a live cluster tells what really happened
            self._saved.tell_story(Base(planner, simulation), until)
        question = asked_changes(changes) if changes else []
        if changes or rolls_out:
            # Without a copy the page has the numbers of all moments, but the map after the changes only.
            with suppress(CopyFailed):
                self._copy = Copy(lambda end: self._unchanged(question, end, is_changed=bool(changes)))

    def close(self) -> None:
        """End the copy of the cluster before the changes, if it was not needed."""
        if self._copy is not None:
            self._copy.close()
            self._copy = None

    def _unchanged(self, question: list[Document] | None, end: float, *, is_changed: bool) -> Document:
        """Settle the cluster; return it before the changes, what they do, and what it is without them at `end`."""
        until = self._until
        outcome = self._planner.plan(self._simulation, until=None if until is None else rest_of(self._simulation))
        base = Base(self._planner, self._simulation, outcome)
        before = self._moment(base)
        saved = SavedAnswers()
        without = in_fork(lambda: self._without(base, outcome, end)) if is_changed else None
        if question:
            saved.ask("thresholds", {}, base)
            for kind, key, value in _named_values(question):
                saved.ask("thresholds", {"kind": kind, "key": key, "value": value}, base)
            saved.ask("what-if", {"changes": question, "until": until}, base)
        return {"before": before, "without": without, "answers": saved.answers}

    def _without(self, base: Base, outcome: Outcome, end: float) -> Document | None:
        """Let the cluster go on to the time of the changed one; None if it stays as it is."""
        was = rows(base.simulation)
        WhatIf(base.simulation, base.planner.inventory).go_on_alone(outcome, self._until, end)
        if rows(base.simulation) == was:
            return None
        return self._moment(Base(base.planner, base.simulation, outcome_of(base.simulation, base.planner.inventory)))

    def _moment(self, base: Base) -> Document:
        saved = SavedAnswers()
        self._describe(saved, base)
        return {
            "state": state_of(base, self._paths),
            "summary": summary(base.plan),
            "answers": saved.answers,
        }

    def _describe(self, saved: SavedAnswers, base: Base) -> None:
        saved.explain_pending(base)
        saved.describe_nodes(base)

    def render(self, outcome: Outcome, document: Document) -> str:
        """Return the page. `document` is what `--output json` prints of the same plan."""
        unchanged: Document | None = None
        if self._copy is not None:
            with suppress(CopyFailed):
                unchanged = self._copy.ask(self._simulation.clock.now)
            self.close()
        self._saved.put("plan", {}, [{**document, "done": True}])
        what_if: Document | None = document.get("whatIf")
        if unchanged is not None and what_if is None:  # a mere rollout leaves the plan as it is
            state, moments = unchanged["before"]["state"], [planned(document["summary"], self._until)]
            self._saved.answers |= unchanged["before"]["answers"]
            return self._page(state, moments)
        base = Base(self._planner, self._simulation, outcome)
        self._describe(self._saved, base)
        state = state_of(base, self._paths)
        if what_if is None:
            return self._page(state, [planned(document["summary"], self._until)])
        if unchanged is None:
            marks = came_because(what_if["differences"], [])
            return self._page(state, [after(document["summary"], None, marks, self._until)])
        self._saved.answers |= unchanged["answers"]
        return self._page(unchanged["before"]["state"], self._moments(unchanged, state, document, what_if))

    def _moments(self, unchanged: Document, state: Document, document: Document, what_if: Document) -> list[Moment]:
        before_them, alone, differences = unchanged["before"], unchanged["without"], what_if["differences"]
        old_nodes, new_nodes = changed_nodes(before_them["state"], msgspec.to_builtins(state))
        left = left_because(differences, old_nodes)
        moments = [before(before_them["summary"], before_them["answers"], left)]
        if alone is not None:
            moments.append(without(what_if["before"], alone["state"], alone["answers"], left, self._until))
        came = came_because(differences, new_nodes)
        return [*moments, after(document["summary"], state, came, self._until)]

    def _page(self, state: Document, moments: list[Moment]) -> str:
        return _rendered(state, self._saved, address("plan"), moments)


Asked = dict[str, Any]


def asked_changes(changes: Changes) -> list[Asked] | None:
    """Return the changes in the order in which they are made; None if the question cannot be asked of them."""
    manifests = _manifests(changes.files)
    if manifests is None or changes.upgrade is not None or changes.diff is not None:
        return None
    return [
        *({"apply": text} for text in manifests),
        *(
            {"taint": {"nodes": _nodes(taint.node), "key": taint.key, "value": taint.value, "effect": taint.effect}}
            for taint in changes.taints
        ),
        *(
            {"untaint": {"nodes": _nodes(untaint.node), "key": untaint.key, "effect": untaint.effect}}
            for untaint in changes.untaints
        ),
        *({"label": {"nodes": _nodes(label.node), "key": label.key, "value": label.value}} for label in changes.labels),
        *({"scale": {"workload": scale.workload, "replicas": scale.replicas}} for scale in changes.scales),
        *({"addNodes": {"count": added.count, "like": added.like}} for added in changes.adds),
        *({"cordon": {"nodes": _nodes(nodes)}} for nodes in changes.cordons),
        *({"evict": key} for key in changes.evicts),
        *({"drain": {"nodes": _nodes(nodes)}} for nodes in changes.drains),
        *({"remove": {"nodes": _nodes(nodes)}} for nodes in changes.removes),
    ]


def _manifests(files: Iterable[str]) -> list[str] | None:
    """Return the texts; None if one cannot be read twice, or at all, or is longer than a question."""
    texts = []
    if STDIN in files:
        return None
    for source in sources_of(files):
        try:
            with opened(source) as stream:
                texts.append(stream.read(MAX_TEXT + 1).decode())
        except (OSError, UnicodeDecodeError):
            return None
    return texts if all(len(text) <= MAX_TEXT for text in texts) else None


def _nodes(named: str) -> Any:
    if named == ALL_NODES:
        return "all"
    if named.startswith("{"):
        key, _, value = named[1:-1].partition("=")
        return {"label": {"key": key, "value": value}}
    return [named]


def pod_page(
    planner: Planner, pod: str, namespace: str, node: str, paths: Sequence[str], *, alone: bool
) -> tuple[str, Document]:
    """Return the page and what `--output json` prints of the same pod. Raises TargetError."""
    base = Base(planner, planner.build())
    saved = SavedAnswers()
    target = with_namespace(pod, namespace)
    part: Document = {}
    for arguments in ({"pod": target}, {"pod": target, "node": node}) if node else ({"pod": target},):
        part = _answered(saved.ask_a_copy("explain", arguments, base, alone=alone))
    return _page(saved, base, address("pending", pod=target, node=node), paths), part["explanation"]


def node_page(planner: Planner, node: str, paths: Sequence[str], *, alone: bool) -> str:
    """Return the page of a node. Raises TargetError."""
    base = Base(planner, planner.build())
    saved = SavedAnswers()
    _answered(saved.ask_a_copy("node", {"node": node, "alone": alone}, base))
    return _page(saved, base, address("map", node=node), paths)


def _page(saved: SavedAnswers, base: Base, view: str, paths: Sequence[str]) -> str:
    """Return the page of a cluster that settles only now."""
    base.outcome = base.planner.plan(base.simulation)
    saved.ask("pending", {}, base)
    saved.describe_nodes(base)
    return _rendered(state_of(base, paths), saved, view, [planned(summary(base.outcome), None)])


def _rendered(state: Document, saved: SavedAnswers, view: str, moments: list[Moment]) -> str:
    shown = {"state": state, "answers": saved.answers, "view": view, "moments": msgspec.to_builtins(moments)}
    return render(shown)


def _answered(parts: list[Document]) -> Document:
    if "error" in parts[0]:
        raise TargetError(parts[0]["error"])
    return parts[0]


def _named_values(changes: list[Document]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, key and value of each change that a slider shows."""
    for change in changes:
        for kind, what in change.items():
            if isinstance(what, dict) and isinstance(what.get("key"), str) and isinstance(what.get("value"), str):
                yield kind, what["key"], what["value"]
