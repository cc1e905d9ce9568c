"""Which pods belong together although they do not say so: those of one Service, ReplicaSet, StatefulSet, or controller.

In: Services and controllers as they come and go. Out: for a pod, the selector by which pods without spread constraints
of their own are spread. Kubernetes: DefaultSelector in framework/plugins/helper.
"""

from collections.abc import Mapping

from moorage.columns.shape import Shape
from moorage.match.label_selector import Selector, compile_label_set, conjunction

_KINDS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})


class DefaultSelectors:
    """Services and controllers by namespace; `version` moves when any of them changes."""

    def __init__(self) -> None:
        self.version = 0
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Selector] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        """Note a Service; one without a selector, or one that is gone (None), selects nothing."""
        self.version += 1
        of_namespace = self._services.setdefault(namespace, {})
        if selector:
            of_namespace[name] = dict(selector)
        else:
            of_namespace.pop(name, None)

    def set_controller(self, kind: str, namespace: str, name: str, selector: Selector | None) -> None:
        """Note a ReplicaSet, StatefulSet or ReplicationController, or that it is gone (None); others do not count."""
        self.version += 1
        if selector is None or selector.nothing or kind not in _KINDS:
            self._controllers.pop((kind, namespace, name), None)
        else:
            self._controllers[kind, namespace, name] = selector

    def selector(self, shape: Shape) -> Selector:
        """The selector of everything that the pod belongs to; it matches everything if that is nothing."""
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
