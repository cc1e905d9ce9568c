"""Every example, applied by kubectl with the gates on: the nodes that its story opens are open, all others are not."""

import json

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_commands.manifests import pod
from tests.e2e.kubectl_commands.stories import EXAMPLES, OPEN, QUERIES, Raw, nodes_of, pods_by_node

UP_OPTIONS = ("--nodes", "0", "--feature-gates", "AllAlpha=true")

WITH_OTHER_OPERATORS = (
    pod("tolerates-semver-gt")
    + "  tolerations: [{key: k, operator: SemverGt, value: '1.0.0'}]\n"
    + "".join(
        "---\n"
        + pod(f"wants-semver-{operator.lower()}")
        + "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
        + f"{{matchExpressions: [{{key: k, operator: Semver{operator}, values: ['1.0.0']}}]}}]}}}}}}\n"
        for operator in ("Lt", "Eq")
    )
)


@pytest.mark.parametrize("folder", OPEN)
def test_the_nodes_that_a_story_opens(kubectl: Kubectl, folder: str) -> None:
    kubectl(f"apply -f {EXAMPLES / folder}")
    scheduled: list[str] = []
    refused: list[str] = []
    pods: list[Raw] = []
    for workload, nodes in OPEN[folder].items():
        for node, document in pods_by_node(folder, workload).items():
            pods.append(document)
            (scheduled if node in nodes else refused).append(f"pod/{workload}.{node}")
    kubectl("create -f -", json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    if scheduled:
        kubectl(f"wait --for=condition=PodScheduled {' '.join(scheduled)} --timeout=30s")
        kubectl(f"wait --for=condition=Ready {' '.join(scheduled)} --timeout=30s")
    if refused:
        kubectl(f"wait --for=condition=PodScheduled=False {' '.join(refused)} --timeout=30s")
        pending = kubectl("get pods --field-selector spec.nodeName= -o name").lines
        assert set(refused) <= set(pending)
    kubectl(f"delete node {' '.join(nodes_of(folder))}")


def test_a_volume_goes_where_its_kernel_is(kubectl: Kubectl) -> None:
    """Who binds claims to volumes is not the question here: this one is bound, and its pod must follow it."""
    folder = "pv-by-kernel-version"
    for file in ("nodes", "storage"):
        kubectl(f"apply -f {EXAMPLES / folder / file}.yaml")
    uid = kubectl("get pvc database-files -o jsonpath={.metadata.uid}").out
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "database-files", "uid": uid}
    bound = {"status": {"phase": "Bound"}}
    kept: dict[str, tuple[Raw, Raw]] = {
        "pv advanced-storage-pv": ({"spec": {"claimRef": {**claim, "namespace": kubectl.namespace}}}, bound),
        "pvc database-files": (
            {
                "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
                "spec": {"volumeName": "advanced-storage-pv"},
            },
            {"status": {**bound["status"], "capacity": {"storage": "100Gi"}, "accessModes": ["ReadWriteOnce"]}},
        ),
    }
    for named, (patch, status) in kept.items():
        kubectl(f"patch {named} --type=merge -p '{json.dumps(patch)}'")
        kubectl(f"patch {named} --type=merge --subresource=status -p '{json.dumps(status)}'")
    assert kubectl("get pvc database-files --no-headers").out.split()[1:5] == [
        "Bound",
        "advanced-storage-pv",
        "100Gi",
        "RWO",
    ]
    kubectl(f"apply -f {EXAMPLES / folder}/database.yaml")
    kubectl("wait --for=condition=Ready pod/database --timeout=30s")
    assert kubectl("get pod database -o jsonpath={.spec.nodeName}").out == "kernel-6-1"
    kubectl(f"delete node {' '.join(nodes_of(folder))}")


def test_what_the_documents_tell_operators_to_ask(kubectl: Kubectl) -> None:
    for folder in ("cni-upgrade", "spot-nodes-by-sla", "kubelet-version-rollout", "kernel-version-by-cel"):
        kubectl(f"apply -f {EXAMPLES / folder}")
    kubectl("apply -f -", WITH_OTHER_OPERATORS)
    for command, line, part in QUERIES:
        found = [said for said in kubectl(command).lines if line in said]
        assert any(part in said for said in found), (command, found)


def test_labels_are_merged_into_the_terms(kubectl: Kubectl) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "server", "labels": {"app": "server", "pod-template-hash": "abc"}},
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/server:1"}],
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "labelSelector": {"matchLabels": {"app": "server"}},
                            "topologyKey": "kubernetes.io/hostname",
                            "matchLabelKeys": ["pod-template-hash"],
                        }
                    ]
                }
            },
        },
    }
    kubectl("create -f -", json.dumps(document))
    path = "{.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector}"
    selector = json.loads(kubectl(f"get pod server -o jsonpath='{path}'").out)
    assert selector["matchExpressions"] == [{"key": "pod-template-hash", "operator": "In", "values": ["abc"]}]
    for folder in ("rolling-update-with-match-label-keys", "exclusive-tenants"):
        everywhere = Kubectl(kubectl.kubeconfig, kubectl.home, "")
        everywhere(f"apply -f {EXAMPLES / folder}")
        kubectl(f"delete node {' '.join(nodes_of(folder))}")
