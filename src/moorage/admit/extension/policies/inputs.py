"""Give expressions the values of one request: its objects, itself, its namespace, the authorizer.

What is converted once serves all policies and webhooks of the request. Kubernetes: newActivation,
CreateAdmissionRequest and CreateNamespaceObject in apiserver/pkg/admission/plugin/cel; caching_authorizer.go.
"""

from typing import Any

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.matching.matcher import Versioned
from moorage.admit.extension.policies.documents import shown_document
from moorage.admit.extension.policies.environment import (
    AUTHORIZER,
    NAMESPACE,
    OBJECT,
    OLD_OBJECT,
    PARAMS,
    REQUEST,
    REQUEST_RESOURCE,
)
from moorage.admit.extension.policies.evaluation import Meter
from moorage.admit.extension.world import Decision, ExtensionWorld
from moorage.admit.raw import Raw
from moorage.match.cel.libraries.authz import Account, AuthorizerValue, Check, ResourceCheck
from moorage.model.api_error import not_found
from moorage.model.kinds import KINDS

#: The metadata of a namespace that expressions see.
_NAMESPACE_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)
_NAMESPACE_KIND = ObjectKind("", "v1", "Namespace")


class RequestInputs:
    """The values of one request. Documents are known by their identity: whatever changes one makes another."""

    def __init__(self, attributes: Attributes, world: ExtensionWorld) -> None:
        self.attributes = attributes
        self.world = world
        self.meter = Meter()
        self._documents: dict[int, tuple[Any, Any]] = {}
        self._requests: dict[tuple[ObjectResource, ObjectKind], Any] = {}
        self._decisions: dict[tuple[Account, Check], Decision] = {}
        self._namespace: tuple[Any] | None = None

    def document(self, document: Raw | None) -> Any:
        """Return a document for expressions."""
        if document is None:
            return None
        entry = self._documents.get(id(document))
        if entry is None or entry[0] is not document:
            entry = self._documents[id(document)] = (document, shown_document(document))
        return entry[1]

    def request(self, resource: ObjectResource, kind: ObjectKind) -> Any:
        """Return `request`, in which `kind` and `resource` are those that were matched."""
        key = (resource, kind)
        if key not in self._requests:
            self._requests[key] = shown_document(admission_request(self.attributes, resource, kind))
        return self._requests[key]

    def namespace(self) -> Any:
        """Return `namespaceObject`: null outside of namespaces and for namespaces. Raises ApiError 404."""
        if self._namespace is None:
            self._namespace = (self._read_namespace(),)
        return self._namespace[0]

    def _read_namespace(self) -> Any:
        name = self.attributes.namespace
        if not name or self.attributes.kind == _NAMESPACE_KIND:
            return None
        document = self.world.namespace(name)
        if document is None:
            raise not_found(KINDS.NAMESPACE, name)
        return shown_document(_namespace_object(document))

    def bindings(
        self,
        versioned: Versioned,
        resource: ObjectResource,
        *,
        params: Raw | None = None,
        namespace: Any = None,
        authorizer: bool = True,
    ) -> dict[str, Any]:
        """Return the values of variables for the objects in the version that was matched."""
        bindings: dict[str, Any] = {
            OBJECT: self.document(versioned.object),
            OLD_OBJECT: self.document(versioned.old),
            REQUEST: self.request(resource, versioned.kind),
            PARAMS: self.document(params),
            NAMESPACE: namespace,
        }
        if authorizer:
            value = AuthorizerValue(self._authorize, check_cost=self.meter.check_cost)
            bindings[AUTHORIZER] = value
            bindings[REQUEST_RESOURCE] = ResourceCheck(value, self._own_check())
        return bindings

    def _own_check(self) -> Check:
        attributes = self.attributes
        group, _, resource = attributes.resource
        return Check("", group, resource, attributes.subresource, attributes.namespace, attributes.name)

    def _authorize(self, account: Account, check: Check) -> Decision:
        """Answer a check; the same one is asked once for a request."""
        self.meter.checks += 1
        key = (account, check)
        if key not in self._decisions:
            user = self.attributes.user if account is None else service_account_user(*account)
            self._decisions[key] = self.world.authorize(user, check)
        return self._decisions[key]


def service_account_user(namespace: str, name: str) -> UserInfo:
    """Return the user that a service account is, as checks for it see it."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return UserInfo(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def admission_request(attributes: Attributes, resource: ObjectResource, kind: ObjectKind) -> Raw:
    """Return the AdmissionRequest of a request, without the objects, which are variables of their own."""
    user = attributes.user
    request: Raw = {
        "uid": "",
        "kind": kind._asdict(),
        "resource": resource._asdict(),
        "subResource": attributes.subresource,
        "requestKind": attributes.kind._asdict(),
        "requestResource": attributes.resource._asdict(),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": attributes.operation,
        "userInfo": _present(
            username=user.name,
            uid=user.uid,
            groups=list(user.groups),
            extra={name: list(values) for name, values in user.extra.items()},
        ),
        "object": None,
        "oldObject": None,
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    for name in ("subResource", "requestSubResource", "name", "namespace"):
        if not request[name]:
            del request[name]
    return request


def _present(**fields: Any) -> Raw:
    return {name: value for name, value in fields.items() if value}


def _namespace_object(document: Raw) -> Raw:
    metadata = document.get("metadata") or {}
    return {
        "metadata": {name: metadata[name] for name in _NAMESPACE_METADATA if name in metadata},
        "spec": document.get("spec") or {},
        "status": document.get("status") or {},
    }
