"""Volumes by kubectl on a real cluster: a document's example as it stands, and the whole life of a made volume."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up
from tests.e2e.stories.stage import Stage

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pv-by-kernel-version"
GATE = "--feature-gates=TaintTolerationNodeAffinitySemverComparisonOperators=true"
WAIT = "--timeout=120s"
DATABASE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies:
- matchLabelExpressions: [{key: node.kubernetes.io/kernel-version, values: ["6.1.119"]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: made}
spec:
  storageClassName: fast
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 5Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: main, image: app}]
  volumes: [{name: files, persistentVolumeClaim: {claimName: made}}]
"""
MISPLACED = """\
apiVersion: v1
kind: Pod
metadata: {name: misplaced}
spec:
  nodeName: kernel-5-4
  containers: [{name: main, image: app}]
  volumes: [{name: files, persistentVolumeClaim: {claimName: database-files}}]
"""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """With the example applied."""
    with moorage_up(tmp_path_factory.mktemp("volumes"), GATE, "--nodes", "0") as cluster:
        kubectl = Kubectl(cluster.kubeconfig, cluster.home)
        kubectl(f"apply -f {EXAMPLE}")
        yield kubectl


def read(kubectl: Kubectl, what: str, path: str) -> str:
    return kubectl(f"get {what} -o jsonpath='{path}'").out


def test_a_volume_decides_by_its_kernel_version_where_its_pod_goes(kubectl: Kubectl) -> None:
    kubectl(f"wait pod/database --for=condition=Ready {WAIT}")
    assert read(kubectl, "pod database", "{.spec.nodeName}") == "kernel-6-1"
    assert read(kubectl, "pvc database-files", "{.status.phase} {.spec.volumeName}") == "Bound advanced-storage-pv"
    assert read(kubectl, "pv advanced-storage-pv", "{.status.phase} {.spec.claimRef.name}") == "Bound database-files"


def test_a_kubelet_does_not_mount_what_its_node_cannot_use(kubectl: Kubectl) -> None:
    kubectl("apply -f -", stdin=MISPLACED)
    selector = "involvedObject.name=misplaced,reason=FailedMount"
    path = '{.message}{"\\n"}'
    message = Stage(kubectl).first_line(f"get events --field-selector {selector} -w -o jsonpath='{path}'")
    failed = 'MountVolume.NodeAffinity check failed for volume "advanced-storage-pv"'
    assert message == f"{failed} : no matching NodeSelectorTerms"
    path = "{.status.phase} {.status.containerStatuses[0].state.waiting.reason}"
    assert read(kubectl, "pod misplaced", path) == "Pending ContainerCreating"


def test_a_volume_is_made_for_a_pod_and_kept_until_it_goes(kubectl: Kubectl) -> None:
    kubectl("apply -f -", stdin=DATABASE)
    kubectl(f"wait pod/user --for=condition=Ready {WAIT}")
    assert read(kubectl, "pod user", "{.spec.nodeName}") == "kernel-6-1"
    name = read(kubectl, "pvc made", "{.spec.volumeName}")
    made = json.loads(kubectl(f"get pv {name} -o json").out)
    assert (made["status"]["phase"], made["spec"]["csi"]["driver"]) == ("Bound", "ebs.csi.aws.com")
    kubectl("delete pvc made --wait=false")
    assert read(kubectl, "pvc made", "{.status.phase}") == "Bound"
    kubectl("delete pod user")
    kubectl(f"wait --for=delete pvc/made pv/{name} {WAIT}")


def test_the_example_goes_as_it_came(kubectl: Kubectl) -> None:
    kubectl("delete pod misplaced --now")
    kubectl(f"delete -f {EXAMPLE}")
    assert kubectl("get pv,pvc,pods").out == ""
