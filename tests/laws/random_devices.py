"""Random devices: slices of a few nodes and of all, classes, rules and claims, and what happens to them.

`RandomDevices.step` lets one random thing happen to a cluster and keeps the objects, so that all can be worked out
anew from them.
"""

from random import Random
from typing import Any

from moorage.columns.cluster import Cluster
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

Raw = dict[str, Any]
GATES = default_gates().with_gate(DRA_DEVICE_TAINT_RULES, True)
DRIVERS = ["gpu.example.com", "nic.example.com"]
NODES = ["n0", "n1", "n2", "n3"]
CLAIMS = [f"c{i}" for i in range(6)]
_VIEWS: dict[str, Any] = {
    "classes": DeviceClass,
    "slices": ResourceSlice,
    "rules": DeviceTaintRule,
    "claims": ResourceClaim,
}


def _device(random: Random, name: str) -> Raw:
    device: Raw = {"name": name, "attributes": {"model": {"string": random.choice("ab")}}}
    device["capacity"] = {"memory": {"value": random.choice(["10Gi", "20Gi"])}}
    if random.random() < 0.2:
        device["allowMultipleAllocations"] = True
    if random.random() < 0.2:
        device["taints"] = [{"key": "worn", "value": random.choice(["3", "9"]), "effect": "NoSchedule"}]
    return device


def random_slice(random: Random, name: str) -> Raw:
    """Return a slice of a node, of a zone or of all nodes; pools may be incomplete, or have several generations."""
    where = random.choice([*NODES, *NODES, "zone", "all"])
    spec: Raw = {
        "driver": random.choice(DRIVERS),
        "pool": {
            "name": where,
            "generation": random.choice([1, 1, 1, 2]),
            "resourceSliceCount": random.choice([1, 1, 1, 2]),
        },
        "devices": [_device(random, f"{name}-{i}") for i in range(random.randint(1, 3))],
    }
    if where in NODES:
        spec["nodeName"] = where
    elif where == "all":
        spec["allNodes"] = True
    else:
        expression = {"key": "zone", "operator": "In", "values": [random.choice("xy")]}
        spec["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"metadata": {"name": name}, "spec": spec}


def _request(random: Random) -> Raw:
    wanted: Raw = {"deviceClassName": random.choice(["any", "a", "gone"] if random.random() < 0.1 else ["any", "a"])}
    wanted |= {"allocationMode": "ExactCount", "count": random.choice([1, 1, 2])}
    if random.random() < 0.1:
        wanted |= {"allocationMode": "All", "count": 0}
    if random.random() < 0.3:
        operator = random.choice(["Exists", "Equal"])
        wanted["tolerations"] = [{"key": "worn", "operator": operator, "value": "3" if operator == "Equal" else ""}]
    if random.random() < 0.1:
        wanted["selectors"] = [{"cel": {"expression": f'device.attributes["{DRIVERS[0]}"].model == "a"'}}]
    return wanted


def random_claim(random: Random, name: str) -> Raw:
    if random.random() < 0.3:
        alternatives = [{"name": f"s{i}", **_request(random)} for i in range(2)]
        requests: list[Raw] = [{"name": "r0", "firstAvailable": alternatives}]
    else:
        requests = [{"name": f"r{i}", "exactly": _request(random)} for i in range(random.randint(1, 2))]
    devices: Raw = {"requests": requests}
    if random.random() < 0.2:
        devices["constraints"] = [{"matchAttribute": f"{DRIVERS[0]}/model"}]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}-{random.randint(0, 1)}"},
        "spec": {"devices": devices},
    }


def random_allocation(random: Random, slices: list[Raw]) -> Raw:
    """Return an allocation of devices that are there, or were."""
    results = []
    for _ in range(random.randint(1, 2)):
        spec = random.choice(slices)["spec"]
        device = random.choice(spec["devices"])
        result = {"request": "r0", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
        if device.get("allowMultipleAllocations"):
            result |= {"shareID": f"{random.getrandbits(64):x}", "consumedCapacity": {"memory": "10Gi"}}
        results.append(result)
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [random.choice(NODES)]}]}
    selector = {"nodeSelector": {"nodeSelectorTerms": [term]}} if random.random() < 0.5 else {}
    return {"devices": {"results": results}, **selector}


class RandomDevices:
    """A cluster, and the raw objects in it by kind and name."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(0, GATES)
        self.objects: dict[str, dict[str, Raw]] = {kind: {} for kind in _VIEWS}
        for name in NODES:
            self.cluster.add_node(self._node(name))
        chosen = f'device.attributes["{DRIVERS[0]}"].?model.orValue("") == "a"'
        self._set("classes", {"metadata": {"name": "any"}, "spec": {}})
        self._set("classes", {"metadata": {"name": "a"}, "spec": {"selectors": [{"cel": {"expression": chosen}}]}})
        for name in ("s0", "s1", "s2"):
            self._set("slices", random_slice(self.random, name))
        for name in CLAIMS[:4]:
            self._set("claims", random_claim(self.random, name))

    def _node(self, name: str) -> Node:
        labels = {"zone": self.random.choice("xy")}
        allocatable = {"cpu": "64", "memory": "64Gi", "pods": "100"}
        return convert_view(
            {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}, Node
        )

    def _set(self, kind: str, raw: Raw) -> None:
        self.objects[kind][raw["metadata"]["name"]] = raw
        self.cluster.devices.set(convert_view(raw, _VIEWS[kind]))

    def _remove(self, kind: str, name: str) -> None:
        raw = self.objects[kind].pop(name, None)
        if raw is not None:
            self.cluster.devices.remove(convert_view(raw, _VIEWS[kind]))

    def step(self) -> None:
        """Let one random thing happen."""
        random, name = self.random, self.random.choice(CLAIMS)
        kind = random.randrange(8)
        if kind == 0:
            self._set("slices", random_slice(random, random.choice(["s0", "s1", "s2", "s3"])))
        elif kind == 1:
            self._remove("slices", random.choice(["s0", "s1", "s2", "s3"]))
        elif kind == 2:
            self._set("claims", random_claim(random, name))
        elif kind == 3 and name in self.objects["claims"] and self.objects["slices"]:
            status = {"allocation": random_allocation(random, list(self.objects["slices"].values()))}
            self._set("claims", {**self.objects["claims"][name], "status": status})
        elif kind == 4 and name in self.objects["claims"]:
            self._set("claims", {**self.objects["claims"][name], "status": {}})
        elif kind == 5:
            self._remove("claims", name)
        elif kind == 6:
            taint = {"key": "worn", "value": random.choice(["3", "9"]), "effect": "NoSchedule"}
            selector = random.choice([{"driver": DRIVERS[0]}, {"pool": "n1"}])
            rule = {"metadata": {"name": "rule"}, "spec": {"deviceSelector": selector, "taint": taint}}
            if random.random() < 0.5:
                self._set("rules", rule)
            else:
                self._remove("rules", "rule")
        else:
            self.cluster.update_node(self._node(random.choice(NODES)))

    def pod(self) -> Pod:
        """Return a pod that uses one or two claims."""
        names = self.random.sample(sorted(self.objects["claims"]) or ["none"], 1)
        if len(self.objects["claims"]) > 1 and self.random.random() < 0.3:
            names = self.random.sample(sorted(self.objects["claims"]), 2)
        claims = [{"name": name, "resourceClaimName": name} for name in names]
        raw = {
            "metadata": {"name": "pod", "namespace": "default", "uid": "uid-pod"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims},
        }
        return convert_view(raw, Pod)
