"""Templates → documents as a client of scheduler_perf sends them: named where it names them, without defaults.

In: templates and operations. Out: raw documents. Two things differ from upstream, whose test server runs without the
Priority admission plugin: a pod's integer priority becomes a PriorityClass, and an update carries what admission has
put into the live pod. Kubernetes: node_util.go and test/utils/runners.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bench.perf.node_maker import HOSTNAME, MIGRATED_PLUGINS
from bench.perf.objects import BASE_NODE, BASE_POD, VIEWS, Names, _fold_names
from moorage.model.schema.shapes import struct_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.perf.operations import CreateNodes
    from bench.perf.templates import Template

Raw = dict[str, Any]
#: What admission sets in a pod's spec, and an update may not take away.
_ADMITTED = ("serviceAccountName", "serviceAccount", "priority", "priorityClassName", "preemptionPolicy", "nodeName")


class Volume(NamedTuple):
    """A claim and its volume, bound to one another once their status says so too."""

    claim: Raw
    volume: Raw


def wire_document(raw: Raw) -> Raw:
    """The document with a group, a metadata of its own, and fields under the names that Go would have found them by."""
    kind = raw["kind"]
    named: Raw = _fold_names(raw, struct_shape(VIEWS[kind])) if kind in VIEWS else raw
    return {"apiVersion": "v1", **named, "metadata": dict(named.get("metadata") or {})}


# -- pods -------------------------------------------------------------------------------------------------------------


def pod_document(template: Template | None, index: int, count: int, claim: str = "") -> Raw:
    pod = wire_document(template.document(index, count) if template is not None else BASE_POD)
    pod["metadata"].pop("namespace", None)
    if claim:
        volume = {"name": "vol", "persistentVolumeClaim": {"claimName": claim}}
        pod["spec"] = {**pod["spec"], "volumes": [volume]}
    return pod


def by_priority_class(pod: Raw) -> tuple[Raw, Raw | None]:
    """The pod with a class in place of an integer, and that class; as it is if it has neither."""
    spec = pod.get("spec") or {}
    value = spec.get("priority")
    if value is None or spec.get("priorityClassName"):
        return pod, None
    policy = spec.get("preemptionPolicy") or "PreemptLowerPriority"
    name = f"priority-{value}-{policy.lower()}".replace("--", "-minus-")
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }
    rest = {field: content for field, content in spec.items() if field != "priority"}
    return {**pod, "spec": {**rest, "priorityClassName": name}}, made


def updated_document(wanted: Raw, live: Raw) -> Raw:
    """What to put in the live object's place."""
    metadata = {**wanted["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
    if wanted["kind"] != "Pod":
        return {**wanted, "metadata": metadata}
    admitted = {field: live["spec"][field] for field in _ADMITTED if field in live["spec"]}
    return {**wanted, "metadata": metadata, "spec": {**wanted["spec"], **admitted}}


# -- nodes ------------------------------------------------------------------------------------------------------------


def node_documents(
    operation: CreateNodes, template: Template | None, prefix: str, names: Names
) -> Iterator[tuple[Raw, Raw | None]]:
    """The nodes in order, labelled at once, each with its CSINode if it has one."""
    strategy = operation.nodeAllocatableStrategy
    for index in range(operation.count):
        node = wire_document(template.document(index, operation.count) if template is not None else BASE_NODE)
        metadata = node["metadata"]
        if template is None:
            metadata["generateName"] = prefix
        name = metadata["name"] = names.name(metadata)
        metadata["labels"] = {**(metadata.get("labels") or {}), HOSTNAME: name, **_node_labels(operation, index)}
        csi_node = None
        if strategy is not None:
            status = node.get("status") or {}
            allocatable = {**(status.get("allocatable") or status.get("capacity") or {}), **strategy.nodeAllocatable}
            node["status"] = {**status, "allocatable": allocatable}
            drivers = [
                {"name": driver, "nodeID": name, "allocatable": limits}
                for driver, limits in strategy.csiNodeAllocatable.items()
            ]
            annotations = {MIGRATED_PLUGINS: ",".join(strategy.migratedPlugins)}
            csi_node = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": name, "annotations": annotations},
                "spec": {"drivers": drivers},
            }
        yield node, csi_node


def _node_labels(operation: CreateNodes, index: int) -> dict[str, str]:
    if operation.labelNodePrepareStrategy is not None:
        values = operation.labelNodePrepareStrategy.labelValues
        return {operation.labelNodePrepareStrategy.labelKey: values[index % len(values)]}
    if operation.uniqueNodeLabelStrategy is not None:
        return {operation.uniqueNodeLabelStrategy.labelKey: f"unique-{index}"}
    return {}


# -- volumes ----------------------------------------------------------------------------------------------------------


def bound_volume(volume: Template, claim: Template, namespace: str, index: int) -> Volume:
    """The volume and the claim of one pod, each with the status that is to be set after it was made."""
    name, volume_name = f"pvc-{index}", f"{namespace}-vol-{index}"
    made_volume, made_claim = wire_document(volume.document()), wire_document(claim.document())
    made_volume["metadata"]["name"] = volume_name
    made_claim["metadata"]["name"] = name
    spec = dict(made_volume.get("spec") or {})
    if "csi" in spec:
        spec["csi"] = {**spec["csi"], "volumeHandle": volume_name}
    elif "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"] = {**spec["awsElasticBlockStore"], "volumeID": f"vol-{index}"}
    spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
    made_claim["spec"] = {**(made_claim.get("spec") or {}), "volumeName": volume_name}
    bound = {"phase": "Bound"}
    return Volume({**made_claim, "status": bound}, {**made_volume, "spec": spec, "status": bound})
