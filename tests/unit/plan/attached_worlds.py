"""Small clusters with attach: what was lowered, mirrored nodes, and what lowers."""

from __future__ import annotations

from typing import Any

from tests.unit.attach.workloads import toleration
from tests.unit.plan.planning import Raw, node, running, workload

from moorage.attach import formats
from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered
from moorage.attach.policies.lowering import lowering_policy
from moorage.attached.webhook.configuration import WebhookPlace, webhook_configurations

ABOVE_950 = toleration("Gt", "950", effect="NoSchedule")
STAYS_ABOVE_950 = toleration("Gt", "950", effect="NoExecute")
EXPRESSION = toleration("CEL", "taint.value.startsWith('9')", effect="NoSchedule")


def spot(name: str, value: str, effect: str = "NoSchedule", **labels: str) -> Raw:
    """Return a node of the cluster with a taint and its mirror."""
    made = node(name, taints=[{"key": "spot", "value": value, "effect": effect}], **labels)
    made["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "7"}
    made["metadata"]["labels"] = mirrored(made, None)
    return made


def existing(document: Raw) -> Raw:
    """Return an object as the cluster has it: lowered."""
    about = {"namespace": "default", "uid": f"uid-of-{document['metadata']['name']}", "resourceVersion": "7"}
    return lowered({**document, "metadata": {**document["metadata"], **about}})


def deployment(name: str, *tolerations: Raw, replicas: int = 1, **pods: Any) -> Raw:
    return existing(workload("Deployment", name, "1", {"tolerations": list(tolerations), **pods}, replicas=replicas))


def lowered_pod(name: str, on: str, *tolerations: Raw, **fields: Any) -> Raw:
    return lowered(running(name, on, tolerations=list(tolerations), **fields))


def webhook() -> list[Raw]:
    """Return the configurations of attach's webhook, as they are in a cluster."""
    made = webhook_configurations(WebhookPlace(b"authority"))
    for each in made:
        each["metadata"] |= {"uid": each["metadata"]["name"], "resourceVersion": "7"}
    return made


def policy() -> list[Raw]:
    """Return the policy that lowers Lt and Gt, as it is in a cluster."""
    made = [dict(each) for each in lowering_policy()]
    for each in made:
        each["metadata"] = {**each["metadata"], "uid": each["kind"], "resourceVersion": "7"}
    return made


def forged(pod: Raw, old: str, new: str) -> Raw:
    """Let the annotation of a pod or template claim something else, in place."""
    annotations = pod["metadata"]["annotations"]
    annotations[formats.TOLERATIONS] = annotations[formats.TOLERATIONS].replace(old, new)
    return pod
