"""Plans of attached clusters: what is read back, what is taken as it is written, what new objects become."""

from __future__ import annotations

import pytest
from tests.unit.attach.workloads import toleration
from tests.unit.plan.attached_worlds import (
    ABOVE_950,
    EXPRESSION,
    STAYS_ABOVE_950,
    deployment,
    forged,
    lowered_pod,
    policy,
    spot,
    webhook,
)
from tests.unit.plan.planning import LivePlan, Plan, Raw, node, pod, running, workload

from moorage.attach import formats
from moorage.attach.mirror import mirror_labels
from moorage.attach.objects import lowered
from moorage.model.kinds import KINDS
from moorage.model.types.view import ATTACHED
from moorage.plan.node_changes import TaintChange
from moorage.plan.what_if import Changes

OFF = {"AllAlpha": False}
NATIVE = {"TaintTolerationComparisonOperators": True}


def attached_notes(plan: Plan) -> list[str]:
    return [
        note for note in plan.notes if "as it is written" in note or formats.MIRRORED in note or "admission" in note
    ]


def test_values_are_compared_with_all_gates_off() -> None:
    plan = Plan(spot("low", "900"), spot("high", "960"), deployment("train", ABOVE_950, EXPRESSION, replicas=2))
    assert plan.nodes_of("train") == ["high", "low"], "9 is the beginning of both"
    plan = Plan(spot("low", "800"), spot("high", "960"), deployment("train", ABOVE_950, replicas=2))
    assert plan.nodes_of("train") == ["high", "high"]
    assert not attached_notes(plan)


def test_originals_have_no_annotation_and_the_cluster_keeps_what_it_has() -> None:
    document = deployment("train", ABOVE_950)
    plan = Plan(spot("high", "960"), document)
    (item,) = plan.planner.inventory.of_kind("Deployment")
    template = item.raw["spec"]["template"]
    assert "annotations" not in template["metadata"]
    assert [(each["operator"], each[ATTACHED]) for each in template["spec"]["tolerations"]] == [("Gt", "true")]
    assert "affinity" not in template["spec"]
    assert item.lowered == document


def test_a_forged_annotation_is_not_believed_and_said_once() -> None:
    honest = lowered_pod("honest", "low", STAYS_ABOVE_950)
    pods = [forged(lowered_pod(f"f{number}", "low", STAYS_ABOVE_950), "950", "1") for number in range(3)]
    plan = Plan(spot("low", "900", "NoExecute"), honest, *pods)
    assert plan.states["honest"] == "Evicted"
    assert [plan.states[f"f{number}"] for number in range(3)] == ["Bound"] * 3, "Exists tolerates it"
    (note,) = attached_notes(plan)
    assert "Pod default/f0: is taken as it is written, not as its annotation says: node affinity" in note
    assert note.endswith("; so are 2 more objects")


def test_an_annotation_that_was_left_behind_counts_for_nothing() -> None:
    left = running("left", "low", tolerations=[toleration("Exists", effect="NoExecute")])
    left["metadata"]["annotations"] = {formats.TOLERATIONS: formats.written([STAYS_ABOVE_950])}
    plan = Plan(spot("low", "900", "NoExecute"), left)
    assert plan.states["left"] == "Bound"
    assert "was left behind" in attached_notes(plan)[0]


def test_nodes_without_a_mirror_are_named() -> None:
    bare = spot("bare", "900")
    bare["metadata"]["labels"] = {}
    plan = Plan(bare, spot("high", "960"), deployment("train", ABOVE_950))
    (note,) = attached_notes(plan)
    assert f"bare has no label {formats.MIRRORED}: until attach mirrors" in note


def test_a_mark_that_a_user_writes_counts_for_nothing() -> None:
    marked = pod("p", tolerations=[{**ABOVE_950, ATTACHED: "true"}])
    plan = Plan(node("n"), marked, gates=OFF)
    assert 'Unsupported value: "Gt"' in " ".join(plan.notes)


# -- new objects -------------------------------------------------------------------------------------------------------


def test_new_objects_are_lowered_where_a_webhook_does() -> None:
    plan = Plan(spot("high", "960"), *webhook(), pod("p", tolerations=[ABOVE_950, EXPRESSION]), gates=OFF)
    assert plan.where == {"p": "high"}
    assert not any("not called" in note for note in plan.notes)


def test_the_webhook_refuses_in_its_words() -> None:
    wrong = pod("p", tolerations=[toleration("Gt", "abc")])
    plan = Plan(spot("high", "960"), *webhook(), wrong, gates=OFF)
    (note,) = attached_notes(plan)
    assert 'admission webhook "lower.attach.moorage.dev" denied the request: Pod "p" is invalid: ' in note
    assert 'spec.tolerations[0].value: Invalid value: "abc"' in note


@pytest.mark.parametrize("exempt", ["namespace", "object", "kube-system"])
def test_what_is_exempt_is_left_to_the_cluster(exempt: str) -> None:
    made = pod("p", tolerations=[ABOVE_950])
    labels = {formats.EXEMPT: "true"}
    where: Raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {}}}
    if exempt == "object":
        made["metadata"]["labels"] = labels
    elif exempt == "namespace":
        where["metadata"]["labels"] = labels
    made["metadata"]["namespace"] = "kube-system" if exempt == "kube-system" else "team"
    plan = Plan(spot("high", "960"), *webhook(), where, made, gates=OFF)
    assert 'Unsupported value: "Gt"' in " ".join(plan.notes)


