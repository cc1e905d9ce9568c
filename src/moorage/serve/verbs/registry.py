"""Hold what every verb needs: a store, admission and what it looks up, quotas, the clock, templates.

The verbs are coroutines over a `Registry`, and wait for nothing but what it gives them. The API server's (`Api`) waits
for a durable store, a thread for long work and a quota ledger. That of a simulation answers at once, so that the same
coroutine runs to its end in one step: see `at_once`. Kubernetes: the generic registry's Store with its strategies.
"""

import secrets
import time
from collections.abc import Callable, Container, Coroutine, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Answer, Call, not_answered
from moorage.admit.kinds.devices.claim_rights import AuthorizeChange
from moorage.admit.not_admitted import NotAdmitted, check_types
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.raw import copy_document
from moorage.admit.request import Request
from moorage.admit.requester import Requester
from moorage.admit.subresources.pod_parts import POD_PARTS
from moorage.admit.subresources.status_update import APPROVAL, admit_approval, admit_status
from moorage.model import generated_names
from moorage.model.api_error import ApiError, failure, internal
from moorage.model.kinds import KINDS, Kind
from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.serve.apply.managed_fields import on_create, on_update
from moorage.serve.custom.admission import admit_custom, admit_custom_status
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.long_work import LongWork
from moorage.serve.resources.objects import decode, encode
from moorage.serve.templates.claims import ClaimTemplates
from moorage.serve.templates.nodes import NodeTemplates
from moorage.serve.templates.pods import Likeness, ObjectTemplate, PodTemplates
from moorage.serve.templates.repeated_writes import RepeatedWrites
from moorage.store.protocol import ClaimTaken, Stored, WritableStore

Raw = dict[str, Any]
Result = TypeVar("Result")


class WriteResult(NamedTuple):
    """The result of a write. `stored` is the object as it is now, or was last if it is `deleted`."""

    stored: Stored
    warnings: Sequence[str] = ()
    created: bool = False
    deleted: bool = False


class Values(Protocol):
    """How objects are stored: as JSON, or in a simulation as documents."""

    #: Whether a value is JSON, which templates put together from its parts.
    are_json: bool

    def encode(self, kind: Kind, document: Raw, template: ObjectTemplate | None = None) -> Any:
        """Return the value to store; `template` is that of the object, if it has one."""
        ...

    def decode(self, kind: Kind, stored: Stored) -> Raw:
        """Return the document with its resourceVersion. What is in it may be shared: it must not be modified."""
        ...

    def is_same(self, value: Any, stored: Stored) -> bool:
        """Return whether a value is what is stored."""
        ...


class JsonValues:
    """Values of the API server: JSON, and no more of it than etcd takes, whatever the store."""

    are_json = True

    def encode(self, kind: Kind, document: Raw, template: ObjectTemplate | None = None) -> bytes:
        """Return the value to store. Without its field owners if it is too large, as in Kubernetes. Raises ApiError."""
        value = encode(kind, document) if template is None else template.encode(document["metadata"])
        if len(value) > MAX_OBJECT_BYTES:
            if document["metadata"].pop("managedFields", None):
                value = encode(kind, document)
            if len(value) > MAX_OBJECT_BYTES:
                raise too_large()
        return value

    def decode(self, kind: Kind, stored: Stored) -> Raw:
        return decode(kind, stored)

    def is_same(self, value: bytes, stored: Stored) -> bool:
        return value == stored.value


