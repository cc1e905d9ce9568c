"""The tables of Endpoints and EndpointSlices.

Kubernetes: printEndpoints, printEndpointSlice.
"""

from collections.abc import Iterable
from itertools import chain, islice

from moorage.serve.tables.columns import AGE, NAME, NONE, UNSET, Column, Raw, Row, Tables, field, table

TABLES: Tables = {}
_SHOWN = 3


def _list_text(shown: Iterable[str], total: int, *, nothing: str) -> str:
    """Return the first few, and how many more there are."""
    text = ",".join(islice(shown, _SHOWN))
    if total > _SHOWN:
        return f"{text} + {total - _SHOWN} more..."
    return text or nothing


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subset_texts(subset: Raw) -> Iterable[str]:
    addresses = [address.get("ip") or "" for address in subset.get("addresses") or ()]
    ports = subset.get("ports")
    if not ports:
        return addresses
    return (_with_port(address, port.get("port") or 0) for port in ports for address in addresses)


def _endpoints(row: Row) -> str:
    subsets = row.raw.get("subsets") or ()
    total = sum(len(one.get("addresses") or ()) * (len(one.get("ports") or ()) or 1) for one in subsets)
    shown = chain.from_iterable(map(_subset_texts, subsets))
    return _list_text(shown, total, nothing="") if subsets else NONE


def _port_text(port: Raw) -> str:
    number, name = port.get("port"), port.get("name")
    return str(number) if number is not None else "*" if name is None else str(name)


def _ports(row: Row) -> str:
    ports = row.raw.get("ports") or ()
    return _list_text(map(_port_text, ports), len(ports), nothing=UNSET)


def _addresses(row: Row) -> str:
    found = [address for endpoint in row.raw.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return _list_text(found, len(found), nothing=UNSET)


TABLES["v1", "Endpoints"] = table(NAME, Column("Endpoints", "The ready addresses and ports.", _endpoints), AGE)
TABLES["discovery.k8s.io/v1", "EndpointSlice"] = table(
    NAME,
    Column("AddressType", "What kind of addresses the slice has.", field("addressType")),
    Column("Ports", "The ports of every endpoint.", _ports),
    Column("Endpoints", "The addresses, ready or not.", _addresses),
    AGE,
)
