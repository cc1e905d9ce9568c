"""Write where the API server is and whose certificates it trusts: Endpoints, an EndpointSlice, a ConfigMap.

Kubernetes: pkg/controlplane/reconcilers and controller/clusterauthenticationtrust. Differs: written when the server
starts, not again and again; an address that no endpoint may have is replaced by one reserved for documentation.
"""

from ipaddress import ip_address

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.serve.api import Api, Raw
from moorage.serve.options import WriteOptions
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.changing import create, replace
from moorage.serve.verbs.reading import get

#: Stands for a machine without an address besides its own loopback. RFC 5737.
NO_ADDRESS = "192.0.2.1"
_OPTIONS = WriteOptions("kube-apiserver")
_SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"


def endpoint_address(address: str) -> str:
    """Return the address as one that an endpoint may have."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return NO_ADDRESS
    return NO_ADDRESS if parsed.is_loopback or parsed.is_unspecified or parsed.is_link_local else str(parsed)


async def publish_endpoints(api: Api, address: str, port: int) -> None:
    """Say in the namespace `default` at which address the Service `kubernetes` is answered."""
    address = endpoint_address(address)
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    await _write(
        api,
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": {_SKIP_MIRROR: "true"}},
            "subsets": [{"addresses": [{"ip": address}], "ports": ports}],
        },
    )
    labels = {"kubernetes.io/service-name": "kubernetes"}
    await _write(
        api,
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
            "addressType": "IPv6" if ":" in address else "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": ports,
        },
    )


async def publish_authentication(api: Api, client_authority: str) -> None:
    """Say in `kube-system` which authority signs the certificates of clients, for servers that ask this one."""
    name = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    data = {"client-ca-file": client_authority}
    await _write(api, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data})


async def _write(api: Api, document: Raw) -> None:
    """Create an object, or give it this content if it has another."""
    kind, metadata = KINDS[document["apiVersion"], document["kind"]], document["metadata"]
    ref = Ref(kind, metadata["namespace"], metadata["name"])
    try:
        await create(api, kind, ref.namespace, document, _OPTIONS)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        found = decode(kind, await get(api, ref))
        if any(found.get(name) != value for name, value in document.items() if name != "metadata"):
            await replace(api, ref, {**found, **document, "metadata": {**found["metadata"], **metadata}}, _OPTIONS)
