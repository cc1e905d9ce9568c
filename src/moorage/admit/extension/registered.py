"""Keep the policies, bindings and webhook configurations of a cluster, in the order in which they are asked.

`RegisteredExtensions` is told of every write of an object of `REGISTERED_KINDS`, as admission's lookups are of others:
it counts from the next request on. All else that an `ExtensionWorld` answers differs by place, and is looked up in the
store of a server, the simulated cluster or the objects of some files (`ExtensionLookups`).
Kubernetes: the sources of policies and webhook configurations (plugin/policy/generic/policy_source.go,
pkg/admission/configuration). Differs: no lag behind a write; policies and bindings in the order of their names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from moorage.admit.extension.attributes import ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.steps import ConversionCall
from moorage.admit.extension.world import Decision, ParamKindRow, ServedVersion
from moorage.admit.raw import Raw
from moorage.match.cel.libraries.authz import Check
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from moorage.model.types.meta import LabelSelector

View = TypeVar("View")

REGISTERED_KINDS = (
    KINDS.VALIDATING_ADMISSION_POLICY,
    KINDS.VALIDATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_ADMISSION_POLICY,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING,
    KINDS.MUTATING_WEBHOOK_CONFIGURATION,
    KINDS.VALIDATING_WEBHOOK_CONFIGURATION,
)
_encode = msgspec.json.Encoder().encode


class ExtensionLookups(Protocol):
    """What policies and webhooks look up besides each other. See `ExtensionWorld` for the methods."""

    @property
    def generation(self) -> int:
        """Grows when other kinds, or other versions of them, are served."""
        ...

    @property
    def rights_generation(self) -> int:
        """Grows when `authorize` may answer otherwise than before."""
        ...

    def namespace(self, name: str) -> Raw | None: ...
    def served_versions(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]: ...
    def is_namespaced(self, resource: ObjectResource) -> bool: ...
    def convert(self, document: Raw, kind: ObjectKind) -> Raw: ...
    def conversion(self, document: Raw, kind: ObjectKind) -> ConversionCall | None: ...
    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw: ...
    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None: ...
    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None: ...
    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]: ...
    def authorize(self, user: UserInfo, question: Check) -> Decision: ...
    def apply_schema(self, kind: ObjectKind) -> object | None: ...


class _ByName(Generic[View]):
    """Views by their names. What was handed out stays as it is when others come."""

    __slots__ = ("_sorted", "_views")

    def __init__(self) -> None:
        self._views: dict[str, View] = {}
        self._sorted: tuple[View, ...] | None = ()

    def __len__(self) -> int:
        return len(self._views)

    def put(self, name: str, view: View) -> None:
        self._views[name] = view
        self._sorted = None

    def drop(self, name: str) -> None:
        self._views.pop(name, None)
        self._sorted = None

    def get(self, name: str) -> View | None:
        return self._views.get(name)

    def all(self) -> tuple[View, ...]:
        if self._sorted is None:
            views = dict(self._views)  # in one step: a server has a second thread
            self._sorted = tuple(views[name] for name in sorted(views))
        return self._sorted


class RegisteredExtensions:
    """An `ExtensionWorld` of the objects that it is told of with `learn` and `forget`."""

    def __init__(self, lookups: ExtensionLookups) -> None:
        self.lookups = lookups
        self.is_empty = True
        self._generation = 0
        self._seen = (0, 0)
        self._views: dict[Kind, _ByName[Any]] = {kind: _ByName() for kind in REGISTERED_KINDS}
        #: Bindings by policy, and the policy of each binding.
        self._bindings: dict[Kind, dict[str, _ByName[Any]]] = {kind: {} for kind in _BINDINGS}
        self._policies_of: dict[tuple[Kind, str], str] = {}
        #: Those whose expressions ask an authorizer.
        self._asking: set[tuple[Kind, str]] = set()

    @property
    def generation(self) -> int:
        """Grows with what is registered and served; with rights as well, if an expression asks for them.

        Not with parameters and namespaces: answers that depend on those are not kept, or kept by what they depend on.
        """
        rights = self.lookups.rights_generation if self._asking else self._seen[1]
        now = self.lookups.generation, rights
        if now != self._seen:
            self._seen = now
            self._generation += 1
        return self._generation

    def learn(self, kind: Kind, view: Any) -> None:
        """Take in an object that is new or has changed."""
        views = self._views.get(kind)
        if views is None:
            return
        name = view.metadata.name
        views.put(name, view)
        if kind in _BINDINGS:
            self._bind(kind, name, view)
        elif b"authorizer" in _encode(view):
            self._asking.add((kind, name))
        else:
            self._asking.discard((kind, name))
        self.is_empty = False
        self._generation += 1

    def forget(self, kind: Kind, view: Any) -> None:
        """Forget an object that was deleted."""
        views = self._views.get(kind)
        if views is None:
            return
        name = view.metadata.name
        views.drop(name)
        if kind in _BINDINGS:
            self._unbind(kind, name)
        self._asking.discard((kind, name))
        self.is_empty = not any(map(len, self._views.values()))
        self._generation += 1

    def _bind(self, kind: Kind, name: str, view: Any) -> None:
        policy = view.spec.policyName
        if self._policies_of.get((kind, name), policy) != policy:
            self._unbind(kind, name)
        self._policies_of[kind, name] = policy
        self._bindings[kind].setdefault(policy, _ByName()).put(name, view)

    def _unbind(self, kind: Kind, name: str) -> None:
        policy = self._policies_of.pop((kind, name), None)
        if policy is None:
            return
        bindings = self._bindings[kind][policy]
        bindings.drop(name)
        if not bindings:
            del self._bindings[kind][policy]

    def validating_policies(self) -> Sequence[ValidatingAdmissionPolicy]:
        return self._views[KINDS.VALIDATING_ADMISSION_POLICY].all()

    def validating_bindings(self, policy: str) -> Sequence[ValidatingAdmissionPolicyBinding]:
        return self._bindings_of(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, policy)

    def mutating_policies(self) -> Sequence[MutatingAdmissionPolicy]:
        return self._views[KINDS.MUTATING_ADMISSION_POLICY].all()

    def mutating_bindings(self, policy: str) -> Sequence[MutatingAdmissionPolicyBinding]:
        return self._bindings_of(KINDS.MUTATING_ADMISSION_POLICY_BINDING, policy)

    def mutating_webhooks(self) -> Sequence[MutatingWebhookConfiguration]:
        return self._views[KINDS.MUTATING_WEBHOOK_CONFIGURATION].all()

    def validating_webhooks(self) -> Sequence[ValidatingWebhookConfiguration]:
        return self._views[KINDS.VALIDATING_WEBHOOK_CONFIGURATION].all()

    def _bindings_of(self, kind: Kind, policy: str) -> Sequence[Any]:
        bindings = self._bindings[kind].get(policy)
        return () if bindings is None else bindings.all()

    def namespace(self, name: str) -> Raw | None:
        return self.lookups.namespace(name)

    def served_versions(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]:
        return self.lookups.served_versions(resource, subresource)

    def is_namespaced(self, resource: ObjectResource) -> bool:
        return self.lookups.is_namespaced(resource)

    def convert(self, document: Raw, kind: ObjectKind) -> Raw:
        return self.lookups.convert(document, kind)

    def conversion(self, document: Raw, kind: ObjectKind) -> ConversionCall | None:
        return self.lookups.conversion(document, kind)

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        return self.lookups.complete(document, resource, subresource)

    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None:
        return self.lookups.param_kind(api_version, kind)

    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None:
        return self.lookups.param(kind, namespace, name) if self._may_be_in(kind, namespace) else None

    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]:
        return self.lookups.params(kind, namespace, selector) if self._may_be_in(kind, namespace) else ()

    def _may_be_in(self, kind: ObjectKind, namespace: str) -> bool:
        """Return whether parameters are looked up in one place only: one namespace, or none if their kind has none."""
        row = self.lookups.param_kind(f"{kind.group}/{kind.version}" if kind.group else kind.version, kind.kind)
        return row is not None and row.namespaced == bool(namespace)

    def authorize(self, user: UserInfo, question: Check) -> Decision:
        return self.lookups.authorize(user, question)

    def apply_schema(self, kind: ObjectKind) -> object | None:
        return self.lookups.apply_schema(kind)


_BINDINGS: Mapping[Kind, None] = dict.fromkeys(
    (KINDS.VALIDATING_ADMISSION_POLICY_BINDING, KINDS.MUTATING_ADMISSION_POLICY_BINDING)
)
