"""Every component of `moorage up` does its work with the rights of its role alone, and says what it is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.admit.objects import certificate_request

from moorage.cli.commands.processes.components import roles
from moorage.client.refusals import RefusalLog
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, gates_from
from moorage.model.kinds import KINDS, kind_of
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.serve.access.bootstrap.policy import KUBELETS
from moorage.serve.requests.loopback import LoopbackClient

pytestmark = pytest.mark.real_time

CONTAINERS = "containers: [{name: c, image: i}]"
SPEC = f"spec: {{{CONTAINERS}}}"
WORKLOADS = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec: {{replicas: 2, selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, {SPEC}}}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  serviceName: db
  selector: {{matchLabels: {{app: db}}}}
  template: {{metadata: {{labels: {{app: db}}}}, {SPEC}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec: {{selector: {{matchLabels: {{app: agent}}}}, template: {{metadata: {{labels: {{app: agent}}}}, {SPEC}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: once}}
spec: {{template: {{metadata: {{labels: {{app: once}}}}, spec: {{restartPolicy: Never, {CONTAINERS}}}}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: web}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: web}}}}}}
---
apiVersion: v1
kind: ReplicationController
metadata: {{name: rc}}
spec: {{replicas: 1, selector: {{app: rc}}, template: {{metadata: {{labels: {{app: rc}}}}, {SPEC}}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: cron}}
spec:
  schedule: "* * * * *"
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, {CONTAINERS}}}}}}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: quota}}
spec: {{hard: {{pods: "50"}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: user, labels: {{app: user}}}}
spec:
  {CONTAINERS}
  volumes:
  - {{name: data, persistentVolumeClaim: {{claimName: data}}}}
  - name: scratch
    ephemeral:
      volumeClaimTemplate: {{spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: balanced}}
spec: {{type: LoadBalancer, selector: {{app: web}}, ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: robot}}
---
apiVersion: v1
kind: Secret
metadata: {{name: token, annotations: {{kubernetes.io/service-account.name: robot}}}}
type: kubernetes.io/service-account-token
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: gathered}}
aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{rbac.authorization.k8s.io/aggregate-to-view: "true"}}}}]}}
"""


class Refused:
    """What components were refused."""

    def __init__(self) -> None:
        self.messages: list[str] = []


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Refused:
    found = Refused()

    def note(log: RefusalLog, refusal: ApiError) -> None:
        if refusal.code == 403:  # others, such as conflicts, say nothing of rights
            found.messages.append(refusal.message)

    monkeypatch.setattr(RefusalLog, "note", note)
    return found


@asynccontextmanager
async def running() -> AsyncIterator[ControlPlane]:
    made = ControlPlane(
        Settings(
            gates=dict.fromkeys(Component, gates_from({})),
            configuration=DEFAULT_CONFIGURATION,
            nodes=2,
            simulates=True,
            data_dir=None,
            bind_address="127.0.0.1",
            port=0,
            kubeconfig=None,
            manifests=(),
        )
    )
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def _node_request() -> dict[str, Any]:
    """A request of a user who may have certificates for nodes."""
    spec = {
        "request": certificate_request("system:node:n", "system:nodes"),
        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
        "username": "admin",
        "groups": ["system:masters"],
    }
    return {
        "apiVersion": KINDS.CERTIFICATE_SIGNING_REQUEST.api_version,
        "kind": KINDS.CERTIFICATE_SIGNING_REQUEST.name,
        "metadata": {"name": "node"},
        "spec": spec,
    }


def _administrator(plane: ControlPlane) -> LoopbackClient:
    assert plane._server is not None
    return LoopbackClient(plane._server.api, "test")


async def _until_running(client: LoopbackClient, count: int) -> None:
    async with asyncio.timeout(30):
        while True:
            pods = (await client.list_all(KINDS.POD)).items
            if len([pod for pod in pods if pod.view.status.phase == "Running"]) >= count:
                return
            await asyncio.sleep(0.05)


async def test_no_component_is_refused_anything(refused: Refused) -> None:
    async with running() as plane:
        client = _administrator(plane)
        for document in yaml.safe_load_all(WORKLOADS):
            kind = kind_of(document)
            assert kind is not None
            await client.create(kind, document, "default")
        await client.create(KINDS.CERTIFICATE_SIGNING_REQUEST, _node_request(), "")
        await _until_running(client, 8)
        async with asyncio.timeout(30):
            while not (await client.get(KINDS.SECRET, "token", "default")).view.data.get("token"):
                await asyncio.sleep(0.05)
            while not (await client.get(KINDS.CERTIFICATE_SIGNING_REQUEST, "node")).view.status.certificate:
                await asyncio.sleep(0.05)
        await client.delete(KINDS.DEPLOYMENT, "web", "default")
        await client.create(KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}})
        await client.delete(KINDS.NAMESPACE, "gone")
        async with asyncio.timeout(30):
            while any(pod.view.metadata.labels.get("app") == "web" for pod in (await client.list_all(KINDS.POD)).items):
                await asyncio.sleep(0.05)
    assert refused.messages == []


async def test_a_component_without_its_role_is_refused(refused: Refused) -> None:
    async with running() as plane:
        assert plane._server is not None
        kubelets = LoopbackClient(plane._server.api, "kubelet", KUBELETS)
        await kubelets.list_all(KINDS.POD)
        await _administrator(plane).delete(KINDS.CLUSTER_ROLE_BINDING, "moorage:kubelet")
        with pytest.raises(ApiError, match='User "moorage:kubelet" cannot list resource "pods"'):
            await kubelets.list_all(KINDS.POD)
    assert refused.messages


def test_a_refusal_is_logged_once_with_the_rule_that_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    log = RefusalLog("kube-scheduler")
    for name in ("a", "b"):
        right = 'cannot patch resource "pods/status" in API group "" in the namespace "x"'
        said = f'pods "{name}" is forbidden: User "s" {right}'
        log.note(ApiError({"code": 403, "message": said}))
    log.note(ApiError({"code": 403, "message": "exceeded quota"}))
    (record,) = caplog.records
    fields: dict[str, Any] = getattr(record, "fields", {})
    assert fields["rule"] == '{apiGroups: [""], resources: ["pods/status"], verbs: ["patch"]}'


def test_roles_are_printed_for_other_users() -> None:
    result = CliRunner().invoke(roles, ["--scheduler-user", "system:serviceaccount:tools:sched"])
    documents = list(yaml.safe_load_all(result.output))
    assert [document["kind"] for document in documents] == ["ClusterRole"] * 3 + ["ClusterRoleBinding"] * 6
    assert documents[3]["subjects"] == [{"kind": "ServiceAccount", "name": "sched", "namespace": "tools"}]
