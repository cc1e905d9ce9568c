"""Pods that differ by nothing but their names are admitted once: of ten thousand in a file, few are one of a kind.

In: a raw pod that is to be created, and the way to admit it. Out: what admission says. Valid names are the only thing
that must be looked at for each.
"""

from collections.abc import Callable

import msgspec

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.raw import Raw
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.pod import Pod

_MOST = 4096
_encode = msgspec.msgpack.Encoder().encode


class RememberedPods:
    """Remembers the pods it has admitted, each without its name. What it returns shares its spec with others."""

    def __init__(self, admit_new: Callable[[Raw], Admitted | Rejected]) -> None:
        self._admit = admit_new
        self._known: dict[bytes, Admitted] = {}

    def admit(self, raw: Raw, name: str) -> Admitted | Rejected:
        metadata = raw["metadata"]
        try:
            rest = _encode((raw.get("spec"), {key: value for key, value in metadata.items() if key != "name"}))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return self._admit(raw)
        known = self._known.get(rest)
        if known is not None and isinstance(known.view, Pod) and not dns1123_subdomain_errors(name):
            return _renamed(known, known.view, name)
        result = self._admit(raw)
        if isinstance(result, Admitted):
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[rest] = result
        return result


def _renamed(known: Admitted, pod: Pod, name: str) -> Admitted:
    raw = {**known.object, "metadata": {**known.object["metadata"], "name": name}}
    view = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, name=name))
    return Admitted(raw, view, known.warnings)
