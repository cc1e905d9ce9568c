"""Render the objects of a live cluster as YAML documents: what a plan and `moorage up --from` read.

Kinds follow in the order of the table, objects by namespace and name. Secrets are not read at all.
"""

from collections.abc import AsyncIterator, Callable, Collection

import yaml

from moorage.client.protocol import Client, Raw
from moorage.cluster.transfer.other_cluster import NOT_READ
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

_NEEDED = frozenset({"Node", "Pod"})
_NOT_FOUND = 404
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: Events and Leases say nothing of what should be.
_TRANSIENT = frozenset({("v1", "Event"), ("coordination.k8s.io/v1", "Lease")})
DUMPED = tuple(kind for named, kind in KINDS.items() if named not in NOT_READ | _TRANSIENT)


class DumpError(Exception):
    """Why a cluster cannot be dumped: one line for the user."""


async def dumped(client: Client, namespaces: Collection[str], forbid: Callable[[str], None]) -> AsyncIterator[str]:
    """Yield documents kind by kind; call `forbid` with a line for each kind that may not be listed.

    Raises DumpError, Unreachable.
    """
    for kind in DUMPED:
        chosen = tuple(dict.fromkeys(namespaces)) if kind.namespaced and namespaces else ("",)
        for namespace in chosen:
            try:
                items = (await client.list_all(kind, namespace)).items
            except ApiError as error:
                if kind.name in _NEEDED:
                    raise DumpError(f"{kind.plural} cannot be listed: {error.message}") from None
                if error.code != _NOT_FOUND:
                    forbid(f"{kind.plural} were not read: {error.message}")
                continue
            about = {"apiVersion": kind.api_version, "kind": kind.name}
            for item in sorted(items, key=lambda item: item.key):
                yield _document({**about, **item.raw})


def _document(raw: Raw) -> str:
    metadata = {name: value for name, value in raw["metadata"].items() if name != "managedFields"}
    text = yaml.dump({**raw, "metadata": metadata}, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    return f"---\n{text}"
