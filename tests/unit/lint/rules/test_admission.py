"""Objects that the admission chain refuses, given the namespaces, limits, quotas and classes of the input."""

import pytest
from tests.unit.lint.linting import lint, lint_with_outcome, node, pod, rules_of, stream, workload

from moorage.lint.finding import Finding, Severity
from moorage.lint.rules import admission

RANGE = """apiVersion: v1
kind: LimitRange
metadata: {name: l}
spec: {limits: [{type: Container, max: {cpu: "2"}, defaultRequest: {cpu: 500m}}]}
"""
GREEDY = "  initContainers: [{name: i, image: i, resources: {requests: {cpu: '3'}, limits: {cpu: '3'}}}]\n"


def quota(hard: str) -> str:
    return f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q}}\nspec: {{hard: {hard}}}\n"


def found(rule: str, *documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.rule == rule]


def test_a_limit_range_below_the_pods_refuses_them() -> None:
    (refused,) = found("limit-range-refuses", pod(GREEDY), RANGE)
    assert refused.message.endswith("maximum cpu usage per Container is 2, but limit is 3")
    assert refused.severity is Severity.ERROR
    assert not found("limit-range-refuses", pod(""), RANGE)


def test_pods_beyond_a_quota() -> None:
    deployment = workload("Deployment", "", spec="  replicas: 3\n")
    (refused,) = found("quota-refuses", quota("{pods: 2}"), deployment)
    assert refused.message == "2 of 3 pods fit: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    assert not found("quota-refuses", quota("{pods: 3}"), deployment)
    (refused,) = found("quota-refuses", quota("{cpu: 1}"), pod(""))
    assert "failed quota: q: must specify cpu for: " in refused.message
    assert not found("quota-refuses", quota("{cpu: 1}"), pod(""), RANGE)  # which gives it a request


def test_a_daemon_set_has_a_pod_on_each_node_that_it_runs_on() -> None:
    nodes = [node("n1"), node("n2"), node("n3"), node("n4", "{key: a, effect: NoSchedule}")]
    daemon_set = workload("DaemonSet", "")
    (refused,) = found("quota-refuses", quota("{pods: 2}"), daemon_set, *nodes)
    assert refused.message.startswith("2 of 3 pods fit (one for each node of the input that it runs on): exceeded")
    tolerant = workload("DaemonSet", "      tolerations: [{operator: Exists}]\n")
    (refused,) = found("quota-refuses", quota("{pods: 3}"), tolerant, *nodes)
    assert refused.message.startswith("3 of 4 pods fit")
    assert not found("quota-refuses", quota("{pods: 3}"), daemon_set, *nodes)
    assert not found("quota-refuses", quota("{pods: 1}"), daemon_set)  # it is not known how many there are
    assert found("quota-refuses", quota("{pods: 0}"), daemon_set)  # not even one
    elsewhere = workload("DaemonSet", "      nodeSelector: {disk: ssd}\n")
    assert not found("quota-refuses", quota("{pods: 0}"), elsewhere, *nodes)


def test_quotas_are_charged_in_the_order_in_which_pods_are_made() -> None:
    """The pods of a Deployment come one turn after those of ReplicaSets and DaemonSets, wherever it stands."""
    deployment = workload("Deployment", "", spec="  replicas: 2\n", name="first")
    replica_set = workload("ReplicaSet", "", spec="  replicas: 2\n", name="second")
    (refused,) = found("quota-refuses", quota("{pods: 3}"), deployment, replica_set)
    assert refused.place.object == "Deployment default/first"
    (refused,) = found("quota-refuses", quota("{pods: 1}"), deployment, workload("DaemonSet", ""), node("n1"))
    assert refused.place.object == "Deployment default/first"
    (refused,) = found("quota-refuses", quota("{pods: 2}"), deployment, pod("", name="alone"))
    assert refused.message.startswith("1 of 2 pods fit")


def test_what_exists_is_used_of_a_quota() -> None:
    existing = pod("  nodeName: n1\n", name="old", metadata=", uid: u, namespace: default")
    new = pod("", name="new")
    for documents in ((existing, new, quota("{pods: 1}")), (quota("{pods: 1}"), new, existing)):
        (refused,) = found("quota-refuses", *documents)
        assert refused.message.startswith(
            'pods "new" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1,'
        )
    assert not found("quota-refuses", existing, new, quota("{pods: 2}"))
    finished = existing + "status: {phase: Succeeded}\n"
    assert not found("quota-refuses", finished, new, quota("{pods: 1}"))
    elsewhere = existing.replace("namespace: default", "namespace: other")
    assert not found("quota-refuses", elsewhere, new, quota("{pods: 1}"))


