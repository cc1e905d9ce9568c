"""scheduler_dra.json: the DynamicResources plugin alone, at every extension point, and the claims afterwards."""

from collections.abc import Coroutine
from copy import deepcopy
from typing import Any, cast

import numpy as np

from moorage.client.protocol import Client, Object
from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import (
    DRA_DEVICE_TAINT_RULES,
    DRA_LIST_TYPE_ATTRIBUTES,
    DRA_NODE_ALLOCATABLE_RESOURCES,
    GateSet,
    default_gates,
)
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.json_patch import apply_merge_patch
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.cycle import Bind
from moorage.schedule.framework.plugin import Mask, normalize
from moorage.schedule.live.claim_binder import ClaimBinder, ClaimsNotBound
from moorage.schedule.live.pod_feed import Assumptions
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.waiting_pods import QueuedPod

Raw = dict[str, Any]
SUCCESS = {"code": "Success"}
_ALPHA = (DRA_LIST_TYPE_ATTRIBUTES, DRA_NODE_ALLOCATABLE_RESOURCES, DRA_DEVICE_TAINT_RULES)


def check_scheduler_dra(case: Raw) -> str | None:
    want, got = case["out"], _Play(case["in"]).play()
    for field in sorted(got.keys() | want.keys()):
        if got.get(field) != want.get(field):
            return f"{case['name']}: {field} is {got.get(field)}, want {want.get(field)}"
    return None


def _gates(name: str) -> GateSet:
    gates = default_gates()
    for gate in _ALPHA if name == "allAlpha" else ():
        gates = gates.with_gate(gate, True)
    return gates


class _Api:
    """Claims and the pod's status, without any checks."""

    def __init__(self, claims: list[Raw]) -> None:
        self.claims = {(raw["metadata"]["namespace"], raw["metadata"]["name"]): deepcopy(raw) for raw in claims}
        self.created: set[tuple[str, str]] = set()
        self.pod_status: Raw = {}

    def _object(self, namespace: str, name: str) -> Object:
        return Object(KINDS.RESOURCE_CLAIM, f"{namespace}/{name}", 1, raw=self.claims[namespace, name])

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return self._object(namespace, name)

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        metadata = {**document["metadata"], "name": document["metadata"]["generateName"] + "*", "uid": "created"}
        self.claims[namespace, metadata["name"]] = {**document, "metadata": metadata}
        self.created.add((namespace, metadata["name"]))
        return self._object(namespace, metadata["name"])

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        metadata = document["metadata"]
        self.claims[metadata["namespace"], metadata["name"]] = deepcopy(document)
        return self._object(metadata["namespace"], metadata["name"])

    async def patch(self, kind: Kind, name: str, namespace: str, patch: Raw, **options: Any) -> Object | None:
        if kind is not KINDS.RESOURCE_CLAIM:
            self.pod_status |= patch["status"]
            return None
        self.claims[namespace, name] = apply_merge_patch(self.claims[namespace, name], patch)
        return self._object(namespace, name)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Any) -> None:
        del self.claims[namespace, name]


