"""Keep the Endpoints of every Service with a selector; delete those of a Service that is deleted.

Kubernetes: pkg/controller/endpoint. Differs: ports and subsets are in the order of their names and numbers, not of
their hashes; Endpoints that have no Service when the controller starts are kept, unless the controller made them.
"""

from collections.abc import Iterable, Sequence
from math import ceil

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
    wants_endpoints,
)
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Plan, Raw, Update, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.workloads import namespace_is_terminating, ready_condition
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import ENDPOINTS_MANAGED_BY

MANAGED_BY, MANAGER = ENDPOINTS_MANAGED_BY, "endpoint-controller"
OVER_CAPACITY, TRUNCATED = "endpoints.kubernetes.io/over-capacity", "truncated"
MAX_ADDRESSES = 1000
_Port = tuple[str, int, str, str]


def subsets_of(service: Object, pods: Sequence[Object]) -> Steps[list[Raw]]:
    """Return the addresses of a Service's pods, grouped by the ports that they share."""
    spec = service.view.spec
    by_port: dict[_Port | None, dict[tuple[str, str], bool]] = {}
    addresses: dict[tuple[str, str], Raw] = {}
    for part in in_parts(sorted(pods, key=lambda one: one.uid)):
        for pod in part:
            view: Pod = pod.view
            if not is_endpoint(view, with_terminating=spec.publishNotReadyAddresses):
                continue
            found = next((ip for family in address_types(spec)[:1] for ip in addresses_of(view, family)), None)
            if found is None:
                continue
            ready = spec.publishNotReadyAddresses or ready_condition(view) is not None
            addresses[found, pod.uid] = _address(service, pod, found)
            for port in _ports(service, view):
                by_port.setdefault(port, {})[found, pod.uid] = ready
        yield
    shared: dict[tuple[tuple[tuple[str, str], bool], ...], list[_Port]] = {}
    for port, members in sorted(by_port.items(), key=lambda pair: pair[0] or ("", 0, "", "")):
        ports = shared.setdefault(tuple(sorted(members.items())), [])
        if port is not None:
            ports.append(port)
    return [_subset(members, ports, addresses) for members, ports in shared.items()]


def _subset(
    members: Sequence[tuple[tuple[str, str], bool]], ports: Sequence[_Port], addresses: dict[tuple[str, str], Raw]
) -> Raw:
    subset: Raw = {}
    for name, wanted in (("addresses", True), ("notReadyAddresses", False)):
        if found := [addresses[key] for key, ready in members if ready is wanted]:
            subset[name] = found
    if ports:
        subset["ports"] = [_port(port) for port in ports]
    return subset


def _port(port: _Port) -> Raw:
    name, number, protocol, application = port
    found: Raw = {"name": name} if name else {}
    found |= {"port": number, "protocol": protocol}
    return {**found, "appProtocol": application} if application else found


def _ports(service: Object, pod: Pod) -> list[_Port | None]:
    """Return the ports that lead to a pod; None stands for the whole pod, if a headless Service has no ports."""
    spec = service.view.spec
    if not spec.ports:
        return [None] if is_headless(spec) else []
    return [
        (port.name, number, port.protocol, port.appProtocol or "")
        for port in spec.ports
        if (number := container_port(pod, port)) is not None
    ]


