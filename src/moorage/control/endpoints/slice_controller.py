"""Keep the EndpointSlices of every Service with a selector: the addresses of its pods, and whether they can be used.

Kubernetes: pkg/controller/endpointslice. Differs: hints by topology (the annotation `topology-mode: Auto`) are not
given; those of `trafficDistribution` are. A pod whose node is not there is left out until the node comes.
"""

from collections.abc import Iterable, Mapping, Sequence

from moorage.client.protocol import Object
from moorage.control.endpoints.service_pods import (
    HEADLESS,
    TRIGGER_TIME,
    Pace,
    TriggerTimes,
    address_types,
    addresses_of,
    container_port,
    host_name,
    is_endpoint,
    is_headless,
    services_of,
    services_on,
    wants_endpoints,
    zone_of,
)
from moorage.control.endpoints.slices import Contents, EndpointKey, Group, Packed, Ports, endpoint_key, pack, ports_key
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Plan, Raw, Update, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.workloads import controller_reference, namespace_is_terminating, ready_condition
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import SERVICE_NAME, SLICE_MANAGED_BY

MANAGER = "endpointslice-controller.k8s.io"
MAX_ENDPOINTS = 100
_RESERVED = (SERVICE_NAME, SLICE_MANAGED_BY, HEADLESS)
_CLOSE = ("PreferClose", "PreferSameZone", "PreferSameNode")
_MAX_NAME_LENGTH = 253


#: Endpoints by the keys of pods, with what they were made of: the pod's view and the zone of its node.
Made = dict[str, tuple[Pod, str, EndpointKey, Raw]]


def wanted_groups(
    service: Object, pods: Sequence[Object], zones: Mapping[str, str], address_type: str, made: Made | None = None
) -> Steps[dict[Ports, Group]]:
    """Return the endpoints of a Service, by ports. `zones` has the zone of every node, empty if it has none.

    `made` has endpoints of an earlier look at the same Service, which hold for pods that are as they were.
    """
    spec = service.view.spec
    made = {} if made is None else made
    groups: dict[Ports, Group] = {}
    known: dict[tuple[int, int], tuple[Pod, Group]] = {}  # pods of one template share their containers
    for part in in_parts(pods):
        for pod in part:
            view: Pod = pod.view
            if not is_endpoint(view, with_terminating=True):
                continue
            if view.spec.nodeName not in zones and not spec.publishNotReadyAddresses:
                continue
            containers = id(view.spec.containers), id(view.spec.initContainers)
            shared = known.get(containers)
            if shared is None:
                ports = _ports(service, view)
                group = groups.setdefault(ports_key(ports), Group(ports, {}))
                known[containers] = view, group
            else:
                group = shared[1]
            zone = zones.get(view.spec.nodeName, "")
            known_one = made.get(pod.key)
            if known_one is not None and known_one[0] is view and known_one[1] == zone:
                group.endpoints[known_one[2]] = known_one[3]
            elif addresses := addresses_of(view, address_type):
                endpoint = _endpoint(service, pod, addresses, zone)
                key = endpoint_key(endpoint)
                made[pod.key] = view, zone, key, endpoint
                group.endpoints[key] = endpoint
        yield
    return groups


def _ports(service: Object, pod: Pod) -> list[Raw]:
    ports = []
    for port in service.view.spec.ports:
        number = container_port(pod, port)
        if number is not None:
            found: Raw = {"name": port.name, "port": number, "protocol": port.protocol}
            ports.append(found if port.appProtocol is None else {**found, "appProtocol": port.appProtocol})
    return ports


def _endpoint(service: Object, pod: Object, addresses: list[str], zone: str) -> Raw:
    view: Pod = pod.view
    spec = service.view.spec
    serving = ready_condition(view) is not None
    terminating = view.metadata.deletionTimestamp is not None
    ready = spec.publishNotReadyAddresses or (serving and not terminating)
    node = view.spec.nodeName
    endpoint: Raw = {
        "addresses": addresses,
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
    }
    if node:
        endpoint["nodeName"] = node
    if zone:
        endpoint["zone"] = zone
    if name := host_name(view, service):
        endpoint["hostname"] = name
    if ready and spec.trafficDistribution in _CLOSE:
        hints = {"forZones": [{"name": zone}]} if zone else {}
        if node and spec.trafficDistribution == "PreferSameNode":
            hints["forNodes"] = [{"name": node}]
        if hints:
            endpoint["hints"] = hints
    return endpoint


def slice_labels(service: Object) -> dict[str, str]:
    own = {name: value for name, value in service.view.metadata.labels.items() if name not in _RESERVED}
    headless = {HEADLESS: ""} if is_headless(service.view.spec) else {}
    return {**own, **headless, SERVICE_NAME: service.name, SLICE_MANAGED_BY: MANAGER}


def slice_prefix(name: str) -> str:
    return f"{name}-" if len(name) < _MAX_NAME_LENGTH else name


