"""RuntimeClass: the overhead, node selector and tolerations of the class that a pod names.

Kubernetes: plugin/pkg/admission/runtimeclass, MergeTolerations of pkg/util/tolerations.
"""

from typing import Any

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, items, part
from moorage.admit.world import AdmissionWorld
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodSpec
from moorage.model.types.policy import RuntimeClass
from moorage.model.well_known.taints import NO_EXECUTE

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_WITHOUT_CLASS = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClassPlugin(Plugin):
    """Completes and checks pods by their class. Of a class that is only assumed to exist nothing is known."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.POD or old is not None:
            return
        spec = part(new, "spec")
        runtime_class = self._class_of(spec)
        if runtime_class is None:
            return
        if runtime_class.overhead is not None:
            _check_overhead(spec, runtime_class, optional=True)
            spec["overhead"] = {name: str(amount) for name, amount in runtime_class.overhead.podFixed.items()}
        if runtime_class.scheduling is not None:
            _merge_selector(spec, runtime_class.scheduling.nodeSelector)
            tolerations = [_document(one) for one in runtime_class.scheduling.tolerations]
            merged = merge_tolerations([*items(spec, "tolerations"), *tolerations])
            if merged or spec.get("tolerations"):
                spec["tolerations"] = merged

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.POD or old is not None:
            return
        runtime_class = self._class_of(new["spec"])
        if runtime_class is not None and runtime_class.overhead is not None:
            _check_overhead(new["spec"], runtime_class, optional=False)
        elif new["spec"].get("overhead") is not None and (
            runtime_class is not None or new["spec"].get("runtimeClassName") is None
        ):
            raise Forbidden(_WITHOUT_CLASS)

    def _class_of(self, spec: Raw) -> RuntimeClass | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        runtime_class = self._world.runtime_class(name)
        if runtime_class is None and not self._world.assumes(KINDS.RUNTIME_CLASS, name, KINDS.POD):
            raise Forbidden(f"pod rejected: RuntimeClass {go_quote(name)} not found")
        return runtime_class


def _check_overhead(spec: Raw, runtime_class: RuntimeClass, *, optional: bool) -> None:
    given = spec.get("overhead") or {}
    wanted = runtime_class.overhead.podFixed if runtime_class.overhead is not None else {}
    if (given or not optional) and convert_view({"overhead": given}, PodSpec).overhead != wanted:
        raise Forbidden(_MISMATCH)


def _merge_selector(spec: Raw, wanted: dict[str, str]) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in sorted(wanted.items()):
        given = selector.get(key)
        if given is not None and given != value:
            theirs = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise Forbidden(f"conflict: {theirs}; pod.spec.nodeSelector[{key}] = {given}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector


def merge_tolerations(tolerations: list[Raw]) -> list[Raw]:
    """Return the tolerations without those that another one includes; of two that are equal the first stays."""
    merged: list[Raw] = []
    for index, toleration in enumerate(tolerations):
        later = [one for one in tolerations[index + 1 :] if one != toleration]
        if not any(_includes(one, toleration) for one in (*merged, *later)):
            merged.append(toleration)
    return merged


def _includes(one: Raw, other: Raw) -> bool:
    """Return whether a toleration tolerates all that another does, by upstream's rule."""
    if one == other:
        return True
    operator, effect = one.get("operator") or "", one.get("effect") or ""
    if one.get("expression") or other.get("expression"):
        return False
    if (one.get("key") or "") != (other.get("key") or "") and (one.get("key") or operator != "Exists"):
        return False
    if effect and effect != other.get("effect"):
        return False
    seconds, others = one.get("tolerationSeconds"), other.get("tolerationSeconds")
    if effect == NO_EXECUTE and seconds is not None and (others is None or others > seconds):
        return False
    if operator in ("", "Equal"):
        return other.get("operator") == "Equal" and (one.get("value") or "") == (other.get("value") or "")
    return bool(operator == "Exists")


def _document(toleration: Any) -> Raw:
    fields = ((name, getattr(toleration, name)) for name in toleration.__struct_fields__)
    return {name: value for name, value in fields if value not in (None, "")}
