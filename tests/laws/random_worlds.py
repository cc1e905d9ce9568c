"""Draw small random clusters with everything that decides whether a pod may be, where it goes, and for how long.

A world is a list of manifests in the order in which they are applied, and the feature gates of every component. What
has a uid exists when the world begins, as `kubectl get -o yaml` prints it; all else is created. Each dimension adds one
kind of difficulty, and a law names the dimensions of its worlds, so that a counterexample has no more than it needs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.laws.random_what_ifs import TAINT_KEYS, TAINTS, TOLERATIONS
from tests.unit.plan.planning import Raw, node, pod, workload

from moorage.model.gates import Component, GateSet, gates_from

NODES = ("n0", "n1", "n2")
TEAM, GONE = "team", "gone"
ALL_ON, ALL_OFF = {"AllAlpha": True, "AllBeta": True}, {"AllAlpha": False}
#: When everything that exists was made: one hour before the world begins.
_MADE = "2025-12-31T23:00:00Z"
LATELY = "2025-12-31T23:59:50Z"
#: A taint that is tolerated for 300 s is then nearer to its end than one of LATELY that is tolerated for 30 s.
EARLIER = "2025-12-31T23:55:10Z"
_ENFORCE = "pod-security.kubernetes.io/enforce"
_DEFINITION = "widgets.example.com"


class Dimension(StrEnum):
    """What worlds may have besides nodes, one NoSchedule taint and workloads."""

    LIMIT_RANGES = "LimitRanges"
    QUOTAS = "ResourceQuotas"
    POD_SECURITY = "pod-security labels"
    ABSENT_NAMESPACES = "namespaces that are missing"
    NODE_NAMES = "pods with nodeName"
    UNREADY_NODES = "nodes that are not ready"
    EVICTING_TAINTS = "NoExecute taints, with and without tolerationSeconds"
    PRIORITIES = "PriorityClasses"
    BUDGETS = "PodDisruptionBudgets"
    RUNNING_PODS = "pods that run already"
    TIMED_PODS = "pods that run on a node whose taints they tolerate for a time"
    JOBS = "Jobs"
    SKEWED_GATES = "feature gates per component"
    CUSTOM_KINDS = "custom kinds"
    SHUTDOWNS = "nodes that shut down, and pods that take a while to stop"
    DECLARED_FEATURES = "nodes of older kubelets, and pods that need features which nodes declare"


class World(NamedTuple):
    """What is applied, in order, and the gates of the components that differ from the API server's."""

    documents: list[Raw]
    gates: GateSet
    others: dict[Component, GateSet]

    def gates_of(self, component: Component) -> GateSet:
        return self.others.get(component, self.gates)

    @property
    def existing(self) -> list[Raw]:
        return [document for document in self.documents if is_existing(document)]

    @property
    def created(self) -> list[Raw]:
        return [document for document in self.documents if not is_existing(document)]


def is_existing(document: Raw) -> bool:
    return "uid" in document["metadata"]


def made_before(document: Raw) -> Raw:
    """Return an object as an API server prints it that made it an hour ago."""
    metadata = document["metadata"]
    about = {"uid": f"uid-of-{document['kind']}-{metadata['name']}", "resourceVersion": "7", "creationTimestamp": _MADE}
    return {**document, "metadata": {"namespace": "default", **metadata, **about}}


# -- what namespaces have ---------------------------------------------------------------------------------------------


def namespace(name: str, labels: Raw) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


SECURITY_LEVELS = st.sampled_from([{}, {_ENFORCE: "privileged"}, {_ENFORCE: "baseline"}, {_ENFORCE: "restricted"}])


@st.composite
def limit_ranges(draw: st.DrawFn) -> Raw:
    limit = draw(
        st.sampled_from(
            [
                {"type": "Container", "min": {"cpu": "500m"}},
                {"type": "Container", "max": {"cpu": "2"}},
                {"type": "Container", "defaultRequest": {"memory": "1Gi"}},
                {"type": "Container", "default": {"memory": "3Gi", "cpu": "4"}},
                {"type": "Pod", "max": {"cpu": "1"}},
            ]
        )
    )
    about = {"name": "limits", "namespace": draw(st.sampled_from(["default", TEAM]))}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": about, "spec": {"limits": [limit]}}


@st.composite
def quotas(draw: st.DrawFn) -> Raw:
    hard = draw(
        st.sampled_from(
            [
                {"pods": "1"},
                {"pods": "2"},
                {"requests.cpu": "2"},
                {"limits.cpu": "2"},
                {"count/deployments.apps": "0"},
                {"count/jobs.batch": "0"},
            ]
        )
    )
    about = {"name": "quota", "namespace": draw(st.sampled_from(["default", TEAM]))}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": {"hard": hard}}


