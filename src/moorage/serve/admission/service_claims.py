"""Name what only one Service may have, so that two servers, or two requests, cannot both give it away.

Each cluster IP and node port is a claim of the store, such as `ip/10.96.0.7` and `port/30080`. Kubernetes: IPAddress
objects and the bitmap of the port allocator, with the repair loops that make them agree with the Services.
"""

import asyncio
from typing import Any

from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Store, Stored

ADDRESS, PORT = "ip/", "port/"
_NO_ADDRESS = ("", "None")
_AT_ONCE = 100


def claims_of(kind: Kind, view: Any) -> tuple[str, ...]:
    """Return the claims of an object; only Services have some."""
    if kind is not KINDS.SERVICE:
        return ()
    spec = view.spec
    ports = {port.nodePort for port in spec.ports} | {spec.healthCheckNodePort}
    addresses = dict.fromkeys(address for address in spec.clusterIPs if address not in _NO_ADDRESS)
    return (*(f"{ADDRESS}{address}" for address in addresses), *(f"{PORT}{port}" for port in sorted(ports) if port))


def claims_held(kind: Kind, stored: Stored) -> tuple[str, ...]:
    """Return the claims of an object that is stored."""
    if kind is not KINDS.SERVICE:
        return ()
    return claims_of(kind, stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view))


async def hold_claims(store: Store) -> None:
    """Declare what the stored Services have, for a store that does not know."""
    services = (await store.list(prefix_of(KINDS.SERVICE))).items
    for begin in range(0, len(services), _AT_ONCE):
        some = services[begin : begin + _AT_ONCE]
        await asyncio.gather(
            *(store.hold(stored, claims) for stored in some if (claims := claims_held(KINDS.SERVICE, stored)))
        )
