"""Decide whether a bound pod may start on its node, and whether its volumes can be mounted.

A refused pod fails with the first reason found. Static pods ignore taints. Each claim must be bound, and the volume's
node affinity must match by the kubelet's own gates. Kubernetes: pkg/kubelet/lifecycle (predicate.go, handlers.go),
pkg/kubelet/volumemanager (checkNodeAffinity). Differs: no pod is evicted for a critical one that does not fit; a pod
waits while an expensive expression of its tolerations is being evaluated; nothing is attached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.client.informer import Delta
from moorage.columns.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Amounts, amounts, pod_requests
from moorage.columns.shape import HostPort, host_ports
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.node_selector import compile_node_selector, compile_required_node_affinity
from moorage.match.taint_messages import UnreadableValues, taint_facts
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.match.volumes.claims import claims_of
from moorage.model.declared_features import features_of_kubelet, missing_features, needed_to_run
from moorage.model.gates import NODE_DECLARED_FEATURES, GateSet
from moorage.model.go.integers import add64, wrap64
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.finalizers import CLAIM_IN_USE
from moorage.model.well_known.labels import OS
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.run.last_result_cache import remember_last
from moorage.run.node_objects import is_of_another_kubelet
from moorage.run.shutdown import NOT_ADMITTED, periods_of
from moorage.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.model.types.node import Taint
    from moorage.model.types.pod import Toleration

_OS_LABEL, _OS = OS, "linux"
_SOURCE_ANNOTATION = "kubernetes.io/config.source"
_MAX_TOLERATIONS = 1024
_EVERY_ADDRESS = "0.0.0.0"
_BASIC = (CPU, MEMORY, EPHEMERAL_STORAGE)
_NO_EXECUTE = frozenset({NO_EXECUTE})


@remember_last("spec.containers", "spec.initContainers", "spec.resources", "spec.overhead")
def _requests(pod: Pod) -> Amounts:
    return pod_requests(pod.spec)


@remember_last("spec.containers", "spec.initContainers", "spec.resources", "spec.overhead")
def _wanted(pod: Pod) -> list[tuple[str, int]]:
    """Return a pod's requests, in the order in which the kubelet compares them."""
    requests = _requests(pod)
    others = sorted(requests.keys() - {*_BASIC, PODS})
    return [(name, requests[name]) for name in (*_BASIC, *others) if name in requests]


@remember_last("spec.containers", "spec.initContainers", "spec.hostNetwork", "spec.hostUsers")
def _features(pod: Pod) -> tuple[str, ...]:
    return needed_to_run(pod.spec)


@remember_last("spec.containers", "spec.initContainers")
def _host_ports(pod: Pod) -> tuple[HostPort, ...]:
    return host_ports(pod.spec)


class Refusal(NamedTuple):
    """Reason and message of the failed pod's status."""

    reason: str
    message: str


class Load:
    """Resources and ports that the pods on a node use."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self.pods = 0
        self.used: Amounts = {}
        self.ports: Counter[HostPort] = Counter()
        self._node: Node | None = None
        self._capacity: Amounts = {}
        for pod in pods:
            self.add(pod)

    def add(self, pod: Pod) -> None:
        self._count(pod, 1)

    def remove(self, pod: Pod) -> None:
        self._count(pod, -1)

    def capacity(self, node: Node) -> Amounts:
        """Return the node's allocatable resources, cached for the same node object."""
        if node is not self._node:
            self._node, self._capacity = node, amounts(node.status.allocatable)
        return self._capacity

    def _count(self, pod: Pod, sign: int) -> None:
        self.pods += sign
        for name, value in _requests(pod).items():
            self.used[name] = add64(self.used.get(name, 0), sign * value)
        for port in _host_ports(pod):
            self.ports[port] += sign
            if not self.ports[port]:
                del self.ports[port]


