"""Plugins that need a cluster around them: namespaces, accounts, classes."""

from collections.abc import Collection
from typing import Any

import pytest
from tests.unit.admit.objects import Raw, document, pod

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.plugins.priority import Priority, check_priority_class_deletion
from moorage.admit.plugins.service_account import ServiceAccount
from moorage.admit.plugins.standard import (
    NamespaceLifecycle,
    TaintNodesByCondition,
    check_namespace_deletion,
)
from moorage.admit.plugins.storage import DefaultStorageClass, PersistentVolumeClaimResize, StorageObjectInUseProtection
from moorage.admit.prepare.service_addresses import NotAllocated, ServiceAddresses
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import Namespace, NamespaceStatus
from moorage.model.types.core import ServiceAccount as Account
from moorage.model.types.meta import LocalObjectReference, ObjectMeta
from moorage.model.types.policy import PriorityClass
from moorage.model.types.storage import StorageClass

GATES = default_gates()
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def made(raw: Raw, *plugins: Plugin, old: Raw | None = None) -> Raw:
    answer = admit(raw, old, GATES, plugins=plugins)
    assert isinstance(answer, Admitted), answer.status
    return answer.object


def refused(raw: Raw, *plugins: Plugin) -> Raw:
    answer = admit(raw, None, GATES, plugins=plugins)
    assert isinstance(answer, Rejected)
    return answer.status


class StrictWorld(ObjectsWorld):
    """Assumes nothing, not even service accounts."""

    def assumes(self, kind: Kind, key: str, needed_by: Kind) -> bool:
        return False


