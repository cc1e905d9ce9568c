"""Pods that differ by nothing but their names are admitted once: controllers and benchmarks make them by the thousand.

In: a raw pod that is to be created, its request. Out: exactly what `admission.admit` says of it, at a fraction of the
price: of a pod that is like an earlier one only the name is looked at. What is returned shares all but its own metadata
with other pods, so nobody may change it. Kubernetes: nothing of the sort.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.messages.warnings import name_warnings
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw
from moorage.admit.request import MAX_GENERATED_BASE_LENGTH, Request
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod

_encode = msgspec.json.Encoder().encode
# Unlike JSON it tells a key 1 from a key "1".
_fingerprint = msgspec.msgpack.Encoder().encode
_replace = msgspec.structs.replace


class _Known(msgspec.Struct, frozen=True):
    """An admitted pod, as the pattern for others."""

    object: Raw
    metadata: Raw
    view: Pod
    warnings: tuple[str, ...]
    rest: bytes


class TemplateMemo:
    """Remembers the pods it has admitted, each without its name, and forgets those that were not seen for longest.

    `generation` is asked each time: when it changes, what plugins know has changed (a PriorityClass, a ServiceAccount),
    and everything is forgotten.
    """

    def __init__(
        self,
        gates: GateSet,
        plugins: Sequence[Plugin],
        generation: Callable[[], int] = lambda: 0,
        limit: int = 4096,
    ) -> None:
        self._gates, self._plugins = gates, plugins
        self._live = [plugin for plugin in plugins if plugin.live]
        self._generation, self._limit = generation, limit
        self._made_at = generation()
        self._known: dict[bytes, _Known] = {}

    def admit_pod(self, raw: Raw, request: Request, key: bytes | None = None) -> Admitted | Rejected:
        """Admit a new pod, as `admit(raw, None, …)` does.

        Who has found out already which pods are alike says so by a `key`, which is empty for a pod that is like none.
        """
        if self._generation() != self._made_at:
            self._made_at = self._generation()
            self._known.clear()
        if key is None:
            key = _likeness(raw, request)
        known = self._known.pop(key, None)
        if known is not None:
            self._known[key] = known
            name = _name_to_be(raw["metadata"], request)
            if name and not dns1123_subdomain_errors(name):
                return self._refused(raw, known, request) or _named(known, name, request)
        result = admit(raw, None, self._gates, plugins=self._plugins, request=request)
        if key and isinstance(result, Admitted) and isinstance(result.view, Pod):
            self._remember(key, result, result.view)
        return result

    def _remember(self, key: bytes, result: Admitted, view: Pod) -> None:
        if len(self._known) >= self._limit:
            del self._known[next(iter(self._known))]
        metadata = result.object["metadata"]
        rest = {name: value for name, value in result.object.items() if name != "metadata"}
        # The name's warnings come first, and are the next name's own business.
        warnings = result.warnings[len(name_warnings("Pod", view.metadata.name)) :]
        self._known[key] = _Known(result.object, metadata, view, warnings, b"," + _encode(rest)[1:])

    def _refused(self, raw: Raw, known: _Known, request: Request) -> Rejected | None:
        """What plugins that look at the world say now."""
        for plugin in self._live:
            try:
                plugin.admit("Pod", known.object, None)
            except (Forbidden, ApiError):
                # Rare, and worth the words of the long way.
                result = admit(raw, None, self._gates, plugins=self._plugins, request=request)
                return result if isinstance(result, Rejected) else None
        return None


def _likeness(raw: Raw, request: Request) -> bytes:
    """All that admission looks at but the name, as bytes; none for what is no pod or cannot be remembered."""
    metadata = raw.get("metadata")
    if type(metadata) is not dict or raw.get("kind") != "Pod":
        return b""
    others = {key: value for key, value in metadata.items() if key != "name"}
    parts: list[Any] = [request.namespace, request.allow_privileged, others]
    for key, value in raw.items():
        if key != "metadata":
            parts.append(key)
            parts.append(value)
    try:
        return _fingerprint(parts)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _name_to_be(metadata: Raw, request: Request) -> str:
    name = metadata.get("name")
    if not name:
        base = metadata.get("generateName")
        return base[:MAX_GENERATED_BASE_LENGTH] + request.name_suffix if type(base) is str and base else ""
    return name if type(name) is str else ""


def _named(known: _Known, name: str, request: Request) -> Admitted:
    metadata = known.metadata.copy()
    metadata["name"] = name
    metadata["uid"] = request.uid
    made: ObjectMeta = known.view.metadata
    if request.timestamp:
        metadata["creationTimestamp"] = request.timestamp
        made = _replace(made, name=name, uid=request.uid, creationTimestamp=request.timestamp)
    else:
        made = _replace(made, name=name, uid=request.uid)
    raw = known.object.copy()
    raw["metadata"] = metadata
    warnings = known.warnings
    if own := name_warnings("Pod", name):
        warnings = (*own, *warnings)
    return Admitted(raw, _replace(known.view, metadata=made), warnings, known.rest)
