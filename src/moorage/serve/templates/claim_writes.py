"""Write finalizer, allocation and reservation into claims of one template, as the scheduler does, at the cost of one.

In: a merge patch for a claim that has a template and no status yet. The first write of a form goes the usual way; what
that made of the claim is repeated for others if it gives the same for the first. Names of pools, devices, nodes and
pods may differ. Kubernetes: no counterpart.
"""

from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import Raw
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE
from moorage.serve.resources.objects import decode, encode
from moorage.serve.templates.claims import ClaimTemplate
from moorage.store.protocol import Stored

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_fingerprint = msgspec.msgpack.Encoder().encode
_replace = msgspec.structs.replace
_MAX_FORMS = 64
_MAX_CONSUMERS = 256
#: What the JSON of a new claim ends with, and how it ends then.
_TYPE = _encode({"apiVersion": KINDS.RESOURCE_CLAIM.api_version, "kind": KINDS.RESOURCE_CLAIM.name})[1:]
_NO_STATUS = b',"status":{},' + _TYPE
_STATUS = frozenset(("allocation", "reservedFor"))
_ALLOCATION = frozenset(("devices", "nodeSelector", "allocationTimestamp"))
_CONSUMER = frozenset(("resource", "name", "uid"))
_OF_STATUS, _OF_METADATA = frozenset(("metadata", "status")), frozenset(("metadata",))
_HEAD = b'{"metadata":'


class LearnedWrite(NamedTuple):
    """The entry of managedFields for a write, and its place."""

    entry: Raw
    place: int


class ClaimWrite(NamedTuple):
    """A write of a known form: `key` is equal for writes that differ by names only. `metadata` is that of the claim."""

    template: ClaimTemplate
    stored: Stored
    metadata: Raw
    status: Raw | None
    key: Any
    manager: str
    now: str

    @property
    def is_status(self) -> bool:
        return self.status is not None

    def at_once(self) -> tuple[bytes, ResourceClaim] | None:
        """Return the value and the view to write; None if it must go the usual way."""
        learned = self.template.writes.get(self.key)
        return None if learned is None else (self._value(learned), self._view())

    def learn(self, written: Stored) -> None:
        """Remember what the usual way has made of the claim."""
        if not isinstance(written.view, ResourceClaim):
            return
        owners = _decode(written.value)["metadata"].get("managedFields") or []
        view = _replace(written.view, metadata=_replace(written.view.metadata, resourceVersion=""))
        subresource = "status" if self.is_status else ""
        for place, entry in enumerate(owners):
            if entry.get("manager") == self.manager and entry.get("subresource", "") == subresource:
                learned = LearnedWrite(entry, place)
                is_same = _decode(self._value(learned)) == _decode(written.value) and self._view() == view
                if is_same and len(self.template.writes) < _MAX_FORMS:
                    self.template.writes[self.key] = learned

    def _value(self, learned: LearnedWrite) -> bytes:
        metadata, status = self.metadata.copy(), self.status
        entry, rest = {**learned.entry, "time": self.now}, self.template.rest
        if status is not None:
            about = entry["fieldsV1"]["f:status"]
            (inner,) = (fields for name, fields in about["f:reservedFor"].items() if name != ".")
            uid = _encode(status["reservedFor"][0]["uid"]).decode()
            consumers = {".": {}, f'k:{{"uid":{uid}}}': inner}
            entry["fieldsV1"] = {"f:status": {**about, "f:reservedFor": consumers}}
            rest = rest.removesuffix(_NO_STATUS) + b',"status":' + _encode(status) + b"," + _TYPE
        else:
            metadata["finalizers"] = [RESOURCE_CLAIM_IN_USE]
        owners = list(metadata["managedFields"])
        owners.insert(learned.place, entry)
        metadata["managedFields"] = owners
        return _HEAD + _encode(metadata) + rest

    def _view(self) -> ResourceClaim:
        view: ResourceClaim = self.stored.view
        if self.status is not None:
            return _replace(view, status=convert_view(self.status, ResourceClaimStatus))
        return _replace(view, metadata=_replace(view.metadata, finalizers=(RESOURCE_CLAIM_IN_USE,)))


def claim_write(stored: Stored | None, patch: Any, manager: str, subresource: str, now: str) -> ClaimWrite | None:
    """Recognise a merge patch that adds the finalizer, or the whole status, to a claim that has neither."""
    template = stored.template if stored is not None else None
    if stored is None or not isinstance(template, ClaimTemplate) or not stored.value.endswith(template.rest):
        return None
    if not template.rest.endswith(_NO_STATUS) or not _is_for(patch, stored):
        return None
    status = patch.get("status") if subresource else None
    form = _status_form(status) if subresource else _finalizer_form(patch, stored.view)
    if form is None or patch.keys() != (_OF_STATUS if subresource else _OF_METADATA):
        return None
    metadata = _decode(stored.value[len(_HEAD) : -len(template.rest)])
    owners = metadata.get("managedFields")
    if not owners or "deletionTimestamp" in metadata:
        return None
    if any((one["manager"], one.get("subresource", "")) == (manager, subresource) for one in owners):
        return None
    times = tuple(one.get("time") == now for one in owners)  # entries are sorted by time, then by manager
    return ClaimWrite(template, stored, metadata, status, (form, manager, times), manager, now)


def _is_for(patch: Any, stored: Stored) -> bool:
    """Return whether a patch is for the claim as it is stored."""
    about = patch.get("metadata") if type(patch) is dict else None
    return (
        type(about) is dict
        and isinstance(stored.view, ResourceClaim)
        and about.get("resourceVersion") == str(stored.revision)
        and about.get("uid") == stored.view.metadata.uid
        and len(about) == 2 + ("finalizers" in about)
    )