def budget(selected: str, minimum: int, where: str) -> Raw:
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"app": selected}}}
    about = {"name": f"budget-of-{selected}", "namespace": where}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": about, "spec": spec}


def priority_class(name: str, value: int) -> Raw:
    about = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": about, "value": value}


def definition() -> Raw:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": _DEFINITION}, "spec": spec}


def widget(name: str, size: Any, where: str) -> Raw:
    about = {"name": name, "namespace": where}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": about, "spec": {"size": size}}


# -- nodes ------------------------------------------------------------------------------------------------------------

NODE_CPUS = st.sampled_from(["4", "2", "1"])
#: Ready, and when the kubelet said so; one that was heard of lately still reports.
CONDITIONS = (("True", LATELY), ("Unknown", _MADE), ("False", _MADE), ("False", LATELY))
ONE_TAINT = st.sampled_from([[], [{"key": "a", "effect": "NoSchedule"}]])


@st.composite
def added(draw: st.DrawFn, taint: Raw) -> Raw:
    """Draw when a taint that evicts was added, if that is known."""
    if taint["effect"] != "NoExecute":
        return taint
    when = draw(st.sampled_from(["", LATELY, EARLIER]))
    return {**taint, "timeAdded": when} if when else taint


#: What nodes say of their kubelets: nothing, so that a simulated one reports; or an older one with fewer features.
KUBELETS = st.sampled_from(
    [
        {},
        {"nodeInfo": {"kubeletVersion": "v1.35.1"}},
        {
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
            "declaredFeatures": ["RestartAllContainersOnContainerExits", "UnknownHere"],
        },
    ]
)


SHUTDOWN = "simulate.moorage.dev/shutdown"
SHUTDOWN_PERIODS = st.sampled_from(["", "true", "0=7s,1000=3s", "5=0s", "unreadable"])


@st.composite
def nodes(draw: st.DrawFn, name: str, dimensions: frozenset[Dimension]) -> Raw:
    taints = draw(ONE_TAINT)
    if Dimension.EVICTING_TAINTS in dimensions or Dimension.TIMED_PODS in dimensions:
        taints = [*taints, *(draw(added(taint)) for taint in draw(TAINTS))]
    drawn = node(name, draw(NODE_CPUS), taints=taints)
    if Dimension.DECLARED_FEATURES in dimensions:
        drawn["status"] |= draw(KUBELETS)
    if Dimension.SHUTDOWNS in dimensions and (periods := draw(SHUTDOWN_PERIODS)):
        drawn["metadata"]["annotations"] = {SHUTDOWN: periods}
    if Dimension.UNREADY_NODES not in dimensions:
        return drawn
    seen = observed(drawn, *draw(st.sampled_from(CONDITIONS)))
    if "=" in seen["metadata"].get("annotations", {}).get(SHUTDOWN, "") and draw(st.booleans()):
        seen["status"]["conditions"][0] |= {"reason": "KubeletNotReady", "message": "node is shutting down"}
    return seen


def observed(drawn: Raw, is_ready: str, heard: str) -> Raw:
    """Return a node that exists, with what its kubelet said when it was heard of for the last time."""
    about = {"reason": "KubeletReady", "lastHeartbeatTime": heard, "lastTransitionTime": _MADE}
    capacity = drawn["status"]["capacity"]
    conditions = [{"type": "Ready", "status": is_ready, **about}]
    seen = made_before({**drawn, "status": {"capacity": capacity, "allocatable": capacity, "conditions": conditions}})
    del seen["metadata"]["namespace"]
    return seen


def reports_unready(document: Raw) -> bool:
    """Return whether a document is a node whose kubelet says that it is not ready, and is not silent."""
    conditions = document.get("status", {}).get("conditions", ()) if document["kind"] == "Node" else ()
    return any((one["status"], one["lastHeartbeatTime"]) == ("False", LATELY) for one in conditions)


# -- pods and workloads -----------------------------------------------------------------------------------------------

