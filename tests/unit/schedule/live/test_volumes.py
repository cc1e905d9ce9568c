"""Pods with volumes: what is written before the pod is bound, and what it waits for."""

from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import running, settle

from moorage.model.kinds import KINDS

SELECTED = "volume.kubernetes.io/selected-node"


def world(provisioner: str = "kubernetes.io/no-provisioner") -> FakeApi:
    """A node, a class that waits for consumers, a claim, and a pod that uses it."""
    api = FakeApi()
    api.node("n1")
    mode = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": provisioner}
    api.put(KINDS.STORAGE_CLASS, {"metadata": {"name": "late"}, **mode})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "late",
    }
    api.put(KINDS.PERSISTENT_VOLUME_CLAIM, {"metadata": {"name": "data", "namespace": "default"}, "spec": spec})
    api.pod("user", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    return api


def add_volume(api: FakeApi) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
    api.put(KINDS.PERSISTENT_VOLUME, {"metadata": {"name": "disk"}, "spec": spec, "status": {"phase": "Available"}})


def bind_claim(api: FakeApi, **annotations: str) -> None:
    """What the volume controller does."""
    claim = api.raw("default/data", KINDS.PERSISTENT_VOLUME_CLAIM)
    noted = {**claim["metadata"].get("annotations", {}), "pv.kubernetes.io/bind-completed": "yes", **annotations}
    metadata = {**claim["metadata"], "annotations": noted}
    api.put(
        KINDS.PERSISTENT_VOLUME_CLAIM, {**claim, "metadata": metadata, "spec": {**claim["spec"], "volumeName": "disk"}}
    )


async def test_a_volume_is_bound_to_its_claim_before_the_pod_is_bound() -> None:
    api = world()
    add_volume(api)
    async with running(api) as live:
        assert api.nodes_of_pods() == {"user": ""}
        volume = api.raw("disk", KINDS.PERSISTENT_VOLUME)
        claim = api.raw("default/data", KINDS.PERSISTENT_VOLUME_CLAIM)
        assert volume["spec"]["claimRef"]["name"] == "data"
        assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
        assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        assert api.raw("default/user")["status"]["nominatedNodeName"] == "n1"
        bind_claim(api)
        await settle()
        assert api.nodes_of_pods() == {"user": "n1"}
        assert live.scheduler.cluster.storage.decisions == {}


async def test_pod_whose_volumes_are_bound_is_bound_without_another_write() -> None:
    """As PreBindPreFlight of VolumeBinding, which skips pods whose claims are all bound."""
    api = world()
    add_volume(api)
    bind_claim(api)
    async with running(api):
        await settle()
        assert api.nodes_of_pods() == {"user": "n1"}
        assert [verb for verb, key in api.calls if key == "default/user"] == ["bind"]


async def test_a_claim_names_the_node_for_which_a_volume_is_made() -> None:
    api = world("disks.example.com")
    async with running(api):
        assert api.raw("default/data", KINDS.PERSISTENT_VOLUME_CLAIM)["metadata"]["annotations"] == {SELECTED: "n1"}
        assert api.nodes_of_pods() == {"user": ""}
        add_volume(api)
        bind_claim(api)
        await settle()
        assert api.nodes_of_pods() == {"user": "n1"}


async def test_a_pod_whose_volume_is_not_made_in_time_is_tried_again() -> None:
    api = world("disks.example.com")
    async with running(api) as live:
        await settle(599)
        assert "FailedScheduling" not in [reason for _, reason, _ in api.recorded]
        await settle(2)
        said = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
        assert ("user", "FailedScheduling", said) in api.recorded
        assert len(live.assumptions) == 1  # it is waiting again


async def test_a_provisioner_that_gives_up_sends_the_pod_back() -> None:
    api = world("disks.example.com")
    async with running(api):
        claim = api.raw("default/data", KINDS.PERSISTENT_VOLUME_CLAIM)
        api.put(KINDS.PERSISTENT_VOLUME_CLAIM, {**claim, "metadata": {**claim["metadata"], "annotations": {}}})
        await settle()
        said = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
        assert ("user", "FailedScheduling", said) in api.recorded
        await settle(5)
        assert api.raw("default/data", KINDS.PERSISTENT_VOLUME_CLAIM)["metadata"]["annotations"] == {SELECTED: "n1"}


async def test_a_pod_that_goes_while_its_volumes_are_awaited_is_forgotten() -> None:
    api = world("disks.example.com")
    async with running(api) as live:
        api.drop(KINDS.POD, "default/user")
        bind_claim(api)
        await settle()
        assert len(live.assumptions) == 0
        assert live.scheduler.cluster.pods == {}
        assert not [call for call in api.calls if call[0] == "bind"]
