"""Decode, admit and bind pods that differ by their names only, at the cost of one.

Controllers and benchmarks create such pods by the thousand, from a few dozen templates. A `PodTemplate` holds what the
pods share, and travels with each of them as `Stored.template`; `PodTemplates` is the API's bounded cache of them. What
a template gives out is shared: it must not be modified. Kubernetes: no counterpart.
"""

from collections.abc import Callable, Hashable, Mapping
from secrets import token_hex
from typing import Any, NamedTuple

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.messages.warnings import name_warnings
from moorage.admit.plugins.topology import NO_TOPOLOGY
from moorage.admit.request import MAX_GENERATED_BASE_LENGTH, Request
from moorage.admit.subresources.pods import bind_pod
from moorage.client.protocol import Raw, Template
from moorage.model.kinds import KINDS, Kind
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.schema.known_fields import kept_part
from moorage.model.types.meta import ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.request import Binding
from moorage.serve.requests.decoding import check_fields, check_kind, decode_object_json, repeated_fields
from moorage.serve.resources.objects import after_metadata
from moorage.store.protocol import Stored

_encode = msgspec.json.Encoder().encode
_fingerprint = msgspec.msgpack.Encoder().encode  # unlike JSON it tells a key 1 from a key "1"
_replace = msgspec.structs.replace
#: Words that no pod contains. They stand for the node and the time.
_NODE, _TIME = token_hex(16), token_hex(16)
#: How a value begins, and how the labels in its metadata do: nothing else in there is an object of that name.
_METADATA, _LABELS = b'{"metadata":{', b'"labels":{'
_MAX_ZONES = 64


class Likeness(NamedTuple):
    """How a document is recognised: equal fingerprints for pods that differ by their names only, empty for no template.

    `keys` is the number of keys in its text if every field is known and given once, else 0.
    """

    fingerprint: bytes
    keys: int = 0


class ObjectTemplate(Template):
    """What objects share that were admitted once: document, view, JSON after the metadata."""

    __slots__ = ("object", "rest", "view")

    def __init__(self, first: Admitted, view: Any) -> None:
        super().__init__()
        self.object = first.object
        self.view = _replace(view, metadata=_replace(view.metadata, managedFields=()))
        self.rest = b"," + _encode(after_metadata(first.object))[1:]

    def encode(self, metadata: Raw) -> bytes:
        """Return the value of an object of this template that has these metadata."""
        return b'{"metadata":' + _encode(metadata) + self.rest


class PodTemplate(ObjectTemplate):
    """What pods share besides: warnings, managedFields, and their JSON once they are bound."""

    __slots__ = (
        "_bound_at",
        "_bound_parts",
        "_bound_status",
        "_in_zone",
        "_owned_at",
        "keys",
        "named_parts",
        "owners",
        "warnings",
    )

    def __init__(self, first: Admitted, view: Pod, keys: int) -> None:
        super().__init__(first, view)
        # The warnings about the name come first, and differ.
        self.warnings = first.warnings[len(name_warnings("Pod", view.metadata.name)) :]
        self.keys = keys
        self.owners: list[Raw] = first.object["metadata"].get("managedFields") or []
        self.named_parts: dict[Any, Any] = {}  # how claims are named in statuses: see `claim_names`
        self._owned_at = ""
        self._bound_parts: tuple[bytes, bytes, bytes] | None = None
        self._bound_at, self._bound_status = "", view.status
        self._in_zone: dict[tuple[tuple[str, str], ...], tuple[bytes, bytes, dict[str, str]]] = {}

    def named(self, name: str, request: Request) -> Admitted:
        now = request.timestamp
        if now != self._owned_at:
            self.owners = [{**entry, "time": now} for entry in self.owners]
            self._owned_at = now
        metadata = self.object["metadata"].copy()
        metadata["name"], metadata["uid"], metadata["creationTimestamp"] = name, request.uid, now
        if self.owners:
            metadata["managedFields"] = self.owners
        seen = _replace(self.view.metadata, name=name, uid=request.uid, creationTimestamp=now)
        warnings = (*name_warnings("Pod", name), *self.warnings)
        return Admitted({**self.object, "metadata": metadata}, _replace(self.view, metadata=seen), warnings)

    def bind(
        self, stored: Stored, binding: Binding, now: str, topology: Mapping[str, str] = NO_TOPOLOGY
    ) -> tuple[bytes, Pod] | None:
        """Return the pod's value and view on its node; None if the binding, which has no labels, must be checked.

        `topology` are the labels that the pod gets from its node.
        """
        view, wanted = stored.view, binding.metadata
        if self._bound_parts is None or self._bound_at != now or view.spec.nodeName:
            return None
        if wanted.resourceVersion or (wanted.uid and wanted.uid != view.metadata.uid):
            return None
        before_node, before_time, after = self._bound_parts
        node, metadata, head = binding.target.name, view.metadata, stored.value[: -len(self.rest)]
        if topology:
            added = self._labels_on(topology)
            if added is None:
                return None
            after_which, text, labels = added
            head = head.replace(after_which, after_which + text, 1)
            metadata = _replace(metadata, labels=labels)
        value = b"".join((head, before_node, _encode(node), before_time, now.encode(), after))
        spec = _replace(view.spec, nodeName=node)
        return value, _replace(view, metadata=metadata, spec=spec, status=self._bound_status)

    def _labels_on(self, topology: Mapping[str, str]) -> tuple[bytes, bytes, dict[str, str]] | None:
        """Return how labels from a node are added: after which text, their text, and all labels of the pod.

        None if a label of the pod would be replaced. Pods of one template in one zone share their labels.
        """
        zone = tuple(topology.items())
        known = self._in_zone.get(zone)
        if known is None:
            labels, text = self.view.metadata.labels, _encode(topology)
            if not labels.keys().isdisjoint(topology):
                return None
            if labels:
                known = _LABELS, text[1:-1] + b",", {**labels, **topology}
            elif "labels" not in self.object["metadata"]:
                known = _METADATA, _LABELS + text[1:] + b",", dict(topology)
            else:
                return None
            if len(self._in_zone) >= _MAX_ZONES:
                self._in_zone.clear()
            self._in_zone[zone] = known
        return known

    def learn_binding(self, pod: Raw, bound: Pod, now: str) -> None:
        """Remember what binding makes of a pod of this template: its document before, its view after."""
        if self._bound_parts is None:
            marked = bind_pod(pod, Binding(target=ObjectReference(name=_NODE)), _TIME)
            rest = b"," + _encode(after_metadata(marked))[1:]
            before_node, _, rest = rest.partition(_encode(_NODE))
            before_time, _, after = rest.partition(_TIME.encode())
            if not after or _NODE.encode() in after:
                return  # in another order, or its condition has a time of its own
            self._bound_parts = before_node, before_time, after
        self._bound_at, self._bound_status = now, bound.status


