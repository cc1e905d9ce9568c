"""Bind a pod's volumes before the pod: write the decisions to volumes and claims, then wait until they are bound.

What was written stays if the pod does not get its node: the next attempt finds it. Kubernetes: volumebinding/binder.go,
BindPodVolumes. Differs: looks when a claim or volume changes, not every second.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from moorage.client.protocol import Client, Object, Raw, Unreachable
from moorage.columns.cluster import Cluster
from moorage.columns.storage import VolumeDecision
from moorage.match.node_selector import compile_node_selector
from moorage.match.volumes.claims import BIND_COMPLETED, SELECTED_NODE
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.types.storage import PersistentVolume
from moorage.model.well_known.annotations import BOUND_BY_CONTROLLER
from moorage.schedule.live.feed import SurroundingsFeed
from moorage.schedule.live.pod_feed import Assumption, Assumptions

DEFAULT_TIMEOUT_SECONDS = 600.0
_BINDING = "binding volumes: "


class VolumesNotBound(Exception):
    """A pod's volumes could not be bound; the text says why."""


class VolumeBinder:
    """Binds volumes of pods. `timeouts` has seconds by scheduler name."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        surroundings: SurroundingsFeed,
        assumptions: Assumptions,
        gates: GateSet,
        timeouts: Mapping[str, float],
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._surroundings = surroundings
        surroundings.claims_changed = self._look_again
        self._assumptions = assumptions
        self._gates = gates
        self._timeouts = timeouts
        self._changed = asyncio.Event()

    def _look_again(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def bind(self, assumption: Assumption, decisions: tuple[VolumeDecision, ...]) -> None:
        """Return when all claims are bound, or the assumption is resolved. Raises VolumesNotBound."""
        seen: set[VolumeDecision] = set()  # whose traces the watch has brought back to us
        try:
            for decision in sorted(decisions, key=lambda decision: not decision.volume):
                await self.write(decision)
        except (ApiError, Unreachable) as error:
            raise VolumesNotBound(str(error)) from None
        timeout = self._timeouts.get(assumption.action.pod.scheduler, DEFAULT_TIMEOUT_SECONDS)
        try:
            async with asyncio.timeout(timeout):
                while self._assumptions.holds(assumption):
                    changed = self._changed
                    bound = [self.is_bound(decision, seen) for decision in decisions]
                    if all(bound):
                        return
                    await changed.wait()
        except TimeoutError:
            raise VolumesNotBound(f"{_BINDING}context deadline exceeded") from None

    # -- writing ------------------------------------------------------------------------------------------------------

    async def write(self, decision: VolumeDecision) -> None:
        namespace, name = decision.claim
        claim = await self._client.get(KINDS.PERSISTENT_VOLUME_CLAIM, name, namespace)
        if not decision.volume:
            annotations = _metadata(claim).get("annotations") or {}
            if annotations.get(SELECTED_NODE) != decision.node:
                await self._annotate(claim, {SELECTED_NODE: decision.node}, {})
            return
        volume = await self._client.get(KINDS.PERSISTENT_VOLUME, decision.volume)
        reference = (volume.raw.get("spec") or {}).get("claimRef")
        patches = {
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": name,
            "uid": _metadata(claim).get("uid", ""),
            "apiVersion": "v1",
            "resourceVersion": str(claim.revision),
        }
        if reference is None:
            await self._annotate(volume, {BOUND_BY_CONTROLLER: "yes"}, {"claimRef": patches})
            return
        uid = reference.get("uid", "")
        if (reference.get("namespace"), reference.get("name")) != decision.claim or uid not in ("", patches["uid"]):
            raise VolumesNotBound(f"persistentvolume {go_quote(decision.volume)} was taken by another claim")
        if uid != patches["uid"]:
            await self._annotate(volume, {}, {"claimRef": patches})

    async def _annotate(self, claim: Object, annotations: Raw, spec: Raw) -> None:
        """Update annotations and parts of the spec; a conflict raises."""
        metadata = {**_metadata(claim), "resourceVersion": str(claim.revision)}
        if annotations:
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
        document = {**claim.raw, "metadata": metadata, "spec": {**(claim.raw.get("spec") or {}), **spec}}
        document.setdefault("apiVersion", claim.kind.api_version)
        document.setdefault("kind", claim.kind.name)
        await self._client.update(claim.kind, document)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def is_bound(self, decision: VolumeDecision, seen: set[VolumeDecision]) -> bool:
        """Return whether a claim is bound; raise VolumesNotBound if it never will be for this node."""
        node, (namespace, name) = decision.node, decision.claim
        slot = self._cluster.nodes.slot_of.get(node)
        if slot is None:
            raise VolumesNotBound(f"{_BINDING}failed to get node {go_quote(node)}: node {go_quote(node)} not found")
        claim = self._surroundings.claims.get((namespace, name))
        if claim is None:
            raise VolumesNotBound(
                f"{_BINDING}failed to check binding: persistentvolumeclaim {go_quote(name)} not found"
            )
        volume = self._surroundings.volumes.get(decision.volume or claim.spec.volumeName)
        if decision.volume:
            if volume is None:
                missing = f"persistentvolume {go_quote(decision.volume)} not found"
                raise VolumesNotBound(f"{_BINDING}failed to check binding: {missing}")
            is_written = volume.spec.claimRef is not None
            undone = f"ClaimRef got reset for pv {go_quote(decision.volume)}"
        else:
            is_written = claim.metadata.annotations.get(SELECTED_NODE) == node
            undone = f"provisioning failed for PVC {go_quote(name)}"
        if not is_written:
            if decision in seen:
                raise VolumesNotBound(f"{_BINDING}{undone}")
            return False
        seen.add(decision)
        if volume is not None:
            self._check_reach(volume, node, slot)
        return bool(claim.spec.volumeName) and BIND_COMPLETED in claim.metadata.annotations

    def _check_reach(self, volume: PersistentVolume, node: str, slot: int) -> None:
        affinity = volume.spec.nodeAffinity
        if affinity is None or affinity.required is None:
            return
        labels = self._cluster.nodes.node(slot).metadata.labels
        if not compile_node_selector(affinity.required, self._gates).match(labels, ""):
            name = go_quote(volume.metadata.name)
            reason = "no matching NodeSelectorTerms"
            raise VolumesNotBound(f"{_BINDING}pv {name} node affinity doesn't match node {go_quote(node)}: {reason}")


def _metadata(volume: Object) -> dict[str, Any]:
    return volume.raw.get("metadata") or {}
