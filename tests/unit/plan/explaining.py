"""Explanations of small clusters in few words."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.unit.plan.planning import Raw

from moorage.lint.sources import sources_of
from moorage.model.gates import gates_from
from moorage.plan.explain.explanation import Explanation, explain_pod
from moorage.plan.explain.remedies.change import ChangeKind
from moorage.plan.explain.target import find_target
from moorage.plan.planner import Planner, Settings

_VERBS = ("Add", "Change", "Create", "Drop", "Label", "Move", "Remove", "Request", "Uncordon", "Use")


def explained(
    *documents: Raw | str,
    pod: str = "p",
    node: str = "",
    namespace: str = "",
    alone: bool = False,
    gates: dict[str, bool] | None = None,
) -> Explanation:
    """What `moorage explain` knows about a pod of these documents; all gates are on unless some are named."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        texts = [one if isinstance(one, str) else json.dumps(one) for one in documents]
        path.write_text("\n---\n".join(texts), encoding="utf-8")
        planner = Planner(Settings(gates_from({"AllAlpha": True} if gates is None else gates)))
        planner.load(sources_of([str(path)]))
        simulation, inventory = planner.build(), planner.inventory
        return explain_pod(simulation, inventory, find_target(simulation, inventory, pod, namespace, alone=alone), node)


def assert_says_what_to_do(explanation: Explanation) -> None:
    """Check that the sentence of every change begins with a verb; that of a volume may say what is in the way."""
    for one in explanation.suggestions:
        begins = ("Claim", "Volume", *_VERBS) if one.change.kind is ChangeKind.VOLUME else _VERBS
        assert one.change.sentence.split(" ")[0].rstrip(":") in begins, one.change.sentence


def told(explanation: Explanation) -> dict[str, list[str]]:
    """The suggestions in order: what, and for which nodes."""
    return {one.change.summary: list(one.nodes) for one in explanation.suggestions}
