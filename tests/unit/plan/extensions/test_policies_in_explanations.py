"""An explanation says which policies changed a pod, and suggests nothing that policies refuse."""

from typing import Any

from tests.unit.plan.explaining import explained, told
from tests.unit.plan.extensions.policy_documents import demands, patches
from tests.unit.plan.planning import node, pod, running, workload

from moorage.plan.explain.explanation import plain
from moorage.plan.explain.text import ExplanationText

Raw = dict[str, Any]
LABEL = 'op: "add", path: "/metadata/labels/team", value: "a"'
SELECT = 'op: "add", path: "/spec/nodeSelector", value: {"disk": "ssd"}'


def text(*documents: Raw | str, pod: str = "p") -> str:
    return "\n".join(ExplanationText().lines(explained(*documents, pod=pod)))


def test_pod_of_a_manifest_was_changed_by_a_policy() -> None:
    documents = (node("n1", disk="ssd"), pod("p"), *patches("select", SELECT))
    (change,) = explained(*documents).changes
    assert (change.by, change.would) == ("MutatingAdmissionPolicy select", False)
    assert 'It was changed by MutatingAdmissionPolicy select: adds spec.nodeSelector {"disk":"ssd"}' in text(*documents)
    assert plain(explained(*documents))["changes"] == [
        {
            "by": "MutatingAdmissionPolicy select",
            "would": False,
            "patch": [{"op": "add", "path": "/spec/nodeSelector", "value": {"disk": "ssd"}}],
        }
    ]


def test_pod_of_a_workload_was_changed_by_a_policy() -> None:
    documents = (node("n1"), workload("Deployment", "web", replicas=2), *patches("select", SELECT))
    found = explained(*documents, pod="deployment/web")
    assert [change.by for change in found.changes] == ["MutatingAdmissionPolicy select"]
    assert "disk" in found.sentence


def test_pod_that_exists_would_be_changed_only_if_that_is_true() -> None:
    old = running("p", "n1", labels={"app": "p"})
    (change,) = explained(node("n1"), old, *patches("label", LABEL)).changes
    assert change.would
    assert change.sentence.startswith("created now, it would be changed by MutatingAdmissionPolicy label: adds ")
    old["metadata"]["labels"]["team"] = "a"
    assert explained(node("n1"), old, *patches("label", LABEL)).changes == ()
    assert explained(node("n1"), old).changes == ()


def test_change_that_a_policy_refuses_is_not_suggested() -> None:
    tainted = node("n1", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}])
    free = told(explained(tainted, pod("p")))
    assert any("toleration" in summary for summary in free)
    never = demands("no-tolerations", "!has(object.spec.tolerations) || object.spec.tolerations.all(t, t.key != 'a')")
    refused = told(explained(tainted, pod("p"), *never))
    assert not any("toleration" in summary for summary in refused)
    assert refused
