"""EndpointSlices and Endpoints are a function of a Service and its pods, whatever history led to them.

A random history of pods, nodes and Services is played to the controllers; what they plan is carried out in the world
they see. After each step the endpoints are those of a naive evaluator, slices are not overfull, a second look plans
nothing, and slices whose endpoints stay are not written.
"""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.endpoints import slice_controller
from moorage.control.endpoints.endpoints_controller import EndpointsController
from moorage.control.endpoints.slice_controller import EndpointSliceController
from moorage.control.framework.actions import Action, Create, Delete, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]
_MOST = 3  # endpoints in a slice, here


class _Cluster:
    """A world, and the changes of it that controllers are told of."""

    def __init__(self) -> None:
        self.world, self.now = World(), 1000.0
        context = controller_context()
        self.controllers: tuple[Controller, ...] = (EndpointSliceController(context), EndpointsController(context))
        self._numbers = count(1)
        self.written: list[str] = []
        self._queue: dict[tuple[Controller, str], None] = {}

    def put(self, kind: Kind, raw: Raw | None, key: str = "") -> None:
        """Write an object, or remove the one with this key; then let the controllers work until they are done."""
        self._write(kind, raw, key)
        for _ in range(100):
            if not self._queue:
                return
            controller, waiting = next(iter(self._queue))
            del self._queue[controller, waiting]
            self.work(controller, waiting)
        raise AssertionError("the controllers do not settle")

    def _write(self, kind: Kind, raw: Raw | None, key: str = "") -> None:
        if raw is not None:
            name = raw["metadata"]["name"]
            key = f"default/{name}" if kind.namespaced else name
        old = self.world.get(kind, key)
        revision = next(self._numbers)
        new = None
        if raw is not None:
            uid = old.uid if old is not None else f"uid-{revision}"
            metadata = {"namespace": "default", "uid": uid, "creationTimestamp": "2026-01-01T00:00:00Z"}
            new = Object(kind, key, revision, raw={**raw, "metadata": {**metadata, **raw["metadata"]}})
        if old is None and new is None:
            return
        self.world.apply(kind, Delta(old, new))
        if old is not None and new is None:
            for dependent in list(self.world.owned(KINDS.ENDPOINT_SLICE, old.uid)):
                self._write(KINDS.ENDPOINT_SLICE, None, dependent.key)
        for controller in self.controllers:
            if kind in controller.watches:
                keys = controller.concerns(kind, old, new, self.world)
                self._queue |= dict.fromkeys((controller, concerned) for concerned in keys)

    def work(self, controller: Controller, key: str) -> None:
        self.now += 10
        for action in controller.reconcile(key, self.world, self.now).actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        if isinstance(action, Delete):
            self._write(action.kind, None, action.key)
            return
        assert isinstance(action, Create | Update)
        document, kind = action.document, action.kind
        prefix = document["metadata"].get("generateName")
        if "name" not in document["metadata"]:
            document = {**document, "metadata": {**document["metadata"], "name": f"{prefix}{next(self._numbers)}"}}
        self.written.append(document["metadata"]["name"])
        self._write(kind, document)


