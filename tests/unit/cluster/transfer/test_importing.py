"""The state of a real cluster in a simulated one: nothing moves, nothing is made anew, what is left out is said."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.cluster.transfer.importing import import_objects
from moorage.cluster.transfer.other_cluster import Foreign, OtherCluster
from moorage.model.gates import Component, default_gates, gates_from
from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import SIMULATED_SHUTDOWN as SHUTDOWN
from moorage.run.node_objects import STOPPED
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.serve.cluster.bootstrap import TOKEN_TRACKING
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

pytestmark = pytest.mark.real_time

REAL = Path(__file__).with_name("real_cluster.yaml")
JOB_UID = "99999999-0000-0000-0000-000000000001"


def _plane(kubeconfig: Path, **more: Any) -> ControlPlane:
    options = {"nodes": None, "data_dir": None, "manifests": (), "wait_seconds": 20.0, **more}
    settings = Settings(
        gates=dict.fromkeys(Component, gates_from({})),
        configuration=DEFAULT_CONFIGURATION,
        simulates=True,
        bind_address="127.0.0.1",
        port=0,
        kubeconfig=kubeconfig,
        **options,
    )
    return ControlPlane(settings)


async def _objects(kubeconfig: Path) -> dict[tuple[str, str], Any]:
    client = HttpClient(load_access(str(kubeconfig)))
    try:
        return {
            (kind.name, item.key): item.raw
            for kind in KINDS.values()
            if kind.gate is None
            for item in (await client.list_all(kind)).items
        }
    finally:
        await client.close()


async def test_a_real_cluster_stays_as_it_is(tmp_path: Path) -> None:
    plane = _plane(tmp_path / "kubeconfig", source=str(REAL), wait_seconds=0.0)
    await plane.start()
    try:
        await asyncio.sleep(0.5)
        found = await _objects(tmp_path / "kubeconfig")
        pods = {key: pod for (kind, key), pod in found.items() if kind == "Pod"}
        running = {key for key, pod in pods.items() if pod["spec"].get("nodeName") == "ip-10-0-0-1"}
        assert running == {
            "kube-system/kube-apiserver-ip-10-0-0-1",
            *("shop/web-7d4b9c-abcde", "shop/db-0", "shop/report-xyz12", "shop/canary-1", "extra/by-hand"),
        }
        assert set(pods) == running
        assert {pod["status"]["phase"] for pod in pods.values()} == {"Running"}
        web = pods["shop/web-7d4b9c-abcde"]
        assert web["spec"]["ephemeralContainers"][0]["name"] == "debugger"
        assert (web["status"]["podIP"], web["status"]["containerStatuses"][0]["restartCount"]) == ("10.244.0.7", 3)
        assert web["metadata"]["creationTimestamp"] == "2025-01-01T00:00:00Z"

        claim, volume = (
            found["PersistentVolumeClaim", "shop/data-db-0"],
            next(raw for (kind, _), raw in found.items() if kind == "PersistentVolume"),
        )
        assert (claim["status"]["phase"], volume["status"]["phase"]) == ("Bound", "Bound")
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        job = found["Job", "shop/report"]
        assert job["metadata"]["uid"] == JOB_UID
        assert job["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": JOB_UID}
        assert job["status"]["active"] == 1
        assert [key for kind, key in found if kind == "ReplicaSet"] == ["shop/web-7d4b9c"]
        assert [key for kind, key in found if kind == "ControllerRevision"] == ["shop/db-59fd7dd55b"]
        assert found["Service", "shop/web"]["spec"]["clusterIP"] == "172.20.3.4"

        nodes = {key: raw for (kind, key), raw in found.items() if kind == "Node"}
        assert set(nodes) == {"ip-10-0-0-1", "ip-10-0-0-2"}  # and none made besides
        assert nodes["ip-10-0-0-1"]["status"]["allocatable"]["cpu"] == "3920m"
        assert nodes["ip-10-0-0-2"]["status"]["conditions"][0]["status"] == "Unknown"

        namespace, here = found["Namespace", "default"], pods["shop/canary-1"]["metadata"]["ownerReferences"]
        assert namespace["metadata"]["labels"]["team"] == "core"
        assert {owner["kind"]: owner["uid"] for owner in here} == {
            "Rollout": "aaaaaaaa-0000-0000-0000-000000000009",
            "Namespace": namespace["metadata"]["uid"],
        }
        about = found["Event", "shop/canary-1.1"]["involvedObject"]["uid"]
        assert about == pods["shop/canary-1"]["metadata"]["uid"]
    finally:
        await plane.stop()
    said = "\n".join(plane.notes)
    assert "not served here, and left out: 1 Boat (example.com/v1), 2 Harbour" in said
    assert "owners that are not in the input, whose objects stay without them: 1 ConfigMap gone" in said
    assert 'Pod "broken" is invalid' in said


ODD = """
apiVersion: v1
kind: Pod
metadata: [1]
---
apiVersion: v1
kind: Node
metadata: {name: n, uid: u, labels: {a: 1}}
---
apiVersion: v1
kind: Node
metadata: {name: noted, uid: xx, annotations: [1]}
status: {conditions: [{type: Ready, status: "False"}]}
---
apiVersion: v1
kind: Node
metadata: {name: fine, uid: x}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: "", uid: z}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: q, uid: zz, namespace: "Bad Name"}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: q, namespace: "Another Bad Name"}
"""


async def test_objects_that_are_wrong_in_any_way_are_left_out_and_the_rest_comes(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(ODD)
    plane = _plane(tmp_path / "kubeconfig", source=str(tmp_path / "odd.yaml"), wait_seconds=0.0)
    await plane.start()
    try:
        found = await _objects(tmp_path / "kubeconfig")
        assert [key for kind, key in found if kind == "Node"] == ["fine"]
        own = ("extension-apiserver-authentication", "kube-root-ca.crt", TOKEN_TRACKING)
        assert {key.rpartition("/")[2] for kind, key in found if kind in ("Pod", "ConfigMap")} <= set(own)
    finally:
        await plane.stop()
    places = [note.partition("odd.yaml:")[2].partition(":")[0] for note in plane.notes if "left out" in note]
    assert sorted(places, key=int) == ["2", "6", "10", "20", "25", "30"]


@pytest.mark.parametrize(
    ("status", "message", "annotations", "is_stopped"),
    [
        ("True", "", {}, False),
        ("False", "node is shutting down", {SHUTDOWN: "true"}, False),
        ("False", "node is shutting down", {}, True),
        ("False", "container runtime is down", {SHUTDOWN: "true"}, True),
        ("Unknown", "node is shutting down", {SHUTDOWN: "true"}, True),
    ],
)
async def test_a_node_that_is_not_ready_stays_so_unless_its_shutdown_is_simulated(
    status: str, message: str, annotations: dict[str, str], is_stopped: bool
) -> None:
    ready = {"type": "Ready", "status": status, "reason": "KubeletNotReady", "message": message}
    metadata = {"name": "n", "uid": "u", "annotations": annotations}
    document = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": [ready]}}
    api = Api(MemoryStore(), default_gates())
    await api.start()
    assert not await import_objects(api, OtherCluster([Foreign(document, "")], Counter(), []))
    imported = (await LoopbackClient(api).get(KINDS.NODE, "n")).view
    assert imported.metadata.annotations == annotations | ({STOPPED: "true"} if is_stopped else {})


async def test_a_cluster_that_has_objects_takes_no_other(tmp_path: Path) -> None:
    data = tmp_path / "data"
    plane = _plane(tmp_path / "kubeconfig", data_dir=data, nodes=1)
    await plane.start()
    await plane.stop()
    plane = _plane(tmp_path / "kubeconfig", data_dir=data, source=str(REAL))
    with pytest.raises(CannotStart, match="--from: the cluster is not new, it has 1 nodes"):
        await plane.start()
    await plane.stop()


async def test_neither_a_file_nor_a_context_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    plane = _plane(tmp_path / "kubeconfig", source="production")
    with pytest.raises(CannotStart, match="--from: production is neither a file nor a context"):
        await plane.start()
    await plane.stop()


MANY = """
apiVersion: v1
kind: Pod
metadata: {name: one}
---
apiVersion: example.com/v1
kind: Harbour
metadata: {name: two}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fine}
---
apiVersion: v1
kind: Pod
metadata: {name: UPPER}
spec: {containers: [{name: c, image: i}]}
"""


async def test_load_reports_all_refusals_at_once_and_skips_unserved_kinds(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    (tmp_path / "fine.yaml").write_text("\n---\n".join(MANY.split("\n---\n")[1:3]))
    plane = _plane(tmp_path / "kubeconfig", manifests=(str(path),), nodes=0)
    with pytest.raises(CannotStart) as caught:
        await plane.start()
    await plane.stop()
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1].rpartition("/")[2] for line in lines] == ["many.yaml:2", "many.yaml:6", "many.yaml:14"]
    assert "Harbour is a kind that Moorage does not serve (--skip-unserved leaves it out)" in lines[1]

    plane = _plane(tmp_path / "kubeconfig", manifests=(str(tmp_path / "fine.yaml"),), nodes=0, skips_unserved=True)
    await plane.start()
    assert ("ConfigMap", "default/fine") in await _objects(tmp_path / "kubeconfig")
    assert plane.notes == ["--load: not served here, and left out: 1 Harbour (example.com/v1)"]
    await plane.stop()
