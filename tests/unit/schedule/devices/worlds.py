"""Small worlds with devices for tests of the scheduler."""

from typing import Any

from moorage.columns.cluster import Cluster
from moorage.model.gates import GateSet, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.cycle import Action, Scheduler
from moorage.schedule.live.feed import SurroundingsFeed
from moorage.schedule.plugins.spread_domains import DefaultSelectors

Raw = dict[str, Any]
DRIVER = "gpu.example.com"


class World:
    """Nodes with a slice of devices each, the class `gpu`, and a scheduler."""

    def __init__(self, *nodes: str, devices: int = 2, selector: str = "true", gates: GateSet | None = None) -> None:
        gates = gates or default_gates()
        self.cluster = Cluster(0, gates)
        self.scheduler = Scheduler({DEFAULT_SCHEDULER: default_profile(gates)}, self.cluster)
        self.feed = SurroundingsFeed(self.scheduler, DefaultSelectors())
        self.claims: dict[str, ResourceClaim] = {}
        for name in nodes:
            self.node(name)
            self.slice(name, devices)
        cel = [{"cel": {"expression": selector}}]
        self.take("DeviceClass", DeviceClass, {"metadata": {"name": "gpu"}, "spec": {"selectors": cel}})

    def take(self, kind: str, view: type[Any], raw: Raw, now: float = 0.0, old: Any = None) -> Any:
        made = convert_view(raw, view)
        self.feed.changed(kind, old, made, now)
        return made

    def node(self, name: str, now: float = 0.0, **spec: Any) -> None:
        allocatable = {"cpu": "8", "memory": "8Gi", "pods": "100"}
        metadata = {"name": name, "labels": {"example.com/name": name}}
        raw = {"metadata": metadata, "spec": spec, "status": {"allocatable": allocatable}}
        self.scheduler.node_added(convert_view(raw, Node), now)

    def slice(self, node: str, devices: int, now: float = 0.0, **device: Any) -> None:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": f"gpu-{i}", **device} for i in range(devices)]
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
        self.take("ResourceSlice", ResourceSlice, {"metadata": {"name": f"slice-{node}"}, "spec": spec}, now)

    def claim(self, name: str, status: Raw | None = None, now: float = 0.0, count: int = 1, **request: Any) -> None:
        exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **request}
        raw = {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
            "status": status or {},
        }
        self.claims[name] = self.take("ResourceClaim", ResourceClaim, raw, now, self.claims.get(name))

    def pod(self, name: str, *claims: str, now: float = 0.0, **spec: Any) -> Pod:
        named = [{"name": claim, "resourceClaimName": claim} for claim in claims]
        raw = {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {
                "schedulerName": DEFAULT_SCHEDULER,
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": named,
                **spec,
            },
        }
        pod = convert_view(raw, Pod)
        self.scheduler.add(self.cluster.record(f"default/{name}", pod), now)
        return pod

    def step(self, now: float = 0.0) -> Action | None:
        return self.scheduler.step(now)


def allocated(node: str, device: str = "gpu-0", selects: bool = True, **result: Any) -> Raw:
    """Return the status of a claim that has a device."""
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": device, **result}]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    selector = {"nodeSelector": {"nodeSelectorTerms": [term]}} if selects else {}
    return {"allocation": {"devices": {"results": results}, **selector}}
