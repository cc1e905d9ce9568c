"""Every suggestion of `moorage explain` on random worlds is admitted, and does what it says, as it is printed."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw

from moorage.model.kinds import KINDS
from moorage.model.patch.strategic_merge import apply_strategic_merge
from moorage.model.schema.merge_schema import schema_of
from moorage.plan.explain.remedies import resources as resource_remedies
from moorage.plan.explain.remedies.acceptance import AdmissionCheck, document_of
from moorage.plan.explain.remedies.change import Change, ChangeKind
from moorage.plan.explain.target import TargetError
from moorage.schedule.plugins.node_resources_fit import shown

GPU, HUGE = "example.com/gpu", "hugepages-2Mi"
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute"])
VALUES = st.sampled_from(["1", "7", "950", "high", "1.2.3", ""])
TAINTS = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from(["sla", "b"]), "value": VALUES, "effect": EFFECTS}),
    max_size=2,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
OPERATORS = ("Lt", "Gt", "SemverLt", "SemverGt", "SemverEq")
NUMBERS = {"Lt": "5", "Gt": "900", "SemverLt": "1.0.0", "SemverGt": "2.0.0", "SemverEq": "3.0.0"}
TOLERATIONS = st.lists(
    st.one_of(
        st.builds(lambda op: {"key": "sla", "operator": op, "value": NUMBERS[op]}, st.sampled_from(OPERATORS)),
        st.just({"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}),
    ),
    max_size=2,
)
#: The last one can be met by no label at all: label values are not negative.
REQUIREMENTS = st.sampled_from(
    [
        {"key": "gen", "operator": "Gt", "values": ["7"]},
        {"key": "gen", "operator": "SemverGt", "values": ["7.0.0"]},
        {"key": "zone", "operator": "In", "values": ["x"]},
        {"key": "zone", "operator": "DoesNotExist"},
        {"key": "gen", "operator": "Lt", "values": ["0"]},
    ]
)
AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "requests": st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(["1", "9"]), "memory": st.just("3Gi")}),
        "limits": st.fixed_dictionaries(
            {}, optional={GPU: st.sampled_from(["1", "4"]), HUGE: st.sampled_from(["4Mi", "64Mi"])}
        ),
    },
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Raw:
    labels = draw(st.fixed_dictionaries({}, optional={"gen": st.sampled_from(["3", "9"]), "zone": st.just("z")}))
    allocatable = {"cpu": draw(st.sampled_from(["2", "16"])), "memory": draw(st.sampled_from(["2Gi", "8Gi"]))}
    extra = {GPU: draw(st.sampled_from(["0", "2", "8"])), HUGE: draw(st.sampled_from(["0", "8Mi"])), "pods": "9"}
    spec = {"taints": draw(st.one_of(st.just([]), TAINTS)), "unschedulable": draw(st.integers(0, 4)) == 0}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {"allocatable": allocatable | extra},
    }


@st.composite
def worlds(draw: st.DrawFn) -> list[Raw]:
    """Some nodes, a pod that may run on one of them, and a pod `p` that asks for much."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 3)))]
    spec: Raw = {"tolerations": draw(TOLERATIONS)}
    amounts = draw(AMOUNTS)
    if HUGE in amounts.get("limits", {}):
        amounts.setdefault("requests", {})["cpu"] = "1"
    spec["containers"] = [{"name": "c", "image": "i", "resources": amounts}]
    if draw(st.booleans()):
        spec["containers"].append({"name": "d", "image": "i", "resources": draw(AMOUNTS)})
    if draw(st.integers(0, 2)) == 0:
        terms = [{"matchExpressions": [draw(REQUIREMENTS)]}]
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {"zone": "y"}
    if draw(st.integers(0, 3)) == 0:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    other = copy.deepcopy(spec) | {"nodeName": names[0]}
    found = [draw(nodes(name)) for name in names]
    if draw(st.booleans()):
        metadata = {"name": "q", "uid": "q", "resourceVersion": "1"}
        found.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": other, "status": {"phase": "Running"}}
        )
    return [*found, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}]


def changed(documents: list[Raw], change: Change) -> list[Raw]:
    """The documents after a change, which is taken from what is printed where that is all it takes."""
    made = copy.deepcopy(documents)
    waiting = made[-1]
    if change.gone:
        return [one for one in made if one["metadata"]["name"] != change.gone.partition("/")[2]]
    if change.command:
        _run(change.command, {one["metadata"]["name"]: one for one in made})
    elif change.kind is ChangeKind.RESOURCES:
        patch = {"spec": yaml.safe_load(change.yaml)}
        waiting["spec"] = apply_strategic_merge({"spec": waiting["spec"]}, patch, schema_of(KINDS.POD))["spec"]
    else:
        assert change.pod is not None, change.summary
        waiting["spec"] = document_of(change.pod.spec)
        waiting["spec"].pop("priority", None)
    return made


def _run(command: str, objects: dict[str, Raw]) -> None:
    """Do what kubectl does."""
    _, verb, *rest = shlex.split(command)
    if verb == "uncordon":
        node = objects[rest[0]]
        node["spec"]["unschedulable"] = False
        node["spec"]["taints"] = [one for one in node["spec"]["taints"] if "unschedulable" not in one["key"]]
        return
    node = objects[rest[1]]
    if verb == "label":
        key, _, value = rest[2].partition("=")
        assert key not in node["metadata"]["labels"] or "--overwrite" in rest
        node["metadata"]["labels"][key] = value
        return
    assert verb == "taint"
    key, _, effect = rest[2].removesuffix("-").partition(":")
    node["spec"]["taints"] = [one for one in node["spec"]["taints"] if (one["key"], one["effect"]) != (key, effect)]


def after(documents: list[Raw], gates: dict[str, bool], summary: str) -> set[str]:
    """The nodes on which the pod fits; an AssertionError if it is refused."""
    try:
        told = explained(*documents, gates=gates, alone=True)
    except TargetError as refused:
        raise AssertionError(f"{summary}: {refused}") from None
    return {name for row in told.scores for name in row.nodes}


def law_of_suggestions(gates: dict[str, bool]) -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(100))
    @given(worlds())
    def law(documents: list[Raw]) -> None:
        try:
            told = explained(*documents, gates=gates, alone=True)
        except TargetError:  # a pod that the API server does not take
            return
        for suggestion in told.suggestions:
            summary = suggestion.change.summary
            assert set(suggestion.nodes) <= after(changed(documents, suggestion.change), gates, summary), summary
        if told.together is not None and (last := told.together.changes[-1].pod) is not None:
            spec = document_of(last.spec)
            assert told.together.node in after([*documents[:-1], {**documents[-1], "spec": spec}], gates, "together")

    return law


@pytest.mark.parametrize("gates", [{"AllAlpha": True}, {}], ids=["gates on", "gates off"])
def test_every_suggestion_is_admitted_and_does_what_it_says(gates: dict[str, bool]) -> None:
    law_of_suggestions(gates)()


@pytest.mark.slow
def test_a_request_that_is_printed_without_its_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_limit(resource: str, value: int, has_limit: bool) -> Any:
        return {"requests": {resource: shown(resource, value)}}

    monkeypatch.setattr(resource_remedies, "_written", without_limit)
    assert_notices(law_of_suggestions({}))


@pytest.mark.slow
def test_a_change_that_was_not_admitted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdmissionCheck, "__call__", lambda self, change: change)
    assert_notices(law_of_suggestions({"AllAlpha": True}))
