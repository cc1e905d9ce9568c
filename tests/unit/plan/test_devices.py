"""Devices of nodes in plans: from annotations, unless the input has slices."""

from tests.unit.plan.planning import Plan, Raw, node

from moorage.model.kinds import KINDS


def annotated(name: str, devices: str) -> Raw:
    made = node(name)
    made["metadata"]["annotations"] = {"simulate.moorage.dev/devices": devices}
    return made


def test_annotated_nodes_have_devices() -> None:
    spec: Raw = {"driver": "nic.example.com", "nodeName": "b", "devices": [{"name": "mine"}]}
    spec |= {"pool": {"name": "b", "generation": 1, "resourceSliceCount": 1}}
    own = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "own"}, "spec": spec}
    nodes = annotated("a", "gpu.example.com=2"), annotated("b", "gpu.example.com=1,nic.example.com=4"), node("c")
    simulation = Plan(*nodes, own).simulation
    found = {
        (one.view.spec.nodeName, one.view.spec.driver): [device.name for device in one.view.spec.devices]
        for one in simulation.world.all(KINDS.RESOURCE_SLICE)
    }
    assert found == {
        ("a", "gpu.example.com"): ["gpu-0", "gpu-1"],
        ("b", "gpu.example.com"): ["gpu-0"],
        ("b", "nic.example.com"): ["mine"],
    }


def test_devices_that_the_api_refuses_are_noted() -> None:
    made = Plan(annotated("a", "[{driver: gpu.example.com, taints: [{key: a b, effect: NoSchedule}]}]"))

    assert list(made.simulation.world.all(KINDS.RESOURCE_SLICE)) == []
    assert any("has devices that are refused" in note for note in made.notes)
