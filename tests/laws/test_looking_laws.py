"""What the panel of a pod and the page of a node say is what controllers and scheduler do.

The lines of tolerations give the taint eviction controller's decision; as many pods as are said to fit on a node get
a place there when their workload is scaled, and one more does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.plan.planning import Plan, Raw, node, workload

from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.tolerations import TolerationMatcher, compile_tolerations
from moorage.model.gates import GateSet, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod, Toleration
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.look import room, tolerated
from moorage.plan.look.room import room_on
from moorage.plan.look.tolerated import ToleratedTaints, tolerated_taints
from moorage.plan.node_changes import ScaleChange
from moorage.plan.simulation.simulation import Settings
from moorage.plan.what_if import Changes
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import Refusal, refusals_of

ON, OFF = gates_from({"AllAlpha": True, "AllBeta": True}), gates_from({})
_VALUES = st.sampled_from(["", "3", "5", "05", "1.2.3", "v1.4.0", "x"])
_KEYS = st.sampled_from(["a", "b"])
_EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", NO_EXECUTE])


@st.composite
def taints(draw: st.DrawFn) -> list[Taint]:
    """Taints of one node: key and effect together occur once."""
    pairs = draw(st.lists(st.tuples(_KEYS, _EFFECTS), unique=True, max_size=4))
    return [Taint(key=key, effect=effect, value=draw(_VALUES)) for key, effect in pairs]


@st.composite
def tolerations(draw: st.DrawFn) -> Toleration:
    if draw(st.integers(0, 6)) == 0:
        return Toleration(expression=draw(st.sampled_from(["taint.value == '5'", "taint.key == 'a'", "false"])))
    operator = draw(st.sampled_from(["", "Equal", "Exists", "Lt", "Gt", "SemverGt", "SemverLt"]))
    effect = draw(st.sampled_from(["", "NoSchedule", NO_EXECUTE]))
    return Toleration(
        key=draw(_KEYS) if operator != "Exists" else draw(st.sampled_from(["", "a", "b"])),
        operator=operator,
        value="" if operator == "Exists" else draw(_VALUES),
        effect=effect,
        tolerationSeconds=draw(st.sampled_from([None, None, 0, 30, 60])) if effect == NO_EXECUTE else None,
    )


def pod_with(its: list[Toleration]) -> Pod:
    empty = convert_view({"metadata": {"name": "p", "namespace": "d"}, "spec": {"containers": []}}, Pod)

    return msgspec.structs.replace(empty, spec=msgspec.structs.replace(empty.spec, tolerations=tuple(its)))


def node_with(name: str, its: list[Taint]) -> Node:

    empty = convert_view({"metadata": {"name": name}, "spec": {}}, Node)
    return msgspec.structs.replace(empty, spec=msgspec.structs.replace(empty.spec, taints=tuple(its)))


def decision_of(lines: ToleratedTaints) -> tuple[When, int]:
    """What the lines say of the pod's stay, read by a person."""
    if any(one.effect == NO_EXECUTE for one in lines.untolerated):
        return When.NOW, 0
    times = [
        line.seconds
        for line in lines.tolerations
        for taint in line.here
        if taint.counts and taint.taint.endswith(NO_EXECUTE) and line.seconds is not None
    ]
    return (When.NEVER, 0) if not times else (When.NOW, 0) if min(times) == 0 else (When.AFTER, min(times))


def agrees_with_the_controller() -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(200))
    @given(taints(), taints(), st.lists(tolerations(), max_size=4), st.sampled_from([ON, OFF]))
    def law(here: list[Taint], there: list[Taint], its: list[Toleration], gates: GateSet) -> None:
        found = tolerated_taints(
            pod_with(its), node_with("n1", here), [node_with("n1", here), node_with("n2", there)], Settings(gates)
        )
        eviction: Eviction = decide_eviction(here, compile_tolerations(its, gates))
        assert decision_of(found) == (eviction.when, eviction.seconds if eviction.when is When.AFTER else 0)
        counted = sum(taint.counts for line in found.tolerations for taint in line.here)
        assert counted + len(found.untolerated) == len(here), "each taint is tolerated by one line that counts, or none"
        for line in found.tolerations:
            assert line.other_taints <= len(there)
            assert line.other_nodes == (1 if line.other_taints else 0)
            assert not (line.never and (line.here or line.other_taints))

    return law