def test_a_policy_lowers_lt_and_gt_only() -> None:
    plan = Plan(
        spot("high", "960"),
        *policy(),
        pod("numbers", tolerations=[ABOVE_950]),
        pod("versions", tolerations=[toleration("SemverGt", "1.2")]),
        gates=OFF,
    )
    assert plan.where == {"numbers": "high"}
    assert 'Unsupported value: "SemverGt"' in " ".join(plan.notes)


def test_a_live_cluster_without_what_lowers_refuses_new_comparisons() -> None:
    documents = [spot("high", "960"), deployment("train", ABOVE_950), pod("p", tolerations=[ABOVE_950])]
    assert "p" in Plan(*documents, gates=OFF).where, "of a dump of some objects it is assumed"
    plan = LivePlan(*documents, gates=OFF)
    assert plan.nodes_of("train") == ["high"]
    assert 'Unsupported value: "Gt"' in " ".join(plan.notes)


def test_operators_that_the_cluster_knows_are_left_alone() -> None:
    plan = Plan(spot("high", "960"), *webhook(), pod("p", tolerations=[ABOVE_950]), gates=NATIVE)
    (item,) = plan.planner.inventory.of_kind("Pod")
    assert ATTACHED not in item.raw["spec"]["tolerations"][0]
    assert plan.where == {"p": "high"}


def test_comparisons_of_pods_that_are_not_lowered_obey_the_gates() -> None:
    bound = running("native", "high", tolerations=[STAYS_ABOVE_950])
    documents = [spot("high", "960", "NoExecute"), lowered_pod("ours", "high", STAYS_ABOVE_950), bound]
    assert Plan(*documents, gates=OFF).states == {"ours": "Bound", "native": "Evicted"}
    assert Plan(*documents, gates=NATIVE).states == {"ours": "Bound", "native": "Bound"}


def test_a_lowered_manifest_changes_nothing_in_the_cluster() -> None:
    document = deployment("train", ABOVE_950)
    applied = {**document, "metadata": {"name": "train"}}
    plan = Plan(spot("high", "960"), document)
    difference = plan.what_if(None, applied)
    assert not difference.differences
    assert not plan.what_if(None, lowered(applied)).differences


def test_nothing_new_compares_where_attach_is_going_to_be_uninstalled() -> None:
    webhook_pods = {"containers": [{"name": "w", "image": "i:1", "args": [formats.REFUSES_NEW]}]}
    serving = workload("Deployment", formats.WEBHOOK, "1", webhook_pods, replicas=0)
    documents = [spot("high", "960"), *webhook(), serving, deployment("train", ABOVE_950)]
    plan = Plan(*documents, pod("p", tolerations=[ABOVE_950]), gates=OFF)
    assert "p" not in plan.where
    (note,) = attached_notes(plan)
    assert "moorage attach is going to be uninstalled from this cluster" in note
    changed = workload("Deployment", "train", "1", {"tolerations": [ABOVE_950 | {"value": "970"}]}, replicas=1)
    plan = Plan(*documents, gates=OFF)
    plan.what_if(None, changed)
    assert plan.nodes_of("train") == ["", "high"], "what is lowered already may change, and the new pod waits"


def test_a_comparison_is_not_added_to_a_pod_that_exists() -> None:
    there = lowered_pod("p", "high", ABOVE_950)
    plan = LivePlan(spot("high", "960"), *webhook(), there, gates=OFF)
    assert not plan.what_if(None, pod("p", tolerations=[ABOVE_950])).differences
    other = pod("p", tolerations=[ABOVE_950, toleration("Gt", "5", key="other")])
    plan = LivePlan(spot("high", "960"), *webhook(), there, gates=OFF)
    plan.what_if(None, other)
    assert any("may not be added to a pod that exists" in note.message for note in plan.outcome.notes)


# -- changes -----------------------------------------------------------------------------------------------------------


def test_a_changed_taint_changes_its_mirror() -> None:
    plan = Plan(spot("low", "900"), deployment("train", ABOVE_950))
    assert plan.nodes_of("train") == [""]
    plan.what_if(Changes(taints=(TaintChange("low", "spot", "960", "NoSchedule"),)))
    assert plan.nodes_of("train") == ["low"]
    found = plan.simulation.api.get(KINDS.NODE, "low")
    there = {key: value for key, value in found.raw["metadata"]["labels"].items() if "moorage.dev/" in key}
    assert there == mirror_labels(found.raw)
    assert there["num.noschedule.taint.moorage.dev/spot"] == "960"


def test_pods_that_are_taken_as_written_follow_the_mirror() -> None:
    waiting = forged(lowered(pod("p", tolerations=[ABOVE_950])), "950", "1")
    plan = Plan(spot("low", "900"), waiting)
    assert plan.where == {"p": ""}
    plan.what_if(Changes(taints=(TaintChange("low", "spot", "960", "NoSchedule"),)))
    assert plan.where == {"p": "low"}


def test_a_value_that_drops_evicts_lowered_pods() -> None:
    seconds = toleration("Gt", "950", effect="NoExecute", seconds=60)
    plan = Plan(spot("high", "960", "NoExecute"), lowered_pod("now", "high", STAYS_ABOVE_950), deployment("d", seconds))
    difference = plan.what_if(Changes(taints=(TaintChange("high", "spot", "940", "NoExecute"),)))
    because = {departure.pod.rpartition("/")[2]: departure.because for departure in difference.evicted}
    assert "940 > 950 is false" in because["now"]