def _finalizer_form(patch: Raw, view: ResourceClaim) -> bytes | None:
    is_new = not view.metadata.finalizers and patch["metadata"].get("finalizers") == [RESOURCE_CLAIM_IN_USE]
    return RESOURCE_CLAIM_IN_USE.encode() if is_new else None


def _status_form(status: Any) -> bytes | None:
    """Return what statuses have in common that differ by pools, devices, nodes, times and pods."""
    if type(status) is not dict or status.keys() != _STATUS:
        return None
    allocation, consumers = status["allocation"], status["reservedFor"]
    if type(allocation) is not dict or not allocation.keys() <= _ALLOCATION or not _is_one_pod(consumers):
        return None
    devices, selector, time = (allocation.get(name) for name in ("devices", "nodeSelector", "allocationTimestamp"))
    if type(devices) is not dict or type(devices.get("results")) is not list or not _is_time(time):
        return None
    masked = []
    for result in devices["results"]:
        if type(result) is not dict or not _has_names(result):
            return None
        masked.append({name: value for name, value in result.items() if name not in ("pool", "device")})
    if selector is not None and not _is_node(selector):
        return None
    others = {name: value for name, value in devices.items() if name != "results"}
    try:
        form = _fingerprint((masked, others, selector is None, time is None))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return None if b"adminAccess" in form else form  # it depends on the labels of the namespace


def _is_one_pod(consumers: Any) -> bool:
    return type(consumers) is list and len(consumers) == 1 and _is_pod(consumers[0])


def _is_pod(consumer: Any) -> bool:
    return (
        type(consumer) is dict
        and consumer.keys() == _CONSUMER
        and consumer["resource"] == "pods"
        and all(type(value) is str and bool(value) for value in consumer.values())
    )


def _is_time(time: Any) -> bool:
    return time is None or (type(time) is str and len(time) == 20 and time[-1] == "Z" and seconds_of(time) is not None)


def _has_names(result: Raw) -> bool:
    pool, device = result.get("pool"), result.get("device")
    if type(pool) is not str or type(device) is not str:
        return False
    return not dns1123_subdomain_errors(pool) and not dns1123_label_errors(device)


def _is_node(selector: Any) -> bool:
    """Return whether the selector is for one node by its name."""
    try:
        node = selector["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
    except (LookupError, TypeError):
        return False
    wanted = {"key": "metadata.name", "operator": "In", "values": [node]}
    is_plain = selector == {"nodeSelectorTerms": [{"matchFields": [wanted]}]}
    return is_plain and type(node) is str and not dns1123_subdomain_errors(node)


# -- more consumers ---------------------------------------------------------------------------------------------------


def with_reservation(stored: Stored | None, patch: Any, manager: str, now: str) -> tuple[bytes, ResourceClaim] | None:
    """Return the value and the view of an allocated claim with more consumers; None if it is another write.

    The manager has reserved the claim for a pod before, so that only the new consumers are added to its fields.
    """
    if stored is None or not _is_for(patch, stored) or patch.keys() != _OF_STATUS or type(patch["status"]) is not dict:
        return None
    before, consumers = stored.view.status, patch["status"].get("reservedFor")
    if before.allocation is None or not before.reservedFor or type(consumers) is not list or len(patch["status"]) != 1:
        return None
    if len(consumers) > _MAX_CONSUMERS or not all(map(_is_pod, consumers)) or "finalizers" in patch["metadata"]:
        return None
    users = tuple(ResourceClaimConsumerReference(**one) for one in consumers)
    kept = len(before.reservedFor)
    if users[:kept] != before.reservedFor or len({one.uid for one in users}) != len(users) or len(users) == kept:
        return None
    old = decode(KINDS.RESOURCE_CLAIM, stored)
    metadata, status = old["metadata"], {**old["status"], "reservedFor": consumers}
    if "deletionTimestamp" in metadata:
        return None
    owners = _with_consumers(metadata.get("managedFields") or [], manager, [one.uid for one in users[kept:]], now)
    if owners is None:
        return None
    written = {**metadata, "managedFields": owners}
    view = _replace(stored.view, status=_replace(before, reservedFor=users))
    return encode(KINDS.RESOURCE_CLAIM, {**old, "metadata": written, "status": status}), view


def _with_consumers(owners: list[Raw], manager: str, uids: list[str], now: str) -> list[Raw] | None:
    """Return managedFields in which the manager has more consumers; None if it has none."""
    own = next((one for one in owners if (one["manager"], one.get("subresource")) == (manager, "status")), None)
    if own is None or any(one["operation"] != "Update" for one in owners):
        return None
    about = own["fieldsV1"].get("f:status") or {}
    consumers = about.get("f:reservedFor") or {}
    inner = next((fields for name, fields in consumers.items() if name != "."), None)
    if inner is None or own["apiVersion"] != KINDS.RESOURCE_CLAIM.api_version:
        return None
    named = {f'k:{{"uid":{_encode(uid).decode()}}}': inner for uid in uids}
    reserved = dict(sorted({**consumers, **named}.items()))
    fields = {**own["fieldsV1"], "f:status": {**about, "f:reservedFor": reserved}}
    entry = {**own, "time": now, "fieldsV1": fields}
    return sorted((entry if one is own else one for one in owners), key=_order)


def _order(entry: Raw) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(entry.get(name, "") for name in names)
