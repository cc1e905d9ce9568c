"""createNodes → Node views, and the CSINodes of those whose drivers are told.

Kubernetes: node_util.go and the PrepareNodeStrategies of test/utils/runners.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.perf.objects import BASE_NODE, Names, prepare, view
from moorage.model.types.node import Node
from moorage.model.types.storage import CSINode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.perf.operations import AllocatableStrategy, CreateNodes
    from bench.perf.templates import Template

HOSTNAME = "kubernetes.io/hostname"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"


def make_nodes(
    operation: CreateNodes, template: Template | None, prefix: str, names: Names
) -> Iterator[tuple[Node, CSINode | None]]:
    """The nodes in order, each with its CSINode if it has one."""
    where = str(template.path) if template is not None else "node"
    prepared: dict[str, Any] | None = None
    for index in range(operation.count):
        if prepared is None or (template is not None and not template.is_static):
            base = template.document(index, operation.count) if template is not None else BASE_NODE
            prepared = prepare(base)
            if template is None:
                prepared["metadata"]["generateName"] = prefix
        metadata = prepared["metadata"]
        name = names.name(metadata)
        labels = {**(metadata.get("labels") or {}), HOSTNAME: name, **_labels(operation, index)}
        raw = {**prepared, "metadata": {**metadata, "name": name, "labels": labels}}
        strategy = operation.nodeAllocatableStrategy
        csi_node = None
        if strategy is not None:
            status = raw.get("status") or {}
            allocatable = {**(status.get("allocatable") or {}), **strategy.nodeAllocatable}
            raw["status"] = {**status, "allocatable": allocatable}
            csi_node = _csi_node(strategy, name)
        yield view(raw, Node, where), csi_node


def _labels(operation: CreateNodes, index: int) -> dict[str, str]:
    if operation.labelNodePrepareStrategy is not None:
        values = operation.labelNodePrepareStrategy.labelValues
        return {operation.labelNodePrepareStrategy.labelKey: values[index % len(values)]}
    if operation.uniqueNodeLabelStrategy is not None:
        return {operation.uniqueNodeLabelStrategy.labelKey: f"unique-{index}"}
    return {}


def _csi_node(strategy: AllocatableStrategy, name: str) -> CSINode:
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": allocatable}
        for driver, allocatable in strategy.csiNodeAllocatable.items()
    ]
    annotations = {MIGRATED_PLUGINS: ",".join(strategy.migratedPlugins)}
    raw = {"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}
    return view(raw, CSINode, "CSINode")
