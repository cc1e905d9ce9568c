"""Claims, templates, slices and pods as short as tests want them, and what a scheduler writes into claims."""

from random import Random
from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Object
from moorage.control.framework.controller import ControllerContext
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE

Raw = dict[str, Any]
DRIVER = "gpu.example.com"


def context(gates: GateSet | None = None, seed: int = 0) -> ControllerContext:
    return controller_context(gates)._replace(random=Random(seed).random)


def claim_spec(**more: Any) -> Raw:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **more}}]}}


def claim(name: str, **spec: Any) -> Raw:
    metadata = {"name": name}
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM.api_version,
        "kind": KINDS.RESOURCE_CLAIM.name,
        "metadata": metadata,
        "spec": claim_spec(**spec),
    }


def template(name: str, metadata: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM_TEMPLATE.api_version,
        "kind": KINDS.RESOURCE_CLAIM_TEMPLATE.name,
        "metadata": {"name": name},
        "spec": {"metadata": metadata or {}, "spec": claim_spec(**spec)},
    }


def pod(name: str, on: str = "", **claims: str) -> Raw:
    """A pod with claims by name; a name that begins with "of:" is that of a template."""
    entries = [
        {"name": entry, "resourceClaimTemplateName": source[3:]}
        if source.startswith("of:")
        else {"name": entry, "resourceClaimName": source}
        for entry, source in claims.items()
    ]
    spec: Raw = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": entry} for entry in claims]}}],
        "resourceClaims": entries,
        "terminationGracePeriodSeconds": 0,
    }
    if on:
        spec["nodeName"] = on
    metadata = {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def device_slice(name: str, devices: dict[str, list[Raw]], *, pool: str = "pool", generation: int = 1) -> Raw:
    """A slice for all nodes; taints by the names of devices."""
    published = [{"name": one, **({"taints": taints} if taints else {})} for one, taints in devices.items()]
    about = {"name": pool, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": about, "allNodes": True, "devices": published}
    return {
        "apiVersion": KINDS.RESOURCE_SLICE.api_version,
        "kind": KINDS.RESOURCE_SLICE.name,
        "metadata": {"name": name},
        "spec": spec,
    }


def rule(name: str, taint: Raw, **selector: str) -> Raw:
    spec = {"deviceSelector": selector, "taint": taint}
    return {
        "apiVersion": KINDS.DEVICE_TAINT_RULE.api_version,
        "kind": KINDS.DEVICE_TAINT_RULE.name,
        "metadata": {"name": name},
        "spec": spec,
    }


def consumer(found: Object) -> Raw:
    return {"resource": "pods", "name": found.name, "uid": found.uid}


class Claims(VirtualCluster):
    """A cluster in which the test is the scheduler and the kubelet."""

    namespace = "default"

    async def make(self, *documents: Raw) -> None:
        for document in documents:
            kind = KINDS[document["apiVersion"], document["kind"]]
            metadata = {**document["metadata"], **({"namespace": self.namespace} if kind.namespaced else {})}
            await self.client.create(kind, {**document, "metadata": metadata}, metadata.get("namespace", ""))

    async def get(self, name: str) -> Object:
        return await self.client.get(KINDS.RESOURCE_CLAIM, name, self.namespace)

    async def pod(self, name: str) -> Object:
        return await self.client.get(KINDS.POD, name, self.namespace)

    async def generated(self, pod: str) -> dict[str, str]:
        """The names of the claims in a pod's status, by entry."""
        statuses = (await self.pod(pod)).view.status.resourceClaimStatuses
        return {one.name: one.resourceClaimName for one in statuses}

    async def allocate(
        self, name: str, *pods: str, device: str = "gpu-0", tolerations: list[Raw] | None = None
    ) -> None:
        """Add the finalizer, the allocation and the consumers, as the scheduler does."""
        found = await self.get(name)
        metadata = {**found.raw["metadata"], "finalizers": [RESOURCE_CLAIM_IN_USE]}
        found = await self.client.update(KINDS.RESOURCE_CLAIM, {**found.raw, "metadata": metadata})
        result: Raw = {"request": "gpu", "driver": DRIVER, "pool": "pool", "device": device}
        if tolerations:
            result["tolerations"] = tolerations
        consumers = [consumer(await self.pod(one)) for one in pods]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": consumers}
        await self.client.update(KINDS.RESOURCE_CLAIM, {**found.raw, "status": status}, subresource="status")

    async def finish(self, name: str, phase: str = "Succeeded") -> None:
        await self.client.patch(KINDS.POD, name, self.namespace, {"status": {"phase": phase}}, subresource="status")

    def messages(self, reason: str) -> list[str]:
        return [event.message for event in self.events if event.reason == reason]