POD_CPUS = st.sampled_from(["100m", "1", "3", "6"])
_CONTAINED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_RESTARTS_ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
_RESTARTER = {"name": "i", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [_RESTARTS_ALL]}
_RESTRICTED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@st.composite
def pod_fields(draw: st.DrawFn, dimensions: frozenset[Dimension]) -> Raw:
    """Draw fields of a pod's spec besides its containers."""
    fields: Raw = {"tolerations": draw(st.sampled_from([[], [{"key": "a", "operator": "Exists"}]]))}
    if Dimension.EVICTING_TAINTS in dimensions or Dimension.SKEWED_GATES in dimensions:
        fields["tolerations"] = [*fields["tolerations"], *draw(TOLERATIONS)]
    if Dimension.PRIORITIES in dimensions:
        name = draw(st.sampled_from(["", "high", "low", "absent"]))
        fields |= {"priorityClassName": name} if name else {}
    if Dimension.POD_SECURITY in dimensions:
        fields |= draw(st.sampled_from([{}, {"hostNetwork": True}, {"securityContext": _RESTRICTED}]))
    if Dimension.DECLARED_FEATURES in dimensions:
        fields |= draw(
            st.sampled_from([{}, {"hostNetwork": True, "hostUsers": False}, {"initContainers": [_RESTARTER]}])
        )
    return fields


def contained(spec: Raw) -> Raw:
    """Return a pod's spec whose containers do as the restricted policy wants, if the pod does."""
    if "securityContext" not in spec:
        return spec
    return {**spec, "containers": [{**one, "securityContext": _CONTAINED} for one in spec["containers"]]}


@st.composite
def places(draw: st.DrawFn, dimensions: frozenset[Dimension]) -> str:
    known = ["default", TEAM, *([GONE] if Dimension.ABSENT_NAMESPACES in dimensions else [])]
    return draw(st.sampled_from(known))


@st.composite
def new_pods(draw: st.DrawFn, name: str, where: str, dimensions: frozenset[Dimension]) -> Raw:
    drawn = pod(name, draw(POD_CPUS), labels={"app": name}, **draw(pod_fields(dimensions)))
    if Dimension.NODE_NAMES in dimensions and draw(st.booleans()):
        drawn["spec"]["nodeName"] = draw(st.sampled_from(NODES))
    drawn["spec"] = contained(drawn["spec"])
    drawn["metadata"]["namespace"] = where
    return drawn


@st.composite
def workloads(draw: st.DrawFn, kind: str, name: str, where: str, dimensions: frozenset[Dimension]) -> Raw:
    drawn = workload(kind, name, draw(POD_CPUS), draw(pod_fields(dimensions)))
    spec = drawn["spec"]
    spec["template"]["spec"] = contained(spec["template"]["spec"])
    if kind == "DaemonSet" and Dimension.SHUTDOWNS in dimensions and draw(st.booleans()):
        # Its pods go to nodes that shut down, and are refused again and again.
        spec["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    if kind == "Job":
        spec |= {"parallelism": draw(st.integers(1, 2)), "backoffLimit": 2}
        spec["template"]["metadata"]["labels"] = {"app": name}
    elif kind != "DaemonSet":
        spec["replicas"] = draw(st.integers(0, 3))
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    drawn["metadata"]["namespace"] = where
    return drawn


@st.composite
def running_pods(draw: st.DrawFn, name: str, dimensions: frozenset[Dimension]) -> Raw:
    """Draw a pod that runs on a node, which may have become too small or tainted since."""
    fields = {**draw(pod_fields(dimensions - {Dimension.PRIORITIES, Dimension.POD_SECURITY})), "priority": 0}
    drawn = pod(name, draw(POD_CPUS), labels={"app": name}, nodeName=draw(st.sampled_from(NODES)), **fields)
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": _MADE}
        for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    ]
    bound = draw(st.sampled_from([_MADE, LATELY])) if Dimension.EVICTING_TAINTS in dimensions else _MADE
    conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": bound})
    drawn["status"] = {"phase": "Running", "startTime": _MADE, "conditions": conditions}
    if Dimension.SHUTDOWNS in dimensions:
        drawn["metadata"]["annotations"] = {
            "simulate.moorage.dev/stop-delay": draw(st.sampled_from(["0s", "5s", "60s"]))
        }
        drawn["spec"]["priority"] = draw(st.sampled_from([0, 1000]))
        unready = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
        tolerated: list[Raw] = draw(st.sampled_from([[], [unready], [{**unready, "tolerationSeconds": 4}]]))
        drawn["spec"]["tolerations"] = [*drawn["spec"]["tolerations"], *tolerated]
    return made_before(drawn)


#: No sum of two of them, and no time since a taint was added, is another one.
_TOLERATED = st.sampled_from([None, 20, 90, 300])