def test_the_status_of_a_quota_says_what_is_used() -> None:
    full = quota("{pods: 3}").replace("name: q", "name: q, uid: u") + "status: {hard: {pods: 3}, used: {pods: 3}}\n"
    (refused,) = found("quota-refuses", full, pod("", name="new"))
    assert "used: pods=3, limited: pods=3" in refused.message


def test_a_quota_of_workloads_refuses_the_workload_itself() -> None:
    (refused,) = found("quota-refuses", quota("{count/deployments.apps: 0}"), workload("Deployment", ""))
    assert refused.message.endswith("limited: count/deployments.apps=0")
    assert (refused.severity, refused.api_server) == (Severity.ERROR, True)


def test_pods_whose_request_is_above_the_limit_that_a_limit_range_sets_are_refused() -> None:
    asks = "      initContainers: [{name: i, image: i, resources: {requests: {cpu: '3'}}}]\n"
    (refused,) = found("template-pods-rejected", workload("Deployment", asks), RANGE)
    assert refused.message == (
        "the Deployment is accepted, but its pods will be refused: spec.initContainers[0].resources.requests: "
        'Invalid value: "3": must be less than or equal to cpu limit of 2'
    )


TWO_FAULTS = (
    "  initContainers: [{name: i, image: i, resources: {requests: {cpu: '3'}}}]\n"
    "  tolerations: [{key: a, operator: Near}]\n"
)


def test_a_pod_with_two_faults_is_refused_for_both_in_the_order_of_the_api_server() -> None:
    refused = found("rejected", pod(TWO_FAULTS), RANGE)
    assert [finding.message.partition(": ")[0] for finding in refused] == [
        "spec.initContainers[0].resources.requests",
        "spec.tolerations[0].operator",
    ]
    assert all(finding.api_server for finding in refused)
    (refused_alone,) = found("rejected", pod(TWO_FAULTS))
    assert refused_alone.place.path == refused[1].place.path == "spec.tolerations[0].operator"


def test_each_of_two_pods_of_one_name_is_refused_for_its_faults() -> None:
    assert len(found("rejected", pod(TWO_FAULTS), pod(TWO_FAULTS), RANGE)) == 4
    assert len(found("rejected", pod(""), pod(TWO_FAULTS), RANGE)) == 1  # an update, which no LimitRange changes


def test_a_plugin_that_refuses_an_invalid_pod_is_what_the_api_server_tells() -> None:
    refused = found("rejected", pod("  priority: 7\n  tolerations: [{key: a, operator: Near}]\n"))
    by_server = [finding.message for finding in refused if finding.api_server]
    assert len(by_server) == 1
    assert "the integer value of priority (7) must not be provided in pod spec" in by_server[0]
    assert [finding.place.path for finding in refused if not finding.api_server] == ["spec.tolerations[0].operator"]


def test_a_pod_that_needs_a_gate_alone_is_acceptable_with_it() -> None:
    needs_gate = pod("  tolerations: [{key: a, operator: Gt, value: '5'}]\n")
    findings, outcome = lint_with_outcome(stream(needs_gate, RANGE), gates=False)
    assert [finding.rule for finding in findings if finding.severity is Severity.ERROR] == ["rejected"]
    assert not outcome.rejected_otherwise


def test_a_runtime_class_that_is_not_among_the_given_ones() -> None:
    kata = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n"
    (missing,) = found("runtime-class-missing", kata, pod("  runtimeClassName: kara\n"))
    assert (missing.severity, missing.hint) == (Severity.WARNING, "did you mean kata?")
    assert not found("runtime-class-missing", kata, pod("  runtimeClassName: kata\n"))
    (note,) = found("runtime-class-missing", pod("  runtimeClassName: kata\n"))
    assert note.severity is Severity.INFO


STRICT = """apiVersion: v1
kind: Namespace
metadata: {name: strict, labels: {pod-security.kubernetes.io/enforce: restricted}}
"""
GOING = "apiVersion: v1\nkind: Namespace\nmetadata: {name: going, uid: u}\nstatus: {phase: Terminating}\n"


@pytest.mark.parametrize("order", [1, -1])
def test_pod_security_of_a_namespace_anywhere_in_the_input_refuses_a_pod(order: int) -> None:
    (refused,) = lint(stream(*(STRICT, pod("", metadata=", namespace: strict"))[::order]))
    assert (refused.rule, refused.severity, refused.api_server) == ("rejected", Severity.ERROR, True)
    assert refused.message.startswith('pods "web" is forbidden: violates PodSecurity "restricted:latest": allowPriv')


def test_pods_of_a_template_are_refused_where_the_workload_is_accepted() -> None:
    deployment = workload("Deployment", "", name="web, namespace: strict")
    (refused,) = lint(stream(deployment, STRICT))
    assert refused.rule == "template-pods-rejected"
    assert refused.message.startswith(
        'the Deployment is accepted, but its pods will be refused: violates PodSecurity "restricted:latest": '
    )


