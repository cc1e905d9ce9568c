"""Publish which API servers live: a Lease for each in kube-system, and the endpoints of the Service kubernetes.

A server renews its Lease every ten seconds. Endpoints are those of servers whose Lease was renewed within the last
fifteen seconds, by the clock of the one that looks; Leases that ended an hour ago are deleted. Kubernetes: the lease
controller and its garbage collector in pkg/controlplane, reconcilers.leaseEndpointReconciler, and
controller/clusterauthenticationtrust. Differs: addresses are read from the Leases, where upstream has keys of its own
in etcd; a server that stops deletes its Lease; several servers may run on one machine, so the port is part of the
name and each port has a slice; an address that no endpoint may have is replaced by one reserved for documentation.
"""

import asyncio
import base64
import hashlib
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from ipaddress import ip_address
from typing import NamedTuple

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.go.times import micro_time_text, seconds_of
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.model.well_known.labels import HOSTNAME, SERVICE_NAME, SKIP_MIRROR
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.reading import get
from moorage.store.protocol import StoreError
from moorage.telemetry.logs import get_logger

LABEL, LABEL_VALUE = "apiserver.kubernetes.io/identity", "kube-apiserver"
ADDRESS = "kubernetes.io/peer-advertise-address"
LEASE_SECONDS = 3600
RENEW_SECONDS = 10.0
#: A server whose Lease has not changed for so long is dead; upstream's master leases last as long.
LIVES_SECONDS = 15.0
_LEASE_NAMESPACE = "kube-system"
#: No policy or webhook is asked about these: none can keep an API server from starting.
_OPTIONS = WriteOptions("kube-apiserver", is_internal=True)
_LOG = get_logger("apiserver")


class Seen(NamedTuple):
    """The renewal time of a Lease, and since when it has been the same."""

    renewed: str
    since: float


def lease_name(host: str, port: int) -> str:
    digest = hashlib.sha256(f"{host}:{port}".encode()).digest()[:16]
    return f"apiserver-{base64.b32encode(digest).decode().rstrip('=').lower()}"


