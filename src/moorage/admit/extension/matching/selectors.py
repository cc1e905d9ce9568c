"""Match requests with the namespaceSelector and objectSelector of policies, bindings and webhooks.

Kubernetes: plugin/webhook/predicates/namespace and object.
"""

from collections.abc import Mapping

from moorage.admit.extension.attributes import CREATE, UPDATE, Attributes
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.match.label_selector import Selector
from moorage.model.api_error import not_found
from moorage.model.kinds import KINDS

_NO_LABELS: Mapping[str, str] = {}


def matches_namespace(selector: Selector, attributes: Attributes, world: ExtensionWorld) -> bool:
    """Return whether the namespace of a request is selected. Raises ApiError 404 if there is no such namespace.

    Objects outside of namespaces are always selected, but Namespaces, which are selected by their own labels.
    """
    if not attributes.namespace and attributes.resource.resource != "namespaces":
        return True
    if selector.everything:
        return True
    return selector.match(namespace_labels(attributes, world))


def namespace_labels(attributes: Attributes, world: ExtensionWorld) -> Mapping[str, str]:
    """Return the labels of the namespace of a request; for a Namespace that is written, those that it will have."""
    is_namespace = attributes.resource.resource == "namespaces" and not attributes.subresource
    if is_namespace and attributes.operation in (CREATE, UPDATE):
        return _labels(attributes.object or {})
    namespace = world.namespace(attributes.namespace)
    if namespace is None:
        raise not_found(KINDS.NAMESPACE, attributes.namespace)
    return _labels(namespace)


def matches_object(selector: Selector, attributes: Attributes) -> bool:
    """Return whether the object of a request is selected, as it will be or as it was."""
    return selector.everything or _is_selected(selector, attributes.object) or _is_selected(selector, attributes.old)


def object_labels(document: Raw | None) -> Mapping[str, str]:
    """Return the labels of an object as selectors see them; none of what has no metadata."""
    return _NO_LABELS if document is None or not has_metadata(document) else _labels(document)


def _is_selected(selector: Selector, document: Raw | None) -> bool:
    if document is None or not has_metadata(document):
        return False
    return selector.match(_labels(document))


def has_metadata(document: Raw) -> bool:
    """Return whether documents of this kind have metadata, which the options of `pods/exec` and the like have not."""
    return "metadata" in document or not str(document.get("kind", "")).endswith("Options")


def _labels(document: Raw) -> Mapping[str, str]:
    metadata = document.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else _NO_LABELS
