"""Check what only one Service may have: cluster IPs and node ports, and in etcd the claims that keep them apart."""

from collections.abc import Iterator, Sequence

from moorage.cluster.transfer.store_content import StoreContent, StoredItem
from moorage.model.kinds import KINDS
from moorage.model.types.core import Service
from moorage.serve.admission.service_claims import ADDRESS, claims_of

_CLAIMS = "claims/"

_Found = tuple[str, str, str]


def check_services(services: Sequence[tuple[StoredItem, Service]], content: StoreContent) -> Iterator[_Found]:
    """Yield the level, the key and the problem of each finding."""
    holders: dict[str, StoredItem] = {}
    for item, service in services:
        for claim in claims_of(KINDS.SERVICE, service):
            other = holders.setdefault(claim, item)
            if other is not item:
                yield "error", item.shown, f"has {_title(claim)}, as {other.shown} has"
    claimed = {name[len(_CLAIMS) :]: value for name, value in content.notes.items() if name.startswith(_CLAIMS)}
    for claim, value in claimed.items():
        holder, noted = holders.get(claim), value.decode("utf-8", "backslashreplace")
        note = f"moorage/{_CLAIMS}{claim}"
        if holder is None:
            yield "error", note, f"keeps {_title(claim)} for {noted}, which does not have it"
        elif holder.shown != noted:
            yield "error", note, f"keeps {_title(claim)} for {noted}, but {holder.shown} has it"
    if claimed:  # without any, the next API server to start takes them all
        for claim in holders.keys() - claimed.keys():
            yield (
                "note",
                holders[claim].shown,
                f"has no claim to {_title(claim)}: an API server takes it when it starts",
            )


def _title(claim: str) -> str:
    value = claim.partition("/")[2]
    return f"the cluster IP {value}" if claim.startswith(ADDRESS) else f"the node port {value}"
