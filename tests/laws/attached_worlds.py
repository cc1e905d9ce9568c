"""Draw clusters twice: as a Kubernetes stores them with all gates on, and as an attached one with all gates off."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st
from tests.laws.random_what_ifs import CPU, NODES, TAINTS
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.attach.formats import CEL
from moorage.attach.lowering import lower_pod
from moorage.attach.mirror import mirrored
from moorage.attach.objects import POD_PATHS
from moorage.match.daemon_pods import pinned_affinity
from moorage.model.kinds import kind_of

_SECONDS = (None, None, 0, 30, 300)
_MOST_SHOWN = 8000
_UID = "uid-of-{}"
_REVISION = ("data", "spec", "template")
#: What DefaultTolerationSeconds adds to pods that are made of lowered templates.
_ADDED = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]


class Twins:
    """One cluster, with the gates on and attached."""

    def __init__(self, originals: list[Raw]) -> None:
        self._originals = originals
        self.native = [natively(each) for each in originals]
        self.attached = [attached(each) for each in originals]

    def __repr__(self) -> str:
        """Be short: what is lowered follows."""
        shown = [{**each, "metadata": {"name": each["metadata"]["name"]}} for each in self._originals]
        return f"Twins({json.dumps(shown)[:_MOST_SHOWN]})"


_COMPARING = [
    {"key": "risk", "operator": "Lt", "value": "5"},
    {"key": "risk", "operator": "Gt", "value": "5"},
    {"key": "risk", "operator": "Gt", "value": "900"},
    {"key": "risk", "operator": "Exists"},
    {"key": "risk", "value": "7"},
    {"key": "os", "operator": "SemverGt", "value": "1.2.10"},
    {"key": "os", "operator": "SemverLt", "value": "1.2.3-rc.1"},
    {"key": "os", "value": "1.2.3"},
]
_EXPRESSIONS = [
    {"key": "risk", "operator": CEL, "value": "int(taint.value) < 900"},
    {"key": "os", "operator": CEL, "value": "taint.value.startsWith('1.')"},
]


@st.composite
def _tolerations(draw: st.DrawFn, expressions: bool) -> Raw:
    found: Raw = draw(st.sampled_from([*_COMPARING, *(_EXPRESSIONS if expressions else ())]))
    effect = draw(st.sampled_from(("", "NoSchedule", "NoExecute", "NoExecute")))
    seconds = draw(st.sampled_from(_SECONDS)) if effect == "NoExecute" else None
    return {**found, **({"effect": effect} if effect else {}), **({"tolerationSeconds": seconds} if seconds else {})}


@st.composite
def _specs(draw: st.DrawFn, expressions: bool) -> Raw:
    fields: Raw = {"tolerations": draw(st.lists(_tolerations(expressions), max_size=3))}
    if draw(st.integers(0, 3)) == 0:
        compared = {"key": "kernel", "operator": draw(st.sampled_from(("SemverGt", "SemverLt"))), "values": ["6.1"]}
        term = {"matchExpressions": [compared]}
        affinity: Raw = (
            {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            if draw(st.booleans())
            else {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}]}
        )
        fields["affinity"] = {"nodeAffinity": affinity}
    return fields


def _existing(document: Raw, uid: str = "", owner: Raw | None = None) -> Raw:
    about = {"uid": uid or _UID.format(document["metadata"]["name"]), "resourceVersion": "7", "namespace": "default"}
    made = {**document, "metadata": {**document["metadata"], **about, "creationTimestamp": "2025-12-31T23:00:00Z"}}
    if owner is not None:
        reference = {name: owner[name] for name in ("apiVersion", "kind")}
        about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        made["metadata"]["ownerReferences"] = [{**reference, **about, "controller": True}]
    return made


@st.composite
def _workloads(draw: st.DrawFn, kind: str, name: str, expressions: bool) -> list[Raw]:
    """Draw a workload that exists, with what its controller has made of it: ReplicaSet or revision, and pods."""
    spec = draw(_specs(expressions))
    fields: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": draw(st.integers(1, 3))}
    if kind == "StatefulSet":
        fields["serviceName"] = "s"
    owner = _existing(workload(kind, name, draw(CPU), spec, **fields))
    template, made = owner["spec"]["template"], [owner]
    labels = dict(template["metadata"]["labels"])
    if kind == "Deployment":
        labels["pod-template-hash"] = "h"
        inner = {**template, "metadata": {"labels": labels}}
        replicas = {"replicas": fields["replicas"], "selector": {"matchLabels": labels}, "template": inner}
        owner["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "1"}
        named = {"name": f"{name}-h", "labels": labels, "annotations": owner["metadata"]["annotations"]}
        made_of = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": named, "spec": replicas}
        owned = _existing(made_of, owner=owner)
        made.append(owned)
    else:
        labels["controller-revision-hash"] = f"{name}-h" if kind == "StatefulSet" else "h"
        data = {"spec": {"template": {**template, "$patch": "replace"}}}
        about = {"name": f"{name}-h", "labels": {**template["metadata"]["labels"], "controller-revision-hash": "h"}}
        revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": about}
        made.append(_existing({**revision, "data": data, "revision": 1}, owner=owner))
        owned = owner
    on = draw(st.lists(st.sampled_from(NODES), max_size=2, unique=kind == "DaemonSet"))
    for number, where in enumerate(on):
        bound = running(f"{name}-{number}", where, **deepcopy(template["spec"]) | {"cpu": "1"})
        bound["spec"]["containers"] = template["spec"]["containers"]
        bound["metadata"] |= {"labels": labels}
        made.append(_existing(bound, owner=owned))
    return made


@st.composite
def twins(draw: st.DrawFn, *, expressions: bool) -> Twins:
    """Draw a cluster: tainted nodes, pods that run, workloads with their pods, and new ones."""
    originals: list[Raw] = []
    for name in NODES:
        kernel = draw(st.sampled_from(("5.15.0", "6.1.0", "6.8.0-rc.1", "x")))
        drawn = node(name, draw(st.sampled_from(["1", "2", "4"])), taints=draw(TAINTS), kernel=kernel)
        originals.append(drawn)
    originals += [
        running(f"r{i}", draw(st.sampled_from(NODES)), cpu=draw(CPU), **draw(_specs(expressions))) for i in range(2)
    ]
    kinds = st.lists(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]), max_size=2)
    for number, kind in enumerate(draw(kinds)):
        originals += draw(_workloads(kind, f"w{number}", expressions))
    originals += [pod(f"p{i}", draw(CPU), **draw(_specs(expressions))) for i in range(draw(st.integers(0, 2)))]
    return Twins(originals)


def pod_within(document: Raw) -> Raw | None:
    """Return the pod or template of an object, to be changed in place."""
    kind = kind_of(document)
    path = _REVISION if document["kind"] == "ControllerRevision" else POD_PATHS.get(kind) if kind else None
    found = document
    for name in path or ():
        found = found[name]
    return None if path is None else found


def natively(document: Raw) -> Raw:
    """Return an object as the API server with all gates on has it: expressions are about all taints."""
    made = deepcopy(document)
    if (within := pod_within(made)) is not None:
        given = within["spec"].get("tolerations", [])
        within["spec"]["tolerations"] = [_natively(each) if each.get("operator") == CEL else each for each in given]
        _as_stored(made)
    return made


def _natively(given: Raw) -> Raw:
    parts = [f"taint.key == '{given['key']}'", f"({given['value']})"]
    if "effect" in given:
        parts.insert(1, f"taint.effect == '{given['effect']}'")
    seconds = {"tolerationSeconds": given["tolerationSeconds"]} if "tolerationSeconds" in given else {}
    return {"expression": " && ".join(parts), **seconds}


def attached(document: Raw) -> Raw:
    """Return an object as an attached cluster stores it: pods and templates are lowered, nodes mirrored."""
    made = deepcopy(document)
    if made["kind"] == "Node":
        made["metadata"]["labels"] = mirrored(made, None)
    elif (within := pod_within(made)) is not None:
        lower_pod(within)
        _as_stored(made)
    return made


def _as_stored(document: Raw) -> None:
    """Do to a pod that exists what is done after lowering: default tolerations, and the node of a daemon pod."""
    if document["kind"] != "Pod" or "uid" not in document["metadata"]:
        return
    spec = document["spec"]
    spec["tolerations"] = [*spec.get("tolerations", []), *_ADDED]
    if any(owner["kind"] == "DaemonSet" for owner in document["metadata"].get("ownerReferences", ())):
        spec["affinity"] = pinned_affinity(spec.get("affinity"), spec["nodeName"])
