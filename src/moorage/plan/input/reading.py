"""Read sources, one document at a time, into an `Inventory` of admitted objects.

What the API server would refuse is noted with its place and left out. An object with a uid or a phase exists already,
as `kubectl get -o yaml` prints it, and is not created again. An object that comes a second time updates the first.
Kubernetes: kubectl apply, and the API server behind it.
"""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any, BinaryIO
from uuid import NAMESPACE_URL, uuid5

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.chain import Admission
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins.standard import DefaultTolerationSeconds
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.admit.request import ANY_REQUEST, Request
from moorage.client.protocol import Template
from moorage.lint.finding import Severity
from moorage.lint.rules.decoding import NO_OBJECT, UNCHECKED, gate_complaint, kind_complaint, written_path
from moorage.lint.sources import Source, opened, reason_of
from moorage.lint.subject import identity
from moorage.model.gates import GateSet
from moorage.model.generated_names import new_suffix
from moorage.model.kinds import KINDS, Kind, kind_of, view_of
from moorage.model.schema.conversion import ConversionError
from moorage.model.schema.merge_schema import schema_of
from moorage.model.schema.older_versions import convert_document
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.text.positions import Location
from moorage.plan.input.hints import hints_of
from moorage.plan.input.inventory import UNREADABLE, Inventory, Item, Key, Note, Place
from moorage.serve.patch.patch_error import PatchError
from moorage.serve.patch.strategic_merge import apply_strategic_merge
from moorage.serve.templates.pods import PodTemplates

#: Priorities are resolved later: the PriorityClass may stand below the pod.
_PLUGINS = (DefaultTolerationSeconds(),)
#: Kinds whose phase tells that a controller has made them.
_WITH_PHASE = frozenset({"Pod", "PersistentVolume", "PersistentVolumeClaim"})
#: What no pod's place depends on; of a Service its selector counts.
_WITHOUT_PLACEMENT = frozenset({"ConfigMap", "Event", "Lease", "Secret", "Service", "ServiceAccount"})
_MADE_BY_A_SERVER = ("uid", "resourceVersion", "creationTimestamp")


class _PodRejected(Exception):
    """A pod that admission refuses."""

    def __init__(self, result: Rejected) -> None:
        super().__init__()
        self.result = result


class KnownObjects:
    """Objects of a live cluster that were admitted before, by uid and revision: they are not admitted again.

    What it gives out is shared: it is for processes that fork before they go on with it. It holds what the last
    reading had, and is of one set of gates.
    """

    def __init__(self) -> None:
        self._gates: GateSet | None = None
        self._before: dict[tuple[str, str, str], Admitted] = {}
        self._now: dict[tuple[str, str, str], Admitted] = {}

    def begin(self, gates: GateSet) -> None:
        """Forget what the last reading did not have, and everything if the gates are others."""
        self._before, self._now = (self._now if gates == self._gates else {}), {}
        self._gates = gates

    def admitted(self, kind: str, raw: Raw, admit_it: Callable[[], Admitted | Rejected]) -> Admitted | Rejected:
        """Return how an object was admitted, or admit it."""
        key = kind, _text(raw, "uid"), _text(raw, "resourceVersion")
        found: Admitted | Rejected | None = self._before.get(key)
        if found is None:
            found = admit_it()
        if isinstance(found, Admitted) and all(key):
            self._now[key] = found
        return found


