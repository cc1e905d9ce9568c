"""Read sources, one document at a time, into an `Inventory` of objects as the API server stores them.

An object with a uid or a phase exists already, as `kubectl get -o yaml` prints it, and is taken as it is. All others
are created by the verbs of the API server: those in namespaces when everything is read, limits and quotas first. What
is refused is noted with its place and left out. An object that comes a second time updates the first.
Kubernetes: kubectl apply, and the API server behind it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from msgspec import UNSET

from moorage.admit.admission import Admitted
from moorage.admit.extension.remarks import Remarks
from moorage.admit.not_admitted import NotAdmitted, check_types
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.admit.world import Assumption
from moorage.lint.facts.creation_order import creation_rank
from moorage.lint.facts.custom_kinds import CustomKinds
from moorage.lint.facts.served_kinds import SERVED_KINDS
from moorage.lint.finding import Severity
from moorage.lint.input_contents import ContentCount
from moorage.lint.policies.fields import refused_field
from moorage.lint.policies.parameters import Parameters
from moorage.lint.rules.decoding import (
    NO_OBJECT,
    UNCHECKED,
    gate_complaint,
    kind_complaint,
    unserved_version,
    written_path,
)
from moorage.lint.rules.policies import older_policy
from moorage.lint.sources import Source, opened, reason_of
from moorage.lint.subject import identity
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind, Ref, kind_of, view_of
from moorage.model.schema.older_versions import convert_document
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.types.core import ServiceAccount
from moorage.model.types.meta import ObjectMeta
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.input.admitted.repeated_objects import RepeatedObjects
from moorage.plan.input.applying import keep_generated
from moorage.plan.input.drafts import NO_POSITIONS, Draft, taken_back
from moorage.plan.input.extensions.attached import lowered_when_written, note_attached, original_of
from moorage.plan.input.hints import hints_of
from moorage.plan.input.inventory import (
    UNREADABLE,
    Inventory,
    Item,
    Key,
    Note,
    Place,
    key_in_inventory,
    metadata_text,
    severity_of,
)
from moorage.plan.input.registry import InventoryRegistry, as_stored
from moorage.pools.reading import is_pool_kind
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.decoding import check_custom, check_kind
from moorage.serve.requests.options import IGNORE, TRUST, WriteOptions
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import STRATEGIC_MERGE, Patch, patch_object
from moorage.serve.verbs.registry import at_once
from moorage.serve.verbs.restoring import admit_as_is
from moorage.store.protocol import Stored

_OPTIONS = WriteOptions("plan", validation=TRUST, user=ADMIN)
#: Kinds whose phase tells that a controller has made them.
_WITH_PHASE = frozenset({"Pod", "PersistentVolume", "PersistentVolumeClaim"})
#: What no pod's place depends on.
_WITHOUT_PLACEMENT = frozenset({"ConfigMap", "Event", "Lease", "Secret", "ServiceAccount"})
_MADE_BY_A_SERVER = ("uid", "resourceVersion", "creationTimestamp")


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
        self.named: set[Key] = set()  # all that were read, also those that are refused
        self.refused: list[Draft] = []
        self._gates = gates
        self._announces_updates = announces_updates
        self._known = known
        self._repeated = RepeatedObjects()
        if known is not None:
            known.begin(gates)
        self._waiting: list[Draft] = []  # new objects in namespaces, whose limits and quotas may stand below them
        self._order: dict[Key, None] = dict.fromkeys(inventory.items)
        self._registry = InventoryRegistry(inventory)
        self._custom = CustomKinds()  # holds custom objects, whose definition may stand below them
        self._custom_registry = self._registry

    def close(self) -> None:
        """Let the registries go, which refer to themselves: a process that collects no garbage would keep them."""
        self._registry.extensions.close()
        for registry in (self._registry, self._custom_registry):
            vars(registry).clear()

    def read(self, sources: Iterable[Source], after_each: Callable[[], None] = lambda: None) -> None:
        for source in sources:
            self.inventory.sources += 1
            self._read_source(source)
            after_each()
        self._enter()

    def read_objects(self, objects: Iterable[Raw]) -> None:
        """Take objects that were read from a cluster, so that they stand in no source."""
        self.inventory.sources += 1
        for raw in objects:
            self._draft(Document("", raw, NO_POSITIONS, b"", 0))
        self.inventory.contents.is_live = True
        self._enter()

    def read_again(self, drafts: Iterable[Draft]) -> None:
        """Take objects that another reading was refused, as if they were applied once more."""
        self._waiting += drafts
        self._enter()

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
        self.inventory.contents.fail()
        self.inventory.notes.append(Note(Severity.ERROR, "", f"{UNREADABLE}{reason}", source, line))

    def _read_stream(self, source: Source, stream: BinaryIO) -> None:
        count = ContentCount()
        for document in read_documents(stream, source.name, shares=True):
            if isinstance(document, Document):
                count.objects += 1
                self._draft(document)
            else:
                count.add_error(document)
                self._decode_error(document, source)
        self.inventory.contents.add(source, count)

    def _decode_error(self, error: DecodeError, source: Source) -> None:
        if error.problem in NO_OBJECT and not source.explicit:
            return
        if error.problem in UNCHECKED:
            self._unreadable(source.name, error.reason, error.line)
            return
        self.inventory.rejected += 1
        self.inventory.notes.append(Note(Severity.ERROR, "", error.reason, source.name, error.line))

    def _draft(self, document: Document) -> None:
        convert_document(document)
        raw, place = document.raw, Place(document.source, document.start())
        if is_pool_kind(raw):
            self.inventory.pool_documents.append(document)
        kind = kind_of(raw)
        if kind is None or kind.name in _WITHOUT_PLACEMENT:
            self._pass_over(document, place)
            return
        if (unserved := gate_complaint(kind, self._gates)) is not None:
            self.inventory.reject(identity(raw, kind), f"{unserved.message}; it {unserved.hint}", place)
            return
        namespace = ""
        if kind.namespaced:
            namespace = metadata_text(raw, "namespace")
            if not namespace:
                raw, namespace = self._in_namespace(raw), self.inventory.namespace
        key = Key(kind.name, namespace, metadata_text(raw, "name"))
        stored, raw = raw, original_of(raw, kind, key, place, self.inventory.attached)
        existing = _exists(raw, kind)
        draft = Draft(document, raw, kind, key, place, existing, stored if existing and raw is not stored else None)
        self._order.setdefault(key)
        self.named.add(key)
        if draft.existing or not kind.namespaced:
            self._take(draft)  # nothing but policies decides about it, so that its document need not be kept
        else:
            self._waiting.append(draft)

    def _in_namespace(self, raw: Raw) -> Raw:
        """Return an object without a namespace in that of the inventory; admission knows `default`."""
        metadata, namespace = raw.get("metadata"), self.inventory.namespace
        if namespace == "default" or not isinstance(metadata, dict):
            return raw
        return {**raw, "metadata": {**metadata, "namespace": namespace}}

    # -- into the inventory -------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Create the objects that waited for all others: limits and quotas first."""
        waiting, self._waiting = [*taken_back(self._registry, self.changed), *self._waiting], []
        custom = self._custom_drafts()
        for draft in custom:
            if draft.existing:
                self._take(draft)
        self._registry.ready_for_new()
        self._await_parameters((*waiting, *custom))
        waiting.sort(key=lambda draft: creation_rank(draft.kind))
        for number, draft in enumerate(waiting):
            if number and creation_rank(draft.kind) != creation_rank(waiting[number - 1].kind):
                self._registry.quotas.count()
            self._take(draft)
        self._registry.quotas.count()
        for draft in custom:
            if not draft.existing:
                self._take(draft)
        self.inventory.awaited = Parameters()
        self._note_extensions()
        note_attached(self.inventory)
        place = {key: number for number, key in enumerate(self._order)}
        _sort_keys(self.inventory.items, place)
        _sort_keys(self.changed, place)

    def _await_parameters(self, drafts: Iterable[Draft]) -> None:
        """Let policies find their parameters wherever these stand, as if they had been created first."""
        kinds = {(version.rpartition("/")[0], name) for version, name in self._registry.extensions.param_kinds()}
        for draft in drafts if kinds else ():
            if not draft.existing and (draft.kind.group, draft.kind.name) in kinds:
                self.inventory.awaited.put(draft.kind, draft.key.namespace, draft.key.name, draft.raw)

    def _note_extensions(self) -> None:
        """Note what policies and webhooks did, or would do, to what was read."""
        inventory, registry = self.inventory, self._registry
        inventory.notes += registry.applied.notes(inventory)
        inventory.changes |= {applied.key: changes for applied, changes in registry.applied.changes.items()}
        inventory.not_called += registry.applied.not_called
        inventory.left_out |= registry.extensions.left_out
        registry.applied.clear()

    def _custom_drafts(self) -> list[Draft]:
        """Return the custom objects that were held; those without a definition are passed over."""
        documents = list(self._custom.held())
        if not any(self.inventory.of_kind("CustomResourceDefinition")):
            for document in documents:
                self._count_passed_over(document.raw)
            return []
        from moorage.plan.input.custom_objects import defined_kinds, registry_of_custom

        defined = defined_kinds(self.inventory, set(map(_group_kind, documents)))
        drafts: list[Draft] = []
        for document in documents:
            versions, place = defined.get(_group_kind(document)), Place(document.source, document.start())
            kind = versions.get(document.raw["apiVersion"]) if versions else None
            if kind is not None:
                raw, namespace = document.raw, metadata_text(document.raw, "namespace")
                if kind.namespaced and not namespace:
                    raw, namespace = self._in_namespace(raw), self.inventory.namespace
                key = key_in_inventory(kind, namespace, metadata_text(raw, "name"))
                drafts.append(Draft(document, raw, kind, key, place, _exists(raw, kind)))
            elif versions is not None:
                complaint = unserved_version(document, list(versions))
                self.inventory.reject(identity(document.raw, None), complaint.message, place)
            else:
                self._count_passed_over(document.raw)
        self._custom_registry = registry_of_custom(self.inventory, self._registry, defined)
        self._registry.quotas.custom_kinds = {draft.kind for draft in drafts}
        return drafts

    def _take(self, draft: Draft) -> None:
        """Take one object, new or as it is; note why if it is refused."""
        _, raw, kind, key, place, existing, stored = draft
        is_custom = type(kind) is ServedKind
        registry = self._custom_registry if is_custom else self._registry
        old = registry.store.items.get(key) if key.name else None
        registry.key, registry.remarks = key, Remarks()
        assumed_before = len(registry.directory.all_assumed)
        registry.store.place = place
        registry.store.existing = existing or (old is not None and old.existing)
        try:
            if not existing:
                raw = lowered_when_written(raw, key, kind, self.inventory)
                draft = draft._replace(raw=raw)
            if old is not None:
                item = self._update(draft, old, registry)
            elif existing:
                made = self._admit_existing(draft, registry)
                item = registry.store.put(kind, made.object, made.view)
                item.lowered = stored
            else:
                item = self._create(draft, registry)
        except ApiError as error:
            self._rejected(error, draft, old, registry)
            return
        finally:  # also if it is refused for another reason
            self._note_assumptions(registry.directory.all_assumed[assumed_before:], draft)
        if old is not None and self._announces_updates:
            text = f"stands here again (first {old.place.at}): the later one is applied on top of it"
            self.inventory.note(Severity.WARNING, item.key, text, place)
        if is_custom:
            self._count_passed_over(raw)
        else:
            self.changed.setdefault(item.key, old)

    def _create(self, draft: Draft, registry: InventoryRegistry) -> Item:
        document = _checked(draft.raw, draft.kind)
        metadata = document["metadata"] = dict(document["metadata"])
        metadata.pop("resourceVersion", None)
        at_once(create(registry, draft.kind, draft.key.namespace, document, _OPTIONS))
        return registry.store.written

    def _admit_existing(self, draft: Draft, registry: InventoryRegistry) -> Admitted:
        raw, kind = draft.raw, draft.kind
        if type(kind) is ServedKind:
            raw = _checked(raw, kind)
            if kind.namespaced:
                raw["metadata"]["namespace"] = draft.key.namespace
            check_types(raw, kind)
            return admit_as_is(registry, kind, raw)
        if self._known is None:
            repeats = draft.document.repeats if raw is draft.document.raw else None
            return self._repeated.admitted(kind, repeats, lambda: admit_as_is(registry, kind, raw))
        return self._known.admitted(kind.name, raw, lambda: admit_as_is(registry, kind, raw))

    def _update(self, draft: Draft, old: Item, registry: InventoryRegistry) -> Item:
        """Apply a manifest to an object that the inventory has. A pod keeps what the cluster wrote into its spec."""
        kind, ref = draft.kind, Ref(draft.kind, draft.key.namespace, draft.key.name)
        keeps_status = type(kind) is not ServedKind or kind.has_status
        sent = {name: part for name, part in draft.raw.items() if name != "status" or not keeps_status}
        document = _checked(copy_document(sent), kind)
        check_types(draft.raw, kind)
        document["metadata"]["resourceVersion"] = as_stored(old.raw)["metadata"]["resourceVersion"]
        if isinstance(document.get("spec"), dict) and isinstance(old.raw.get("spec"), dict):
            document["spec"] = keep_generated(kind, document["spec"], copy_document(old.raw["spec"]))
        if kind is KINDS.POD:
            written = at_once(patch_object(registry, ref, Patch(STRATEGIC_MERGE, document), _OPTIONS))
        else:
            if keeps_status and "status" in old.raw:
                document["status"] = copy_document(old.raw["status"])
            written = at_once(replace(registry, ref, document, _OPTIONS))
        item = _written(written.stored, draft, registry)
        status = draft.raw.get("status")
        if status and type(kind) is not ServedKind:  # no kubelet reports it here
            updated = {**item.raw, "status": copy_document(status)}
            row_of(kind).default(updated)
            item = registry.store.put(kind, updated, view_of(updated))
        return item

    def _note_assumptions(self, assumptions: Iterable[Assumption], draft: Draft) -> None:
        for kind, key, text in assumptions:
            if (kind, key) not in self.inventory.assumed:
                self.inventory.assumed.add((kind, key))
                self.inventory.note(severity_of(kind), identity(draft.raw, draft.kind), text, draft.place)

    def _rejected(self, error: ApiError, draft: Draft, old: Item | None, registry: InventoryRegistry) -> None:
        result = error.result if isinstance(error, NotAdmitted) else None
        paths = [refused_field(registry.remarks.failures, registry.extensions, draft.raw)]
        if result is not None:
            paths = [one.path for one in result.errors] or [one.path for one in result.problems] or paths
        line = draft.document.location(written_path(paths[0])).line or draft.place.line
        self.inventory.rejected += 1
        self.refused.append(draft)
        message = error.message
        if old is not None:
            message += f" (as an update of the one {old.place.at}, which stays as it is)"
        hint = hints_of(result.errors, self._gates, draft.raw) if result is not None else UNSET
        subject = identity(draft.document.raw, draft.kind)
        self.inventory.notes.append(Note(Severity.ERROR, subject, message, draft.place.source, line, hint))

    def _pass_over(self, document: Document, place: Place) -> None:
        complaint = kind_complaint(document)
        if complaint is not None:
            self.inventory.reject(identity(document.raw, None), complaint.message, place)
            return
        kind = kind_of(document.raw)
        if kind is KINDS.SERVICE_ACCOUNT:
            self._take_account(document.raw)
        if kind is not None and not kind.is_chatty:
            namespace = metadata_text(document.raw, "namespace") or self.inventory.namespace
            self.inventory.parameters.put(kind, namespace, metadata_text(document.raw, "name"), document.raw)
        if (older := older_policy(document.raw)) is not None:
            place = Place(document.source, document.start())
            self.inventory.note(Severity.WARNING, identity(document.raw, None), older.message, place)
        if document.raw["apiVersion"] in SERVED_KINDS or not self._custom.hold(document):
            self._count_passed_over(document.raw)

    def _count_passed_over(self, raw: Raw) -> None:
        kind = str(raw["kind"])
        self.inventory.passed_over[kind] = self.inventory.passed_over.get(kind, 0) + 1

    def _take_account(self, raw: Raw) -> None:
        """Remember that there is an account of this name."""
        namespace = metadata_text(raw, "namespace") or self.inventory.namespace
        account = ServiceAccount(metadata=ObjectMeta(name=metadata_text(raw, "name"), namespace=namespace))
        self.inventory.accounts[f"{namespace}/{account.metadata.name}"] = account
        self._registry.directory.put_view(KINDS.SERVICE_ACCOUNT, account)


