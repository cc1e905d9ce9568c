"""Write where API servers are and whose certificates they trust: Endpoints, EndpointSlices, a ConfigMap.

Kubernetes: pkg/controlplane/reconcilers and controller/clusterauthenticationtrust. Differs: servers may have different
ports, since several may run on one machine: then there is a slice for each port; an address that no endpoint may have
is replaced by one reserved for documentation.
"""

from collections.abc import Collection
from ipaddress import ip_address

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.model.well_known.labels import SERVICE_NAME, SKIP_MIRROR
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.serve.verbs.api import Api, Raw
from moorage.serve.verbs.changing import create, replace
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.reading import get
from moorage.telemetry.logs import get_logger

_LOG = get_logger("apiserver")
#: Stands for a machine without an address besides its own loopback. RFC 5737.
NO_ADDRESS = "192.0.2.1"
_OPTIONS = WriteOptions("kube-apiserver")
_NAME, _NAMESPACE = "kubernetes", "default"


def endpoint_address(address: str) -> str:
    """Return the address as one that an endpoint may have."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return NO_ADDRESS
    return NO_ADDRESS if parsed.is_loopback or parsed.is_unspecified or parsed.is_link_local else str(parsed)


async def publish_endpoints(api: Api, servers: Collection[tuple[str, int]]) -> None:
    """Say in the namespace `default` at which addresses and ports the Service `kubernetes` is answered."""
    by_port: dict[tuple[str, int], set[str]] = {}
    for address, port in servers:
        usable = endpoint_address(address)
        by_port.setdefault(("IPv6" if ":" in usable else "IPv4", port), set()).add(usable)
    groups = [(family, port, sorted(found)) for (family, port), found in sorted(by_port.items())]
    await _write(
        api,
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": {SKIP_MIRROR: "true"}},
            "subsets": [
                {"addresses": [{"ip": address} for address in found], "ports": _ports(port)}
                for _, port, found in groups
            ],
        },
    )
    wanted = set()
    for place, (family, port, found) in enumerate(groups):
        name = f"{_NAME}-{family.lower()}-{port}" if place else _NAME
        wanted.add(name)
        labels = {SERVICE_NAME: _NAME}
        await _write(
            api,
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": name, "namespace": _NAMESPACE, "labels": labels},
                "addressType": family,
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in found],
                "ports": _ports(port),
            },
        )
    listing = await api.store.list(prefix_of(KINDS.ENDPOINT_SLICE, _NAMESPACE))
    names = {stored.key.rpartition("/")[2] for stored in listing.items}
    for name in sorted(names - wanted):
        if name.startswith(f"{_NAME}-ipv"):
            await delete(api, Ref(KINDS.ENDPOINT_SLICE, _NAMESPACE, name), DeleteOptions())


def _ports(port: int) -> list[Raw]:
    return [{"name": "https", "port": port, "protocol": "TCP"}]


async def publish_authentication(api: Api, client_authority: str) -> None:
    """Say in `kube-system` which authority signs the certificates of clients, for servers that ask this one."""
    name = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    data = {"client-ca-file": client_authority}
    found = api.store.peek(key_of(KINDS.CONFIG_MAP, name["namespace"], name["name"]))
    if found is not None and api.store.is_shared:
        known = decode(KINDS.CONFIG_MAP, found).get("data", {}).get("client-ca-file", client_authority)
        if known not in client_authority and client_authority not in known:
            _LOG.warning(
                "Another API server on this etcd had another authority: a client that one of them accepts is refused "
                "by the other. Give all of them the same --cert-dir, or copies of it"
            )
    await _write(api, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data})


async def _write(api: Api, document: Raw) -> None:
    """Create an object, or give it this content if it has another."""
    kind, metadata = KINDS[document["apiVersion"], document["kind"]], document["metadata"]
    ref = Ref(kind, metadata["namespace"], metadata["name"])
    try:
        found = decode(kind, await get(api, ref))
    except ApiError as error:
        if error.code != 404:
            raise
        try:
            await create(api, kind, ref.namespace, document, _OPTIONS)
        except ApiError as taken:
            if taken.reason != "AlreadyExists":
                raise
        else:
            return
        found = decode(kind, await get(api, ref))
    if any(found.get(name) != value for name, value in document.items() if name != "metadata"):
        await replace(api, ref, {**found, **document, "metadata": {**found["metadata"], **metadata}}, _OPTIONS)