def test_a_namespace_that_only_warns_gives_the_warning_of_the_server() -> None:
    warning = STRICT.replace("enforce", "warn")
    (warned,) = lint(stream(workload("Deployment", "", name="web, namespace: strict"), warning))
    assert warned.rule == "api-server-warning"
    assert warned.message.startswith('would violate PodSecurity "restricted:latest": ')


def test_nothing_is_created_in_a_namespace_that_is_being_terminated() -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: going}\n"
    (refused,) = lint(stream(config, GOING))
    assert refused.message == (
        'configmaps "c" is forbidden: unable to create new content in namespace going because it is being terminated'
    )


def test_a_namespace_that_is_not_in_the_input_is_noted_once() -> None:
    pods = [pod("", name=name, metadata=", namespace: gone") for name in ("a", "b")]
    (note,) = lint(stream(*pods))
    assert (note.rule, note.severity) == ("namespace-missing", Severity.INFO)
    assert note.message == (
        "namespace gone is not in the input; the API server refuses pods in namespaces that do not exist"
    )
    assert rules_of(stream(*pods, "apiVersion: v1\nkind: Namespace\nmetadata: {name: gone}\n")) == []
    assert rules_of(pod("", metadata=", namespace: kube-system")) == []


def test_a_second_global_default_and_a_node_port_that_is_taken_are_refused() -> None:
    def priority(name: str) -> str:
        head = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
        return f"{head}metadata: {{name: {name}}}\nvalue: 1\nglobalDefault: true\n"

    def service(name: str) -> str:
        spec = "{type: NodePort, ports: [{port: 80, nodePort: 30080}]}"
        return f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {spec}\n"

    assert rules_of(stream(priority("a"), service("a"))) == []
    assert rules_of(stream(service("a"), service("a"))) == []  # the second one updates the first
    messages = [finding.message for finding in lint(stream(priority("a"), priority("b"), service("a"), service("b")))]
    assert messages[0].endswith("PriorityClass a is already marked as default. Only one default can exist")
    assert "30080: provided port is already allocated" in messages[1]


def test_a_pod_that_contradicts_its_class_is_refused() -> None:
    high = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n"
    (refused,) = lint(stream(pod("  priorityClassName: high\n  priority: 5\n"), high))
    assert refused.rule == "rejected"
    assert "the integer value of priority (5) must not be provided in pod spec" in refused.message


def test_a_quota_refuses_an_object_of_the_input_as_the_server_does() -> None:
    pods = [pod("", name=name) for name in ("a", "b")]
    (refused,) = lint(stream(*pods, quota("{pods: 1}")))
    assert (refused.rule, refused.severity) == ("quota-refuses", Severity.ERROR)
    assert refused.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    )
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    (refused,) = lint(stream(config, quota("{count/configmaps: 0}")))
    assert refused.message.startswith('configmaps "c" is forbidden: exceeded quota: q, requested: count/configmaps=1')


def test_a_pod_that_exists_is_not_admitted_again() -> None:
    running = pod("", metadata=", namespace: strict, uid: u")
    assert rules_of(stream(running, STRICT)) == []


def test_a_claim_below_the_least_size_is_refused() -> None:
    limits = RANGE.replace("limits: [", "limits: [{type: PersistentVolumeClaim, min: {storage: 2Gi}}, ")
    claim = (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
    )
    (refused,) = lint(stream(claim, limits))
    assert refused.rule == "limit-range-refuses"
    assert refused.message.endswith("minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi")


DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
"""


def widget(name: str, namespace: str = "default") -> str:
    return f"apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: {name}, namespace: {namespace}}}\n"


def test_custom_objects_pass_the_same_chain() -> None:
    (refused,) = lint(stream(widget("a"), widget("b"), DEFINITION, quota("{count/widgets.example.com: 1}")))
    assert refused.message.startswith('widgets.example.com "b" is forbidden: exceeded quota: q, requested: count/')
    (refused,) = lint(stream(DEFINITION, widget("a", "going"), GOING))
    assert refused.message == (
        'widgets.example.com "a" is forbidden: unable to create new content in namespace going because it is being '
        "terminated"
    )


def test_objects_that_cannot_be_held_are_judged_by_what_stands_above_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_MAX_HELD", 1)
    pods = [pod("", name=name, metadata=", namespace: strict") for name in ("a", "b")]
    deployment = workload("Deployment", "", name="web, namespace: strict")
    assert rules_of(stream(STRICT, *pods, deployment)) == ["rejected", "rejected", "template-pods-rejected"]
