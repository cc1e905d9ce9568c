"""`moorage up` from inside: what is there when it is ready, and when it is started again on the same data."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from moorage.cli.commands.up import command, stored_in
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.admission_plugins import MOUNTS_TOKENS
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.cluster.kept.places import default_data_dir
from moorage.model.gates import Component, gates_from
from moorage.model.kinds import KINDS
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[3]
STORIES = tuple(str(story.parent) for story in sorted((ROOT / "examples").glob("*/story.md")))


def _settings(data_dir: Path | None, kubeconfig: Path | None = None, **more: Any) -> Settings:
    options = {
        "gates": dict.fromkeys(Component, gates_from({})),
        "configuration": DEFAULT_CONFIGURATION,
        "nodes": 0,
        "simulates": True,
        "bind_address": "127.0.0.1",
        "port": 0,
        "manifests": (),
        **more,
    }
    return Settings(data_dir=data_dir, kubeconfig=kubeconfig, **options)


async def _names(plane: ControlPlane) -> list[str]:
    """By way of the kubeconfig that it has written."""
    client = HttpClient(load_access(str(plane.kubeconfig_path)))
    try:
        return sorted(node.name for node in (await client.list_all(KINDS.NODE)).items)
    finally:
        await client.close()


async def test_nodes_stay_when_fewer_are_asked_for_and_come_when_more_are(tmp_path: Path) -> None:
    for asked, there in ((3, 3), (1, 3), (5, 5)):
        plane = ControlPlane(_settings(tmp_path / "data", nodes=asked))
        await plane.start()
        try:
            assert plane.node_count == there
            assert await _names(plane) == [f"node-{number}" for number in range(1, there + 1)]
            assert plane.kubeconfig_path == tmp_path / "data" / "kubeconfig"
            assert stat.S_IMODE(plane.kubeconfig_path.stat().st_mode) == 0o600
        finally:
            await plane.stop()


async def test_a_cluster_that_is_not_kept_takes_its_kubeconfig_along() -> None:
    plane = ControlPlane(_settings(None, nodes=1))
    await plane.start()
    assert await _names(plane) == ["node-1"]
    await plane.stop()
    assert not plane.kubeconfig_path.exists()
    assert not plane.kubeconfig_path.parent.exists()


async def test_without_simulation_nodes_are_somebody_elses(tmp_path: Path) -> None:
    plane = ControlPlane(_settings(None, tmp_path / "kubeconfig", simulates=False))
    await plane.start()
    try:
        assert plane.node_count == 0
        client = HttpClient(load_access(str(tmp_path / "kubeconfig")))
        await client.create(KINDS.NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}})
        await asyncio.sleep(0)
        assert not (await client.get(KINDS.NODE, "mine")).raw.get("status", {}).get("conditions")
        await client.close()
    finally:
        await plane.stop()


@pytest.mark.parametrize("plugins", [frozenset(), frozenset({MOUNTS_TOKENS})], ids=["off", "on"])
async def test_pods_get_tokens_where_the_plugin_is_enabled(plugins: frozenset[str], tmp_path: Path) -> None:
    plane = ControlPlane(_settings(None, tmp_path / "kubeconfig", plugins=plugins))
    await plane.start()
    try:
        client = HttpClient(load_access(str(tmp_path / "kubeconfig")))
        spec = {"containers": [{"name": "a", "image": "a"}]}
        await client.create(KINDS.POD, {"metadata": {"name": "p"}, "spec": spec}, "default")
        pod = (await client.get(KINDS.POD, "p", "default")).raw
        await client.close()
    finally:
        await plane.stop()
    volumes = [volume["name"] for volume in pod["spec"].get("volumes", ())]
    mounts = [mount["name"] for mount in pod["spec"]["containers"][0].get("volumeMounts", ())]
    assert mounts == volumes
    assert [name.startswith("kube-api-access-") for name in volumes] == [True] * len(plugins)


async def test_all_examples_can_be_loaded_at_once(tmp_path: Path) -> None:
    gates = dict.fromkeys(Component, gates_from({"AllAlpha": True, "AllBeta": True}))
    settings = _settings(None, tmp_path / "kubeconfig", gates=gates, manifests=STORIES)
    plane = ControlPlane(settings)
    await plane.start()
    try:
        client = HttpClient(load_access(str(tmp_path / "kubeconfig")))
        pods = {pod.key for pod in (await client.list_all(KINDS.POD)).items}
        assert {"default/tolerant-pod", "default/pinned-pod"} <= pods
        assert plane.node_count == len((await client.list_all(KINDS.NODE)).items) > 20
        async with asyncio.timeout(60):
            while (await client.get(KINDS.POD, "dra-workload", "default")).raw["status"]["phase"] != "Running":
                await asyncio.sleep(0.05)
        await client.close()
    finally:
        await plane.stop()


DUMPED = """
apiVersion: v1
kind: Node
metadata: {name: gpu-1, uid: 5d4ef6f8-5bd5-43ad-b5ba-06b2a1a7f3ab}
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata:
  name: gpu-1-slice
  ownerReferences: [{apiVersion: v1, kind: Node, name: NODE, uid: 5d4ef6f8-5bd5-43ad-b5ba-06b2a1a7f3ab}]
