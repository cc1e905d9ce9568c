"""Look up what policies and webhooks need to know: objects of a store, the kinds that are served, the rights of users.

Kubernetes: the informers of parameters, the EquivalentResourceRegistry, the object converter, decoder and defaulter of
a request's scope, the authorizer of admission plugins. Differs: parameters are read from the store, and so are never
out of date; a custom object loses unknown fields after each change and not when it is stored.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema
from moorage.admit.extension.attributes import ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.steps import ConversionCall
from moorage.admit.extension.world import Decision, ParamKindRow, ServedVersion
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.custom.objects.decoding import apply_defaults, decode_metadata
from moorage.custom.objects.embedded import MalformedError
from moorage.match.cel.libraries.authz import Check
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import internal
from moorage.model.kinds import EVICTION, KINDS, OLDER_VERSIONS, SCALE, TOKEN_REQUEST, VIRTUAL_KINDS, Kind
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part, write_as_go
from moorage.model.schema.older_versions import from_older, to_older
from moorage.model.types.meta import LabelSelector
from moorage.serve.access import authorization
from moorage.serve.apply.kind_schema import ownership_schema
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.pki.authentication import User
from moorage.serve.resources.objects import from_core, key_of, prefix_of, to_core
from moorage.serve.resources.served import Resources
from moorage.serve.verbs.registry import at_once
from moorage.store.protocol import Stored, WritableStore

Authorize = Callable[[User, authorization.Attributes], authorization.Decision]

_EVENTS = (KINDS.EVENT, KINDS.REPORTED_EVENT)
#: Kinds that subresources of other groups serve, whose schemas the API server does not find.
_WITHOUT_SCHEMA = frozenset((EVICTION, SCALE, TOKEN_REQUEST))
_NEVER_STORED = frozenset((*_WITHOUT_SCHEMA, *VIRTUAL_KINDS))


class Documents(Protocol):
    """The objects of a cluster. Kinds are in the version that is stored, or custom and in any version."""

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None: ...

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        """Return the objects of a kind in a namespace, or all if it has no namespaces."""
        ...


class Values(Protocol):
    """How values of a store are read."""

    def decode(self, kind: Kind, stored: Stored) -> Raw: ...


class StoredDocuments:
    """The objects of a store."""

    def __init__(self, store: WritableStore, values: Values) -> None:
        self._store, self._values = store, values

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        stored = self._store.peek(key_of(kind, namespace, name))
        return None if stored is None else self._values.decode(kind, stored)

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        listing = at_once(self._store.list(prefix_of(kind, namespace if kind.namespaced else "")))
        return (self._values.decode(kind, stored) for stored in listing.items)


def deny(user: User, attributes: authorization.Attributes) -> authorization.Decision:
    """Decide nothing, which is to allow nothing."""
    return authorization.NO_OPINION


def no_rights() -> int:
    return 0


class DocumentLookups:
    """`ExtensionLookups` in documents. `rights_generation` grows when `authorize` may answer otherwise."""

    def __init__(
        self,
        documents: Documents,
        resources: Resources,
        authorize: Authorize = deny,
        rights_generation: Callable[[], int] = no_rights,
    ) -> None:
        self._documents, self._resources = documents, resources
        self._authorize, self._rights_generation = authorize, rights_generation
        self.generation = 0
        resources.when_changed(self._serve_others)

    def _serve_others(self) -> None:
        self.generation += 1

    @property
    def rights_generation(self) -> int:
        return self._rights_generation()

    def namespace(self, name: str) -> Raw | None:
        return self._documents.find(KINDS.NAMESPACE, "", name)

    def served_versions(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]:
        versions: Sequence[ServedVersion] = self._resources.remembered(
            ("equivalent", resource, subresource), lambda: self._equivalent(resource, subresource)
        )
        return versions

    def _equivalent(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]:
        own = self._resources.find(*resource)
        if own is None:
            return ()
        prefix = prefix_of(own)
        kinds = [kind for kind in self._resources.table.values() if prefix_of(kind) == prefix]
        return [
            ServedVersion(ObjectResource(kind.group, kind.version, kind.plural), found)
            for kind in kinds
            if (found := _kind_at(kind, subresource)) is not None
        ]

    def is_namespaced(self, resource: ObjectResource) -> bool:
        kind = self._resources.find(*resource)
        return kind is not None and kind.namespaced

    def _kind(self, api_version: Any, name: Any) -> Kind | None:
        """Return a kind that is served, or that of the documents of a subresource."""
        kinds: dict[tuple[Any, Any], Kind] = self._resources.remembered("kinds by name", self._kinds_by_name)
        return kinds.get((api_version, name))

    def _kinds_by_name(self) -> dict[tuple[Any, Any], Kind]:
        kinds = (EVICTION, SCALE, TOKEN_REQUEST, *self._resources.table.values())
        return {(kind.api_version, kind.name): kind for kind in kinds}

    def _stored_kind(self, api_version: str, name: str) -> Kind | None:
        kind = self._kind(api_version, name)
        return None if kind in _NEVER_STORED else kind

    def convert(self, document: Raw, kind: ObjectKind) -> Raw:
        """Return a document in another version of its kind. Of custom objects the apiVersion alone is changed."""
        before = self._stored_kind(document.get("apiVersion", ""), document.get("kind", ""))
        after = self._stored_kind(_api_version(kind), kind.kind)
        if before is None or after is None or prefix_of(before) != prefix_of(after):
            given = f"{document.get('apiVersion')}, Kind={document.get('kind')}"
            raise internal(f"unable to convert {given} to {_api_version(kind)}, Kind={kind.kind}")
        return in_version(document, before, after)

    def conversion(self, document: Raw, kind: ObjectKind) -> ConversionCall | None:
        api_version = _api_version(kind)
        if document.get("kind") != kind.kind or document.get("apiVersion") == api_version:
            return None
        after = self._stored_kind(api_version, kind.kind)
        if type(after) is not ServedKind or not after.is_converted:
            return None
        if document.get("apiVersion") not in after.api_versions:
            return None
        return ConversionCall(after.definition, after, api_version, document)

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        """Return a document as it is read: without unknown fields, with defaults. Raises ApiError 500."""
        kind = self._kind(document.get("apiVersion"), document.get("kind"))
        if kind is None:  # options of a connection
            return document
        return _completed_custom(document, kind) if type(kind) is ServedKind else _completed(document, kind)

    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None:
        found = self._stored_kind(api_version, kind)
        if found is None:
            return None
        return ParamKindRow(ObjectKind(found.group, found.version, found.name), found.namespaced)

    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None:
        found = self._stored_kind(_api_version(kind), kind.kind)
        own = None if found is None else _own(found)
        document = None if own is None else self._documents.find(own, namespace, name)
        return None if own is None or found is None or document is None else in_version(document, own, found)

    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]:
        """Return the parameters that a selector chooses, by name. Raises ApiError if it cannot be read."""
        found = self._stored_kind(_api_version(kind), kind.kind)
        if found is None:
            return ()
        try:
            chosen = compile_label_selector(selector)
        except SelectorError as error:
            raise internal(str(error)) from None
        own = _own(found)
        documents = self._documents.all_of(own, namespace)
        selected = [one for one in documents if chosen.match(one["metadata"].get("labels") or {})]
        return [in_version(one, own, found) for one in sorted(selected, key=_name)]

    def authorize(self, user: UserInfo, question: Check) -> Decision:
        answer = self._authorize(User(*user), _attributes(question))
        return Decision(answer.allowed, answer.reason, answer.error)

    def apply_schema(self, kind: ObjectKind) -> FieldOwnershipSchema | None:
        found = self._kind(_api_version(kind), kind.kind)
        return None if found is None or found in _WITHOUT_SCHEMA else ownership_schema(found)


def in_version(document: Raw, before: Kind, after: Kind) -> Raw:
    """Return a document of one version of a kind in another one."""
    if before is after or document.get("apiVersion") == after.api_version:
        return document
    if type(before) is ServedKind:
        return {**document, "apiVersion": after.api_version}
    if before in _EVENTS:
        return to_core(document) if after is KINDS.EVENT else from_core(document)
    own = _own(before)
    current = document if before is own else from_older(document, own, before.version)
    return current if after is own else to_older(current, own, after.version)


def _own(kind: Kind) -> Kind:
    """Return the version of a kind that is stored."""
    return OLDER_VERSIONS.get((kind.api_version, kind.name), kind)


def _completed(document: Raw, kind: Kind) -> Raw:
    try:
        convert_view(document, kind.view)
    except ConversionError as error:
        raise internal(error.problems[0].reason) from None
    kept = kept_part(document, kind.view)
    own = _own(kind)
    if kind in _NEVER_STORED:
        return copy_document(kept)
    current = copy_document(in_version(kept, kind, own))
    row_of(own).default(current)
    write_as_go(current, own.view)
    return in_version(current, own, kind)


def _completed_custom(document: Raw, kind: ServedKind) -> Raw:
    """Return a custom object with defaults. What its schema does not know is there until the object is stored."""
    made = copy_document(document)
    try:
        decode_metadata(made)
    except MalformedError as error:
        raise internal(str(error)) from None
    apply_defaults(made, kind.schema)
    return made


def _kind_at(kind: Kind, subresource: str) -> ObjectKind | None:
    """Return the kind of the documents of a resource or subresource; None if there is no such subresource."""
    if not subresource:
        return ObjectKind(kind.group, kind.version, kind.name)
    found = kind.subresource(subresource)
    if found is None:
        return None
    if not found.kind:
        return ObjectKind(kind.group, kind.version, kind.name)
    group, _, version = (found.group_version or kind.api_version).rpartition("/")
    return ObjectKind(group, version, found.kind)


def _attributes(question: Check) -> authorization.Attributes:
    if question.path:
        return authorization.Attributes(question.verb, path=question.path)
    return authorization.resource_attributes(
        question.verb,
        question.group,
        question.resource,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
        fields=question.field_selector,
    )


def _api_version(kind: ObjectKind) -> str:
    return f"{kind.group}/{kind.version}" if kind.group else kind.version


def _name(document: Raw) -> str:
    name: str = document["metadata"]["name"]
    return name
