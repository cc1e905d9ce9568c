"""An inventory → the objects of a simulation.

The objects were created when the input was read, and are stated here as stored; new ones get a uid and a creation time.
Namespaces that are only mentioned are made. Nodes that say nothing of themselves get what a simulated kubelet reports,
annotated ones get ResourceSlices.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from moorage.admit.request import ANY_REQUEST
from moorage.lint.facts.creation_order import creation_rank
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, view_of
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node, NodeStatus
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.plan.input.absent_owners import (
    adopt_uids,
    complete_claim_references,
    note_cycles,
    revision_stand_ins,
    stand_ins,
)
from moorage.plan.input.extensions.attached import lowering_of_pods
from moorage.plan.input.extensions.objects import UnplannedDocuments
from moorage.plan.input.inventory import Inventory, Item
from moorage.plan.input.references import note_dangling
from moorage.plan.input.registry import learned_classes
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.simulation.api import MAX_WRITES
from moorage.plan.simulation.simulation import DEFAULT_START, Settings, Simulation
from moorage.run.devices.spec import new_slices, wanted_devices
from moorage.run.node_objects import SIMULATOR, Raw, declared_status, node_status, ready_status, reports_shutdown
from moorage.serve.cluster.bootstrap import NAMESPACES

COUNTED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job")
_MANY = 1000
_PODS_LAST = 100
WRITES_PER_POD = 30
#: More pods than Kubernetes supports in a whole cluster.
MAX_PODS = 150_000
_replace = msgspec.structs.replace


def simulate(settings: Settings, inventory: Inventory, *, lives: bool = False, start: float = 0.0) -> Simulation:
    """Return a simulation of the cluster that the inventory describes, in which nothing has happened yet.

    It begins when everything in the input has happened, and not before `start`.
    """
    simulation = Simulation(settings, max(_start(inventory), start), lives=lives)
    _note_nodes(inventory)
    wanted = sum(bound_replicas(inventory, item) for item in list(inventory.of_kind(*COUNTED)))
    api = simulation.api
    api.directory.is_complete = inventory.is_live
    api.documents.beside, api.has_all = UnplannedDocuments(inventory), inventory.has_all
    api.registry.call_webhooks = inventory.call_webhooks
    api.lower_pod = lowering_of_pods(inventory)
    api.taken_uids = {item.view.metadata.uid for item in inventory.items.values() if item.view.metadata.uid}
    names = [item.key.name for item in inventory.of_kind("Namespace")]
    used = [*NAMESPACES, *(key.namespace for key in inventory.items)]
    for name in dict.fromkeys(used):
        if name and name not in names:
            api.create(KINDS.NAMESPACE, {"metadata": {"name": name}})
    for account in inventory.accounts.values():
        api.directory.put_view(KINDS.SERVICE_ACCOUNT, account)
    for one in learned_classes(inventory):
        api.put(KINDS.PRIORITY_CLASS, {"metadata": {"name": one.metadata.name}, "value": one.value}, one)
    note_cycles(inventory)
    adopt_uids(inventory)
    now = api.now_text()
    for item in inventory.items.values():
        _complete(item, simulation, now)
    complete_claim_references(inventory)
    absent = stand_ins(inventory)
    revisions = list(revision_stand_ins(inventory))
    simulation.controllers.absent_owners |= absent.kept
    simulation.shown_owners |= absent.shown
    load(simulation, _in_order(inventory))
    _publish_devices(simulation, inventory)
    for raw in (*absent.workloads, *revisions):
        api.put(KINDS[raw["apiVersion"], raw["kind"]], raw, view_of(raw))
    api.max_writes = MAX_WRITES + WRITES_PER_POD * api.writes + WRITES_PER_POD * wanted
    simulation.scheduling.take_in()
    note_dangling(inventory)
    simulation.loaded_random = simulation.random.getstate()
    return simulation


def _in_order(inventory: Inventory) -> list[Item]:
    """Return the objects in the order of loading. Of very many new pods those of one template follow one another.

    The scheduler is far quicker then than if templates alternate.
    """
    items = sorted(inventory.items.values(), key=_rank)
    if sum(map(_is_new_pod, items)) <= _MANY:
        return items
    first: dict[int, int] = {}
    for number, item in enumerate(items):
        first.setdefault(id(item.view.spec) if _is_new_pod(item) else -1, number)
    return sorted(items, key=lambda item: (*_rank(item), first[id(item.view.spec)] if _is_new_pod(item) else 0))


def _is_new_pod(item: Item) -> bool:
    return item.kind is KINDS.POD and not item.existing


def _rank(item: Item) -> tuple[int, str]:
    """Return the order of loading: what others look up first; pods last, those that exist before new ones, by age."""
    kind = item.key.kind
    if kind != "Pod":
        return creation_rank(item.kind), ""
    return _PODS_LAST, (item.view.metadata.creationTimestamp or "") if item.existing else "~"


def load(simulation: Simulation, items: Any) -> None:
    """Put objects into the cluster, as they are if it has them already, else as created now."""
    api, nodes = simulation.api, 0
    now = api.now_text()
    for item in items:
        _complete(item, simulation, now)
        if item.kind is KINDS.NODE:
            nodes += 1
            if report := _kubelet_report(item.view, nodes, simulation):
                _report_status(item, report)
        elif item.kind is KINDS.POD and item.view.spec.nodeName:
            simulation.bound_at_start.add(item.view.metadata.uid)
        api.put(item.kind, item.raw, item.view, item.template)


def _publish_devices(simulation: Simulation, inventory: Inventory) -> None:
    """Let the simulated drivers of annotated nodes publish their devices, unless the input has slices of them."""
    published = {(item.view.spec.nodeName, item.view.spec.driver) for item in inventory.of_kind("ResourceSlice")}
    for item in inventory.of_kind("Node"):
        for driver, devices in wanted_devices(item.view).items():
            if (item.key.name, driver) in published:
                continue
            try:
                for document in new_slices(item.view, driver, devices, 1, SIMULATOR):
                    simulation.api.create(KINDS.RESOURCE_SLICE, document)
            except ApiError as error:
                inventory.note(Severity.WARNING, item.key, f"has devices that are refused: {error.message}", item.place)


def _complete(item: Item, simulation: Simulation, now: str) -> None:
    metadata = item.view.metadata
    if metadata.uid and metadata.uid != ANY_REQUEST.uid:
        return
    added: dict[str, str] = {"uid": simulation.api.registry.new_uid()}
    if not metadata.creationTimestamp:
        if item.kind is KINDS.NODE:
            simulation.ageless.add(added["uid"])
        added["creationTimestamp"] = now
    item.raw = {**item.raw, "metadata": {**item.raw["metadata"], **added}}
    item.view = _replace(item.view, metadata=_replace(metadata, **added))


def _kubelet_report(node: Node, number: int, simulation: Simulation) -> Raw:
    """Return what the node's kubelet says of it that the input does not; empty if nothing."""
    kubelets, now = simulation.kubelets, simulation.clock.now
    is_simulated = kubelets.is_simulated(node)
    shuts_down = is_simulated and kubelets.shuts_down(node)
    if not node.status.allocatable or not _has_ready(node):
        return node_status(node, number, now, features=kubelets.features, shuts_down=shuts_down)
    report = declared_status(node, kubelets.features)
    has_shut_down = is_simulated and any(
        reports_shutdown(node.metadata.annotations, one.status, one.reason, one.message)
        for one in node.status.conditions
        if one.type == "Ready"
    )
    return {**report, **ready_status(node, now, shuts_down=shuts_down)} if shuts_down or has_shut_down else report