def _address(service: Object, pod: Object, ip: str) -> Raw:
    address: Raw = {
        "ip": ip,
        "nodeName": pod.view.spec.nodeName,
        "targetRef": {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
    }
    name = host_name(pod.view, service)
    return {**address, "hostname": name} if name else address


def truncated(subsets: list[Raw]) -> list[Raw]:
    """Return at most a thousand addresses, ready ones first, of each subset its share."""
    ready = sum(len(one.get("addresses") or ()) for one in subsets)
    others = sum(len(one.get("notReadyAddresses") or ()) for one in subsets)
    if ready + others <= MAX_ADDRESSES:
        return subsets
    cuts_ready = ready > MAX_ADDRESSES
    name, total, room = (
        ("addresses", ready, MAX_ADDRESSES) if cuts_ready else ("notReadyAddresses", others, MAX_ADDRESSES - ready)
    )
    left, cut = room, []
    for subset in subsets:
        listed = subset.get(name) or []
        share = min(left, ceil(len(listed) / total * room))
        left -= min(share, len(listed))
        kept = {key: value for key, value in subset.items() if key != "notReadyAddresses" or not cuts_ready}
        kept[name] = listed[:share]
        if not kept[name]:
            del kept[name]
        if kept.get("addresses") or kept.get("notReadyAddresses"):
            cut.append(kept)
    return cut


class EndpointsController(Controller):
    """Reconciles the Endpoints of Services."""

    name = "endpoints-controller"
    component = "endpoint-controller"
    watches = (KINDS.SERVICE, KINDS.POD, KINDS.ENDPOINTS)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pace, self._triggers = Pace(), TriggerTimes()
        self._deleted: set[str] = set()

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            return services_of(old, new, world)
        changed = new or old
        assert changed is not None
        if kind is KINDS.SERVICE and new is None:
            self._deleted.add(changed.key)
        return (changed.key,)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        service, found = world.get(KINDS.SERVICE, key), world.get(KINDS.ENDPOINTS, key)
        if service is None:
            self._pace.forget(key)
            self._triggers.forget(key)
            return self._leftover(key, found)
        self._deleted.discard(key)
        if not wants_endpoints(service.view.spec):
            return NOTHING
        if (wait := self._pace.wait(key, now)) > 0:
            return Plan(again_after=wait)
        pods = world.pods_of_service(service)
        self._pace.looked(key, 2 * len(pods), now)
        trigger = yield from self._triggers.since_last(service, pods)
        whole = yield from subsets_of(service, pods)
        subsets = truncated(whole)
        labels = {name: value for name, value in service.view.metadata.labels.items() if name != HEADLESS}
        labels |= {HEADLESS: ""} if is_headless(service.view.spec) else {}
        labels[MANAGED_BY] = MANAGER
        over = {OVER_CAPACITY: TRUNCATED} if subsets is not whole else {}
        if found is not None and _is_same(found, subsets, labels, over):
            return NOTHING
        annotations = {} if found is None else dict(found.view.metadata.annotations)
        for name in (TRIGGER_TIME, OVER_CAPACITY):
            annotations.pop(name, None)
        annotations |= over | ({TRIGGER_TIME: trigger} if trigger else {})
        body: Raw = {"apiVersion": "v1", "kind": "Endpoints", "subsets": subsets}
        if found is None:
            named: Raw = {"name": service.name, "namespace": service.namespace}
            document = {**body, "metadata": {**named, "labels": labels, "annotations": annotations}}
            return Plan((Create(KINDS.ENDPOINTS, document, service.namespace),))
        metadata = {**found.raw["metadata"], "labels": labels, "annotations": annotations}
        return Plan((Update(KINDS.ENDPOINTS, {**body, "metadata": metadata}),))

    def _leftover(self, key: str, found: Object | None) -> Plan:
        """Delete the Endpoints of a Service that is gone."""
        was_deleted = key in self._deleted
        self._deleted.discard(key)
        if found is None or not (was_deleted or found.view.metadata.labels.get(MANAGED_BY) == MANAGER):
            return NOTHING
        return Plan((Delete(KINDS.ENDPOINTS, found.namespace, found.name, found.uid),))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        service = world.get(KINDS.SERVICE, key)
        if service is None or namespace_is_terminating(error) or error.reason == "Conflict":
            return ()
        if isinstance(action, Create):
            text = f"Failed to create endpoint for service {key}: {error.message}"
            return (warn(service, "FailedToCreateEndpoint", text),)
        return (warn(service, "FailedToUpdateEndpoint", f"Failed to update endpoint {key}: {error.message}"),)


def _is_same(found: Object, subsets: list[Raw], labels: dict[str, str], over: dict[str, str]) -> bool:
    annotations = found.view.metadata.annotations
    return (
        (found.raw.get("subsets") or []) == subsets
        and dict(found.view.metadata.labels) == labels
        and (OVER_CAPACITY in annotations) == bool(over)
    )
