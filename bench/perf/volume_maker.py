"""A PersistentVolume and a claim for each pod, bound to one another, as createPods makes them.

Kubernetes: CreatePodWithPersistentVolume in test/utils/runners.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.perf.objects import prepare, view
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim

if TYPE_CHECKING:
    from bench.perf.cluster_objects import ClusterObjects
    from bench.perf.templates import Template


class VolumeMaker:
    """Volumes and claims of one createPods."""

    def __init__(self, volume: Template, claim: Template) -> None:
        self._volume = prepare(volume.document())
        self._claim = prepare(claim.document())

    def add(self, objects: ClusterObjects, namespace: str, index: int, now: float) -> str:
        """One of each; returns the claim's name."""
        name, volume_name = f"pvc-{index}", f"{namespace}-vol-{index}"
        spec = dict(self._volume.get("spec") or {})
        if "csi" in spec:
            spec["csi"] = {**spec["csi"], "volumeHandle": volume_name}
        elif "awsElasticBlockStore" in spec:
            spec["awsElasticBlockStore"] = {**spec["awsElasticBlockStore"], "volumeID": f"vol-{index}"}
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        volume = {
            **self._volume,
            "metadata": {**self._volume["metadata"], "name": volume_name},
            "spec": {**spec, "claimRef": reference},
            "status": {"phase": "Bound"},
        }
        claim = {
            **self._claim,
            "metadata": {**self._claim["metadata"], "name": name, "namespace": namespace},
            "spec": {**(self._claim.get("spec") or {}), "volumeName": volume_name},
            "status": {"phase": "Bound"},
        }
        objects.add_storage(view(claim, PersistentVolumeClaim, "claim template"), now)
        objects.add_storage(view(volume, PersistentVolume, "volume template"), now)
        return name