def _pod(chance: Random, number: int) -> Raw:
    labels = {"app": chance.choice("ab"), **({"tier": "x"} if chance.random() < 0.5 else {})}
    conditions = [
        {"type": "Ready", "status": chance.choice(("True", "False")), "lastTransitionTime": "2026-01-01T00:00:05Z"}
    ]
    ports = [{"name": "http", "containerPort": chance.choice((80, 8080)), "protocol": "TCP"}]
    metadata: Raw = {"name": f"pod-{number}", "labels": labels}
    if chance.random() < 0.2:
        metadata["deletionTimestamp"] = "2026-01-01T00:01:00Z"
    spec: Raw = {"containers": [{"name": "c", "ports": ports if chance.random() < 0.8 else []}]}
    spec["nodeName"] = f"node-{chance.randrange(3)}"
    if chance.random() < 0.2:
        spec |= {"hostname": f"h{number}", "subdomain": "one"}
    status: Raw = {"phase": chance.choice(("Running", "Running", "Running", "Failed")), "conditions": conditions}
    if chance.random() < 0.85:
        status |= {"podIP": f"10.0.0.{number}", "podIPs": [{"ip": f"10.0.0.{number}"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _service(chance: Random) -> Raw:
    ports = [{"name": "p", "port": 80, "protocol": "TCP", "targetPort": chance.choice((80, "http", "absent"))}]
    if chance.random() < 0.5:
        ports.append({"name": "q", "port": 81, "protocol": "TCP", "targetPort": "http"})
    spec: Raw = {"type": "ClusterIP", "clusterIP": chance.choice(("10.96.0.9", "None")), "ipFamilies": ["IPv4"]}
    spec |= {"ports": ports, "publishNotReadyAddresses": chance.random() < 0.3}
    spec["selector"] = chance.choice(({"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}, {"tier": "x"}))
    if chance.random() < 0.3:
        spec["trafficDistribution"] = chance.choice(("PreferSameZone", "PreferSameNode"))
    labels = {"team": chance.choice("uv")}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one", "labels": labels}, "spec": spec}


def _selected(cluster: _Cluster, service: Raw) -> Iterator[Raw]:
    for pod in cluster.world.all(KINDS.POD):
        labels = pod.raw["metadata"]["labels"]
        is_over = pod.raw["status"]["phase"] in ("Failed", "Succeeded")
        is_selected = all(labels.get(key) == value for key, value in service["spec"]["selector"].items())
        if is_selected and not is_over and "podIP" in pod.raw["status"]:
            yield pod.raw


def _naive_ports(service: Raw, pod: Raw) -> tuple[tuple[str, int], ...]:
    named = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    found = []
    for port in service["spec"]["ports"]:
        number = named.get(port["targetPort"]) if isinstance(port["targetPort"], str) else port["targetPort"]
        if number is not None:
            found.append((port["name"], number))
    return tuple(sorted(found))


def _naive_slices(cluster: _Cluster, service: Raw) -> set[tuple[Any, ...]]:
    """Every endpoint on its own: ports, pod, address, conditions, node, zone, host name."""
    found = set()
    for pod in _selected(cluster, service):
        node = cluster.world.get(KINDS.NODE, pod["spec"]["nodeName"])
        early = service["spec"]["publishNotReadyAddresses"]
        if node is None and not early:
            continue
        serving = pod["status"]["conditions"][0]["status"] == "True"
        leaving = "deletionTimestamp" in pod["metadata"]
        zone = node.raw["metadata"]["labels"].get("topology.kubernetes.io/zone") if node is not None else None
        ready = early or (serving and not leaving)
        distribution = service["spec"].get("trafficDistribution") if ready else None
        hints = zone if distribution else None, pod["spec"]["nodeName"] if distribution == "PreferSameNode" else None
        name, where = pod["metadata"]["name"], pod["spec"]["nodeName"]
        ports, state = _naive_ports(service, pod), (ready, serving, leaving)
        found.add((ports, name, pod["status"]["podIP"], state, where, zone, pod["spec"].get("hostname"), hints))
    return found


def _written_slices(cluster: _Cluster) -> set[tuple[Any, ...]]:
    found = []
    for one in cluster.world.all(KINDS.ENDPOINT_SLICE):
        ports = tuple(sorted((port["name"], port["port"]) for port in one.raw["ports"] or ()))
        assert len(one.raw["endpoints"] or ()) <= _MOST
        for endpoint in one.raw["endpoints"] or ():
            state = tuple(endpoint["conditions"][name] for name in ("ready", "serving", "terminating"))
            hints = endpoint.get("hints") or {}
            hinted = tuple((hints.get(name) or [{"name": None}])[0]["name"] for name in ("forZones", "forNodes"))
            target, where = endpoint["targetRef"]["name"], endpoint["nodeName"]
            more = endpoint.get("zone"), endpoint.get("hostname"), hinted
            found.append((ports, target, *endpoint["addresses"], state, where, *more))
    assert len(found) == len(set(found))
    return set(found)


def _naive_endpoints(cluster: _Cluster, service: Raw) -> set[tuple[Any, ...]]:
    early = service["spec"]["publishNotReadyAddresses"]
    return {
        (port, pod["status"]["podIP"], early or pod["status"]["conditions"][0]["status"] == "True")
        for pod in _selected(cluster, service)
        if early or "deletionTimestamp" not in pod["metadata"]
        for port in _naive_ports(service, pod)
    }


def _written_endpoints(cluster: _Cluster) -> set[tuple[Any, ...]]:
    endpoints = cluster.world.get(KINDS.ENDPOINTS, "default/one")
    assert endpoints is not None
    found = [
        ((port["name"], port["port"]), address["ip"], ready)
        for subset in endpoints.raw["subsets"] or ()
        for name, ready in (("addresses", True), ("notReadyAddresses", False))
        for address in subset.get(name) or ()
        for port in subset["ports"]
    ]
    assert len(found) == len(set(found))
    return set(found)


def _check(cluster: _Cluster) -> None:
    service = cluster.world.get(KINDS.SERVICE, "default/one")
    if service is None:
        assert not list(cluster.world.all(KINDS.ENDPOINT_SLICE))
        assert not list(cluster.world.all(KINDS.ENDPOINTS))
        return
    assert _written_slices(cluster) == _naive_slices(cluster, service.raw)
    assert _written_endpoints(cluster) == _naive_endpoints(cluster, service.raw)
    assert list(cluster.world.all(KINDS.ENDPOINT_SLICE))
    cluster.written.clear()
    for controller in cluster.controllers:
        cluster.work(controller, "default/one")
    assert cluster.written == []


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_endpoints_follow_from_the_service_and_its_pods(seed: int) -> None:
    chance, cluster = Random(seed), _Cluster()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(slice_controller, "MAX_ENDPOINTS", _MOST)
        for _ in range(30):
            what = chance.random()
            if what < 0.65:
                number = chance.randrange(1, 12)
                pod, old = _pod(chance, number), cluster.world.get(KINDS.POD, f"default/pod-{number}")
                if old is not None:
                    pod["spec"] = old.raw["spec"]  # which stays as it is
                cluster.put(KINDS.POD, pod if chance.random() < 0.8 else None, f"default/pod-{number}")
            elif what < 0.8:
                name = f"node-{chance.randrange(3)}"
                labels = {"topology.kubernetes.io/zone": chance.choice("xy")} if chance.random() < 0.8 else {}
                node: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
                cluster.put(KINDS.NODE, node)
            else:
                cluster.put(KINDS.SERVICE, _service(chance) if chance.random() < 0.9 else None, "default/one")
            _check(cluster)


def test_a_change_of_one_pod_writes_one_slice() -> None:
    chance, cluster = Random(1), _Cluster()
    cluster.put(KINDS.NODE, {"metadata": {"name": "node-0", "labels": {}}})
    service = _service(chance)
    service["spec"] |= {"selector": {"app": "a"}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]}
    cluster.put(KINDS.SERVICE, service)
    for number in range(250):
        pod = _pod(chance, number)
        pod["metadata"] = {"name": f"pod-{number}", "labels": {"app": "a"}}
        pod["spec"]["nodeName"] = "node-0"
        address = f"10.0.{number // 250}.{number % 250 + 1}"
        ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        pod["status"] = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": ready}
        cluster.put(KINDS.POD, pod)
    slices = {one.name: len(one.raw["endpoints"]) for one in cluster.world.all(KINDS.ENDPOINT_SLICE)}
    assert sorted(slices.values()) == [50, 100, 100]
    cluster.written.clear()
    cluster.put(KINDS.POD, None, "default/pod-7")
    changed = [name for name in cluster.written if name in slices]
    assert len(changed) == 1
    assert slices[changed[0]] - 1 in [len(one.raw["endpoints"]) for one in cluster.world.all(KINDS.ENDPOINT_SLICE)]
