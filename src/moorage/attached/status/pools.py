"""Check what the templates of autoscalers' pools lack, so that the autoscaler judges lowered pods rightly.

Kubernetes: Karpenter's NodePools, Cluster Autoscaler's template nodes.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from moorage.attach.formats import TRUE, written
from moorage.attached.controller.asking import Questions
from moorage.attached.status.finding import Item, Section, fine, note, section, wrong
from moorage.attached.status.lowered_objects import LoweredObject
from moorage.pools.mirror import PoolTemplate, lacking_labels
from moorage.pools.node_template import Scaler

Raw = dict[str, Any]

_TAG = "k8s.io/cluster-autoscaler/node-template/label"


def check_pools(templates: Sequence[PoolTemplate], found: Iterable[LoweredObject], asked: Questions) -> Section | None:
    """Compare templates with what lowered objects ask; None without pools."""
    if not templates:
        return None
    pairs = {pair for each in found for pair in each.pairs}
    items: list[Item] = []
    rows: list[Raw] = []
    for template in templates:
        needed = lacking_labels(template, pairs) | _unanswered(template, asked)
        others = {key: value for key, value in lacking_labels(template).items() if key not in needed}
        what = f"{template.kind} {template.name} ({template.place})"
        if needed:
            text = f"{what}: its template lacks {_listed(needed)}, so the autoscaler misjudges pods that compare these"
            items.append(wrong(text, _mend(template, needed)))
        elif others:
            text = f"{what}: nothing compares its taints yet; for that its template lacks {_listed(others)}"
            items.append(note(text, _mend(template, others)))
        rows.append({"kind": template.kind, "name": template.name, "lacking": needed, "lackingForOthers": others})
    if not items:
        items.append(
            fine(f"{len(templates)} template{'' if len(templates) == 1 else 's'} with the labels of their taints")
        )
    return section("pools", items, pools=rows)


def _unanswered(template: PoolTemplate, asked: Questions) -> dict[str, str]:
    """Return the match labels that are true of a new node, and that its template lacks."""
    true, _ = asked.true_of(template.taints)
    return {label: TRUE for label in sorted(true) if template.labels.get(label) != TRUE}


def _listed(labels: Raw) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _mend(template: PoolTemplate, labels: Raw) -> str:
    if template.scaler is Scaler.KARPENTER:
        patch = written({"spec": {"template": {"metadata": {"labels": labels}}}})
        return f"kubectl patch nodepool {template.name} --type=merge -p '{patch}'"
    tags = ", ".join(f"{_TAG}/{key}={value}" for key, value in labels.items())
    return f"start nodes of group {template.name} with the labels, and tag the group {tags}"