class Quotas(Protocol):
    """What verbs ask of the quotas of all namespaces."""

    @property
    def accounts(self) -> Container[str]:
        """The namespaces that have quotas."""
        ...

    async def charge(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        new: Any,
        old: Any = None,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> None:
        """Charge a write before it is made; `old` is None for an object that is created. Raises ApiError."""
        ...


class Registry:
    """What verbs work with. Time and randomness are the caller's, so that a run can be repeated.

    `is_busy`: other clients wait for the same thread, so what takes long is done in another. `tracks_owners`: writes
    note in managedFields who set which field. `copies_new`: documents of new objects stay as they are.
    `keeps_internal`: fields that the API does not have are not dropped.
    """

    is_busy = True
    tracks_owners = True
    copies_new = False
    keeps_internal = False
    values: Values = JsonValues()

    def __init__(
        self,
        store: WritableStore,
        admission: Admission,
        directory: ObjectsWorld,
        quotas: Quotas,
        *,
        clock: Callable[[], float],
        new_uid: Callable[[], str] | None = None,
        new_suffix: Callable[[], str] | None = None,
        collects_garbage: bool = False,
    ) -> None:
        """Create a registry on a store.

        `collects_garbage` means that a garbage collector removes the finalizers that wait for dependents.
        """
        self.store, self.admission, self.directory, self.quotas = store, admission, directory, quotas
        self.gates = admission.gates
        self.clock = clock
        self.collects_garbage = collects_garbage
        self.long_work = LongWork()
        self.new_uid = new_uid or partial(generated_names.new_uid, _random)
        self.new_suffix = new_suffix or partial(generated_names.new_suffix, _random.random)
        self._second, self._second_text = -1, ""
        self.templates = PodTemplates(self._admit_pod, admission.still_admits, self._generation)
        self.node_templates = NodeTemplates(self._admit_node)
        self.repeated_writes = RepeatedWrites()
        self.claim_templates = ClaimTemplates(self._admit_claim, admission.still_admits, lambda: directory.generation)

    async def catch_up(self) -> None:
        """Return when all writes are known that any server acknowledged before. Raises StoreFailed."""
        if self.store.is_shared:
            await self.store.catch_up()

    async def newest(self, stored: Stored) -> Stored | None:
        """Return an object as it is now: what is in memory may be older than what another server wrote."""
        if not self.store.is_shared:
            return stored
        await self.store.catch_up()
        return self.store.peek(stored.key)

    async def wait_for_holder(self, taken: ClaimTaken, tries_left: int) -> None:
        """Wait until admission knows of the Service that has an address or port, to choose another or to refuse it."""
        if not tries_left:
            raise internal(f"{taken}, though no Service has it")
        await self.store.catch_up()

    async def answer(self, calls: Sequence[Call]) -> Sequence[Answer]:
        """Call webhooks, all at the same time. Here, none is called."""
        return not_answered(calls)

    def note(self, extended: ExtendedRequest) -> None:
        """Take in what policies and webhooks remarked on a request that has been answered."""

    async def wrote(self, kind: Kind) -> None:
        """Return when this server has followed a write: the kinds of a definition are served before it is answered."""

    async def in_version(self, kind: Kind, items: Sequence[Stored]) -> Sequence[Stored]:
        """Return what is stored as it is in the version of a kind: a webhook may convert it. Raises ApiError."""
        return items

    async def in_stored_version(self, kind: Kind, value: Any) -> Any:
        """Return a value in the version of a kind as it is to be stored. Raises ApiError."""
        return value

    def marked_for_deletion(self, kind: Kind, document: Raw) -> Raw:
        """Return a document with what this server writes into an object that is to be deleted."""
        return document

    def now_text(self) -> str:
        """The time in RFC 3339 with seconds, as in objects."""
        second = int(self.clock())
        if second != self._second:
            self._second, self._second_text = second, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        return self._second_text

    def admit_new(
        self,
        kind: Kind,
        raw: Raw,
        namespace: str,
        manager: str | None,
        like: Likeness | None = None,
        requester: Requester | None = None,
    ) -> tuple[Admitted, ObjectTemplate | None]:
        """Admit an object to be created, and return its template if it has one. `raw` is modified. Raises ApiError.

        Without a manager the document has its managedFields already, as after server-side apply. `like` is what
        decoding recognised the document by. What is admitted for one requester only becomes no template.
        """
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        request = self.request_for(namespace or "default", suffix, requester)
        if requester is not None:
            return self._admit_first(kind, raw, request, manager), None
        if kind is KINDS.POD and manager is not None:
            return self.templates.admit(raw, request, manager, like)
        if kind is KINDS.RESOURCE_CLAIM and manager is not None and self.tracks_owners:
            return self.claim_templates.admit(raw, request, manager)
        if kind is KINDS.NODE and not self.tracks_owners:
            return self.node_templates.admit(raw, request), None
        return self._admit_first(kind, raw, request, manager), None

    def _generation(self) -> tuple[int, int]:
        """Grows with what the answers to all pods of a template depend on."""
        extensions = self.admission.extensions
        asked = 0 if extensions is None or extensions.is_empty else extensions.generation
        return self.directory.generation, asked

    def knows_answer(self, like: Likeness) -> bool:
        """Return whether policies have answered for all pods of a template. Webhooks are called about each pod."""
        return self.admission.answers_templates(KINDS.POD) and self.templates.knows(like)

    def admit_known(self, raw: Raw, namespace: str, like: Likeness) -> tuple[Admitted, ObjectTemplate] | None:
        """Admit a pod whose template is known; None if it has to be admitted on its own."""
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        return self.templates.admit_known(raw, self.request_for(namespace or "default", suffix, None), like)

    def learn_answer(self, like: Likeness, given: Raw, changed: Raw, admitted: Admitted, remarks: Remarks) -> None:
        """Keep what policies have answered about a pod for all of its template, if it is all that they remarked."""
        before, after = given["metadata"], changed["metadata"]
        has_name = all(before.get(field) == after.get(field) for field in ("name", "generateName"))
        if has_name and not remarks.audit and self.admission.answers_templates(KINDS.POD):
            self.templates.learn(like, admitted)

    def admit_alone(
        self, kind: Kind, raw: Raw, namespace: str, manager: str | None, requester: Requester | None = None
    ) -> Admitted:
        """Admit an object to be created, in the thread for long work: templates belong to the event loop."""
        suffix = "" if raw["metadata"].get("name") else self.new_suffix()
        request = self.request_for(namespace or "default", suffix, requester)
        return self._admit_first(kind, raw, request, manager)

    def request_for(self, namespace: str, suffix: str, requester: Requester | None) -> Request:
        """Return what admission knows of a create. Labels of a namespace that is only assumed are not looked up."""
        world = self.directory
        labels = world.namespace_labels if world.is_complete or world.namespace(namespace) is not None else None
        return Request(namespace, suffix, self.new_uid(), self.now_text(), namespace_labels=labels, requester=requester)

    def _admit_pod(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(KINDS.POD, raw, request, manager)

    def _admit_node(self, raw: Raw, request: Request) -> Admitted:
        return self._admit_first(KINDS.NODE, raw, request, None)

    def _admit_claim(self, raw: Raw, request: Request, manager: str) -> Admitted:
        return self._admit_first(KINDS.RESOURCE_CLAIM, raw, request, manager)

    def _admit_first(self, kind: Kind, raw: Raw, request: Request, manager: str | None) -> Admitted:
        if not self.tracks_owners:
            manager = None
        own = None if manager is None else lambda new: on_create(new, kind, manager, request.timestamp)
        # The caller tries again with the same document if a generated name, or an address, is taken.
        copies = self.copies_new or kind is KINDS.SERVICE or not raw["metadata"].get("name")
        raw = {**raw, "metadata": dict(raw["metadata"])}
        if type(kind) is ServedKind:
            raw = copy_document(raw) if copies else raw
            return admitted(admit_custom(kind, raw, None, self.admission, request, own))
        return admitted(self.admission.create(kind, raw, request, own, copies=copies))

    def admit_changed(
        self,
        kind: Kind,
        new: Raw,
        old: Raw,
        manager: str | None,
        subresource: str = "",
        old_view: Any = None,
        authorize: AuthorizeChange | None = None,
    ) -> Admitted:
        """Admit an object that replaces another, whose view may be in memory, or its status. Raises ApiError."""
        if not self.tracks_owners:
            manager = None
        if type(kind) is ServedKind:
            return self._admit_custom_change(kind, new, old, manager, subresource)
        if subresource == "status":
            return self._admit_status(kind, new, old, manager, old_view, authorize)
        now = self.now_text()
        own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
        if subresource == APPROVAL:
            return admitted(admit_approval(new, old, now, own))
        if subresource in POD_PARTS:
            return admitted(self.admission.update_part(subresource, new, old, own))
        request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
        if kind.view is not type(old_view):
            old_view = None
        return admitted(self.admission.update(kind, new, old, request, own, old_view=old_view))

    def _admit_custom_change(
        self, kind: ServedKind, new: Raw, old: Raw, manager: str | None, subresource: str
    ) -> Admitted:
        now = self.now_text()
        own = None if manager is None else lambda new: on_update(new, old, kind, manager, subresource, now)
        if subresource == "status":
            return admitted(admit_custom_status(kind, copy_document(new), old, own))
        request = Request(old["metadata"].get("namespace") or "default", timestamp=now)
        return admitted(admit_custom(kind, new, old, self.admission, request, own))

    def _admit_status(
        self,
        kind: Kind,
        new: Raw,
        old: Raw,
        manager: str | None,
        old_view: Any,
        authorize: AuthorizeChange | None,
    ) -> Admitted:
        """Admit a status update, the most frequent of all changes. The spec stays as it is, and is not read."""
        if kind.view is not type(old_view):
            old_view = None
        if manager is not None:  # the owners of fields are those of a document that has the right types
            check_types({name: value for name, value in new.items() if name != "spec"}, kind)
            on_update(new, old, kind, manager, "status", self.now_text())
        labels = self.directory.namespace_labels
        return admitted(
            admit_status(
                new,
                old,
                self.gates,
                now=self.now_text(),
                old_view=old_view,
                namespace_labels=labels,
                authorize=authorize,
            )
        )


async def as_read(api: Registry, kind: Kind, stored: Stored) -> Stored:
    """Return a stored object in the version of a kind. Raises ApiError."""
    return (await api.in_version(kind, (stored,)))[0] if kind.is_converted else stored


def too_large() -> ApiError:
    """Return the answer to the write of an object that is larger than etcd takes."""
    return failure(500, "", "etcdserver: request is too large")


def at_once(steps: Coroutine[Any, Any, Result]) -> Result:
    """Run a verb to its end on a registry that answers at once. Raises what it raises."""
    try:
        steps.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    steps.close()
    raise RuntimeError(f"{steps} waits, though nothing can happen meanwhile")


def admitted(result: Admitted | Rejected) -> Admitted:
    if isinstance(result, Admitted):
        return result
    raise NotAdmitted(result)


#: Seeded by the system, which is not asked again: a system call for each name would cost more than all the rest of it.
_random = Random(secrets.randbits(256))
