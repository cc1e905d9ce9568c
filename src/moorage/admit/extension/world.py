"""Define what policies and webhooks look up in a cluster: each other's configuration, parameters, versions, rights."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from moorage.admit.extension.attributes import ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.steps import ConversionCall
from moorage.admit.raw import Raw
from moorage.match.cel.libraries.authz import Check
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from moorage.model.types.meta import LabelSelector


class Decision(NamedTuple):
    """The answer of an authorizer."""

    allowed: bool
    reason: str = ""
    error: str = ""


class ServedVersion(NamedTuple):
    """A version in which a resource is served, and the kind of its objects there."""

    resource: ObjectResource
    kind: ObjectKind


class ParamKindRow(NamedTuple):
    """A kind that parameters may have."""

    kind: ObjectKind
    namespaced: bool


class ExtensionWorld(Protocol):
    """What is registered, and what it needs to know.

    `generation` grows with every change of anything here but namespaces and parameters, so that answers can be kept.
    """

    @property
    def generation(self) -> int: ...
    @property
    def is_empty(self) -> bool:
        """Whether nothing is registered at all: the quick way out for most requests of most clusters."""
        ...

    def validating_policies(self) -> Sequence[ValidatingAdmissionPolicy]: ...
    def validating_bindings(self, policy: str) -> Sequence[ValidatingAdmissionPolicyBinding]: ...
    def mutating_policies(self) -> Sequence[MutatingAdmissionPolicy]: ...
    def mutating_bindings(self, policy: str) -> Sequence[MutatingAdmissionPolicyBinding]: ...
    def mutating_webhooks(self) -> Sequence[MutatingWebhookConfiguration]:
        """Return configurations by name."""
        ...

    def validating_webhooks(self) -> Sequence[ValidatingWebhookConfiguration]: ...

    def namespace(self, name: str) -> Raw | None:
        """Return a namespace as namespaceObject and selectors see it."""
        ...

    def served_versions(self, resource: ObjectResource, subresource: str) -> Sequence[ServedVersion]:
        """Return all versions and groups that serve the same objects, as matchPolicy Equivalent looks for them."""
        ...

    def is_namespaced(self, resource: ObjectResource) -> bool: ...

    def convert(self, document: Raw, kind: ObjectKind) -> Raw:
        """Return a document in another version of its kind, without the help of a webhook. Raises ApiError."""
        ...

    def conversion(self, document: Raw, kind: ObjectKind) -> ConversionCall | None:
        """Return the call that converts a document to another version of its kind; None where `convert` does."""
        ...

    def complete(self, document: Raw, resource: ObjectResource, subresource: str) -> Raw:
        """Return a document that was changed as the API server reads it: unknown fields dropped, defaults set.

        Raises ApiError 500 if it does not decode: `Internal error occurred: ` and the reason of the decoder.
        """
        ...

    def param_kind(self, api_version: str, kind: str) -> ParamKindRow | None: ...
    def param(self, kind: ObjectKind, namespace: str, name: str) -> Raw | None: ...
    def params(self, kind: ObjectKind, namespace: str, selector: LabelSelector) -> Sequence[Raw]: ...

    def authorize(self, user: UserInfo, question: Check) -> Decision: ...

    def apply_schema(self, kind: ObjectKind) -> object | None:
        """Return the schema by which ApplyConfiguration merges objects of a kind (that of server-side apply)."""
        ...
