"""What a kubelet thinks of pods that were bound past the scheduler: `spec.nodeName` by hand, gates on."""

from typing import Any

from tests.e2e.stories.stage import Raw, Stage, node, pod

UP_OPTIONS = ("--feature-gates=AllAlpha=true",)
SLA = "node.kubernetes.io/sla"
UNTOLERATED = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"


def refusal(stage: Stage, name: str, reason: str) -> str:
    """What the kubelet reports when it turns a pod away, whether or not somebody deletes the pod at once."""
    selector = f"involvedObject.name={name},reason={reason}"
    return stage.first_line(f"get events --field-selector {selector} -w -o jsonpath='{{.message}}{{\"\\n\"}}'")


def fate(stage: Stage, name: str) -> str:
    """Phase, reason and message of a pod, once the kubelet has turned it away."""
    stage.kubectl(f"wait --for=jsonpath={{.status.phase}}=Failed pod/{name} --timeout=120s")
    return stage.read(f"pod {name}", "{.status.phase} {.status.reason}: {.status.message}")


def bound(name: str, *tolerations: Raw, on: str = "one", **spec: Any) -> Raw:
    return pod(name, *tolerations, nodeName=on, **spec)


def test_a_taint_that_is_not_tolerated(stage: Stage) -> None:
    stage.create(node("one", f"{SLA}=900:NoExecute", "disk=slow:NoSchedule"))
    less = {"key": SLA, "operator": "Lt", "value": "900", "effect": "NoExecute"}
    stage.create(
        bound("intolerant"),
        bound("picky", {"key": SLA, "operator": "Gt", "value": "950", "effect": "NoExecute"}),
        bound("strict", less),
        bound("fine", {"key": SLA, "operator": "Gt", "value": "850", "effect": "NoExecute"}),
        bound("version", {"key": SLA, "operator": "SemverEq", "value": "900.0.0"}),
        bound("expression", {"expression": "int(taint.value) > 850"}),
    )
    # NoSchedule is the scheduler's business.
    assert stage.lands("fine", "version", "expression") == ["one"] * 3
    for name in ("intolerant", "picky", "strict"):
        assert refusal(stage, name, "TaintToleration") == UNTOLERATED


def test_a_node_that_does_not_match(stage: Stage) -> None:
    stage.create(node("one", version="1.2.3"))

    def wanting(name: str, operator: str, value: str) -> Raw:
        term = {"matchExpressions": [{"key": "version", "operator": operator, "values": [value]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return bound(name, affinity={"nodeAffinity": required})

    stage.create(wanting("newer", "SemverGt", "1.2.3"), wanting("same", "SemverEq", "v1.2.3"))
    assert stage.lands("same") == ["one"]
    assert fate(stage, "newer") == (
        "Failed NodeAffinity: Pod was rejected: "
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    )


def test_a_node_that_is_full(stage: Stage) -> None:
    stage.create(node("one"))
    big = [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "9"}}}]
    stage.create(bound("big", containers=big))
    assert fate(stage, "big").startswith("Failed OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu")


def test_a_binding_past_the_taints_is_taken_and_the_kubelet_has_the_last_word(stage: Stage) -> None:
    stage.create(node("one", f"{SLA}=900:NoExecute"))
    stage.create(pod("one", schedulerName="nobody"))
    assert stage.read("pod one", "{.status.phase}{.spec.nodeName}") == "Pending"
    target = '"target": {"kind": "Node", "name": "one"}'
    binding = '{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one"}, ' + target + "}"
    path = f"/api/v1/namespaces/{stage.kubectl.namespace}/pods/one/binding"
    stage.kubectl(f"create --raw {path} -f -", binding)
    assert refusal(stage, "one", "TaintToleration") == UNTOLERATED