def _report_status(item: Item, report: Raw) -> None:
    """Let the node's kubelet say what the node has, which its manifest does not."""
    status = {**(item.raw.get("status") or {}), **report}
    item.raw = {**item.raw, "status": status}
    item.view = _replace(item.view, status=convert_view(status, NodeStatus))


def bound_replicas(inventory: Inventory, item: Item) -> int:
    """Return how many pods a workload asks for, and let it ask for no more than a cluster can have."""
    name = "parallelism" if item.key.kind == "Job" else "replicas"
    wanted: int = getattr(item.view.spec, name) or 0
    if wanted > MAX_PODS:
        text = f"asks for {wanted:,} pods; {MAX_PODS:,} are planned"
        inventory.note(Severity.WARNING, item.key, text, item.place)
        item.raw = {**item.raw, "spec": {**item.raw["spec"], name: MAX_PODS}}
        item.view = view_of(item.raw)
    return min(wanted, MAX_PODS)


def _has_ready(node: Node) -> bool:
    return any(one.type == "Ready" for one in node.status.conditions)


def _note_nodes(inventory: Inventory) -> None:
    nodes = {item.key.name for item in inventory.of_kind("Node")}
    missing: dict[str, list[Item]] = {}
    for item in inventory.of_kind("Pod"):
        name = item.view.spec.nodeName
        if name and name not in nodes and item.view.status.phase not in FINISHED_PHASES:
            missing.setdefault(name, []).append(item)
    _note_missing_nodes(inventory, missing)
    for item in inventory.of_kind("Node"):
        node: Node = item.view
        if not node.status.allocatable and not node.status.capacity:
            text = "has no status: it is simulated with the default capacity, as in moorage up"
            inventory.note(Severity.WARNING, item.key, text, item.place)


def _note_missing_nodes(inventory: Inventory, missing: Mapping[str, list[Item]]) -> None:
    """Note the pods on nodes that are not in the input: in one line, if there are several nodes."""
    if len(missing) == 1:
        ((name, items),) = missing.items()
        for item in items:
            text = f"is bound to node {name}, which is not in the {inventory.whole}"
            inventory.note(Severity.WARNING, item.key, text, item.place)
    elif missing:
        first = next(iter(missing.values()))[0]
        pods = sum(map(len, missing.values()))
        listed = shown_nodes(list(missing))
        text = f"and {pods - 1} more pods are bound to nodes that are not in the {inventory.whole}: {listed}"
        inventory.note(Severity.WARNING, first.key, text, first.place)


def _start(inventory: Inventory) -> float:
    """Return when a live cluster was read, else a time after everything that the input says has happened."""
    times = {time for item in inventory.items.values() for time in _times_in(item)}
    seconds = (seconds_of(time) for time in times)
    latest = max((time for time in seconds if time is not None), default=DEFAULT_START)
    return max(latest, DEFAULT_START, inventory.read_at)


def _times_in(item: Item) -> Iterator[str | None]:
    """Return when an object was made, a pod was bound, or a node's taints were added and its kubelet was heard of."""
    view = item.view
    if item.existing:
        yield view.metadata.creationTimestamp
    if isinstance(view, Pod):
        yield from (one.lastTransitionTime for one in view.status.conditions if one.type == "PodScheduled")
    elif isinstance(view, Node):
        yield from (taint.timeAdded for taint in view.spec.taints)
        yield from (one.lastHeartbeatTime for one in view.status.conditions)