def test_the_lines_of_tolerations_are_the_decision_of_the_taint_eviction_controller() -> None:
    agrees_with_the_controller()()


@pytest.mark.parametrize("broken", ["is_first", "why_not", "why_true"])
def test_lines_that_are_broken_are_noticed(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    twins: dict[str, Callable[..., object]] = {
        "is_first": lambda self, index, taint: True,
        "why_not": lambda self, taint: None,
        "why_true": lambda self, index, taint: "true",
    }
    monkeypatch.setattr(tolerated._Readers, broken, twins[broken])
    assert_notices(agrees_with_the_controller())


def true_or_false() -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(200))
    @given(taints(), tolerations(), st.sampled_from([ON, OFF]))
    def law(its: list[Taint], toleration: Toleration, gates: GateSet) -> None:
        (matcher,) = compile_tolerations([toleration], gates).matchers
        for taint in its:
            assert (matcher.why_true(taint) is None) == (matcher.explain(taint) is not None)

    return law


def test_what_is_true_is_told_exactly_where_nothing_is_false() -> None:
    true_or_false()()


def test_a_toleration_that_is_always_true_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TolerationMatcher, "why_true", lambda self, taint: "is true")
    assert_notices(true_or_false())


# -- what would still fit ---------------------------------------------------------------------------------------------

_ANTI: Raw = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


@st.composite
def small_worlds(draw: st.DrawFn) -> tuple[list[Raw], int]:
    """One node that may be tainted, one workload and the pods of another: what fits is a question of every filter."""
    tainted = draw(st.booleans())
    risk = [{"key": "risk", "value": "3", "effect": "NoSchedule"}]
    pods: Raw = {}
    if draw(st.booleans()):
        limit = draw(st.sampled_from(["2", "5"]))
        pods["tolerations"] = [{"key": "risk", "operator": "Lt", "value": limit, "effect": "NoSchedule"}]
    if draw(st.integers(0, 4)) == 0:
        pods["affinity"] = _ANTI
    if draw(st.integers(0, 4)) == 0:
        pods["nodeSelector"] = {"pool": draw(st.sampled_from(["a", "b"]))}
    replicas = draw(st.integers(1, 3))
    its = workload("Deployment", "web", draw(st.sampled_from(["500m", "1", "1500m"])), pods, replicas=replicas)
    if draw(st.integers(0, 4)) == 0:
        its["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    one = node("n1", draw(st.sampled_from(["1", "2", "5"])), taints=risk if tainted else None, pool="a")
    one["status"]["capacity"]["pods"] = str(draw(st.integers(1, 6)))
    other = workload("Deployment", "other", "300m", replicas=draw(st.integers(0, 2)))
    return [one, its, other], replicas


def fits_as_told() -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(60))
    @given(small_worlds())
    def law(world: tuple[list[Raw], int]) -> None:
        documents, replicas = world
        plan = Plan(*documents, gates={"AllAlpha": True, "AllBeta": True})
        fit = next(one for one in room_on(plan.simulation, "n1").workloads if one.workload.endswith("/web"))
        assert fit.more is not None
        waiting = sum(not one for one in plan.nodes_of("web"))
        if waiting:
            assert fit.more == 0, fit
            assert fit.why
            return
        for more, left in ((fit.more, 0), (fit.more + 1, 1)):
            again = Plan(*documents, gates={"AllAlpha": True, "AllBeta": True})
            again.what_if(Changes(scales=(ScaleChange("deployment/web", replicas + more),)))
            assert sum(not one for one in again.nodes_of("web")) == left, (fit, more)

    return law


def test_as_many_pods_get_a_place_as_are_said_to_fit() -> None:
    fits_as_told()()


def test_a_division_by_cpu_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_resources(candidates: Candidates, slot: int) -> Iterator[Refusal]:
        return (refusal for refusal in refusals_of(candidates, slot) if refusal.plugin == "NodeResourcesFit")

    monkeypatch.setattr(room, "refusals_of", only_resources)
    assert_notices(fits_as_told())
