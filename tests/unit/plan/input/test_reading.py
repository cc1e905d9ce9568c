"""What becomes of documents: admitted, refused, existing, applied twice."""

import pytest
from tests.unit.plan.planning import Plan, node, pod, running, spec, workload

from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.plan.input.inventory import Key


def test_a_pod_is_placed_and_its_defaults_are_filled_in() -> None:
    plan = Plan(node("n1"), pod("a"))
    assert plan.where == {"a": "n1"}
    made = plan.pod("a")
    assert made.spec.schedulerName == "default-scheduler"
    assert [one.tolerationSeconds for one in made.spec.tolerations] == [300, 300]


def test_what_the_api_server_refuses_is_told_with_its_line_and_the_rest_is_planned() -> None:
    bad = pod("bad", tolerations=[{"key": "a", "operator": "Gt", "value": "5"}])
    plan = Plan(node("n1"), bad, pod("good"))
    assert plan.where == {"good": "n1"}
    assert plan.outcome.rejected == 1
    (note,) = plan.outcome.notes
    assert note.message.startswith('Pod "bad" is invalid: spec.tolerations[0].operator: Unsupported value: "Gt"')
    assert note.line > 10  # the line of the toleration, not that of the pod
    assert Plan(node("n1"), bad, gates={"TaintTolerationComparisonOperators": True}).where == {"bad": "n1"}


def test_a_pod_that_exists_is_not_created_once_more() -> None:
    """Its label keys were merged when it was: to merge them again would be an error."""
    merged = {
        "topologyKey": "kubernetes.io/hostname",
        "matchLabelKeys": ["app"],
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [merged]}}
    plan = Plan(node("n1"), running("a", "n1", labels={"app": "web"}, affinity=affinity))
    assert plan.where == {"a": "n1"}
    assert not plan.notes


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_takes_no_room(phase: str) -> None:
    done = running("done", "n1", cpu="4")
    done["status"]["phase"] = phase
    assert Plan(node("n1"), done, pod("a", "4")).where == {"a": "n1"}


def test_a_pod_being_deleted_goes_and_makes_room() -> None:
    leaving = running("leaving", "n1", cpu="3")
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    plan = Plan(node("n1"), leaving, pod("a", "2"))
    assert plan.where == {"a": "n1"}


def test_the_same_object_again_is_an_update() -> None:
    larger = node("n1", cpu="9")
    plan = Plan(node("n1", cpu="1"), larger, pod("a", "5"))
    assert plan.where == {"a": "n1"}
    assert len(plan.outcome.nodes) == 1
    (note,) = plan.notes
    assert "Node n1: stands here again (first at " in note


def test_an_update_that_is_forbidden_leaves_the_first() -> None:
    plan = Plan(node("n1"), pod("a", "1"), pod("a", "2"))
    assert plan.where == {"a": "n1"}
    assert "as an update of the one at" in plan.notes[0]
    assert plan.pod("a").spec.containers[0].resources.requests["cpu"].milli_value() == 1000


def test_names_are_generated_one_by_one() -> None:
    unnamed = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "run-"}, "spec": spec()}
    plan = Plan(node("n1"), unnamed, unnamed)
    assert len(plan.where) == 2
    assert all(name.startswith("run-") and len(name) == 9 for name in plan.where)


def test_thousands_of_like_pods_are_validated_by_name_too() -> None:
    plan = Plan(node("n1"), pod("a"), pod("b"), pod("Not_A_Name"))
    assert plan.where == {"a": "n1", "b": "n1"}
    assert 'Pod "Not_A_Name" is invalid: metadata.name' in plan.notes[0]


def test_definitions_and_custom_objects_are_accepted() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    plan = Plan(definition, widget, node("n1"), pod("a"))
    assert plan.where == {"a": "n1"}
    assert plan.outcome.rejected == 0
    assert not plan.notes


def test_other_kinds_are_counted_and_services_are_read() -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    plan = Plan(node("n1"), service, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert plan.outcome.passed_over == {"ConfigMap": 1}
    (found,) = plan.planner.inventory.of_kind("Service")
    assert found.view.spec.selector == {"app": "web"}
    assert found.view.spec.clusterIP.startswith("10.")


def test_broken_documents_do_not_stop_the_rest() -> None:
    plan = Plan(node("n1"), "a: [b", "kind: Pod", "just text", pod("a"))
    assert plan.where == {"a": "n1"}
    assert plan.outcome.unreadable == 1
    assert plan.outcome.rejected == 2


def test_a_workload_keeps_its_view_and_its_raw_document() -> None:
    plan = Plan(workload("Deployment", "web", replicas=2))
    item = plan.planner.inventory.items[Key("Deployment", "default", "web")]
    assert item.view.spec.replicas == item.raw["spec"]["replicas"] == 2


def test_a_pod_that_pod_security_refuses_is_refused_with_the_words_of_the_server() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    safe = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "safe", "labels": labels}}
    bare = pod("bare")
    bare["metadata"]["namespace"] = "safe"
    plan = Plan(node("n1"), bare, safe)
    assert plan.outcome.rejected == 1
    (note,) = plan.notes
    assert 'pods "bare" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation' in note


def test_a_namespace_that_is_not_in_the_input_is_noted_once() -> None:
    lost = [pod("a"), pod("b", cpu="2"), workload("Deployment", "web")]
    for document in lost:
        document["metadata"]["namespace"] = "gone"
    plan = Plan(node("n1"), *lost)
    (note,) = plan.notes
    assert "namespace gone is not in the input; the API server refuses pods in namespaces that do not exist" in note
    assert len(plan.where) == 3


def test_an_object_that_etcd_does_not_take_is_refused() -> None:
    large = pod("large")
    large["spec"]["containers"][0]["env"] = [{"name": "A", "value": "x" * MAX_OBJECT_BYTES}]
    plan = Plan(node("n1"), large, pod("small"))
    assert plan.where == {"small": "n1"}
    assert "etcdserver: request is too large" in plan.notes[0]
