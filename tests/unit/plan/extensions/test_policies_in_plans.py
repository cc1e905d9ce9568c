"""Plans apply the policies of their input: refused objects and pods, mutated pods, warnings, parameters, users."""

from typing import Any

import pytest
from tests.unit.plan.extensions.policy_documents import DEPLOYMENTS, PODS, demands, patches, webhook
from tests.unit.plan.planning import LivePlan, Plan, node, pod, running, workload

Raw = dict[str, Any]
ON_N2 = 'op: "add", path: "/spec/nodeSelector", value: {"kubernetes.io/hostname": "n2"}'
LIMITS: Raw = {
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"},
}


def nodes() -> list[Raw]:
    return [node("n1"), node("n2")]


def limits(most: str, namespace: str = "default") -> Raw:
    metadata = {"name": "limits", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"most": most}}


def test_a_refused_manifest_is_left_out_with_the_words_of_the_api_server() -> None:
    plan = Plan(
        *nodes(), workload("Deployment", "web", replicas=9), *demands("few", "object.spec.replicas <= 5", DEPLOYMENTS)
    )
    assert plan.where == {}
    (note,) = plan.notes
    assert note.endswith(
        "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'few' denied request: "
        "failed expression: object.spec.replicas <= 5"
    )
    assert plan.outcome.rejected == 1


def test_the_note_has_the_line_of_the_field_that_the_expression_is_about() -> None:
    deployment = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
  replicas: 9