class Reader:
    """Reads sources into an inventory; `changed` are the keys that were added or updated, in order."""

    def __init__(
        self,
        inventory: Inventory,
        gates: GateSet,
        *,
        announces_updates: bool = True,
        known: KnownObjects | None = None,
    ) -> None:
        self.inventory = inventory
        self.changed: dict[Key, Item | None] = {}
        self._gates = gates
        self._announces_updates = announces_updates
        self._known = known
        if known is not None:
            known.begin(gates)
        self._chain = Admission(ObjectsWorld(), gates)
        self._random = Random(0)
        self._templates = PodTemplates(partial(_create_pod, gates))  # no method: a reader has no reference to itself
        self._template: Template | None = None

    def read(self, sources: Iterable[Source], after_each: Callable[[], None] = lambda: None) -> None:
        for source in sources:
            self.inventory.sources += 1
            self._read_source(source)
            after_each()

    def read_objects(self, source: str, objects: Iterable[Raw]) -> None:
        """Take objects that were read already; they have no lines in `source`."""
        self.inventory.sources += 1
        for raw in objects:
            self._add(Document(source, raw, _NO_POSITIONS, b"", 0))

    def _read_source(self, source: Source) -> None:
        if source.problem:
            self._unreadable(source.name, source.problem)
            return
        try:
            with opened(source) as stream:
                self._read_stream(source, stream)
        except OSError as error:
            self._unreadable(source.name, reason_of(error))

    def _unreadable(self, source: str, reason: str, line: int = 0) -> None:
        self.inventory.unreadable += 1
        self.inventory.notes.append(Note(Severity.ERROR, "", f"{UNREADABLE}{reason}", source, line))

    def _read_stream(self, source: Source, stream: BinaryIO) -> None:
        for document in read_documents(stream, source.name):
            if isinstance(document, Document):
                self._add(document)
            else:
                self._decode_error(document, source)

    def _decode_error(self, error: DecodeError, source: Source) -> None:
        if error.problem in NO_OBJECT and not source.explicit:
            return
        if error.problem in UNCHECKED:
            self._unreadable(source.name, error.reason, error.line)
            return
        self.inventory.rejected += 1
        self.inventory.notes.append(Note(Severity.ERROR, "", error.reason, source.name, error.line))

    def _add(self, document: Document) -> None:
        convert_document(document)
        raw, place = document.raw, Place(document.source, document.start())
        kind = kind_of(raw)
        if kind is None or kind.name in _WITHOUT_PLACEMENT:
            self._pass_over(document, place)
            return
        if (unserved := gate_complaint(kind, self._gates)) is not None:
            self.inventory.reject(identity(raw, kind), f"{unserved.message}; it {unserved.hint}", place)
            return
        name, namespace = _text(raw, "name"), ""
        if kind.namespaced:
            namespace = _text(raw, "namespace")
            if not namespace:
                raw, namespace = self._in_namespace(raw), self.inventory.namespace
        key = Key(kind.name, namespace, name)
        old = self.inventory.items.get(key) if name else None
        existing = _exists(raw, kind)
        self._template = None
        result = self._admit(raw, old, kind, key, existing=existing)
        if isinstance(result, Rejected):
            self._rejected(result, document, kind, place, old)
            return
        try:
            view = result.view if result.view is not None else view_of(result.object)
        except ConversionError as error:
            self.inventory.reject(identity(raw, kind), str(error), place)
            return
        if not name:
            key = key._replace(name=_text(result.object, "name"))
        if old is not None:
            existing = existing or old.existing
            if self._announces_updates:
                text = f"stands here again (first at {old.place}): the later one is applied on top of it"
                self.inventory.note(Severity.WARNING, key, text, place)
        self.changed.setdefault(key, old)
        self.inventory.items[key] = Item(key, kind, result.object, view, existing, place, self._template)

    def _in_namespace(self, raw: Raw) -> Raw:
        """Return an object without a namespace in that of the inventory; admission knows `default`."""
        metadata, namespace = raw.get("metadata"), self.inventory.namespace
        if namespace == "default" or not isinstance(metadata, dict):
            return raw
        return {**raw, "metadata": {**metadata, "namespace": namespace}}

    def _admit(self, raw: Raw, old: Item | None, kind: Kind, key: Key, *, existing: bool) -> Admitted | Rejected:
        if old is not None:
            new = _applied(raw, old.raw) if kind is KINDS.POD else raw
            return _with_own_status(self._chain.admit(new, _stored(old.raw, key)), raw)
        if existing:
            if self._known is None:
                return admit(raw, _stored(raw, key), self._gates, plugins=())
            return self._known.admitted(kind.name, raw, lambda: admit(raw, _stored(raw, key), self._gates, plugins=()))
        if not key.name:
            suffix = new_suffix(self._random.random)
            return _create(self._gates, raw, Request(name_suffix=suffix))
        if key.kind == "Pod":
            return self._admit_pod(raw)
        # A Job's pods carry its uid in a label.
        uid = str(uuid5(NAMESPACE_URL, "/".join(key))) if key.kind == "Job" else ANY_REQUEST.uid
        return _create(self._gates, raw, Request(uid=uid))

    def _admit_pod(self, raw: Raw) -> Admitted | Rejected:
        try:
            admitted, self._template = self._templates.admit(raw, ANY_REQUEST, "")
        except _PodRejected as error:
            return error.result
        return admitted

    def _rejected(self, result: Rejected, document: Document, kind: Kind, place: Place, old: Item | None) -> None:
        paths = [error.path for error in result.errors] or [problem.path for problem in result.problems] or [""]
        line = document.location(written_path(paths[0])).line
        self.inventory.rejected += 1
        subject = identity(document.raw, kind)
        message = str(result.status["message"])
        if old is not None:
            message += f" (as an update of the one at {old.place}, which stays as it is)"
        hint = hints_of(result.errors, self._gates)
        self.inventory.notes.append(Note(Severity.ERROR, subject, message, place.source, line, hint))

    def _pass_over(self, document: Document, place: Place) -> None:
        complaint = kind_complaint(document)
        if complaint is not None:
            self.inventory.reject(identity(document.raw, None), complaint.message, place)
            return
        kind = str(document.raw["kind"])
        if kind == "Service" and document.raw["apiVersion"] == "v1":
            self._add_service(document.raw)
            return
        self.inventory.passed_over[kind] = self.inventory.passed_over.get(kind, 0) + 1

    def _add_service(self, raw: Raw) -> None:
        """Keep the selector of a Service: its pods are spread by default."""
        spec = raw.get("spec")
        selector = _labels(spec.get("selector")) if isinstance(spec, dict) else {}
        self.inventory.services[_text(raw, "namespace") or self.inventory.namespace, _text(raw, "name")] = selector