def _group_kind(document: Document) -> tuple[str, str]:
    return str(document.raw["apiVersion"]).rpartition("/")[0], str(document.raw["kind"])


def _checked(raw: Raw, kind: Kind) -> Raw:
    """Return a copy of a document that is of its kind; only that of a custom object is deep. Raises ApiError."""
    if type(kind) is ServedKind:
        document = copy_document(raw)
        check_custom(document, kind, IGNORE, [], b"")
    else:
        document = dict(raw)
        check_kind(document, kind)
    return document


def _written(stored: Stored, draft: Draft, registry: InventoryRegistry) -> Item:
    return registry.store.items[draft.key._replace(name=stored.key.rpartition("/")[2])]


def _sort_keys(entered: dict[Key, Any], place: Mapping[Key, int]) -> None:
    """Put the keys of what was entered into the order of the input; those of generated names come last."""
    order = sorted(entered, key=lambda key: place.get(key, len(place)))
    if order != list(entered):
        entered.update([(key, entered.pop(key)) for key in order])


def _exists(raw: Raw, kind: Kind) -> bool:
    metadata = raw.get("metadata")
    if isinstance(metadata, dict) and any(metadata.get(name) for name in _MADE_BY_A_SERVER):
        return True
    status = raw.get("status")
    return kind.name in _WITH_PHASE and isinstance(status, dict) and bool(status.get("phase"))
