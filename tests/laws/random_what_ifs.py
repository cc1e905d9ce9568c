"""Random clusters whose pods tolerate numbers, versions and expressions, and random changes of their nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.unit.plan.planning import Raw, node, pod, running, workload

from moorage.plan.node_changes import ScaleChange, TaintChange, UntaintChange
from moorage.plan.what_if import Changes

NODES = ("n0", "n1", "n2", "n3")
TAINT_KEYS = ("risk", "os")
_NUMBERS = ("3", "7", "950", "x")
_VERSIONS = ("1.2.3", "1.10.0", "new")
_SECONDS = (None, None, 0, 30, 300)
CPU = st.sampled_from(["100m", "500m", "1", "3"])


def _value(key: str) -> st.SearchStrategy[str]:
    return st.sampled_from(_NUMBERS if key == "risk" else _VERSIONS)


@st.composite
def taints(draw: st.DrawFn) -> Raw:
    key = draw(st.sampled_from(TAINT_KEYS))
    effect = draw(st.sampled_from(["NoExecute", "NoExecute", "NoSchedule"]))
    return {"key": key, "value": draw(_value(key)), "effect": effect}


TAINTS = st.lists(taints(), max_size=2, unique_by=lambda one: (one["key"], one["effect"]))


@st.composite
def tolerations(draw: st.DrawFn) -> Raw:
    found: Raw = draw(
        st.sampled_from(
            [
                {"key": "risk", "operator": "Lt", "value": "5"},
                {"key": "risk", "operator": "Gt", "value": "5"},
                {"key": "risk", "operator": "Exists"},
                {"key": "risk", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "os", "operator": "SemverGt", "value": "1.2.10"},
                {"key": "os", "value": "1.2.3"},
                {"expression": "taint.key == 'risk' && int(taint.value) < 900"},
                {"expression": "taint.value.startsWith('1.')"},
            ]
        )
    )
    seconds = draw(st.sampled_from(_SECONDS))
    if seconds is None or found.get("effect") == "NoSchedule":
        return found
    return {**found, "tolerationSeconds": seconds, **({} if "expression" in found else {"effect": "NoExecute"})}


TOLERATIONS = st.lists(tolerations(), max_size=3)


@st.composite
def clusters(draw: st.DrawFn) -> list[Raw]:
    nodes = [
        node(name, draw(st.sampled_from(["1", "2", "4"])), taints=draw(TAINTS), pool=draw(st.sampled_from("ab")))
        for name in NODES
    ]
    bound = [
        running(
            f"r{i}",
            draw(st.sampled_from(NODES)),
            ("ReplicaSet", "rs"),
            cpu=draw(CPU),
            labels={"app": "rs"},
            tolerations=draw(TOLERATIONS),
        )
        for i in range(draw(st.integers(0, 2)))
    ]
    waiting = [pod(f"p{i}", draw(CPU), tolerations=draw(TOLERATIONS)) for i in range(draw(st.integers(0, 2)))]
    kinds = draw(st.lists(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]), min_size=1, max_size=3))
    loads = []
    for number, kind in enumerate(kinds):
        fields: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": draw(st.integers(0, 3))}
        loads.append(workload(kind, f"w{number}", draw(CPU), {"tolerations": draw(TOLERATIONS)}, **fields))
    return [*nodes, *bound, *waiting, *loads]


@st.composite
def taint_changes(draw: st.DrawFn) -> TaintChange:
    taint = draw(taints())
    return TaintChange(draw(st.sampled_from(NODES)), taint["key"], taint["value"], taint["effect"])


def tainted(documents: list[Raw]) -> list[UntaintChange]:
    return [
        UntaintChange(one["metadata"]["name"], taint["key"], taint["effect"])
        for one in documents
        if one["kind"] == "Node"
        for taint in one["spec"].get("taints", ())
    ]


def scalable(documents: list[Raw]) -> list[str]:
    names = ((one["kind"].lower(), one["metadata"]["name"]) for one in documents)
    return [f"{kind}/{name}" for kind, name in names if kind in ("deployment", "statefulset")]


@st.composite
def changed(draw: st.DrawFn) -> tuple[list[Raw], Changes]:
    """A cluster, and one or two changes of it or more."""
    documents = draw(clusters())
    taken = st.sampled_from(NODES)
    some = draw(st.lists(taint_changes(), max_size=3))
    untaints = draw(st.lists(st.sampled_from(found), max_size=1)) if (found := tainted(documents)) else []
    replaced = {(one.node, one.key, one.effect) for one in some}
    scales = (
        [ScaleChange(draw(st.sampled_from(names)), draw(st.integers(0, 4)))] if (names := scalable(documents)) else []
    )
    return documents, Changes(
        taints=tuple(some),
        untaints=tuple(one for one in untaints if (one.node, one.key, one.effect) not in replaced),
        drains=tuple(draw(st.lists(taken, max_size=1))),
        removes=(),
        scales=tuple(scales if draw(st.booleans()) else ()),
        cordons=tuple(draw(st.lists(taken, max_size=1))),
    )