def write_slice(contents: Contents, metadata: Raw, address_type: str, namespace: str) -> Action:
    """Return the action that makes or changes a slice. `metadata` are labels, annotations and, for new ones, more."""
    body: Raw = {
        "apiVersion": KINDS.ENDPOINT_SLICE.api_version,
        "kind": KINDS.ENDPOINT_SLICE.name,
        "addressType": address_type,
        "endpoints": contents.endpoints,
        "ports": contents.ports,
    }
    if contents.found is None:
        return Create(KINDS.ENDPOINT_SLICE, {**body, "metadata": metadata}, namespace)
    kept = {name: value for name, value in contents.found.raw["metadata"].items() if name != "annotations"}
    changed = {name: value for name, value in metadata.items() if name in ("labels", "annotations")}
    return Update(KINDS.ENDPOINT_SLICE, {**body, "metadata": {**kept, **changed}})


class EndpointSliceController(Controller):
    """Reconciles the slices of Services."""

    name = "endpointslice-controller"
    component = "endpoint-slice-controller"
    watches = (KINDS.SERVICE, KINDS.POD, KINDS.NODE, KINDS.ENDPOINT_SLICE)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pace, self._triggers = Pace(), TriggerTimes()
        #: Of Services with many pods, by revision.
        self._made: dict[str, tuple[int, Made]] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return services_of(old, new, world)
        if kind is KINDS.NODE:
            return services_on(old, new, world)
        changed = new or old
        assert changed is not None
        if kind is KINDS.SERVICE:
            return (changed.key,)
        labels = changed.view.metadata.labels
        name = labels.get(SERVICE_NAME) if labels.get(SLICE_MANAGED_BY) == MANAGER else None
        return (f"{changed.namespace}/{name}",) if name else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        service = world.get(KINDS.SERVICE, key)
        if service is None:
            self._pace.forget(key)
            self._triggers.forget(key)
            self._made.pop(key, None)
            return NOTHING
        if not wants_endpoints(service.view.spec) or service.view.metadata.deletionTimestamp is not None:
            return NOTHING
        if (wait := self._pace.wait(key, now)) > 0:
            return Plan(again_after=wait)
        pods = world.pods_of_service(service)
        self._pace.looked(key, len(pods), now)
        existing = [
            endpoint_slice
            for endpoint_slice in world.owned(KINDS.ENDPOINT_SLICE, service.uid)
            if endpoint_slice.view.metadata.labels.get(SLICE_MANAGED_BY) == MANAGER
            and endpoint_slice.view.metadata.labels.get(SERVICE_NAME) == service.name
            and endpoint_slice.view.metadata.deletionTimestamp is None
        ]
        families = address_types(service.view.spec)
        used = {pod.view.spec.nodeName for pod in pods}
        zones = {name: zone_of(node) for name in used if (node := world.get(KINDS.NODE, name)) is not None}
        deletes = [found for found in existing if found.view.addressType not in families]
        actions: list[Action] = []
        labels = slice_labels(service)
        trigger = yield from self._triggers.since_last(service, pods)
        for family in families:
            slices = [found for found in existing if found.view.addressType == family]
            made = self._made_before(service, len(pods), len(families))
            groups = yield from wanted_groups(service, pods, zones, family, made)
            packed = yield from pack(
                slices, groups, MAX_ENDPOINTS, lambda found: dict(found.view.metadata.labels) != labels
            )
            actions += self._writes(service, packed, labels, trigger, family)
            deletes += packed.deletes
        actions += [Delete(KINDS.ENDPOINT_SLICE, found.namespace, found.name, found.uid) for found in deletes]
        return Plan(tuple(actions))

    def _made_before(self, service: Object, pods: int, families: int) -> Made | None:
        """Return the endpoints of the last look, if keeping them pays."""
        if pods <= MAX_ENDPOINTS or families > 1:
            self._made.pop(service.key, None)
            return None
        revision, made = self._made.get(service.key, (0, {}))
        if revision != service.revision or len(made) > 2 * pods:  # of pods that are gone, too
            made = {}
        self._made[service.key] = service.revision, made
        return made

    def _writes(
        self, service: Object, packed: Packed, labels: dict[str, str], trigger: str, family: str
    ) -> Iterable[Action]:
        metadata: Raw = {
            "generateName": slice_prefix(service.name),
            "namespace": service.namespace,
            "labels": labels,
            "ownerReferences": [controller_reference(service)],
        }
        for contents in packed.writes:
            annotations = {} if contents.found is None else dict(contents.found.view.metadata.annotations)
            annotations.pop(TRIGGER_TIME, None)
            if trigger:
                annotations[TRIGGER_TIME] = trigger
            whole = {**metadata, "annotations": annotations} if annotations else metadata
            yield write_slice(contents, whole, family, service.namespace)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        service = world.get(KINDS.SERVICE, key)
        if service is None or namespace_is_terminating(error) or error.reason == "Conflict":
            return ()
        text = f"Error updating Endpoint Slices for Service {key}: {error.message}"
        return (warn(service, "FailedToUpdateEndpointSlices", text),)
