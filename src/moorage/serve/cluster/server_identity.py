"""Tell the cluster which API servers live: a Lease for each in kube-system, and endpoints of the Service kubernetes.

A server renews its Lease every ten seconds. Endpoints are those of servers whose Lease was renewed within the last
fifteen seconds, by the clock of the one that looks; Leases that ended an hour ago are deleted. Kubernetes: the lease
controller and its garbage collector in pkg/controlplane, and reconcilers.leaseEndpointReconciler. Differs: addresses
are read from the Leases, where upstream has keys of its own in etcd for them; a server that stops deletes its Lease;
the port counts for the name, since several servers may run on one machine.
"""

import asyncio
import base64
import hashlib
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from moorage.model.api_error import ApiError
from moorage.model.go.times import micro_time_text, seconds_of
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.model.well_known.labels import HOSTNAME
from moorage.serve.cluster.api_endpoints import publish_endpoints
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.verbs.api import Api, Raw
from moorage.serve.verbs.changing import create, replace
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
_NAMESPACE = "kube-system"
_OPTIONS = WriteOptions("kube-apiserver")
_LOG = get_logger("apiserver")


class Seen(NamedTuple):
    """What a Lease said, and since when it has said so."""

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
            await delete(self._api, Ref(KINDS.LEASE, _NAMESPACE, self.name), DeleteOptions())
            await self._publish()

    async def _renew(self) -> None:
        ref, now = Ref(KINDS.LEASE, _NAMESPACE, self.name), micro_time_text(int(self._api.clock() * 1_000_000))
        spec = {"holderIdentity": self._holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        address = f"[{self._address}]" if ":" in self._address else self._address
        metadata: Raw = {
            "name": self.name,
            "namespace": _NAMESPACE,
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
            await create(self._api, KINDS.LEASE, _NAMESPACE, document, _OPTIONS)

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
                    await delete(self._api, Ref(KINDS.LEASE, _NAMESPACE, name), DeleteOptions())

    async def _leases(self) -> dict[str, Raw]:
        listing = await self._api.store.list(prefix_of(KINDS.LEASE, _NAMESPACE))
        leases = {stored.key.rpartition("/")[2]: decode(KINDS.LEASE, stored) for stored in listing.items}
        return {
            name: lease
            for name, lease in leases.items()
            if lease["metadata"].get("labels", {}).get(LABEL) == LABEL_VALUE
        }
