"""Find the webhook behind a Service: as told, by its annotation, at its endpoints, or nowhere."""

from typing import Any

import pytest

from moorage.model.kinds import KINDS
from moorage.model.types.extension.admission_policies import ServiceReference, WebhookClientConfig
from moorage.model.well_known.annotations import WEBHOOK_URL
from moorage.run.node_objects import pod_address
from moorage.serve.resources.objects import encode, key_of
from moorage.serve.webhooks.connections import HostPort
from moorage.serve.webhooks.failures import CallFailed
from moorage.serve.webhooks.services import BadAddress, WebhookServices, read_address, read_webhook_service
from moorage.serve.webhooks.targets import target_of
from moorage.store.memory import MemoryStore

Raw = dict[str, Any]
TARGET = target_of(WebhookClientConfig(service=ServiceReference("system", "hooks", "/check", 443)))


async def put(store: MemoryStore, kind: Any, name: str, **rest: Any) -> None:
    metadata = {"name": name, "namespace": "system", **rest.pop("metadata", {})}
    raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **rest}
    await store.create(key_of(kind, "system", name), encode(kind, raw))


async def put_service(store: MemoryStore, *, annotation: str = "", type_: str = "ClusterIP") -> None:
    metadata = {"annotations": {WEBHOOK_URL: annotation}} if annotation else {}
    ports = [{"name": "other", "port": 80, "targetPort": 8080}, {"name": "hooks", "port": 443, "targetPort": 9443}]
    await put(store, KINDS.SERVICE, "hooks", metadata=metadata, spec={"type": type_, "ports": ports})


async def put_slice(store: MemoryStore, *addresses: str, pod: bool = True, ready: bool = True, name: str = "a") -> None:
    target = {"targetRef": {"kind": "Pod", "name": "p"}} if pod else {}
    endpoints = [{"addresses": [address], "conditions": {"ready": ready}, **target} for address in addresses]
    ports = [{"name": "other", "port": 8080}, {"name": "hooks", "port": 9443}]
    labels = {"labels": {"kubernetes.io/service-name": "hooks"}}
    kind = KINDS.ENDPOINT_SLICE
    await put(store, kind, f"hooks-{name}", metadata=labels, addressType="IPv4", endpoints=endpoints, ports=ports)


async def failure(services: WebhookServices) -> str:
    with pytest.raises(CallFailed) as raised:
        await services.locate(TARGET)
    return str(raised.value)


async def test_a_url_needs_no_service() -> None:
    target = target_of(WebhookClientConfig(url="https://hooks.example.com/x"))
    assert await WebhookServices(MemoryStore()).locate(target) == HostPort("hooks.example.com", 443)


async def test_what_is_told_comes_first_also_without_a_service() -> None:
    told = dict([read_webhook_service("system/hooks=https://127.0.0.1:9443")])
    assert await WebhookServices(MemoryStore(), told).locate(TARGET) == HostPort("127.0.0.1", 9443)


async def test_annotation_of_the_service() -> None:
    store = MemoryStore()
    await put_service(store, annotation="https://localhost:9443")
    await put_slice(store, "192.0.2.7")
    assert await WebhookServices(store).locate(TARGET) == HostPort("localhost", 9443)


async def test_annotation_that_cannot_be_read() -> None:
    store = MemoryStore()
    await put_service(store, annotation="http://localhost:9443")
    assert await failure(WebhookServices(store)) == (
        f'annotation {WEBHOOK_URL} of service "hooks": webhooks are called over TLS only: https://HOST[:PORT] is wanted'
    )


async def test_endpoints_by_the_name_of_the_port() -> None:
    store = MemoryStore()
    await put_service(store)
    await put_slice(store, "192.0.2.9", ready=False, name="a")
    await put_slice(store, pod_address(1), "192.0.2.7", name="b")
    assert await WebhookServices(store).locate(TARGET) == HostPort("192.0.2.7", 9443)


async def test_endpoints_that_are_no_pods_may_have_any_address() -> None:
    store = MemoryStore()
    await put_service(store)
    await put_slice(store, "10.128.0.1", pod=False)
    assert await WebhookServices(store).locate(TARGET) == HostPort("10.128.0.1", 9443)


async def test_simulated_pods_are_not_called_but_said_what_to_do() -> None:
    store = MemoryStore()
    await put_service(store)
    await put_slice(store, pod_address(1), pod_address((1 << 22) - 1))
    assert await failure(WebhookServices(store)) == (
        'the endpoints of service "hooks" are simulated pods, in which nothing listens; to call a webhook that runs '
        "elsewhere, start the cluster with --webhook-service system/hooks=https://HOST[:PORT], or annotate the service "
        "with simulate.moorage.dev/webhook-url=https://HOST[:PORT]"
    )


async def test_words_of_kubernetes_for_services_without_endpoints() -> None:
    store = MemoryStore()
    assert await failure(WebhookServices(store)) == 'service "hooks" not found'
    await put_service(store)
    assert (await failure(WebhookServices(store))).startswith('no endpoints available for service "hooks"; ')
    other = target_of(WebhookClientConfig(service=ServiceReference("system", "hooks", None, 8443)))
    with pytest.raises(CallFailed, match='no service port 8443 found for service "hooks"'):
        await WebhookServices(store).locate(other)


async def test_service_of_another_type() -> None:
    store = MemoryStore()
    await put_service(store, type_="ExternalName")
    assert await failure(WebhookServices(store)) == 'unsupported service type "ExternalName"'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("https://127.0.0.1:9443", HostPort("127.0.0.1", 9443)),
        ("https://[::1]:9443/", HostPort("::1", 9443)),
        (" https://host ", HostPort("host", 443)),
    ],
)
def test_addresses(text: str, place: HostPort) -> None:
    assert read_address(text) == place


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1:9443", "http://a", "https://", "https://a/path", "https://a:b", "https://u@a", "https://a?b"],
)
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(BadAddress):
        read_address(text)


@pytest.mark.parametrize("text", ["", "hooks=https://a", "a/b/c=https://a", "/b=https://a", "a/b", "a/b=http://a"])
def test_services_that_are_none(text: str) -> None:
    with pytest.raises(BadAddress):
        read_webhook_service(text)