spec:
  driver: gpu.example.com
  nodeName: gpu-1
  pool: {name: gpu-1, generation: 3, resourceSliceCount: 1}
  devices: [{name: gpu-0, basic: {}}]
"""


@pytest.mark.parametrize(("owner", "owners"), [("gpu-1", ["gpu-1"]), ("another", [])])
async def test_slices_of_another_cluster_belong_to_the_nodes_of_this_one(
    owner: str, owners: list[str], tmp_path: Path
) -> None:
    """Else the garbage collector would delete them: their owner has another UID here, or is not there."""
    path = tmp_path / "dumped.yaml"
    path.write_text(DUMPED.replace("NODE", owner))
    plane = ControlPlane(_settings(None, tmp_path / "kubeconfig", manifests=(str(path),)))
    await plane.start()
    try:
        client = HttpClient(load_access(str(tmp_path / "kubeconfig")))
        await asyncio.sleep(1)
        found = await client.get(KINDS.RESOURCE_SLICE, "gpu-1-slice")
        node = await client.get(KINDS.NODE, "gpu-1")
        references = found.raw["metadata"].get("ownerReferences", [])
        assert [(one["name"], one["uid"]) for one in references] == [(name, node.uid) for name in owners]
        await client.close()
    finally:
        await plane.stop()


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{apiVersion: v1, kind: Pod, metadata: {name: p}}", "bad.yaml:1: "),
        ("{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: p}}", "write apiVersion: apps/v1 (--skip-"),
        ("{apiVersion: example.com/v1, kind: Thing, metadata: {name: p}}", "a kind that Moorage does not serve"),
        ("a: [", "bad.yaml:1"),
        ("# nothing", "bad.yaml: no objects passed to apply"),
        ("{apiVersion: v1, kind: List, items: []}", "bad.yaml: no objects passed to apply"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: x",
            "bad.yaml:3: json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 5",
            "bad.yaml:4: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
    ],
)
async def test_a_manifest_that_is_refused_ends_the_start(manifest: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(manifest)
    plane = ControlPlane(_settings(None, tmp_path / "kubeconfig", manifests=(str(path),)))
    with pytest.raises(CannotStart) as caught:
        await plane.start()
    assert str(caught.value).startswith("--load: ")
    assert said in str(caught.value)
    await plane.stop()
    assert not (tmp_path / "kubeconfig").exists()


def test_data_is_kept_where_the_user_keeps_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / "moorage"
    assert stored_in(None, ephemeral=False) == tmp_path / "moorage"
    assert stored_in(None, ephemeral=True) is None
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / ".local" / "state" / "moorage"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ephemeral", "--data-dir", "x"], "--ephemeral keeps nothing"),
        (["--nodes", "-1"], "--nodes"),
        (["--port", "70000"], "--port"),
        (
            ["--kubelet-feature-gates", "Nonsense=true"],
            "'--kubelet-feature-gates': unrecognized feature gate: Nonsense",
        ),
        (["--config", "nowhere.yaml"], "nowhere.yaml: No such file"),
    ],
)
def test_bad_usage_is_refused(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert said in result.output