"""
    plan = Plan(deployment, *demands("few", "object.spec.replicas <= 5", DEPLOYMENTS))
    assert [note.line for note in plan.outcome.notes] == [9]


def test_pods_that_a_policy_refuses_are_missing_from_their_workload() -> None:
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=3), *demands("no", "false", message="not here"))
    (failed,) = plan.outcome.failed
    assert (failed.workload, failed.refused, failed.wanted) == ("Deployment default/web", 3, 3)
    assert "ValidatingAdmissionPolicy 'no' with binding 'no' denied request: not here" in failed.message
    assert plan.outcome.count()


def test_a_mutated_pod_is_placed_and_the_change_is_noted_once() -> None:
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=3), *patches("select", ON_N2))
    assert plan.nodes_of("web") == ["n2", "n2", "n2"]
    (note,) = plan.notes
    assert note.endswith(
        "Deployment default/web: its pods are changed by MutatingAdmissionPolicy select: "
        'adds spec.nodeSelector {"kubernetes.io/hostname":"n2"}'
    )


def test_a_single_pod_is_changed_by_name() -> None:
    plan = Plan(*nodes(), pod("alone"), *patches("select", ON_N2))
    assert plan.where == {"alone": "n2"}
    (note,) = plan.notes
    assert "Pod default/alone: is changed by MutatingAdmissionPolicy select: adds spec.nodeSelector" in note


def test_defaults_of_a_mutation_are_set_again() -> None:
    toleration = 'op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{key: "a", operator: "Exists"}'
    tainted = node("n1", taints=[{"key": "a", "effect": "NoSchedule"}])
    plan = Plan(tainted, pod("p", tolerations=[{"key": "b", "operator": "Exists"}]), *patches("tolerate", toleration))
    assert plan.where == {"p": "n1"}


def test_policies_apply_to_objects_without_a_namespace_above_them() -> None:
    rule = {**PODS, "resources": ["nodes"]}
    plan = Plan(*nodes(), *demands("no-n2", "object.metadata.name != 'n2'", rule), pod("p"))
    assert [line.name for line in plan.outcome.nodes] == ["n1"]
    assert 'nodes "n2" is forbidden' in "".join(plan.notes)


def test_what_exists_is_not_asked_about() -> None:
    plan = Plan(*nodes(), running("old", "n1"), pod("new"), *demands("no", "false"))
    assert plan.where == {"old": "n1"}


def test_a_warning_is_noted_once_for_a_workload() -> None:
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=3), *demands("soft", "false", action="Warn"))
    (note,) = plan.notes
    assert note.startswith("warning ")
    assert "its pods: Validation failed for ValidatingAdmissionPolicy 'soft' with binding 'soft'" in note
    assert len(plan.nodes_of("web")) == 3


def test_what_is_only_audited_is_not_noted() -> None:
    plan = Plan(node("n1"), pod("p"), *demands("audit", "false", action="Audit"))
    assert plan.notes == []
    assert plan.where == {"p": "n1"}


def test_parameters_come_from_the_input() -> None:
    policy = demands("few", "object.spec.replicas <= int(params.data.most)", DEPLOYMENTS, params=LIMITS)
    for most, rejected in (("2", 1), ("3", 0)):
        plan = Plan(*nodes(), workload("Deployment", "web", replicas=3), limits(most), *policy)
        assert plan.outcome.rejected == rejected
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=3), limits("2", "other"), *policy)
    assert plan.outcome.rejected == 0
    (note,) = [note for note in plan.notes if "ConfigMap" in note]
    assert "ValidatingAdmissionPolicy few is not applied where ConfigMap default/limits is the parameter" in note


def _limit_definition() -> Raw:
    schema = {"type": "object", "properties": {"most": {"type": "integer", "default": 2}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "limits.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "limits", "kind": "Limit"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _service_with(most: str) -> Raw:
    metadata = {"name": "limits", "namespace": "default", "annotations": {"most": most}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


@pytest.mark.parametrize("reference", [{"name": "limits"}, {"selector": {}}])
@pytest.mark.parametrize(("most", "rejected"), [({"most": 3}, 0), ({"most": 2}, 1), ({}, 1)])
def test_custom_objects_of_the_input_are_parameters_wherever_they_stand(
    reference: Raw, most: Raw, rejected: int
) -> None:
    params = {
        "paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"},
        "paramRef": {**reference, "parameterNotFoundAction": "Deny"},
    }
    policy = demands("few", "object.spec.replicas <= params.most", DEPLOYMENTS, params=params)
    limit = {"apiVersion": "example.com/v1", "kind": "Limit", "metadata": {"name": "limits"}, **most}
    deployment = workload("Deployment", "web", replicas=3)
    for documents in ((deployment, limit), (limit, deployment)):
        plan = Plan(*nodes(), *documents, _limit_definition(), *policy)
        assert (plan.outcome.rejected, len(plan.where)) == (rejected, 0 if rejected else 3)
        assert not any("is not applied" in note for note in plan.notes)


@pytest.mark.parametrize(("most", "rejected"), [("3", 0), ("2", 1)])
def test_parameters_may_be_of_a_kind_that_is_planned(most: str, rejected: int) -> None:
    params = {**LIMITS, "paramKind": {"apiVersion": "v1", "kind": "Service"}}
    expression = "object.spec.replicas <= int(params.metadata.annotations.most)"
    policy = demands("few", expression, DEPLOYMENTS, params=params)
    deployment, service = workload("Deployment", "web", replicas=3), _service_with(most)
    for documents in ((deployment, service), (service, deployment)):
        assert Plan(*nodes(), *documents, *policy).outcome.rejected == rejected


def test_parameters_that_a_cluster_does_not_have_refuse() -> None:
    policy = demands("few", "object.spec.replicas <= int(params.data.most)", DEPLOYMENTS, params=LIMITS)
    plan = LivePlan(*nodes(), workload("Deployment", "web", replicas=3), *policy)
    assert plan.outcome.rejected == 1


@pytest.mark.parametrize(
    ("user", "placed"),
    [
        ("kubernetes-admin", False),
        ("system:serviceaccount:kube-system:replicaset-controller", True),
        ("system:serviceaccount:kube-system:deployment-controller", False),
    ],
)
def test_pods_are_created_by_the_service_account_of_their_controller(user: str, placed: bool) -> None:
    policy = demands("who", f"request.userInfo.username == '{user}'")
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=1), *policy)
    assert (plan.nodes_of("web") == ["n1"]) is placed


def test_manifests_are_applied_by_an_administrator() -> None:
    policy = demands("who", "'system:masters' in request.userInfo.groups")
    assert Plan(node("n1"), pod("p"), *policy).where == {"p": "n1"}


def test_a_binding_chooses_namespaces_by_their_labels() -> None:
    refuses = demands("no", "false")
    refuses[1]["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"strict": "yes"}}}
    strict = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "strict", "labels": {"strict": "yes"}}}
    there, here = pod("there", metadata={"namespace": "strict"}), pod("here")
    plan = Plan(node("n1"), there, here, strict, *refuses)
    assert plan.where == {"here": "n1"}


def test_webhooks_are_not_called_and_named_once() -> None:
    mutating = webhook("change", "MutatingWebhookConfiguration", failurePolicy="Ignore")
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=2), pod("p"), webhook("check"), mutating)
    assert len(plan.where) == 3
    change, check = sorted(note for note in plan.notes if "webhook" in note)
    assert "webhook change.example.com of MutatingWebhookConfiguration change is not called here" in change
    assert "in a cluster it might change or refuse 3 objects; --call-webhooks calls it" in change
    assert "might refuse 3 objects, and none of them is let in while it does not answer (failurePolicy: Fail)" in check


def test_a_what_if_applies_policies_that_it_adds() -> None:
    plan = Plan(*nodes(), workload("Deployment", "web", replicas=1))
    plan.what_if(None, *patches("select", ON_N2), workload("Deployment", "api", replicas=2))
    assert plan.nodes_of("api") == ["n2", "n2"]
