"""Write the page of `moorage explain --output html`: one pod explained, or a node, on the map of its cluster."""

from collections.abc import Sequence
from typing import Any

from moorage.dashboard.export.page import render
from moorage.dashboard.export.saved import SavedAnswers, address, state_of
from moorage.dashboard.questions.base import Base
from moorage.plan.explain.target import TargetError, with_namespace
from moorage.plan.planner import Planner

Document = dict[str, Any]


def pod_page(
    planner: Planner, pod: str, namespace: str, node: str, paths: Sequence[str], *, alone: bool
) -> tuple[str, Document]:
    """Return the page and what `--output json` prints of the same pod. Raises TargetError."""
    base = Base(planner, planner.build())
    saved = SavedAnswers()
    target = with_namespace(pod, namespace)
    told: Document = {}
    for asked in ({"pod": target}, {"pod": target, "node": node}) if node else ({"pod": target},):
        told = _answered(saved.ask_a_copy("explain", asked, base, alone=alone))
    return _page(saved, base, address("pending", pod=target, node=node), paths), told["explanation"]


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
