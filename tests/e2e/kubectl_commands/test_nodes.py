"""Nodes: taint, cordon, uncordon, drain, and nodes that are created through the API."""

import json
import re

from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import pod

UP_OPTIONS = ("--nodes", "2")

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{kubernetes.io/hostname: {name}}}
status:
  capacity: {{cpu: "4", memory: 8Gi, pods: "110"}}
  allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}
"""


def on_node(name: str, node: str) -> str:
    return pod(name) + f"  nodeSelector: {{kubernetes.io/hostname: {node}}}\n"


def new_node(kubectl: Kubectl) -> str:
    """A node for this test alone, ready."""
    name = f"node-of-{kubectl.namespace}"
    kubectl("create -f -", NODE.format(name=name))
    kubectl(f"wait --for=condition=Ready node/{name} --timeout=120s")
    return name


def test_taint(kubectl: Kubectl) -> None:
    node = new_node(kubectl)
    assert kubectl(f"taint nodes {node} disk-iops=5000:NoSchedule").out == f"node/{node} tainted\n"
    taints = json.loads(kubectl(f"get node {node} -o jsonpath={{.spec.taints}}").out)
    assert taints == [{"effect": "NoSchedule", "key": "disk-iops", "value": "5000"}]
    kubectl("apply -f -", on_node("one", node))
    kubectl("wait --for=condition=PodScheduled=False pod/one --timeout=120s")
    assert kubectl("get pod one --no-headers").out.split()[2] == "Pending"
    said = kubectl("describe pod one").out
    assert re.search(r"Warning +FailedScheduling .*0/3 nodes are available: 1 node\(s\) had untolerated taint", said)
    assert kubectl(f"taint nodes {node} disk-iops-").out == f"node/{node} untainted\n"
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    kubectl(f"delete node {node}")


def test_cordon_and_uncordon(kubectl: Kubectl) -> None:
    node = new_node(kubectl)
    assert kubectl(f"cordon {node}").out == f"node/{node} cordoned\n"
    assert kubectl(f"get node {node} --no-headers").out.split()[1] == "Ready,SchedulingDisabled"
    assert kubectl("get nodes --field-selector spec.unschedulable=true -o name").lines == [f"node/{node}"]
    kubectl("apply -f -", on_node("one", node))
    kubectl("wait --for=condition=PodScheduled=False pod/one --timeout=120s")
    assert kubectl(f"uncordon {node}").out == f"node/{node} uncordoned\n"
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    kubectl(f"delete node {node}")


def test_drain(kubectl: Kubectl) -> None:
    node = new_node(kubectl)
    kubectl("create configmap owner")
    uid = kubectl("get configmap owner -o jsonpath={.metadata.uid}").out
    owner = f"{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, controller: true}}"
    owned = on_node("one", node).replace("  labels:", f"  ownerReferences: [{owner}]\n  labels:")
    kubectl("create -f -", owned)
    kubectl("create -f -", on_node("two", node))
    kubectl("wait --for=condition=Ready pod --all --timeout=120s")
    said = kubectl.fails(f"drain {node} --timeout=20s")
    assert "cannot delete Pods that declare no controller" in said
    said = kubectl(f"drain {node} --force --timeout=120s").out
    assert f"node/{node} drained" in said
    assert kubectl("get pods -o name").out == ""
    kubectl(f"delete node {node}")


def test_drain_keeps_to_a_budget(kubectl: Kubectl) -> None:
    node = new_node(kubectl)
    kubectl("create -f -", on_node("one", node))
    kubectl("wait --for=condition=Ready pod/one --timeout=120s")
    kubectl("create poddisruptionbudget keep --selector=app=one --min-available=1")
    kubectl("wait pdb/keep --for=condition=DisruptionAllowed=False --timeout=120s")
    said = kubectl.fails(f"drain {node} --force --timeout=3s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in said
    kubectl("delete pdb keep")
    kubectl(f"drain {node} --force --timeout=120s")
    kubectl(f"delete node {node}")
