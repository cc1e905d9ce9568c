"""A live cluster brought into another one, by its context and by what kubectl prints of it: the same placement."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.kubectl import kubectl_program

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.model.gates import Component, gates_from
from moorage.model.kinds import KINDS
from moorage.run.devices.spec import parse_devices
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION

pytestmark = pytest.mark.real_time

WORKLOADS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: moorage.dev/simulated
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    metadata: {annotations: {simulate.moorage.dev/completes-after: 10h}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims: [{name: g, resourceClaimTemplateName: gpu}]
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
---
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec: {nodeSelector: {no: where}, containers: [{name: c, image: i}]}
"""
#: Those that say where everything is, and what belongs to what.
COMPARED = ("Pod", "PersistentVolumeClaim", "PersistentVolume", "ResourceClaim", "ReplicaSet", "ControllerRevision")
RESOURCES = (
    "ns,nodes,pods,pv,pvc,sc,pc,deploy,rs,sts,ds,jobs,controllerrevisions,resourceclaims,resourceslices,deviceclasses,"
    "resourceclaimtemplates"
)


def _plane(kubeconfig: Path, **more: Any) -> ControlPlane:
    options = {"manifests": (), "devices": (), **more}
    return ControlPlane(
        Settings(
            gates=dict.fromkeys(Component, gates_from({})),
            configuration=DEFAULT_CONFIGURATION,
            nodes=more.pop("nodes", None),
            simulates=True,
            data_dir=None,
            bind_address="127.0.0.1",
            port=0,
            kubeconfig=kubeconfig,
            wait_seconds=60.0,
            **{name: value for name, value in options.items() if name != "nodes"},
        )
    )


async def _state(kubeconfig: Path) -> dict[str, Any]:
    """Return where everything is, and who owns it, by uid."""
    client = HttpClient(load_access(str(kubeconfig)))
    try:
        return {
            item.uid: (kind.name, item.key, item.raw["metadata"].get("ownerReferences"), item.raw.get("spec"))
            for kind in KINDS.values()
            if kind.name in COMPARED
            for item in (await client.list_all(kind)).items
        }
    finally:
        await client.close()


async def test_a_cluster_is_the_same_in_its_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work.yaml").write_text(WORKLOADS)
    first = tmp_path / "first"
    devices = tuple(parse_devices("gpu.example.com=2", "gpu.example.com=2"))
    real = _plane(first, nodes=4, manifests=(str(tmp_path / "work.yaml"),), devices=devices)
    await real.start()
    planes = [real]
    try:
        assert real.notes == []
        before = await _state(first)
        assert sum(kind == "Pod" for kind, *_ in before.values()) == 3 + 2 + 4 + 1 + 2
        command = [kubectl_program(), "--kubeconfig", str(first), "get", RESOURCES, "-A", "-o", "yaml"]
        dumped = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True, timeout=60)
        (tmp_path / "dump.yaml").write_bytes(dumped.stdout)
        monkeypatch.setenv("KUBECONFIG", str(first))
        for source in ("moorage", str(tmp_path / "dump.yaml")):
            copy = _plane(tmp_path / f"copy-{len(planes)}", source=source)
            planes.append(copy)
            await copy.start()
            await asyncio.sleep(0.3)  # time to do something wrong
            assert copy.notes == []
            assert await _state(tmp_path / f"copy-{len(planes) - 1}") == before
    finally:
        for plane in planes:
            await plane.stop()