def test_nothing_is_made_where_no_namespace_is() -> None:
    going = Namespace(metadata=ObjectMeta(name="going"), status=NamespaceStatus(phase="Terminating"))
    plugin = NamespaceLifecycle(ObjectsWorld.of([(KINDS.NAMESPACE, going)], is_complete=True))
    made(pod(), plugin)
    made(document("Namespace"), plugin)
    made(document("Node"), plugin)
    nowhere = pod()
    nowhere["metadata"]["namespace"] = "nowhere"
    status = refused(nowhere, plugin)
    assert (status["code"], status["message"]) == (404, 'namespaces "nowhere" not found')
    assert status["details"] == {"name": "nowhere", "kind": "namespaces"}
    ending = pod()
    ending["metadata"]["namespace"] = "going"
    status = refused(ending, plugin)
    assert status["message"] == (
        'pods "p" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]


def test_some_priority_classes_stay() -> None:
    check_priority_class_deletion("mine")
    with pytest.raises(ApiError) as caught:
        check_priority_class_deletion("system-node-critical")
    assert caught.value.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


def test_some_namespaces_stay() -> None:
    check_namespace_deletion("mine")
    with pytest.raises(ApiError) as caught:
        check_namespace_deletion("default")
    assert caught.value.message == 'namespaces "default" is forbidden: this namespace may not be deleted'


def test_every_pod_has_an_account() -> None:
    spec = made(pod(), ServiceAccount(ObjectsWorld()))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    secret = LocalObjectReference(name="s")
    account = Account(metadata=ObjectMeta(namespace="default", name="default"), imagePullSecrets=(secret,))
    strict = StrictWorld.of([(KINDS.SERVICE_ACCOUNT, account)])
    assert made(pod(), ServiceAccount(strict))["spec"]["imagePullSecrets"] == [{"name": "s"}]
    status = refused(pod(serviceAccountName="other"), ServiceAccount(strict))
    assert status["message"] == (
        'pods "p" is forbidden: error looking up service account default/other: serviceaccount "other" not found'
    )


def test_claims_get_the_default_class() -> None:
    annotation = {"storageclass.kubernetes.io/is-default-class": "true"}

    def storage_class(name: str, made_at: str, annotations: dict[str, str]) -> StorageClass:
        return StorageClass(metadata=ObjectMeta(name=name, creationTimestamp=made_at, annotations=annotations))

    world = ObjectsWorld()
    plugin = DefaultStorageClass(world)
    claim = document("PersistentVolumeClaim", spec=CLAIM)
    assert "storageClassName" not in made(claim, plugin)["spec"]
    for one in (
        storage_class("old", "2024-01-01T00:00:00Z", annotation),
        storage_class("new-b", "2025-01-01T00:00:00Z", annotation),
        storage_class("new-a", "2025-01-01T00:00:00Z", annotation),
        storage_class("none", "2026-01-01T00:00:00Z", {}),
    ):
        world.put_view(KINDS.STORAGE_CLASS, one)
    assert made(claim, plugin)["spec"]["storageClassName"] == "new-a"
    asked = document("PersistentVolumeClaim", spec={**CLAIM, "storageClassName": ""})
    assert made(asked, plugin)["spec"]["storageClassName"] == ""


def test_claims_grow_if_they_are_bound_and_their_class_allows_it() -> None:
    classes = {"grows": StorageClass(allowVolumeExpansion=True), "stays": StorageClass()}
    world = ObjectsWorld(is_complete=True)
    for key, view in classes.items():
        world.put(KINDS.STORAGE_CLASS, key, view)
    plugin = PersistentVolumeClaimResize(world)

    def ask(size: str, name: str, phase: str = "Bound") -> None:
        spec = {**CLAIM, "storageClassName": name}
        old = document("PersistentVolumeClaim", spec=spec, status={"phase": phase})
        new = {**old, "spec": {**spec, "resources": {"requests": {"storage": size}}}}
        plugin.validate(KINDS.PERSISTENT_VOLUME_CLAIM, new, old)

    ask("2Gi", "grows")
    ask("1024Mi", "stays", "Pending")
    with pytest.raises(Forbidden, match=r"^Only bound persistent volume claims can be expanded$"):
        ask("2Gi", "grows", "Pending")
    for name in ("stays", "", "unknown"):
        with pytest.raises(Forbidden, match=r"the storageclass that provisions the pvc must support resize$"):
            ask("2Gi", name)


def test_what_only_controllers_take_away() -> None:
    claim = document("PersistentVolumeClaim", spec=CLAIM)
    assert made(claim, StorageObjectInUseProtection())["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    attributes = document("VolumeAttributesClass", driverName="csi.test", parameters={"a": "b"})
    kept = made(attributes, StorageObjectInUseProtection())["metadata"]["finalizers"]
    assert kept == ["kubernetes.io/vac-protection"]
    taints = made(document("Node"), TaintNodesByCondition())["spec"]["taints"]
    assert taints == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_priorities_are_looked_up_when_they_are_needed() -> None:
    world = ObjectsWorld()
    plugin = Priority(world)
    assert made(pod(), plugin)["spec"]["priority"] == 0
    world.put_view(KINDS.PRIORITY_CLASS, PriorityClass(metadata=ObjectMeta(name="high"), value=7))
    assert made(pod(priorityClassName="high"), plugin)["spec"]["priority"] == 7


class Counter:
    """Gives out the next address and the next port."""

    def __init__(self) -> None:
        self.last = 0
        self.told: list[Any] = []

    def cluster_ip(self, wanted: str) -> str:
        self.last += 1
        self.told.append(wanted)
        if wanted == "10.9.9.9":
            raise NotAllocated("provided IP is already allocated")
        return wanted or f"10.0.0.{self.last}"

    def node_port(self, wanted: int, besides: Collection[int]) -> int:
        self.last += 1
        assert 30000 + self.last not in besides
        if wanted == 31000:
            raise NotAllocated("provided port is already allocated")
        return wanted or 30000 + self.last


def test_services_get_addresses_and_ports() -> None:
    counter = Counter()
    plugin = ServiceAddresses(lambda: counter)
    plain = made(document("Service", spec={"ports": [{"port": 80}]}), plugin)
    assert plain["spec"]["clusterIP"] == "10.0.0.1"
    assert plain["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert plain["spec"]["ipFamilies"] == ["IPv4"]
    headless = made(document("Service", spec={"clusterIP": "None"}), plugin)
    assert headless["spec"]["clusterIPs"] == ["None"]
    named = made(document("Service", spec={"type": "ExternalName", "externalName": "example.com"}), plugin)
    assert "clusterIP" not in named["spec"]
    balancer = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    outside = made(document("Service", spec=balancer), plugin)
    assert outside["spec"]["ports"][0]["nodePort"] == 30003
    assert outside["spec"]["healthCheckNodePort"] == 30004


def test_services_do_not_get_what_others_have() -> None:
    plugin = ServiceAddresses(Counter)
    spec = {"type": "NodePort", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2, "nodePort": 31000}]}
    refused = admit(document("Service", spec=spec), None, GATES, plugins=(plugin,))
    assert isinstance(refused, Rejected)
    assert refused.status["message"] == (
        'Service "x" is invalid: spec.ports[1].nodePort: Invalid value: 31000: provided port is already allocated'
    )
    refused = admit(document("Service", spec={"clusterIP": "10.9.9.9"}), None, GATES, plugins=(plugin,))
    assert isinstance(refused, Rejected)
    assert refused.status["message"] == (
        'Service "x" is invalid: spec.clusterIPs: Invalid value: ["10.9.9.9"]: '
        "failed to allocate IP 10.9.9.9: provided IP is already allocated"
    )


def test_protocols_of_one_port_share_a_port_of_the_nodes() -> None:
    def node_ports(**spec: Any) -> list[int | None]:
        both = [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53}, {"name": "c", "port": 80}]
        service = made(document("Service", spec={"type": "NodePort", "ports": both, **spec}), ServiceAddresses(Counter))
        return [port.get("nodePort") for port in service["spec"]["ports"]]

    first, second, third = node_ports()
    assert first == second != third
    asked = [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53, "nodePort": 30053}]
    assert node_ports(ports=asked) == [30053, 30053]
    assert node_ports(type="LoadBalancer", allocateLoadBalancerNodePorts=False) == [None, None, None]


def test_an_update_keeps_what_was_given() -> None:
    counter = Counter()
    plugin = ServiceAddresses(lambda: counter)
    sent = document("Service", spec={"type": "NodePort", "ports": [{"port": 80}]})
    old = made(sent, plugin)
    old["metadata"]["resourceVersion"] = "7"
    again = made(sent, plugin, old=old)
    assert again["spec"] == old["spec"]
    inside = made(document("Service", spec={**old["spec"], "type": "ClusterIP"}), plugin, old=old)
    assert "nodePort" not in inside["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in inside["spec"]
    named = {**old["spec"], "type": "ExternalName", "externalName": "example.com", "ports": []}
    moved = admit(document("Service", spec=named), old, GATES, plugins=(plugin,))
    assert isinstance(moved, Admitted)
    assert "clusterIP" not in moved.object["spec"]