class Admission:
    """Gates and compiled expressions that all kubelets of a process share."""

    def __init__(self, gates: GateSet, evaluations: Evaluations | None = None, metrics: Metrics | None = None) -> None:
        self.gates = gates
        self._declares, self._declared = gates.enabled(NODE_DECLARED_FEATURES), features_of_kubelet(gates)
        self._values = UnreadableValues("kubelet", metrics or Metrics(), "kubelet")
        self.evaluation_errors = 0
        self.programs = ProgramCache(evaluations=evaluations, patiently=True)
        self._known_tolerations: dict[tuple[Toleration, ...], TolerationSet] = {}

    def refuse(self, pod: Pod, node: Node, load: Load) -> Refusal | None:
        """Return the first reason why the pod cannot run on the node beside the others, or None. Raises Undecided."""
        return (
            _wrong_system(pod)
            or no_room(pod, node, load)
            or self._elsewhere(pod, node)
            or _port_taken(pod, load)
            or self._tainted(pod, node)
            or self._lacks_features(pod, node)
            or (Refusal(*NOT_ADMITTED) if periods_of(node, self.gates) else None)
        )

    def _lacks_features(self, pod: Pod, node: Node) -> Refusal | None:
        """Ask the kubelet's own features, not the node's status; a node of another kubelet has those it declares."""
        needed = _features(pod) if self._declares else ()
        if not needed:
            return None
        declared = node.status.declaredFeatures if is_of_another_kubelet(node) else self._declared
        missing = missing_features(needed, declared)
        if not missing:
            return None
        text = f"Pod requires node features that are not available: {', '.join(missing)}"
        return Refusal("PodFeatureUnsupported", text)

    def _tainted(self, pod: Pod, node: Node) -> Refusal | None:
        taints = [taint for taint in node.spec.taints if taint.effect in _NO_EXECUTE]
        if not taints or _is_static(pod):
            return None
        tolerations = self._compiled(pod.spec.tolerations)
        untolerated = tolerations.untolerated(taints, _NO_EXECUTE)
        if not untolerated:
            return None
        for taint in untolerated:
            for matcher in tolerations.matchers:
                if found := matcher.unreadable(taint):
                    where = {"node": node.metadata.name}
                    about = taint_facts(taint, matcher.toleration)
                    shape = (node.metadata.name, pod.spec.tolerations)
                    self._values.tell(found, where, shape, **about, pod=_key(pod))
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")

    def _compiled(self, tolerations: tuple[Toleration, ...]) -> TolerationSet:
        """Compile tolerations, those without expressions once for all pods that have the same."""
        known = self._known_tolerations.get(tolerations)
        if known is not None:
            return known
        compiled = compile_tolerations(tolerations, self.gates, self.programs, self._evaluation_failed)
        if compiled.account is None:
            if len(self._known_tolerations) >= _MAX_TOLERATIONS:
                self._known_tolerations.clear()
            self._known_tolerations[tolerations] = compiled
        return compiled

    def _evaluation_failed(self, expression: str, taint: Taint, error: str) -> None:
        self.evaluation_errors += 1

    def _elsewhere(self, pod: Pod, node: Node) -> Refusal | None:
        labels, name = node.metadata.labels, node.metadata.name
        if labels.get(_OS_LABEL) != _OS:
            labels = {**labels, _OS_LABEL: _OS}
        required = compile_required_node_affinity(pod.spec.nodeSelector, pod.spec.affinity, self.gates)
        if not required.match(labels, name):
            if found := required.unreadable(labels, name):
                self._values.tell(found, {"node": name}, name, pod=_key(pod))
            return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
        if pod.spec.nodeName and pod.spec.nodeName != name:
            return _failed("NodeName", "node(s) didn't match the requested node name")
        return None


def _wrong_system(pod: Pod) -> Refusal | None:
    if pod.metadata.labels.get(_OS_LABEL, _OS) != _OS:
        message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
        return Refusal("PodOSSelectorNodeLabelDoesNotMatch", message)
    if pod.spec.os is not None and pod.spec.os.name != _OS:
        return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    return None


def no_room(pod: Pod, node: Node, load: Load) -> Refusal | None:
    capacity = load.capacity(node)
    if load.pods + 1 > capacity.get(PODS, 0):
        return _out_of(PODS, 1, load.pods, capacity.get(PODS, 0))
    for name, value in _wanted(pod):
        # Extended resources that the node does not have are not the kubelet's to check.
        if value > 0 and (name in capacity or "/" not in name):
            has, taken = capacity.get(name, 0), load.used.get(name, 0)
            if value > wrap64(has - taken):
                return _out_of(name, value, taken, has)
    return None


