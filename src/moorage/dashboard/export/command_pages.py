"""Write the pages of `moorage plan --output html` and `moorage explain --output html`.

That of a plan has plan, map, why pods wait, what the changes of the command line would do, and what happened; that of
an explanation has one pod or one node explained, on the map of its cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from moorage.dashboard.export.page import render
from moorage.dashboard.export.saved import SavedAnswers, address, state_of
from moorage.dashboard.questions.base import Base
from moorage.dashboard.questions.changes import MAX_TEXT
from moorage.lint.sources import STDIN, opened, sources_of
from moorage.plan.explain.target import TargetError, with_namespace
from moorage.plan.node_changes import ALL_NODES
from moorage.plan.outcome import Outcome
from moorage.plan.planner import REST_SECONDS, Planner
from moorage.plan.simulation.forked import CopyFailed, in_fork
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

Document = dict[str, Any]


class PlanPage:
    """The page, begun before anything is changed and finished after it. `paths` are what was read.

    Its map shows the cluster before the changes, and the view of the what-if what they do to it.
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
        self._planner, self._simulation, self._paths = planner, simulation, paths
        self._saved = SavedAnswers()
        self._state: Document | None = None
        self._only_rolls_out = rolls_out and not changes  # which leaves the plan as it is
        if not planner.inventory.is_live:  # the timeline of a live cluster tells what really happened
            self._saved.tell_story(Base(planner, simulation), until)
        question = asked_changes(changes)
        if question or self._only_rolls_out:
            # Without it the page has no what-if, and the map is that after the changes.
            with suppress(CopyFailed):
                before: Document = in_fork(lambda: self._before(question, until))
                self._state = before["state"]
                self._saved.answers |= before["answers"]

    def _before(self, question: list[Document] | None, until: float | None) -> Document:
        """Settle a copy of the cluster; return its rows, and what the changes do to it."""
        outcome = self._planner.plan(self._simulation, until=None if until is None else REST_SECONDS)
        base = Base(self._planner, self._simulation, outcome)
        state = state_of(base, self._paths)
        saved = SavedAnswers()
        if question:
            saved.ask("thresholds", {}, base)
            for kind, key, value in _named_values(question):
                saved.ask("thresholds", {"kind": kind, "key": key, "value": value}, base)
            saved.ask("what-if", {"changes": question, "until": until}, base)
        else:
            self._describe(saved, base)
        return {"state": state, "answers": saved.answers}

    def _describe(self, saved: SavedAnswers, base: Base) -> None:
        saved.explain_pending(base)
        saved.describe_nodes(base)

    def render(self, outcome: Outcome, document: Document) -> str:
        """Return the page. `document` is what `--output json` prints of the same plan."""
        base = Base(self._planner, self._simulation, outcome)
        self._saved.put("plan", {}, [{**document, "done": True}])
        if not self._only_rolls_out:
            self._describe(self._saved, base)
        state = self._state if self._state is not None else state_of(base, self._paths)
        return render({"state": state, "answers": self._saved.answers, "view": address("plan")})


Asked = dict[str, Any]


def asked_changes(changes: Changes) -> list[Asked] | None:
    """Return the changes in the order in which they are made; None if the question cannot be asked of them."""
    manifests = _manifests(changes.files)
    if manifests is None or changes.upgrade is not None:
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
        *({"cordon": name} for name in changes.cordons),
        *({"drain": name} for name in changes.drains),
        *({"remove": name} for name in changes.removes),
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
    return render({"state": state_of(base, paths), "answers": saved.answers, "view": view})


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
