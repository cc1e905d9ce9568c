"""Propose changes that let a pod's claims be allocated: tolerations, thresholds, counts, selectors, missing objects.

Specs of claims and templates cannot be changed once they exist: what is proposed is a recreated claim or template.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.columns.devices.devices import DeviceObject
from moorage.match.devices.allocation.explain import explain_request
from moorage.match.devices.allocation.features import allocator_features
from moorage.match.devices.allocation.published import PublishedDevice
from moorage.match.devices.allocation.requests import CompiledRequest, compile_claim
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState, class_names
from moorage.match.devices.tolerations import as_taint, as_toleration
from moorage.model.gates import GateSet
from moorage.model.types.container import Container
from moorage.model.types.devices import (
    DeviceClass,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.explain.remedies.change import (
    MAX_VALUES,
    Blockers,
    Change,
    ChangeKind,
    as_yaml,
    few,
    replaced,
    with_spec,
)
from moorage.plan.explain.remedies.taints import moved_thresholds
from moorage.schedule.framework.plugin import ChosenSlots
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources

_MAX_OFFERS = 20
_MAX_HOLDERS = 10
_replace = msgspec.structs.replace


def device_changes(blockers: Blockers, gates: GateSet) -> Iterator[Change]:
    slots = blockers.only(DynamicResources.name)
    if not len(slots) or not blockers.pod.spec.resourceClaims:
        return
    yield from _missing(blockers)
    offers = offers_at(blockers, slots)
    for facts in blockers.cluster.devices.facts(blockers.pod):
        if facts.state is DeviceClaimState.WAITING and facts.claim is not None:
            asked = _Asked(blockers, facts, facts.claim, gates, offers)
            yield from asked.changes()
    yield from device_departures(blockers, offers, gates)


def offers_at(blockers: Blockers, slots: ChosenSlots) -> list[list[int]]:
    """Return the slots by the devices they have, those with most nodes first."""
    by_code: dict[int, list[int]] = {}
    for slot in slots.tolist():
        by_code.setdefault(blockers.cluster.devices.code(slot), []).append(slot)
    return sorted(by_code.values(), key=lambda alike: -len(alike))[:_MAX_OFFERS]


def _missing(blockers: Blockers) -> Iterator[Change]:
    """Propose to create the claims, templates and classes that are not there."""
    pod, devices = blockers.pod, blockers.cluster.devices
    for facts in devices.facts(pod):
        if facts.state is DeviceClaimState.UNUSABLE and facts.claim is None:
            kind, name = "ResourceClaim", facts.entry.resourceClaimName
            if name is None:
                kind, name = "ResourceClaimTemplate", facts.entry.resourceClaimTemplateName
            yield Change(
                ChangeKind.DEVICE_CLAIM,
                f"claim {facts.entry.name}",
                f"create {kind} {name} in namespace {pod.metadata.namespace}: it is missing",
                6,
                pod=_without_claim(pod, facts.entry.name),
            )
        if facts.claim is None or facts.state is not DeviceClaimState.WAITING:
            continue
        for made, name in zip(facts.classes, class_names(facts.claim.spec), strict=True):
            if made is None:
                yield Change(
                    ChangeKind.DEVICE_CLASS,
                    f"class {name}",
                    f"create DeviceClass {name}, which is missing, with selectors that choose such devices",
                    7,
                    devices=(DeviceClass(metadata=ObjectMeta(name=name)),),
                )


def _without_claim(pod: Pod, name: str) -> Pod:
    """Return the pod without a claim, as if it needed nothing of a node."""
    kept = tuple(entry for entry in pod.spec.resourceClaims if entry.name != name)
    return with_spec(
        pod,
        resourceClaims=kept,
        containers=_not_using(pod.spec.containers, name),
        initContainers=_not_using(pod.spec.initContainers, name),
    )


def _not_using(containers: tuple[Container, ...], name: str) -> tuple[Container, ...]:
    made: list[Container] = []
    for container in containers:
        claims = tuple(claim for claim in container.resources.claims if claim.name != name)
        made.append(_replace(container, resources=_replace(container.resources, claims=claims)))
    return tuple(made)


class _Asked:
    """One claim that waits, and the nodes that do not have its devices."""

    def __init__(
        self, blockers: Blockers, facts: DeviceClaimFacts, claim: ResourceClaim, gates: GateSet, offers: list[list[int]]
    ) -> None:
        self._blockers, self._claim, self._offers = blockers, claim, offers
        self._features = allocator_features(gates)
        template = facts.entry.resourceClaimTemplateName
        self._is_template = template is not None
        self._where = f"ResourceClaimTemplate {template}" if template is not None else f"ResourceClaim {facts.name}"
        self._compiled = compile_claim(claim.spec, blockers.cluster.devices.classes.get, gates)

    def changes(self) -> Iterator[Change]:
        for index, alternatives in enumerate(self._compiled.requests):
            for number, request in enumerate(alternatives):
                yield from self._counts(index, number, request)
                yield from self._tolerations(index, number, request)
                yield from self._classes(index, number, request)
                yield from self._selectors(index, number, request)

    def _counts(self, index: int, number: int, request: CompiledRequest) -> Iterator[Change]:
        """Propose to ask for as many devices as nodes have left."""
        asked = max(request.count, 1)
        levels: Counter[int] = Counter()
        devices = self._blockers.cluster.devices
        for alike in self._offers:
            pools = devices.pools_at(alike[0], self._features)
            kept_out = explain_request(request, pools, devices.use, devices.node(alike[0]), self._features)
            free = sum(len(pool.devices) for pool in pools) - sum(kept_out.values())
            if 0 < free < asked and not request.all_devices:
                levels[free] += len(alike)
        for level in few((level, levels[level]) for level in sorted(levels, reverse=True)):
            yield self._change(
                ChangeKind.DEVICE_COUNT,
                "count",
                f"count {asked} → {level}",
                2,
                (index, number, request),
                {"count": level},
                move=(asked - level) / asked,
            )

    def _tolerations(self, index: int, number: int, request: CompiledRequest) -> Iterator[Change]:
        by_key: dict[str, Counter[DeviceTaint]] = {}
        for taint, nodes in self._untolerated(request).items():
            by_key.setdefault(taint.key, Counter())[taint] += nodes
        at = (index, number, request)
        for key, counts in by_key.items():
            yield from self._thresholds(at, key, counts)
            yield from self._additions(at, key, counts)
            yield from rule_deletions(self._blockers, key)

    def _classes(self, index: int, number: int, request: CompiledRequest) -> Iterator[Change]:
        now = request.view.deviceClassName
        others = sorted(name for name in self._blockers.cluster.devices.classes if name != now)
        for name in others[:MAX_VALUES]:
            yield self._change(
                ChangeKind.DEVICE_CLASS,
                f"class {name}",
                f"deviceClassName {now} → {name}",
                3,
                (index, number, request),
                {"deviceClassName": name},
            )

    def _untolerated(self, request: CompiledRequest) -> Counter[DeviceTaint]:
        """Count the nodes that have a device, free and selected, that this taint keeps out."""
        devices = self._blockers.cluster.devices
        found: Counter[DeviceTaint] = Counter()
        for alike in self._offers:
            node = devices.node(alike[0])
            here: set[DeviceTaint] = set()
            for pool in devices.pools_at(alike[0], self._features):
                for device in pool.devices:
                    if (
                        device.is_on(node)
                        and self._is_free(device)
                        and request.why_unselected(device.description) is None
                    ):
                        here.update(
                            _replace(taint, timeAdded=None)
                            for taint in device.excluding
                            if not request.tolerations.tolerates(taint)
                        )
            for taint in here:
                found[taint] += len(alike)
        return found

    def _is_free(self, device: PublishedDevice) -> bool:
        return not self._blockers.cluster.devices.use.is_taken(device.id)

    def _thresholds(
        self, at: tuple[int, int, CompiledRequest], key: str, counts: Counter[DeviceTaint]
    ) -> Iterator[Change]:
        """Propose to move the thresholds of tolerations for the key."""
        tolerations = at[2].view.tolerations
        taints = {as_taint(taint): devices for taint, devices in counts.items()}
        for moved in moved_thresholds(map(as_toleration, tolerations), key, taints):
            new, said = _replace(tolerations[moved.position], value=moved.new.value), moved.text
            changed = replaced(tolerations, moved.position, new)
            effects = {taint.effect for taint in counts}
            if not new.effect and NO_EXECUTE in effects:  # only those that say so keep a pod from being evicted
                staying = _replace(new, effect=NO_EXECUTE)
                is_sole = effects == {NO_EXECUTE}
                changed = replaced(tolerations, moved.position, staying) if is_sole else (*changed, staying)
                said += ", NoExecute" if is_sole else ", and the same for NoExecute"
            yield self._change(
                ChangeKind.DEVICE_THRESHOLD,
                f"toleration {moved.position}",
                said,
                1,
                at,
                {"tolerations": changed},
                move=moved.move,
            )

    def _additions(
        self, at: tuple[int, int, CompiledRequest], key: str, counts: Counter[DeviceTaint]
    ) -> Iterator[Change]:
        values: Counter[tuple[str, str]] = Counter()
        for taint, nodes in counts.items():
            values[taint.value, taint.effect] += nodes
        for (value, effect), _ in values.most_common(MAX_VALUES):
            if value:
                yield self._added(at, DeviceToleration(key, "Equal", value, effect), 2)
        for effect in dict.fromkeys(effect for _, effect in values):
            yield self._added(at, DeviceToleration(key, "Exists", "", effect), 3)

    def _added(self, at: tuple[int, int, CompiledRequest], new: DeviceToleration, size: int) -> Change:
        said = f"{new.operator} {new.value}".rstrip()
        return self._change(
            ChangeKind.DEVICE_TOLERATION,
            f"tolerations {new.key}",
            f"add a toleration for {new.key}: {said}{f', {new.effect}' if new.effect else ''}",
            size,
            at,
            {"tolerations": (*at[2].view.tolerations, new)},
        )

    def _selectors(self, index: int, number: int, request: CompiledRequest) -> Iterator[Change]:
        for position, selector in enumerate(request.view.selectors):
            if selector.cel is not None:
                yield self._change(
                    ChangeKind.DEVICE_SELECTOR,
                    f"selector {position}",
                    f"drop the selector {selector.cel.expression}",
                    5,
                    (index, number, request),
                    {"selectors": replaced(request.view.selectors, position)},
                )

    def _change(
        self,
        kind: ChangeKind,
        part: str,
        said: str,
        size: int,
        at: tuple[int, int, CompiledRequest],
        fields: dict[str, Any],
        move: float = 0,
    ) -> Change:
        index, number, request = at
        new = _replace(request.view, **fields)
        return Change(
            kind,
            f"{self._where} {request.full_name} {part}",
            f"{self._where} (recreated), request {request.full_name}: {said}",
            size,
            devices=(self._with(index, number, new),),
            yaml=self._written(index, number, request, fields),
            move=move,
        )

    def _with(self, index: int, number: int, new: ExactDeviceRequest | DeviceSubRequest) -> ResourceClaim:
        """Return the claim with another request."""
        claim = self._claim.spec.devices
        request = claim.requests[index]
        if isinstance(new, ExactDeviceRequest):
            request = _replace(request, exactly=new)
        else:
            request = _replace(request, firstAvailable=replaced(request.firstAvailable, number, new))
        requests = replaced(claim.requests, index, request)
        return _replace(self._claim, spec=_replace(self._claim.spec, devices=_replace(claim, requests=requests)))

    def _written(self, index: int, number: int, request: CompiledRequest, fields: dict[str, Any]) -> str:
        """Return what to write: the fields that change, of the request that they are in."""
        written = {name: _plain(value) for name, value in fields.items()}
        name = self._claim.spec.devices.requests[index].name
        if request.parent:
            entry: dict[str, Any] = {"name": name, "firstAvailable": [{"name": request.name, **written}]}
        else:
            entry = {"name": name, "exactly": written}
        spec: dict[str, Any] = {"spec": {"devices": {"requests": [entry]}}}
        return as_yaml({"spec": spec} if self._is_template else spec)


def _plain(value: Any) -> Any:
    """Return tolerations and selectors as they are written, without what is empty."""
    if not isinstance(value, tuple):
        return value
    return [
        {name: entry for name, entry in msgspec.to_builtins(one).items() if entry not in ("", None)} for one in value
    ]


def rule_deletions(blockers: Blockers, key: str) -> Iterator[Change]:
    """Propose to delete the rules that taint devices."""
    for name, rule in list(blockers.cluster.devices.pools.rules.items()):
        taint = rule.spec.taint
        if taint.key == key:
            yield Change(
                ChangeKind.DEVICE_TAINT,
                f"rule {name}",
                f"delete DeviceTaintRule {name} (taint {key}={taint.value}:{taint.effect})",
                8,
                removed=(rule,),
                command=f"kubectl delete devicetaintrule {name}",
            )


def device_departures(blockers: Blockers, offers: list[list[int]], gates: GateSet) -> Iterator[Change]:
    """Propose that a pod leaves whose claims hold devices that this node has."""
    cluster = blockers.cluster
    devices = cluster.devices
    features = allocator_features(gates)
    holders: dict[str, list[tuple[ResourceClaim, int]]] = {}
    by_device = {
        (result.driver, result.pool, result.device): claim
        for claim in devices.claims.values()
        if claim.status.allocation is not None and len(claim.status.reservedFor) == 1
        for result in claim.status.allocation.devices.results
    }
    for alike in offers[:MAX_VALUES]:
        for pool in devices.pools_at(alike[0], features):
            for device in pool.devices:
                claim = by_device.get(device.id)
                if claim is not None and len(holders) < _MAX_HOLDERS:
                    key = f"{claim.metadata.namespace}/{claim.status.reservedFor[0].name}"
                    held = holders.setdefault(key, [])
                    if claim not in [one for one, _ in held]:
                        held.append((claim, alike[0]))
    for key, held in holders.items():
        record = cluster.pods.get(key)
        if record is None:
            continue
        freed: tuple[DeviceObject, ...] = tuple(
            _replace(claim, status=_replace(claim.status, allocation=None, reservedFor=())) for claim, _ in held
        )
        count = sum(len(claim.status.allocation.devices.results) for claim, _ in held if claim.status.allocation)
        noun = "device" if count == 1 else f"{count} devices"
        node = cluster.nodes.node(held[0][1]).metadata.name
        yield Change(
            ChangeKind.OTHER_POD,
            "device departure",
            f"move pod {key} (priority {record.priority}) away from node {node}: it has the {noun}",
            8,
            gone=key,
            devices=freed,
            move=record.priority,
        )