@st.composite
def timed_pods(draw: st.DrawFn, name: str, dimensions: frozenset[Dimension]) -> Raw:
    """Draw a pod that runs, and tolerates all taints that evict, each for a time of its own."""
    drawn = draw(running_pods(name, dimensions | {Dimension.EVICTING_TAINTS}))
    tolerated = [(key, draw(_TOLERATED)) for key in TAINT_KEYS]
    drawn["spec"]["tolerations"] = [
        {"key": key, "operator": "Exists", "effect": "NoExecute"} | ({"tolerationSeconds": seconds} if seconds else {})
        for key, seconds in tolerated
    ]
    drawn["spec"]["containers"] = pod(name, "100m")["spec"]["containers"]
    return drawn


#: In the order in which their pods are made.
_KINDS = ("Pod", "DaemonSet", "StatefulSet", "Job", "Deployment")

# -- worlds -----------------------------------------------------------------------------------------------------------


@st.composite
def gates_by_component(draw: st.DrawFn) -> dict[Component, GateSet]:
    others = (Component.SCHEDULER, Component.CONTROLLER_MANAGER, Component.KUBELET)
    return {one: gates_from(ALL_OFF) for one in others if draw(st.booleans())}


@st.composite
def kinds_in_places(draw: st.DrawFn, dimensions: frozenset[Dimension]) -> list[tuple[str, str]]:
    """Draw the workloads' kinds and namespaces.

    Which of several pods of one second the scheduler takes first is nobody's promise: a cluster lists them by key, a
    plan has them in the order in which controllers make them. Here both are the same.
    """
    known = [kind for kind in _KINDS if kind != "Job" or Dimension.JOBS in dimensions]
    chosen = draw(st.lists(st.tuples(places(dimensions), st.sampled_from(known)), min_size=1, max_size=2))
    if Dimension.SHUTDOWNS in dimensions and "DaemonSet" in {kind for _, kind in chosen}:
        # In a cluster its pods come a moment after those of others: its controller waits until it sees the revision.
        chosen = [pair for pair in chosen if pair[1] == "DaemonSet"][:1]
    if Dimension.QUOTAS in dimensions:  # nor which of two workloads takes the last of a quota
        chosen = [pair for pair in chosen if pair[1] == "Pod"] or chosen[:1]
    kinds = sorted((kind for _, kind in chosen), key=_KINDS.index)
    return list(zip(sorted(where for where, _ in chosen), kinds, strict=True))


@st.composite
def worlds(draw: st.DrawFn, dimensions: frozenset[Dimension] = frozenset()) -> World:
    documents = [namespace(TEAM, draw(SECURITY_LEVELS) if Dimension.POD_SECURITY in dimensions else {})]
    if Dimension.PRIORITIES in dimensions:
        documents += [priority_class("high", 1000), priority_class("low", -10)]
    if Dimension.LIMIT_RANGES in dimensions:
        documents += draw(st.lists(limit_ranges(), min_size=1, max_size=1))
    if Dimension.QUOTAS in dimensions:
        documents += draw(st.lists(quotas(), min_size=1, max_size=1))
    if Dimension.CUSTOM_KINDS in dimensions:
        documents.append(definition())
        documents.append(widget("small", draw(st.sampled_from([1, 5, "x"])), draw(places(dimensions))))
    documents += [draw(nodes(name, dimensions)) for name in NODES]
    if Dimension.RUNNING_PODS in dimensions:
        are_many = Dimension.SHUTDOWNS in dimensions and Dimension.QUOTAS not in dimensions
        counts = st.integers(2, 4) if are_many else st.integers(0, 2)
        documents += [draw(running_pods(f"r{number}", dimensions)) for number in range(draw(counts))]
    if Dimension.TIMED_PODS in dimensions:
        documents += [draw(timed_pods(f"t{number}", dimensions)) for number in range(draw(st.integers(1, 3)))]
    for number, (where, kind) in enumerate(draw(kinds_in_places(dimensions))):
        name = f"w{number}"
        drawn = new_pods(name, where, dimensions) if kind == "Pod" else workloads(kind, name, where, dimensions)
        if Dimension.BUDGETS in dimensions and draw(st.booleans()):
            documents.append(budget(name, draw(st.integers(0, 2)), where))
        documents.append(draw(drawn))
    is_skewed = Dimension.SKEWED_GATES in dimensions
    server = ALL_ON if not is_skewed or draw(st.booleans()) else ALL_OFF
    return World(documents, gates_from(server), draw(gates_by_component()) if is_skewed else {})
