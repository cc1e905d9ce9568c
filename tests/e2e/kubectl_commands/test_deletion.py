"""What goes with what is deleted: namespaces with all that is in them, owners with or without their dependents."""

import json
import re

from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import DEPLOYMENT, SETTINGS, pod

UP_OPTIONS = ("--nodes", "2")

DEPENDENT = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  finalizers: {finalizers}
  ownerReferences:
  - {{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}
"""


def make_owner(kubectl: Kubectl) -> None:
    kubectl("create configmap top")


def make_dependent(kubectl: Kubectl, name: str, owner: str = "top", finalizers: str = "[]") -> None:
    uid = kubectl(f"get configmap {owner} -o jsonpath={{.metadata.uid}}").out
    kubectl("create -f -", DEPENDENT.format(name=name, owner=owner, uid=uid, finalizers=finalizers))


def release(kubectl: Kubectl, name: str) -> None:
    kubectl(f"""patch cm {name} --type=json -p '[{{"op":"remove","path":"/metadata/finalizers"}}]'""")


def maps(kubectl: Kubectl) -> list[str]:
    """Return the ConfigMaps of the test; every namespace has another one."""
    return [name for name in kubectl("get configmaps -o name").lines if name != "configmap/kube-root-ca.crt"]


def run_deployment(kubectl: Kubectl) -> None:
    kubectl("apply -f -", DEPLOYMENT)
    kubectl("rollout status deployment/web --timeout=120s")


def test_a_namespace_goes_with_everything_in_it(kubectl: Kubectl) -> None:
    run_deployment(kubectl)
    kubectl("apply -f -", SETTINGS)
    kubectl("apply -f -", pod("alone"))
    kubectl("create poddisruptionbudget keep --selector=app=web --min-available=3")
    kubectl("wait --for=condition=Ready pod --all --timeout=120s")
    assert kubectl("get serviceaccounts -o name").lines == ["serviceaccount/default"]
    said = kubectl(f"delete namespace {kubectl.namespace} --timeout=120s").out
    assert said == f'namespace "{kubectl.namespace}" deleted\n'
    assert "not found" in kubectl.fails(f"get namespace {kubectl.namespace}")
    kinds = "pods,deployments,replicasets,configmaps,events,poddisruptionbudgets,serviceaccounts"
    assert kubectl(f"get {kinds} -o name").out == ""
    kubectl(f"create namespace {kubectl.namespace}")
    run_deployment(kubectl)


def test_background(kubectl: Kubectl) -> None:
    make_owner(kubectl)
    make_dependent(kubectl, "middle")
    make_dependent(kubectl, "leaf", "middle")
    kubectl("delete configmap top --cascade=background")
    kubectl("wait configmap/leaf --for=delete --timeout=120s")
    assert maps(kubectl) == []


def test_foreground(kubectl: Kubectl) -> None:
    make_owner(kubectl)
    make_dependent(kubectl, "quick")
    make_dependent(kubectl, "slow", finalizers="[example.com/hold]")
    kubectl("delete configmap top --cascade=foreground --wait=false")
    kubectl("wait configmap/quick --for=delete --timeout=120s")
    assert maps(kubectl) == ["configmap/slow", "configmap/top"]
    assert json.loads(kubectl("get configmap top -o jsonpath={.metadata.finalizers}").out) == ["foregroundDeletion"]
    release(kubectl, "slow")
    kubectl("wait configmap/top --for=delete --timeout=120s")
    assert maps(kubectl) == []


def test_orphan(kubectl: Kubectl) -> None:
    make_owner(kubectl)
    make_dependent(kubectl, "one")
    make_dependent(kubectl, "two")
    kubectl("delete configmap top --cascade=orphan --timeout=120s")
    assert maps(kubectl) == ["configmap/one", "configmap/two"]
    assert kubectl("get configmaps -o jsonpath={.items[*].metadata.ownerReferences[*].name}").out == ""


def test_a_deployment_goes_in_the_foreground_and_leaves_orphans_behind(kubectl: Kubectl) -> None:
    run_deployment(kubectl)
    kubectl("delete deployment web --cascade=orphan --timeout=120s")
    kubectl("delete replicaset --all --cascade=orphan --timeout=120s")
    assert len(kubectl("get pods -l app=web -o name").lines) == 3
    run_deployment(kubectl)
    kubectl("delete deployment web --cascade=foreground --timeout=120s")
    assert kubectl("get deployments,replicasets,pods -o name").out == ""


def test_an_owner_in_another_namespace(kubectl: Kubectl) -> None:
    make_owner(kubectl)
    uid = kubectl("get configmap top -o jsonpath={.metadata.uid}").out
    there = f"{kubectl.namespace}-there"
    kubectl(f"create namespace {there}")
    stray = DEPENDENT.format(name="stray", owner="top", uid=uid, finalizers="[]")
    elsewhere = Kubectl(kubectl.kubeconfig, kubectl.home, there)
    elsewhere("create -f -", stray)
    elsewhere("wait configmap/stray --for=delete --timeout=120s")
    assert maps(kubectl) == ["configmap/top"]


def test_drain_with_a_budget(kubectl: Kubectl) -> None:
    run_deployment(kubectl)
    kubectl("create poddisruptionbudget keep --selector=app=web --max-unavailable=0")
    kubectl("wait pdb/keep --for=jsonpath={.status.expectedPods}=3 --timeout=120s")
    row = kubectl("get pdb keep --no-headers").out.split()
    assert row[:4] == ["keep", "N/A", "0", "0"]
    node = kubectl("get pods -o jsonpath={.items[0].spec.nodeName}").out
    said = kubectl.fails(f"drain {node} --pod-selector=app=web --timeout=3s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in said
    assert len(kubectl("get pods -o name").lines) == 3
    kubectl("""patch pdb keep -p '{"spec":{"maxUnavailable":1}}'""")
    kubectl("wait pdb/keep --for=condition=DisruptionAllowed --timeout=120s")
    assert f"node/{node} drained" in kubectl(f"drain {node} --pod-selector=app=web --timeout=120s").out
    kubectl("rollout status deployment/web --timeout=120s")
    assert node not in kubectl("get pods -o jsonpath={.items[*].spec.nodeName}").out
    assert re.search(r"Allowed disruptions: +1", kubectl("describe pdb keep").out)
    kubectl(f"uncordon {node}")
