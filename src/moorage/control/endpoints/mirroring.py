"""Make EndpointSlices of Endpoints that users write for Services without a selector.

Kubernetes: pkg/controller/endpointslicemirroring.
"""

from collections.abc import Iterable, Mapping, Sequence

from moorage.client.protocol import Object
from moorage.control.endpoints.service_pods import TRIGGER_TIME
from moorage.control.endpoints.slice_controller import slice_prefix, write_slice
from moorage.control.endpoints.slices import Group, Ports, endpoint_key, pack, ports_key
from moorage.control.framework.actions import NOTHING, Action, Delete, Plan, Raw, warn
from moorage.control.framework.controller import Controller
from moorage.control.framework.steps import finish
from moorage.control.framework.workloads import controller_reference
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import EndpointAddress, EndpointPort, Endpoints
from moorage.model.well_known.annotations import LAST_APPLIED
from moorage.model.well_known.labels import SERVICE_NAME, SKIP_MIRROR, SLICE_MANAGED_BY

MANAGER = "endpointslicemirroring-controller.k8s.io"
MAX_ENDPOINTS = 1000
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED = (TRIGGER_TIME, LAST_APPLIED)
_FAMILIES = ("IPv4", "IPv6")


def mirrored_groups(endpoints: Endpoints, address_type: str) -> tuple[dict[Ports, Group], int]:
    """Return the endpoints of one family by their ports, and how many are beyond a thousand."""
    groups: dict[Ports, Group] = {}
    skipped = 0
    for subset in endpoints.subsets:
        ports = [_port(port) for port in subset.ports]
        group = groups.setdefault(ports_key(ports), Group(ports, {}))
        for addresses, ready in ((subset.addresses, True), (subset.notReadyAddresses, False)):
            for address in addresses:
                if (":" in address.ip) is not (address_type == "IPv6"):
                    continue
                endpoint = _endpoint(address, ready=ready)
                key = endpoint_key(endpoint)
                if key not in group.endpoints and len(group.endpoints) >= MAX_ENDPOINTS:
                    skipped += 1
                else:
                    group.endpoints[key] = endpoint
    return {key: group for key, group in groups.items() if group.endpoints}, skipped


def _port(port: EndpointPort) -> Raw:
    found: Raw = {"name": port.name, "port": port.port, "protocol": port.protocol or "TCP"}
    return found if port.appProtocol is None else {**found, "appProtocol": port.appProtocol}


def _endpoint(address: EndpointAddress, *, ready: bool) -> Raw:
    endpoint: Raw = {"addresses": [address.ip], "conditions": {"ready": ready}}
    target = address.targetRef
    if target is not None:
        names = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        endpoint["targetRef"] = {name: value for name in names if (value := getattr(target, name))}
    if address.nodeName is not None:
        endpoint["nodeName"] = address.nodeName
    if address.hostname:
        endpoint["hostname"] = address.hostname
    return endpoint


class EndpointSliceMirroringController(Controller):
    """Reconciles the slices of Endpoints without a selector."""

    name = "endpointslice-mirroring-controller"
    component = "endpoint-slice-mirroring-controller"
    watches = (KINDS.ENDPOINTS, KINDS.SERVICE, KINDS.ENDPOINT_SLICE)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        assert changed is not None
        if kind is not KINDS.ENDPOINT_SLICE:
            return (changed.key,) if world.get(KINDS.ENDPOINTS, changed.key) is not None else ()
        labels = changed.view.metadata.labels
        name = labels.get(SERVICE_NAME) if labels.get(SLICE_MANAGED_BY) == MANAGER else None
        return (f"{changed.namespace}/{name}",) if name else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        endpoints, service = world.get(KINDS.ENDPOINTS, key), world.get(KINDS.SERVICE, key)
        if endpoints is None:
            return NOTHING  # its slices have no owner any more
        existing = [
            endpoint_slice
            for endpoint_slice in world.owned(KINDS.ENDPOINT_SLICE, endpoints.uid)
            if endpoint_slice.view.metadata.labels.get(SLICE_MANAGED_BY) == MANAGER
            and endpoint_slice.view.metadata.deletionTimestamp is None
        ]
        if service is None or service.view.spec.selector or not _is_mirrored(endpoints):
            return Plan(
                tuple(Delete(KINDS.ENDPOINT_SLICE, found.namespace, found.name, found.uid) for found in existing)
            )
        labels = {**endpoints.view.metadata.labels, SERVICE_NAME: endpoints.name, SLICE_MANAGED_BY: MANAGER}
        own = endpoints.view.metadata.annotations
        annotations = {name: value for name, value in own.items() if name not in _NOT_COPIED}
        actions: list[Action] = []
        for family in _FAMILIES:
            slices = [found for found in existing if found.view.addressType == family]
            groups, skipped = mirrored_groups(endpoints.view, family)
            actions += _writes(endpoints, slices, groups, labels, annotations, family)
            if skipped and actions:
                text = (
                    f"A max of {MAX_ENDPOINTS} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                    f"{skipped} addresses were skipped"
                )
                actions.append(warn(endpoints, "TooManyAddressesToMirror", text))
        return Plan(tuple(actions))


def _writes(
    endpoints: Object,
    slices: Sequence[Object],
    groups: Mapping[Ports, Group],
    labels: dict[str, str],
    annotations: dict[str, str],
    family: str,
) -> Iterable[Action]:
    def is_outdated(found: Object) -> bool:
        metadata = found.view.metadata
        return dict(metadata.labels) != labels or dict(metadata.annotations) != annotations

    if not groups:
        return [Delete(KINDS.ENDPOINT_SLICE, found.namespace, found.name, found.uid) for found in slices]
    packed = finish(pack(slices, groups, MAX_ENDPOINTS, is_outdated))
    metadata: Raw = {
        "generateName": slice_prefix(endpoints.name),
        "namespace": endpoints.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [controller_reference(endpoints)],
    }
    writes = [write_slice(contents, metadata, family, endpoints.namespace) for contents in packed.writes]
    return [
        *writes,
        *(Delete(KINDS.ENDPOINT_SLICE, found.namespace, found.name, found.uid) for found in packed.deletes),
    ]


def _is_mirrored(endpoints: Object) -> bool:
    metadata = endpoints.view.metadata
    return metadata.labels.get(SKIP_MIRROR) != "true" and _LEADER not in metadata.annotations