class _Play:
    """One case: the plugin, asked as the framework asks it."""

    def __init__(self, given: Raw) -> None:
        gates = _gates(given["gates"])
        self.plugin = DynamicResources(gates)
        self.cluster = Cluster(0, gates)
        devices = self.cluster.devices
        self.slots = {raw["metadata"]["name"]: self.cluster.add_node(convert_view(raw, Node)) for raw in given["nodes"]}
        views = ("deviceClasses", DeviceClass), ("resourceSlices", ResourceSlice), ("resourceClaims", ResourceClaim)
        for field, view in (*views, ("deviceTaintRules", DeviceTaintRule)):
            for raw in given.get(field) or ():
                devices.set(convert_view(raw, cast(Any, view)))
        self.api = _Api(given["resourceClaims"])
        self.assumptions = Assumptions()
        client = cast(Client, self.api)
        self.binder = ClaimBinder(client, devices, self.assumptions, gates, {}, sleep=_no_sleep, wall_clock=lambda: 0.0)
        pod = convert_view(given["pod"], Pod)
        self.pod = pod
        self.record: PodRecord = self.cluster.record(f"{pod.metadata.namespace}/{pod.metadata.name}", pod)

    def play(self) -> Raw:
        waits = self.cluster.devices.why_claims_wait(self.pod)
        if waits:
            return {"preEnqueue": _unresolvable(waits)}
        out: Raw = {"preEnqueue": SUCCESS}
        prepared = self.plugin.prepare(self.record.shape, self.cluster)
        want = prepared.want
        if prepared.rejection is not None:
            said = {"code": prepared.rejection.code.value, "reasons": list(prepared.rejection.reasons)}
            nothing = {"code": "Unschedulable", "reasons": ["no new claims to deallocate"]}
            return out | {"preFilter": said, "postFilter": nothing, "claims": self._claims()}
        if not prepared.filters:
            return out | {"preFilter": {"code": "Skip"}}
        out["preFilter"] = SUCCESS
        refused, failed = {}, False
        names = self._names
        mask = self.plugin.filter(want, self.cluster)
        for name, slot in self.slots.items():
            error = want.needs_at(self.cluster, slot).error(self.cluster, names, lambda slot=slot: self._only(slot))
            verdict = self.plugin.explain(want, self.cluster, slot)
            assert (verdict is None) == bool(mask[slot]) == self.plugin.filter_slot(want, self.cluster, slot)
            if error:
                refused[name], failed = {"code": "Error", "reasons": [error]}, True
            elif verdict is not None:
                refused[name] = {"code": verdict.code.value, "reasons": list(verdict.reasons)}
        feasible = [name for name in self.slots if name not in refused]
        out |= {"filter": refused, "feasible": feasible}
        if failed:
            assert self.plugin.failure(want, self.cluster, self.record, lambda: self.cluster.nodes.alive)
            return out | {"filterAborted": True}
        if not feasible:
            return out | self._post_filter(want)
        return out | self._bind(want, prepared.scores, feasible)

    def _names(self, needs: Any) -> list[str]:
        return self.plugin._own_names(needs, self.cluster, self.record)

    def _only(self, slot: int) -> Mask:
        mask = np.zeros(self.cluster.nodes.slots.capacity, np.bool_)
        mask[slot] = True
        return mask

    def _post_filter(self, want: Any) -> Raw:
        result = self.plugin.post_filter(want, self.cluster, self.record, lambda: self.cluster.nodes.alive)
        _run(self.binder.undo(result, self.pod))
        return {"postFilter": {"code": "Unschedulable", "reasons": [result.message]}, "claims": self._claims()}

    def _bind(self, want: Any, scores: bool, feasible: list[str]) -> Raw:
        slots = [self.slots[name] for name in feasible]
        mask = np.zeros(self.cluster.nodes.slots.capacity, np.bool_)
        mask[slots] = True
        raw = self.plugin.score(want, self.cluster, mask) if scores else np.zeros(len(mask), np.int64)
        normal = normalize(raw, mask, self.plugin.normalization)
        best = max(feasible, key=lambda name: normal.item(self.slots[name]))
        self.plugin.reserve(want, self.cluster, self.record, self.slots[best])
        action = Bind(QueuedPod(self.record, 0.0), self.slots[best], best)
        bound: Raw = SUCCESS
        try:
            _run(self.binder.write(self.assumptions.make(action, 0.0)))
        except ClaimsNotBound as error:
            bound = {"code": "Error", "reasons": [str(error)]}
        status = self.api.pod_status.get("extendedResourceClaimStatus")
        return {
            "score": {name: raw.item(self.slots[name]) for name in feasible},
            "normalizedScore": {name: normal.item(self.slots[name]) for name in feasible},
            "selectedNode": best,
            "reserve": SUCCESS,
            "preBind": bound,
            "claims": self._claims(),
        } | ({"podExtendedResourceClaimStatus": status} if status else {})

    def _claims(self) -> list[Raw] | None:
        """Return all claims, with what differs from one time to the next written as in the file."""
        found = []
        for key, raw in sorted(self.api.claims.items()):
            claim = {"namespace": key[0], "name": key[1], "status": _settled(raw.get("status") or {})}
            metadata = raw["metadata"]
            if metadata.get("finalizers"):
                claim["finalizers"] = metadata["finalizers"]
            if key in self.api.created:
                kept = ("annotations", "generateName", "ownerReferences")
                claim |= {"created": True, "spec": raw["spec"], "metadata": {name: metadata[name] for name in kept}}
            found.append(claim)
        return found or None


def _settled(status: Raw) -> Raw:
    status = deepcopy(status)
    allocation = status.get("allocation") or {}
    if allocation.get("allocationTimestamp") == "1970-01-01T00:00:00Z":
        allocation["allocationTimestamp"] = "<now>"
        for result in allocation["devices"].get("results") or ():
            if "shareID" in result and len(result["shareID"]) == 36:
                result["shareID"] = "*"
    return status


def _unresolvable(reason: str) -> Raw:
    return {"code": "UnschedulableAndUnresolvable", "reasons": [reason]}


async def _no_sleep(seconds: float) -> None:
    """Go on at once."""


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")
