"""Workloads of every kind, with a pod of few words."""

from typing import Any

Raw = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
KINDS = {
    "Pod": "v1",
    "PodTemplate": "v1",
    "ReplicationController": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def toleration(operator: str, value: str = "", key: str = "spot", effect: str = "", seconds: int | None = None) -> Raw:
    fields = {"key": key, "operator": operator, "value": value, "effect": effect, "tolerationSeconds": seconds}
    return {name: value for name, value in fields.items() if value not in ("", None)}


def requirement(key: str, operator: str, *values: str) -> Raw:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def term(*requirements: Raw) -> Raw:
    return {"matchExpressions": list(requirements)}


def pod(*tolerations: Raw, required: list[Raw] | None = None, preferred: list[Raw] | None = None, **spec: Any) -> Raw:
    """Return a pod; `required` and `preferred` are its own terms of node affinity."""
    affinity: Raw = {}
    if required is not None:
        affinity[REQUIRED] = {"nodeSelectorTerms": required}
    if preferred:
        affinity[PREFERRED] = preferred
    spec = {"containers": [{"name": "c", "image": "i:1"}], **spec}
    if tolerations:
        spec["tolerations"] = list(tolerations)
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def workload(kind: str, pod: Raw) -> Raw:
    """Return an object of a kind with this pod as its template."""
    about = {"apiVersion": KINDS[kind], "kind": kind, "metadata": {"name": "w"}}
    if kind == "Pod":
        return pod
    template = {"metadata": {"labels": {"app": "w"}}, "spec": pod["spec"]}
    if kind == "PodTemplate":
        return {**about, "template": template}
    if kind == "CronJob":
        return {**about, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}}
    return {**about, "spec": {"template": template}}


def node(taints: list[Raw] | None = None, **labels: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": labels},
        "spec": {"taints": taints} if taints else {},
    }


def terms_of(pod: Raw) -> list[Raw]:
    terms: list[Raw] = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return terms


def complete(document: Raw) -> None:
    """Add what an object of its kind needs besides a pod."""
    kind, spec = document["kind"], document.get("spec", {})
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"):
        spec["selector"] = {"matchLabels": {"app": "w"}}
    if kind == "ReplicationController":
        spec["selector"] = {"app": "w"}
    if kind == "StatefulSet":
        spec["serviceName"] = "w"
    if kind == "Job":
        spec["template"]["spec"]["restartPolicy"] = "Never"
    if kind == "CronJob":
        spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
