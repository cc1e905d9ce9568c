"""Show JSON documents to expressions without converting what they do not read.

A map becomes one of CEL when it is read, entry by entry; what was read once is kept with it. So a policy that reads
one field of a pod pays for the way to that field. Values keep their types: Kubernetes gives policies documents
without a schema, in which times and quantities are strings. Kubernetes: objectToResolveVal in
apiserver/pkg/admission/plugin/cel/condition.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moorage.match.cel.values import CelError, CelMap

_Entry = tuple[Any, Any]


class _Entries(dict[Any, _Entry]):
    """Entries of a map by key, which are made when they are first looked at. The dictionary holds those made so far."""

    __slots__ = ("_make", "_source")

    def __init__(self, source: Mapping[str, Any], make: Callable[[str, Any], Any]) -> None:
        super().__init__()
        self._source = source
        self._make = make

    def get(self, key: Any, default: Any = None) -> Any:
        entry = super().get(key)
        if entry is None:
            if key not in self._source:
                return default
            entry = self[key] = (key, self._make(key, self._source[key]))
        return entry

    def __contains__(self, key: object) -> bool:
        return key in self._source

    def __len__(self) -> int:
        return len(self._source)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source)

    def values(self) -> Any:
        return [self.get(key) for key in self._source]


def shown_document(value: Any) -> Any:
    """Return a JSON value for expressions: maps are converted when they are read, lists with what is in them."""
    kind = type(value)
    if kind is dict:
        return CelMap.over(_Entries(value, _convert))
    if kind is list:
        return [shown_document(item) for item in value]
    return value


def _convert(_: str, value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return CelMap.over(_Entries(value, _convert))
    return [shown_document(item) for item in value] if kind is list else value


def lazy_map(names: Mapping[str, Any], make: Callable[[str, Any], Any]) -> CelMap:
    """Return a map whose values are made from those of `names` when they are first read.

    `make` returns a CelError, rather than raising it, for a value that cannot be made: it is raised where it is read.
    """
    return CelMap.over(_Entries(names, make))


def plain_value(value: Any) -> Any:
    """Return a value of an expression as JSON; raises CelError for what JSON has not."""
    if isinstance(value, CelMap):
        return {_text_key(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise CelError("unsupported value")


def _text_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise CelError("unsupported key")