def _create_pod(gates: GateSet, raw: Raw, request: Request, manager: str) -> Admitted:
    result = _create(gates, raw, request)
    if isinstance(result, Rejected):
        raise _PodRejected(result)
    return result


def _create(gates: GateSet, raw: Raw, request: Request) -> Admitted | Rejected:
    return admit(raw, None, gates, plugins=_PLUGINS, request=request)


class _NoPositions:
    """Positions of an object that comes from no file."""

    def find(self, steps: tuple[str, ...]) -> Location:
        return Location(0, 0)

    def below(self, steps: tuple[str, ...]) -> "_NoPositions":
        return self

    def start(self) -> Callable[[], Location]:
        return lambda: Location(0, 0)


_NO_POSITIONS = _NoPositions()


def _labels(value: Any) -> dict[str, str]:
    """Return a map of labels, without entries that are not text."""
    entries = value.items() if isinstance(value, dict) else ()
    return {name: text for name, text in entries if isinstance(name, str) and isinstance(text, str)}


def _stored(raw: Raw, key: Key) -> Raw:
    """Return an object as a server stores it: with a namespace and a resourceVersion."""
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        return raw
    completed = {"resourceVersion": metadata.get("resourceVersion") or "1"}
    if key.namespace:
        completed["namespace"] = key.namespace
    return {**raw, "metadata": metadata | completed}


def _applied(raw: Raw, old: Raw) -> Raw:
    """Return a pod with what a manifest says: what the cluster wrote into its spec, such as its node, stays.

    A manifest whose spec is not even of the right type is left to admission.
    """
    try:
        return apply_strategic_merge(
            old, {name: part for name, part in raw.items() if name != "status"}, schema_of(KINDS.POD)
        )
    except PatchError:
        return raw


def _with_own_status(result: Admitted | Rejected, raw: Raw) -> Admitted | Rejected:
    """Return an update with the status of its document: no kubelet reports it here."""
    if isinstance(result, Rejected) or not raw.get("status"):
        return result
    updated = {**result.object, "status": copy_document(raw["status"])}
    kind = kind_of(updated)
    if kind is not None:
        row_of(kind).default(updated)
    return Admitted(updated, view_of(updated), result.warnings)


def _exists(raw: Raw, kind: Kind) -> bool:
    metadata = raw.get("metadata")
    if isinstance(metadata, dict) and any(metadata.get(name) for name in _MADE_BY_A_SERVER):
        return True
    status = raw.get("status")
    return kind.name in _WITH_PHASE and isinstance(status, dict) and bool(status.get("phase"))


def _text(raw: Raw, name: str) -> str:
    metadata = raw.get("metadata")
    value = metadata.get(name) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""
