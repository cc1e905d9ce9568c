"""Selectors for default spreading: those of the Services and the controller that a pod belongs to.

Kubernetes: DefaultSelector in framework/plugins/helper.
"""

from collections.abc import Mapping

from moorage.columns.shape import Shape
from moorage.match.label_selector import Selector, compile_label_set, conjunction

_KINDS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})


class DefaultSelectors:
    """Services and controllers by namespace; `version` changes with any of them."""

    def __init__(self) -> None:
        self.version = 0
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Selector] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        """Set a Service's selector; None if the Service is gone."""
        self.version += 1
        of_namespace = self._services.setdefault(namespace, {})
        if selector:
            of_namespace[name] = dict(selector)
        else:
            of_namespace.pop(name, None)

    def set_controller(self, kind: str, namespace: str, name: str, selector: Selector | None) -> None:
        """Set a controller's selector, None if it is gone; kinds of others are ignored."""
        self.version += 1
        if selector is None or selector.nothing or kind not in _KINDS:
            self._controllers.pop((kind, namespace, name), None)
        else:
            self._controllers[kind, namespace, name] = selector

    def selector(self, shape: Shape) -> Selector:
        """Return the selector of a pod's Services and controller; it matches everything without them."""
        merged: dict[str, str] = {}
        for selector in self._services.get(shape.namespace, {}).values():
            if all(shape.labels.get(key) == value for key, value in selector.items()):
                merged.update(selector)
        services = compile_label_set(merged)
        if shape.controller is None:
            return services
        kind, name = shape.controller
        controller = self._controllers.get((kind, shape.namespace, name))
        if controller is None:
            return services
        return conjunction((*services.requirements, *controller.requirements))