class PodTemplates:
    """The templates of the pods created last. All are forgotten when `generation`, what admission looks up, changes.

    `admit` admits a pod without a template; `still_admits` is asked about every later one.
    """

    def __init__(
        self,
        admit: Callable[[Raw, Request, str], Admitted],
        still_admits: Callable[[Kind, Raw], bool] = lambda kind, raw: True,
        generation: Callable[[], Hashable] = lambda: 0,
        limit: int = 4096,
    ) -> None:
        self._admit = admit
        self._still_admits = still_admits
        self._generation, self._limit = generation, limit
        self._made_at = generation()
        self._known: dict[bytes, PodTemplate] = {}

    def likeness(self, raw: Raw, namespace: str, manager: str) -> Likeness:
        metadata = raw.get("metadata")
        if type(metadata) is not dict or "managedFields" in metadata:
            return Likeness(b"")
        others = {name: value for name, value in metadata.items() if name != "name"}
        parts: list[Any] = [namespace, manager, "name" in metadata, others]
        for name, value in raw.items():
            if name != "metadata":
                parts += (name, value)
        try:
            return Likeness(_fingerprint(parts))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return Likeness(b"")

    def decode(self, body: bytes, namespace: str, manager: str, validation: str) -> tuple[Raw, list[str], Likeness]:
        """Decode a pod from JSON, and check its fields unless its template says that as many keys are fine."""
        raw = decode_object_json(body)
        like, keys = self.likeness(raw, namespace, manager), body.count(b'":')
        known = self._known.get(like.fingerprint)
        if known is not None and known.keys == keys:
            check_kind(raw, KINDS.POD)
            return raw, [], like
        duplicates = repeated_fields(body, raw)
        check_kind(raw, KINDS.POD)
        warnings = check_fields(raw, KINDS.POD, validation, duplicates)
        kept = kept_part(raw, KINDS.POD.view)
        return kept, warnings, like if warnings or kept is not raw else like._replace(keys=keys)

    def admit(
        self, raw: Raw, request: Request, manager: str, like: Likeness | None = None
    ) -> tuple[Admitted, PodTemplate | None]:
        """Admit a new pod; return its template from the second pod on, so that pods without a twin do not carry one."""
        self._forget_outdated()
        if like is None:
            like = self.likeness(raw, request.namespace, manager)
        known = self.admit_known(raw, request, like)
        if known is not None:
            return known
        admitted = self._admit(raw, request, manager)
        if like.fingerprint not in self._known:
            self.learn(like, admitted)
        return admitted, None

    def admit_known(self, raw: Raw, request: Request, like: Likeness) -> tuple[Admitted, PodTemplate] | None:
        """Admit a pod of a template that is known; None if there is none, or the pod is to be admitted on its own."""
        template = self._known.pop(like.fingerprint, None)
        if template is None:
            return None
        self._known[like.fingerprint] = template
        if like.keys:
            template.keys = like.keys
        name = _final_name(raw["metadata"], request)
        if name and not dns1123_subdomain_errors(name) and self._still_admits(KINDS.POD, template.object):
            return template.named(name, request), template
        return None

    @property
    def generation(self) -> Hashable:
        """Grows with what answers depend on that are kept."""
        return self._generation()

    def knows(self, like: Likeness) -> bool:
        self._forget_outdated()
        return like.fingerprint in self._known

    def _forget_outdated(self) -> None:
        generation = self._generation()
        if generation != self._made_at:
            self._made_at = generation
            self._known.clear()

    def learn(self, like: Likeness, admitted: Admitted) -> None:
        """Keep the template of a pod that was admitted, for the next one."""
        if like.fingerprint and isinstance(admitted.view, Pod):
            if len(self._known) >= self._limit:
                del self._known[next(iter(self._known))]
            self._known[like.fingerprint] = PodTemplate(admitted, admitted.view, like.keys)


def _final_name(metadata: Raw, request: Request) -> str:
    name = metadata.get("name")
    if not name:
        base = metadata.get("generateName")
        return base[:MAX_GENERATED_BASE_LENGTH] + request.name_suffix if type(base) is str and base else ""
    return name if type(name) is str else ""