def _out_of(resource: str, requested: int, used: int, capacity: int) -> Refusal:
    amounts_text = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return Refusal(f"OutOf{resource}", f"Node didn't have enough resource: {resource}, {amounts_text}")


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _port_taken(pod: Pod, load: Load) -> Refusal | None:
    for address, protocol, number in _host_ports(pod):
        for other, other_protocol, other_number in load.ports:
            same_place = address == other or _EVERY_ADDRESS in (address, other)
            if same_place and (protocol, number) == (other_protocol, other_number):
                return _failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
    return None


def _failed(predicate: str, why: str) -> Refusal:
    return Refusal(predicate, f"Predicate {predicate} failed: {why}")


def _is_static(pod: Pod) -> bool:
    """Return whether the pod comes from the node itself, not from the API server."""
    return pod.metadata.annotations.get(_SOURCE_ANNOTATION, "api") != "api"


FAILED_MOUNT, FAILED_MAP = "FailedMount", "FailedMapVolume"


class NotMounted(NamedTuple):
    """Reason and message of the event about a volume that cannot be mounted."""

    reason: str
    message: str


class Mounts:
    """The claims known, by `namespace/name`, and the volumes, by name."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._known: dict[str, Any] = {}

    def changed(self, deltas: Iterable[Delta]) -> None:
        """Take in changes of claims or volumes."""
        for old, new in deltas:
            if new is not None:
                self._known[new.key] = new.view
            elif old is not None:
                self._known.pop(old.key, None)

    def missing(self, pod: Pod, node: Node) -> NotMounted | None:
        """Return why the first volume that cannot be mounted cannot; None if all can."""
        for use in claims_of(pod):
            key = f"{pod.metadata.namespace}/{use.name}"
            claim: PersistentVolumeClaim | None = self._known.get(key)
            why = _unusable(claim, use.name)
            if why is not None or claim is None:
                return _unprocessed(pod, use.name, f"error processing PVC {key}: {why}")
            volume: PersistentVolume | None = self._known.get(claim.spec.volumeName)
            if volume is None:
                name = claim.spec.volumeName
                missing = f"persistentvolumes {go_quote(name)} not found"
                return _unprocessed(pod, use.name, f"failed to fetch PV {name} from API server: {missing}")
            if not self._reaches(volume, node):
                return _out_of_reach(volume)
        return None

    def _reaches(self, volume: PersistentVolume, node: Node) -> bool:
        affinity = volume.spec.nodeAffinity
        if affinity is None or affinity.required is None:
            return True
        return compile_node_selector(affinity.required, self._gates).match(node.metadata.labels, "")


def _unusable(claim: PersistentVolumeClaim | None, name: str) -> str | None:
    if claim is None:
        return f"failed to fetch PVC from API server: persistentvolumeclaims {go_quote(name)} not found"
    if claim.metadata.deletionTimestamp is not None and CLAIM_IN_USE not in claim.metadata.finalizers:
        return "PVC is being deleted"
    if claim.status.phase != "Bound":
        return "PVC is not bound"
    return None if claim.spec.volumeName else "PVC has empty pvc.Spec.VolumeName"


def _unprocessed(pod: Pod, claim: str, why: str) -> NotMounted:
    which = " ".join(
        volume.name
        for volume in pod.spec.volumes
        if (volume.persistentVolumeClaim is not None and volume.persistentVolumeClaim.claimName == claim)
        or (volume.ephemeral is not None and f"{pod.metadata.name}-{volume.name}" == claim)
    )
    text = f"unmounted volumes=[{which}], unattached volumes=[], failed to process volumes=[{which}]: {why}"
    return NotMounted(FAILED_MOUNT, f"Unable to attach or mount volumes: {text}")


def _out_of_reach(volume: PersistentVolume) -> NotMounted:
    is_device = volume.spec.volumeMode == "Block"
    what = "MapVolume" if is_device else "MountVolume"
    failed = f"{what}.NodeAffinity check failed for volume {go_quote(volume.metadata.name)}"
    return NotMounted(FAILED_MAP if is_device else FAILED_MOUNT, f"{failed} : no matching NodeSelectorTerms")