class ServerIdentity:
    """One API server of several on a shared store. Call `begin`, run `run` in a task, and `end` it."""

    def __init__(
        self, api: Api, host: str, address: str, port: int, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = lease_name(host, port)
        self._api, self._host, self._address, self._port, self._now = api, host, address, port, now
        self._holder = f"{self.name}_{uuid.uuid4()}"
        self._seen: dict[str, Seen] = {}

    async def begin(self) -> None:
        """Write the Lease and the endpoints. Raises ApiError, StoreError."""
        await self._renew()
        await self._publish()

    async def run(self) -> None:
        """Renew, publish and collect until cancelled; what fails is tried again at the next turn."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            try:
                await self._renew()
                await self._publish()
                await self._collect()
            except ApiError as error:
                if error.code != 409:  # another server has written the same
                    _LOG.warning("The Lease of this API server cannot be renewed", err=error.message)
            except StoreError as error:
                _LOG.warning("The Lease of this API server cannot be renewed", err=str(error))

    async def end(self) -> None:
        """Say that this server is gone; other servers stay. What fails is left to them."""
        with suppress(ApiError, StoreError):
            await delete(self._api, Ref(KINDS.LEASE, _LEASE_NAMESPACE, self.name), DeleteOptions(), _OPTIONS)
            await self._publish()

    async def _renew(self) -> None:
        ref, now = Ref(KINDS.LEASE, _LEASE_NAMESPACE, self.name), micro_time_text(int(self._api.clock() * 1_000_000))
        spec = {"holderIdentity": self._holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        address = f"[{self._address}]" if ":" in self._address else self._address
        metadata: Raw = {
            "name": self.name,
            "namespace": _LEASE_NAMESPACE,
            "labels": {LABEL: LABEL_VALUE, HOSTNAME: self._host[:63]},
            "annotations": {ADDRESS: f"{address}:{self._port}"},
        }
        document = {"apiVersion": KINDS.LEASE.api_version, "kind": KINDS.LEASE.name, "metadata": metadata, "spec": spec}
        try:
            metadata["resourceVersion"] = str((await get(self._api, ref)).revision)
            await replace(self._api, ref, document, _OPTIONS)
        except ApiError as error:
            if error.code != 404:
                raise
            metadata.pop("resourceVersion", None)
            await create(self._api, KINDS.LEASE, _LEASE_NAMESPACE, document, _OPTIONS)

    async def _publish(self) -> None:
        """Write the endpoints of servers that live. Without any they stay as they are."""
        now, seen, living = self._now(), {}, set()
        for name, lease in (await self._leases()).items():
            renewed = str(lease.get("spec", {}).get("renewTime"))
            known = self._seen.get(name)
            seen[name] = known if known is not None and known.renewed == renewed else Seen(renewed, now)
            address, _, port = str(lease["metadata"].get("annotations", {}).get(ADDRESS, "")).rpartition(":")
            if now - seen[name].since < LIVES_SECONDS and address and port.isdigit():
                living.add((address.strip("[]"), int(port)))
        self._seen = seen
        if living:
            await publish_endpoints(self._api, living)

    async def _collect(self) -> None:
        """Delete Leases of servers that ended long ago."""
        for name, lease in (await self._leases()).items():
            spec = lease.get("spec", {})
            ended = (seconds_of(str(spec.get("renewTime"))) or 0.0) + (spec.get("leaseDurationSeconds") or 0)
            if ended < self._api.clock():
                with suppress(ApiError):
                    await delete(self._api, Ref(KINDS.LEASE, _LEASE_NAMESPACE, name), DeleteOptions(), _OPTIONS)

    async def _leases(self) -> dict[str, Raw]:
        listing = await self._api.store.list(prefix_of(KINDS.LEASE, _LEASE_NAMESPACE))
        leases = {stored.key.rpartition("/")[2]: decode(KINDS.LEASE, stored) for stored in listing.items}
        return {
            name: lease
            for name, lease in leases.items()
            if lease["metadata"].get("labels", {}).get(LABEL) == LABEL_VALUE
        }


#: Stands for a machine without an address besides its own loopback. RFC 5737.
NO_ADDRESS = "192.0.2.1"
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
    groups = [(family, port, sorted(addresses)) for (family, port), addresses in sorted(by_port.items())]
    await _write(
        api,
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": {SKIP_MIRROR: "true"}},
            "subsets": [
                {"addresses": [{"ip": address} for address in addresses], "ports": _ports(port)}
                for _, port, addresses in groups
            ],
        },
    )
    wanted = set()
    for place, (family, port, addresses) in enumerate(groups):
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
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
                "ports": _ports(port),
            },
        )
    listing = await api.store.list(prefix_of(KINDS.ENDPOINT_SLICE, _NAMESPACE))
    names = {stored.key.rpartition("/")[2] for stored in listing.items}
    for name in sorted(names - wanted):
        if name.startswith(f"{_NAME}-ipv"):
            await delete(api, Ref(KINDS.ENDPOINT_SLICE, _NAMESPACE, name), DeleteOptions(), _OPTIONS)


def _ports(port: int) -> list[Raw]:
    return [{"name": "https", "port": port, "protocol": "TCP"}]


async def publish_authentication(api: Api, client_authority: str) -> None:
    """Say in `kube-system` which authority signs the certificates of clients, for servers that ask this one."""
    name = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    data = {"client-ca-file": client_authority}
    stored = api.store.peek(key_of(KINDS.CONFIG_MAP, name["namespace"], name["name"]))
    if stored is not None and api.store.is_shared:
        known = decode(KINDS.CONFIG_MAP, stored).get("data", {}).get("client-ca-file", client_authority)
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
        stored = decode(kind, await get(api, ref))
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
        stored = decode(kind, await get(api, ref))
    if any(stored.get(name) != value for name, value in document.items() if name != "metadata"):
        await replace(api, ref, {**stored, **document, "metadata": {**stored["metadata"], **metadata}}, _OPTIONS)
