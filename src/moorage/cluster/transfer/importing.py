"""Import the objects of another cluster into this one (`--from`), unchanged where possible.

They keep their uids, by which owners, claims, volumes, Jobs and pods know each other; where an object exists here
already, such as a namespace, its uid here takes the place of the other one wherever that occurs. Objects written by
hand, without a uid, are created. What cannot be taken is left out and said.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from moorage.admit.admission import Admitted
from moorage.client.protocol import Raw
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.transfer.manifests import bounded, counted
from moorage.cluster.transfer.other_cluster import Foreign, OtherCluster
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, OLDER_VERSIONS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.run.node_objects import SIMULATOR, SIMULATOR_LABEL, STOPPED, stays_unready
from moorage.serve.cluster.bootstrap import TOKEN_TRACKING
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.restoring import admit_as_is, store_as_is
from moorage.store.protocol import StoreError

_AT_ONCE = 256
#: What the API server writes about itself, which the other cluster's must not replace.
_OWN = frozenset(
    {
        key_of(KINDS.SERVICE, "default", "kubernetes"),
        key_of(KINDS.ENDPOINTS, "default", "kubernetes"),
        key_of(KINDS.ENDPOINT_SLICE, "default", "kubernetes"),
        key_of(KINDS.CONFIG_MAP, "kube-system", "extension-apiserver-authentication"),
        key_of(KINDS.CONFIG_MAP, "kube-system", TOKEN_TRACKING),
    }
)
_OPTIONS = WriteOptions("moorage-from")
#: Kinds of which a new cluster has some, or that tell nothing of what is in it.
_OF_EVERY_CLUSTER = frozenset(
    {"Namespace", "PriorityClass", "Service", "Endpoints", "EndpointSlice", "ConfigMap", "Event", "Lease"}
    | {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
    | {"APIService", "FlowSchema", "IPAddress", "PriorityLevelConfiguration", "ServiceCIDR", "StorageClass"}
)


class _Item(NamedTuple):
    """An object to import; the key is that of the store."""

    kind: Kind
    key: str
    raw: Raw
    where: str


async def refuse_if_filled(api: Api) -> None:
    """Raise CannotStart if the cluster has objects of its own: two clusters cannot be made one."""
    for kind in KINDS.values():
        if kind.name not in _OF_EVERY_CLUSTER and (count := await api.store.count(prefix_of(kind))):
            raise CannotStart(
                f"--from: the cluster is not new, it has {count} {kind.plural}: choose another --name, delete the "
                "cluster first, or leave --from out to start it as it is"
            )


async def import_objects(api: Api, other: OtherCluster) -> list[str]:
    """Write the objects, definitions of custom kinds first; return lines for the user. Raises CannotStart."""
    definitions = [foreign for foreign in other.objects if _is_definition(foreign.raw)]
    if not definitions:
        return await _import(api, other)
    lines = await _import(api, OtherCluster(definitions, Counter(), []))
    rest = [foreign for foreign in other.objects if not _is_definition(foreign.raw)]
    return [*lines, *await _import(api, other._replace(objects=rest))]


def _is_definition(raw: Raw) -> bool:
    return (raw["apiVersion"], raw["kind"]) == (
        KINDS.CUSTOM_RESOURCE_DEFINITION.api_version,
        KINDS.CUSTOM_RESOURCE_DEFINITION.name,
    )


async def _import(api: Api, other: OtherCluster) -> list[str]:
    notes, unserved = list(other.notes), Counter(other.unserved)
    refusals: list[str] = []
    items = _items(other.objects, api, unserved, refusals)
    uids = await _uids_here(api, items)
    dumped = [item for item in items.values() if _uid(item.raw) and item.key not in _OWN]
    owners = {_uid(item.raw) for item in items.values()} | set(uids.values())
    orphans: Counter[str] = Counter()
    admitted: list[tuple[Kind, Admitted]] = []
    for number, item in enumerate(dumped):
        raw = _without_absent_owners(api, item, owners, orphans)
        raw = _mapped(raw, uids) if uids else raw
        try:
            admitted.append((item.kind, admit_as_is(api, item.kind, _as_simulated(item.kind, raw))))
        except ApiError as error:
            refusals.append(_left_out(item.where, error.message))
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    try:
        for begin in range(0, len(admitted), _AT_ONCE):
            await asyncio.gather(*(store_as_is(api, *made) for made in admitted[begin : begin + _AT_ONCE]))
        by_hand = [item for item in items.values() if not _uid(item.raw)]
        metadata = [made.object["metadata"] for _, made in admitted] + [item.raw["metadata"] for item in by_hand]
        named = {about["namespace"] for about in metadata if about.get("namespace")}
        refusals += await _add_namespaces(api, sorted(named))
        refusals += await _create(api, by_hand)
    except StoreError as error:
        raise CannotStart(f"--from: the objects cannot be stored: {error}") from None
    if unserved:
        notes.append(f"--from: not served here, and left out: {counted(unserved)}")
    if orphans:
        notes.append(f"--from: owners that are not in the input, whose objects stay without them: {counted(orphans)}")
    return [*notes, *bounded(refusals)]


def _items(objects: Iterable[Foreign], api: Api, unserved: Counter[str], refusals: list[str]) -> dict[str, _Item]:
    """Return what can be stored, by key; of two objects of one name the later one."""
    items: dict[str, _Item] = {}
    for raw, where in objects:
        named = raw["apiVersion"], raw["kind"]
        kind = KINDS.get(named) or api.resources.custom_kind(*named)
        if kind is None:
            refusals.append(_left_out(where, f"{named[0]} {named[1]} is not served: its definition is not established"))
            continue
        if kind.gate is not None and not api.gates.enabled(kind.gate):
            unserved[f"{kind.name} ({kind.api_version}, needs the feature gate {kind.gate.name})"] += 1
            continue
        try:
            convert_view(raw, kind.view)
        except ConversionError as error:
            refusals.append(_left_out(where, error.problems[0].reason))
            continue
        metadata = dict(raw.get("metadata") or {})
        name, namespace = metadata.get("name") or "", ""
        if kind.namespaced:
            namespace = metadata["namespace"] = metadata.get("namespace") or "default"
        raw = {**raw, "metadata": metadata}
        key = key_of(kind, namespace, name or f"{where} {len(items)}")
        items[key] = _Item(kind, key, raw, where)
    return items


async def _uids_here(api: Api, items: Mapping[str, _Item]) -> dict[str, str]:
    """Return the uids of objects that exist here, by their uid in the other cluster."""
    uids = {}
    for key, item in items.items():
        stored = await api.store.get(key)
        uid = _uid(item.raw)
        if stored is not None and uid:
            here = str(decode(item.kind, stored)["metadata"]["uid"])
            if here != uid:
                uids[uid] = here
    return uids


def _mapped(value: Any, uids: Mapping[str, str]) -> Any:
    """Replace every string that is a uid, wherever it occurs."""
    if isinstance(value, str):
        return uids.get(value, value)
    if isinstance(value, dict):
        return {name: _mapped(inner, uids) for name, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, uids) for inner in value]
    return value


def _without_absent_owners(api: Api, item: _Item, owners: set[str], orphans: Counter[str]) -> Raw:
    """Drop references to owners that the garbage collector would miss; those of unserved kinds it leaves alone."""
    references = item.raw["metadata"].get("ownerReferences")
    if not isinstance(references, list):
        return item.raw
    kept = []
    for reference in references:
        named = (reference.get("apiVersion"), reference.get("kind")) if isinstance(reference, dict) else ("", "")
        is_known = named in KINDS or named in OLDER_VERSIONS or api.resources.custom_kind(*named) is not None
        if is_known and reference.get("uid") not in owners:
            orphans[f"{reference.get('kind')} {reference.get('name')}"] += 1
        else:
            kept.append(reference)
    return {**item.raw, "metadata": {**item.raw["metadata"], "ownerReferences": kept}}


def _as_simulated(kind: Kind, raw: Raw) -> Raw:
    """Let a node that is not ready stay so, unless its shutdown is simulated; simulate one of another simulator."""
    if kind is not KINDS.NODE:
        return raw
    metadata = dict(raw["metadata"])
    labels = dict(metadata.get("labels") or {})
    if labels.get(SIMULATOR_LABEL, SIMULATOR) != SIMULATOR:
        del labels[SIMULATOR_LABEL]
        metadata["labels"] = labels
    conditions = (raw.get("status") or {}).get("conditions") or []
    annotations = metadata.get("annotations") or {}
    if isinstance(annotations, dict) and any(
        stays_unready(annotations, *(condition.get(field, "") for field in ("status", "reason", "message")))
        for condition in conditions
        if isinstance(condition, dict) and condition.get("type") == "Ready"
    ):
        metadata["annotations"] = {**annotations, STOPPED: "true"}
    return {**raw, "metadata": metadata}


async def _add_namespaces(api: Api, namespaces: Iterable[str]) -> list[str]:
    """Create those of these namespaces that the cluster does not have; return the refusals."""
    refusals = []
    for namespace in namespaces:
        if await api.store.get(key_of(KINDS.NAMESPACE, "", namespace)) is None:
            raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            try:
                await create(api, KINDS.NAMESPACE, "", raw, _OPTIONS)
            except ApiError as error:
                refusals.append(f"--from: namespace {namespace}: {error.message}")
    return refusals


async def _create(api: Api, items: Iterable[_Item]) -> list[str]:
    """Create objects that were written by hand; return the refusals."""
    refusals = []
    for kind, _, raw, where in sorted(items, key=lambda item: not item.kind.loads_first):
        metadata = {name: value for name, value in raw["metadata"].items() if name != "resourceVersion"}
        namespace = metadata.get("namespace", "") if kind.namespaced else ""
        try:
            await create(api, kind, namespace, {**raw, "metadata": metadata}, _OPTIONS)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                refusals.append(_left_out(where, error.message))
    return refusals


def _uid(raw: Raw) -> str:
    return str(raw["metadata"].get("uid") or "")


def _left_out(where: str, why: str) -> str:
    return f"--from: left out: {where}: {why}"
