"""Keep pods by their labels, so that a selector is matched once for all pods that are labelled alike."""

from collections.abc import Iterator, Mapping

from moorage.match.label_selector import Selector

_Labels = frozenset[tuple[str, str]]


class LabelClasses:
    """Keys of pods (`namespace/name`) by namespace and labels."""

    def __init__(self) -> None:
        self._keys: dict[str, dict[_Labels, tuple[Mapping[str, str], dict[str, None]]]] = {}
        self._labels: dict[str, _Labels] = {}

    def put(self, key: str, labels: Mapping[str, str] | None) -> None:
        """Note the labels that a pod has now; None if it is gone."""
        now = None if labels is None else frozenset(labels.items())
        before = self._labels.get(key)
        if now == before:
            return
        namespace = key.partition("/")[0]
        classes = self._keys.setdefault(namespace, {})
        if before is not None:
            del self._labels[key]
            keys = classes[before][1]
            del keys[key]
            if not keys:
                del classes[before]
        if now is not None and labels is not None:
            self._labels[key] = now
            classes.setdefault(now, (dict(labels), {}))[1][key] = None
        elif not classes:
            del self._keys[namespace]

    def selected(self, namespace: str, selector: Selector) -> Iterator[str]:
        """Yield the keys of the pods of a namespace that a selector selects."""
        for labels, keys in list(self._keys.get(namespace, {}).values()):
            if selector.match(labels):
                yield from list(keys)
