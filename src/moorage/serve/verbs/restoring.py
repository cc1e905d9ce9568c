"""Store an object of another cluster as it is there: with its uid, times, generation and status.

It was admitted there, so it is admitted here as an update that changes nothing: defaults are filled in, unknown fields
dropped, validation is that of objects that exist, and no plugin has a say. Kubernetes: no such verb; etcd is restored.
"""

from moorage.admit.admission import Admitted, admit_own
from moorage.admit.raw import Raw, copy_document
from moorage.admit.request import Request
from moorage.custom.objects.decoding import decode_stored
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.schema.known_fields import kept_part
from moorage.serve.admission.service_claims import claims_held, claims_of
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.decoding import check_kind
from moorage.serve.resources.objects import cached_view, key_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.registry import Registry, admitted
from moorage.store.protocol import Stored


def admit_as_is(api: Registry, kind: Kind, raw: Raw) -> Admitted:
    """Admit an object that has a uid. Raises ApiError."""
    raw = dict(raw)
    check_kind(raw, kind)
    if type(kind) is ServedKind:
        return _custom_as_is(kind, raw)
    raw = kept_part(raw, kind.view, internal=api.keeps_internal)
    metadata = raw["metadata"]
    # An update has a revision, which is not stored, and a namespace.
    completed = {"resourceVersion": metadata.get("resourceVersion") or "1"}
    if kind.namespaced:
        completed["namespace"] = metadata.get("namespace") or "default"
    raw = {**raw, "metadata": {**metadata, **completed}}
    request = Request(timestamp=api.now_text())
    old = copy_document(raw)
    return admitted(admit_own(kind, copy_document(raw), old, api.gates, request=request))


def _custom_as_is(kind: ServedKind, raw: Raw) -> Admitted:
    raw = copy_document(raw)
    decode_stored(raw, kind.schema)
    return Admitted(raw, convert_view(raw, kind.view))


async def store_as_is(api: Api, kind: Kind, made: Admitted) -> Stored:
    """Write an admitted object, over one of the same name if there is one. Raises StoreError, ApiError."""
    metadata = made.object["metadata"]
    key = key_of(kind, metadata.get("namespace") or "", metadata["name"])
    value, view, claims = api.values.encode(kind, made.object), cached_view(kind, made.view), claims_of(kind, made.view)
    existing = await api.store.get(key)
    if existing is None:
        stored = await api.store.create(key, value, view)
    else:
        lost = [claim for claim in claims_held(kind, existing) if claim not in claims]
        stored = await api.store.update(key, value, existing.revision, view, released=lost)
    if claims:
        await api.store.hold(stored, claims)  # where another Service has the same, both keep it, as they had
    if kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
        await api.definitions.settled()
    return stored
