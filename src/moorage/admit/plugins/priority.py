"""Priority: a pod's PriorityClass → its integer priority and its preemption policy.

A PriorityClass itself is refused if it would be the second global default; one that every cluster has cannot be
deleted. Kubernetes: plugin/pkg/admission/priority, and the deletion of pkg/registry/scheduling/priorityclass.
"""

from collections.abc import Iterable

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, part
from moorage.admit.world import AdmissionWorld
from moorage.model.api_error import forbidden
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.policy import PriorityClass

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"


def _system_class(name: str, value: int) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, preemptionPolicy=PREEMPT_LOWER_PRIORITY)


#: The classes every cluster has.
SYSTEM_CLASSES = (
    _system_class("system-node-critical", 2_000_001_000),
    _system_class("system-cluster-critical", 2_000_000_000),
)


class _Classes:
    """The classes by name, and which of them is the default."""

    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self.by_name = {known.metadata.name: known for known in (*SYSTEM_CLASSES, *classes)}
        defaults = [known for known in self.by_name.values() if known.globalDefault]
        self.default = min(defaults, key=lambda known: known.value, default=None)


class Priority(Plugin):
    """Resolves priorities. A class that is only assumed to exist has the priority that the pod says, or 0."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    @property
    def _classes(self) -> _Classes:
        return _Classes(self._world.priority_classes())

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is KINDS.POD and old is None:
            self._admit_new_pod(part(new, "spec"))
        elif kind is KINDS.POD:
            _keep_priority(part(new, "spec"), (old or {}).get("spec") or {})

    def _admit_new_pod(self, spec: Raw) -> None:
        name = spec.get("priorityClassName") or ""
        classes = self._classes
        priority_class = classes.by_name.get(name) if name else classes.default
        if name and priority_class is None:
            if not self._world.assumes(KINDS.PRIORITY_CLASS, name, KINDS.POD):
                raise Forbidden(f"no PriorityClass with name {name} was found")
            _set_assumed(spec)
            return
        value = priority_class.value if priority_class is not None else 0
        policy = priority_class.preemptionPolicy if priority_class is not None else PREEMPT_LOWER_PRIORITY
        given = spec.get("priority")
        if given is not None and given != value:
            raise Forbidden(
                f"the integer value of priority ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
        wanted = spec.get("preemptionPolicy")
        if policy is not None and wanted is not None and wanted != policy:
            raise Forbidden(
                f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        if priority_class is not None:
            spec["priorityClassName"] = priority_class.metadata.name
        spec["priority"] = value
        if policy is not None:
            spec["preemptionPolicy"] = policy

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.PRIORITY_CLASS or not new.get("globalDefault"):
            return
        existing = self._classes.default
        if existing is None:
            return
        default = existing.metadata.name
        if old is None or default != (new.get("metadata") or {}).get("name"):
            raise Forbidden(f"PriorityClass {default} is already marked as default. Only one default can exist")


def _set_assumed(spec: Raw) -> None:
    for name, value in (("priority", 0), ("preemptionPolicy", PREEMPT_LOWER_PRIORITY)):
        if spec.get(name) is None:
            spec[name] = value


def _keep_priority(spec: Raw, old: Raw) -> None:
    """What was computed at creation stays, although the manifest applied again does not have it."""
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and old.get(name) is not None:
            spec[name] = old[name]


def check_priority_class_deletion(name: str) -> None:
    """Raises ApiError for the classes that a cluster always has."""
    if any(name == known.metadata.name for known in SYSTEM_CLASSES):
        why = "this is a system priority class and cannot be deleted"
        raise forbidden(KINDS.PRIORITY_CLASS, name, why)
