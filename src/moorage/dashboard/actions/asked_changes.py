"""Turn the changes of a what-if into writes: one patch for each node and workload, one rule for each device taint.

Taints and labels become what `plan` simulates, by the same functions. Nodes and workloads that are so already are left
alone. Drains, removals of nodes and manifests are left to kubectl: a drain waits for budgets longer than a page does.
"""

from hashlib import sha256
from typing import Any

import msgspec

from moorage.client.protocol import Client, Object, Raw
from moorage.dashboard.actions.context import ActionError
from moorage.dashboard.actions.differences import operations
from moorage.dashboard.actions.steps import MAX_STEPS, Step
from moorage.dashboard.questions.base import BadQuestion
from moorage.dashboard.questions.changing.changes import WantedChanges, device_rule, read_changes
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.plan.input.inventory import kind_words
from moorage.plan.node_changes import ChangeError, is_meant, label_patch, tainted, untainted
from moorage.plan.rollout import SCALED, kind_of_workload
from moorage.serve.patch.json_patch import apply_merge_patch

_LEFT = {
    "drain": "a drain is made by kubectl drain",
    "remove": "a node is removed by kubectl delete node",
    "apply": "manifests are applied by kubectl apply",
    "addNodes": "nodes are added by what provides them",
}
_NOT_FOUND = 404


async def asked_steps(changes: Any, client: Client) -> list[Step]:
    """Return the writes, for the cluster as it is now. Raises ActionError and ApiError."""
    try:
        asked = read_changes({"changes": changes})
        left = next((_LEFT[name] for one in changes for name in one if name in _LEFT), None)
        if left is not None:
            raise ActionError(400, f"not from here: {left}")
        steps = [
            *await _node_steps(asked, client),
            *[step for one in asked.changes.scales for step in await _scale_steps(one.workload, one.replicas, client)],
            *[
                step
                for one in changes
                if "deviceTaint" in one
                for step in await _rule_steps(one["deviceTaint"], client)
            ],
        ]
    except (BadQuestion, ChangeError) as error:
        raise ActionError(400, str(error)) from None
    if len(steps) > MAX_STEPS:
        raise ActionError(
            400, f"{len(steps)} objects would change, more than the {MAX_STEPS} that are written together"
        )
    return steps


async def _node_steps(asked: WantedChanges, client: Client) -> list[Step]:
    changes = asked.changes
    if not (changes.taints or changes.untaints or changes.labels or changes.cordons):
        return []
    nodes = (await client.list_all(KINDS.NODE)).items
    after: dict[str, Raw] = {node.name: node.raw for node in nodes}
    for taint in changes.taints:
        for name in _meant(nodes, taint.node):
            after[name] = tainted(after[name], taint)
    for untaint in changes.untaints:
        for name in _meant(nodes, untaint.node):
            after[name] = untainted(after[name], untaint)
    for label in changes.labels:
        for name in _meant(nodes, label.node):
            after[name] = apply_merge_patch(after[name], label_patch(label))
    for cordoned in changes.cordons:
        for name in _meant(nodes, cordoned):
            after[name] = apply_merge_patch(after[name], {"spec": {"unschedulable": True}})
    return [
        Step("patch", KINDS.NODE, "", node.name, operations(node.raw, after[node.name]))
        for node in nodes
        if after[node.name] != node.raw
    ]


def _meant(nodes: list[Object], scope: str) -> list[str]:
    found = [node.name for node in nodes if is_meant(node, scope)]
    if not found:
        raise ChangeError(f"there is no node {scope!r} in the cluster")
    return found


async def _scale_steps(workload: str, replicas: int, client: Client) -> list[Step]:
    word, *place = workload.split("/")
    kind_name = kind_words(*SCALED).get(word.lower())
    if kind_name is None or len(place) != 2:
        raise ChangeError(f"{workload!r} is not of the form KIND/NAMESPACE/NAME")
    namespace, name = place
    kind = kind_of_workload(kind_name)
    raw = (await client.get(kind, name, namespace)).raw
    after = {**raw, "spec": {**raw["spec"], "replicas": replicas}}
    return [Step("patch", kind, namespace, name, operations(raw, after))] if after != raw else []


async def _rule_steps(given: Raw, client: Client) -> list[Step]:
    """Return the creation of a rule; or the change of its taint, where it was made from here before."""
    spec = device_rule(given, "deviceTaint", "")["spec"]
    about = [spec["deviceSelector"], spec["taint"]["key"], spec["taint"]["effect"]]
    name = f"moorage-{sha256(msgspec.json.encode(about, order='sorted')).hexdigest()[:12]}"
    try:
        raw = (await client.get(KINDS.DEVICE_TAINT_RULE, name)).raw
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        return [Step("create", KINDS.DEVICE_TAINT_RULE, "", name, device_rule(given, "deviceTaint", name))]
    # Without timeAdded: tolerationSeconds count from now on again.
    now = {field: text for field, text in raw["spec"]["taint"].items() if field != "timeAdded"}
    after = {**raw, "spec": {**raw["spec"], "taint": spec["taint"]}}
    return [Step("patch", KINDS.DEVICE_TAINT_RULE, "", name, operations(raw, after))] if now != spec["taint"] else []
