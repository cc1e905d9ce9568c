"""Lead one request past policies and webhooks: before its object is validated, and after.

What changes objects runs a second time, with the plugins of the API server, if a policy or webhook has changed the
object in the first round. Kubernetes: reinvoker, AdmissionToValidateObjectFunc and its likes, the admission controller
that watches over managedFields.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.matching.versions import converted
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Steps
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw, copy_document
from moorage.model.api_error import bad_request
from moorage.model.kinds import Kind

Refusal = TypeVar("Refusal")
#: Puts right in a changed object what the API server does not leave to others; returns warnings. The second argument
#: are the managedFields from before.
Repair = Callable[[Raw, Any], Sequence[str]]


def request_attributes(operation: str, kind: Kind, subresource: str = "", version: str = "") -> Attributes:
    """Return what all requests of a form have in common. `version` is that in the path, if it is not the kind's own."""
    version = version or kind.version
    below = kind.subresource(subresource) if subresource else None
    object_kind = ObjectKind(kind.group, version, kind.name)
    if below is not None and below.kind:
        group, _, own_version = (below.group_version or kind.api_version).rpartition("/")
        object_kind = ObjectKind(group, own_version, below.kind)
    resource = ObjectResource(kind.group, version, kind.plural)
    return Attributes(operation, resource, object_kind, subresource=subresource)


class ExtendedRequest:
    """A request that policies or webhooks may be about, and what they remark on it, over all tries."""

    __slots__ = ("_name", "_repair", "attributes", "remarks", "world")

    def __init__(
        self, attributes: Attributes, world: ExtensionWorld, repair: Repair = lambda document, owners: ()
    ) -> None:
        self.attributes, self.world = attributes, world
        self.remarks = Remarks()
        self._name, self._repair = attributes.name, repair

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all tries, each once."""
        return tuple(dict.fromkeys(self.remarks.warnings))

    def warn(self, warnings: Sequence[str]) -> None:
        self.remarks.warnings += warnings

    def change(
        self, document: Raw, old: Raw | None, in_tree: Callable[[Raw], Refusal | None] = lambda document: None
    ) -> Steps[Raw | Refusal]:
        """Let plugins (`in_tree`, in place), policies and webhooks change an object; return it, or a plugin's refusal.

        Raises ApiError.
        """
        from moorage.admit.extension import extensions  # the compiler of expressions

        attributes, rounds = self.attributes, Reinvocation()
        attributes.object, attributes.old, attributes.name = document, old, self._name
        metadata = document.get("metadata")
        owners, namespace = (
            (metadata.get("managedFields"), metadata.get("namespace")) if isinstance(metadata, dict) else (None, None)
        )
        while True:
            refusal = _in_namespace(namespace, document, in_tree)
            if refusal is not None:
                return refusal
            yield from extensions.mutate(attributes, self.world, self.remarks, rounds)
            changed = attributes.object or document
            if (changed.get("apiVersion"), changed.get("kind")) != (document.get("apiVersion"), document.get("kind")):
                changed = attributes.object = yield from self._in_version_of(document, changed)
            document = changed
            if rounds.is_second or not rounds.is_needed:
                break
            rounds.is_second = True
            # What was handed to policies and webhooks stays as they saw it: they compare.
            document = attributes.object = copy_document(document)
        if rounds.is_needed and isinstance(document.get("metadata"), dict):
            check_same_namespace(document["metadata"], metadata)
            self.warn(self._repair(document, owners))
        return document

    def _in_version_of(self, before: Raw, changed: Raw) -> Steps[Raw]:
        """Return the object in the version that it had."""
        group, _, version = str(before["apiVersion"]).rpartition("/")
        kind = ObjectKind(group, version, str(before["kind"]))
        (document,) = yield from converted((changed,), kind, self.world, self.remarks)
        return document

    def check(self, document: Raw | None, old: Raw | None) -> Steps[None]:
        """Let policies and webhooks refuse a request, whose object is valid and as it would be stored."""
        from moorage.admit.extension import extensions  # the compiler of expressions

        attributes = self.attributes
        attributes.object, attributes.old, attributes.name = document, old, self._name
        if not attributes.name and document is not None and attributes.operation == "CREATE":
            attributes.name = str((document.get("metadata") or {}).get("name") or "")
        yield from extensions.validate(attributes, self.world, self.remarks)

    def checked(self, result: Admitted | Rejected, old: Raw | None) -> Steps[Admitted | Rejected]:
        """Let policies and webhooks refuse what was admitted; return it with all warnings, also theirs."""
        if isinstance(result, Rejected):
            return result
        self.warn(result.warnings)
        yield from self.check(result.object, old)
        return msgspec.structs.replace(result, warnings=self.warnings)

    def deletion(self, old: Raw) -> Steps[None]:
        """Ask about the deletion of an object."""
        from moorage.admit.extension import extensions  # the compiler of expressions

        attributes = self.attributes
        attributes.object, attributes.old = None, old
        yield from extensions.mutate(attributes, self.world, self.remarks, Reinvocation())
        attributes.object = None
        yield from extensions.validate(attributes, self.world, self.remarks)


def _in_namespace(namespace: Any, document: Raw, in_tree: Callable[[Raw], Refusal | None]) -> Refusal | None:
    """Let plugins change an object, in the namespace of its request, whatever policies and webhooks have made of it."""
    metadata = document.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace") == namespace:
        return in_tree(document)
    moved = metadata.get("namespace")
    metadata["namespace"] = namespace
    refusal = in_tree(document)
    if moved is None:
        del metadata["namespace"]
    else:
        metadata["namespace"] = moved
    return refusal


def check_same_namespace(metadata: Raw, before: Any) -> None:
    """Raise ApiError if an object was moved to another namespace; one without a namespace stays where it is."""
    namespace = before.get("namespace") if isinstance(before, dict) else None
    given = metadata.get("namespace")
    if not namespace:
        metadata.pop("namespace", None)
    elif not given:
        metadata["namespace"] = namespace
    elif given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
