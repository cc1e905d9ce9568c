"""Admit an existing object that repeats an earlier one as that one was admitted, with its own values put in.

Pods of one workload that `kubectl get -o yaml` prints differ by names, uids, addresses, times and the volume of their
token. No rule of admission looks at more of these values than their form, so that pods are admitted once for each
workload. What an object is derived from is checked: the first one in which a field differs is admitted in full, and
compared. A law compares all.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.raw import Raw
from moorage.model.kinds import KINDS, Kind
from moorage.model.text.repeated_items import Leaf, Pattern, RepeatedItem, Scalar, Steps, Tree, put

_replace = msgspec.structs.replace
#: So many patterns are remembered: those of the objects read last.
MAX_PATTERNS = 512

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])"
_NAME = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_MAX_COUNT = 1_000_000
#: Whether a value has the form that admission asks for.
Form = Callable[[Scalar], bool]


def _text(pattern: str) -> Form:
    match = re.compile(pattern).fullmatch
    return lambda value: type(value) is str and match(value) is not None


def _is_count(value: Scalar) -> bool:
    return type(value) is int and 0 <= value <= _MAX_COUNT


_LABEL, _VOLUME = _text(_NAME), _text(_NAME)
_SUBDOMAIN = _text(rf"{_NAME}(?:\.{_NAME}){{0,3}}")
_LABEL_VALUE = _text(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_UID = _text(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_REVISION = _text(r"[1-9][0-9]{0,17}")
_TIME = _text(r"20[0-9][0-9]-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z")
_ADDRESS = _text(rf"(?:{_OCTET}\.){{3}}{_OCTET}")
_RANGE = _text(rf"(?:{_OCTET}\.){{3}}0/24")
_IDENTIFIER = _text(r"[!-~]{1,512}")

_EACH = "*"
_LABELS = ("metadata", "labels")
Forms = Mapping[tuple[str, ...], Form]
_METADATA: Forms = {
    ("metadata", "uid"): _UID,
    ("metadata", "resourceVersion"): _REVISION,
    ("metadata", "creationTimestamp"): _TIME,
    (*_LABELS, _EACH): _LABEL_VALUE,
    ("metadata", "ownerReferences", _EACH, "uid"): _UID,
}
_CONTAINERS = ("containers", "initContainers")
_CONDITION_TIMES = ("lastProbeTime", "lastTransitionTime", "lastHeartbeatTime")
_CONDITIONS: Forms = {("status", "conditions", _EACH, name): _TIME for name in _CONDITION_TIMES}
_CONTAINER_STATUS: Forms = {
    ("status", f"{name}Statuses", _EACH, *path): form
    for name in ("container", "initContainer")
    for path, form in (
        (("containerID",), _IDENTIFIER),
        (("imageID",), _IDENTIFIER),
        (("restartCount",), _is_count),
        (("state", "running", "startedAt"), _TIME),
        (("state", "terminated", "startedAt"), _TIME),
        (("state", "terminated", "finishedAt"), _TIME),
        (("state", "terminated", "containerID"), _IDENTIFIER),
    )
}
#: The fields whose values only have to have a form, by their steps.
_FORMS: dict[Kind, Forms] = {
    KINDS.POD: {
        **_METADATA,
        **_CONDITIONS,
        **_CONTAINER_STATUS,
        ("metadata", "name"): _LABEL,
        ("spec", "nodeName"): _SUBDOMAIN,
        ("spec", "volumes", _EACH, "name"): _VOLUME,
        **{("spec", name, _EACH, "volumeMounts", _EACH, "name"): _VOLUME for name in _CONTAINERS},
        ("status", "startTime"): _TIME,
        **{("status", name): _ADDRESS for name in ("hostIP", "podIP")},
        **{("status", name, _EACH, "ip"): _ADDRESS for name in ("hostIPs", "podIPs")},
    },
    KINDS.NODE: {
        **_METADATA,
        **_CONDITIONS,
        ("metadata", "name"): _SUBDOMAIN,
        ("spec", "podCIDR"): _RANGE,
        ("spec", "podCIDRs", _EACH): _RANGE,
        ("spec", "providerID"): _IDENTIFIER,
        ("status", "addresses", _EACH, "address"): _SUBDOMAIN,
        **{("status", "nodeInfo", name): _IDENTIFIER for name in ("bootID", "machineID", "systemUUID")},
    },
}
#: Fields that must stay equal to each other if they are.
_TWINS: tuple[tuple[Steps, Steps], ...] = (
    (("status", "podIP"), ("status", "podIPs", 0, "ip")),
    (("status", "hostIP"), ("status", "hostIPs", 0, "ip")),
    (("spec", "podCIDR"), ("spec", "podCIDRs", 0)),
)


class RepeatedObjects:
    """The objects of one input that others repeat. `admissions` counts those that were admitted in full."""

    def __init__(self) -> None:
        self._known: dict[tuple[Pattern, tuple[tuple[int, Scalar], ...]], _Known] = {}
        self.admissions = 0

    def admitted(self, kind: Kind, item: RepeatedItem | None, admit_it: Callable[[], Admitted]) -> Admitted:
        """Return how an object is admitted, which `admit_it` does in full."""
        forms = _FORMS.get(kind)
        if item is None or forms is None:
            return self._admit(admit_it)
        leaves = item.pattern.leaves
        others = [pair for pair in item.values.items() if _form_of(forms, leaves[pair[0]].steps) is None]
        key = item.pattern, tuple(others)
        known = self._known.get(key)
        if known is not None:
            return known.admitted(item, lambda: self._admit(admit_it))
        made = self._admit(admit_it)
        if len(self._known) >= MAX_PATTERNS:
            del self._known[next(iter(self._known))]
        self._known[key] = _Known(item, made, forms)
        return made

    def _admit(self, admit_it: Callable[[], Admitted]) -> Admitted:
        self.admissions += 1
        return admit_it()


def _form_of(forms: Forms, steps: Steps) -> Form | None:
    """Return the form that a field must have, of which nothing else is read; None if more is."""
    found = forms.get(steps)  # type: ignore[arg-type]
    if found is None and len(steps) > 2:
        is_label = len(steps) == 3 and steps[:2] == _LABELS
        general = (*_LABELS, _EACH) if is_label else tuple(_EACH if type(step) is int else step for step in steps)
        found = forms.get(general)  # type: ignore[arg-type]
    return found


class _Known:
    """An object that was admitted, and what others may have of their own."""

    def __init__(self, item: RepeatedItem, made: Admitted, forms: Forms) -> None:
        self._pattern, self._made, self._forms = item.pattern, made, forms
        self._base = item.values
        self._checked: dict[int, Form | None] = {}
        self._trusted: set[int] = set()
        self._volumes = Counter(_volume_names(item.raw))
        self._is_useless = False

    def admitted(self, item: RepeatedItem, admit_it: Callable[[], Admitted]) -> Admitted:
        values = None if self._is_useless else self._values(item)
        derived = None if values is None else self._derived(values)
        if values is None or derived is None:
            return admit_it()
        if values.keys() <= self._trusted:
            return derived
        made = admit_it()
        if derived.object == made.object and derived.view == made.view:
            self._trusted |= values.keys()
        else:
            self._is_useless = True
        return made

    def _values(self, item: RepeatedItem) -> dict[int, Scalar] | None:
        """Return the values by which an object differs from the one that was admitted; None if it must be admitted."""
        own, base, leaves = item.values, self._base, self._pattern.leaves
        lines = own if own.keys() == base.keys() else {**base, **own}
        values: dict[int, Scalar] = {}
        renamed: dict[str, str] = {}
        uses = Counter[str]()
        for line in lines:
            value = own[line] if line in own else leaves[line].value
            if line in base and value == base[line]:
                continue
            form = self._form(line, leaves[line])
            if form is None or not form(value):
                return None
            if form is _VOLUME:
                before = str(base.get(line, leaves[line].value))
                uses[before] += 1
                if renamed.setdefault(before, str(value)) != value:
                    return None
            values[line] = value
        if renamed and not self._may_rename(renamed, uses):
            return None
        return values

    def _form(self, line: int, leaf: Leaf) -> Form | None:
        """Return the form that the value of a line must have; None if more is read of it, or its own has another."""
        if line not in self._checked:
            form, value = _form_of(self._forms, leaf.steps), self._base.get(line, leaf.value)
            self._checked[line] = form if form is not None and form(value) else None
        return self._checked[line]

    def _may_rename(self, renamed: Mapping[str, str], uses: Counter[str]) -> bool:
        """Return whether volumes get other names everywhere, and stay different from each other."""
        if any(uses[name] != self._volumes[name] for name in renamed):
            return False
        names = [renamed.get(name, name) for name in self._volumes]
        return len(set(names)) == len(names)

    def _derived(self, values: Mapping[int, Scalar]) -> Admitted | None:
        tree = self._pattern.tree(tuple(values))
        try:
            made = put(tree, self._made.object, values)
            view = _put_view(tree, self._made.view, values)
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
        return Admitted(made, view) if _keeps_twins(made, self._made.object) else None


def _volume_names(raw: Raw) -> Iterator[str]:
    """Yield the name of each volume, and each name by which a container uses one."""
    spec = raw.get("spec") or {}
    for volume in spec.get("volumes") or ():
        yield str(volume.get("name"))
    for kind in (*_CONTAINERS, "ephemeralContainers"):
        for container in spec.get(kind) or ():
            for field in ("volumeMounts", "volumeDevices"):
                for use in container.get(field) or ():
                    yield str(use.get("name"))


def _put_view(tree: Tree, view: Any, values: Mapping[int, Scalar]) -> Any:
    """Return a view with other values at some places; fields that it does not have are passed over."""
    if isinstance(view, msgspec.Struct):
        changes: dict[str, Any] = {}
        for step, below in tree.items():
            old = getattr(view, str(step), _MISSING)
            if old is not _MISSING:
                changes[str(step)] = values[below] if type(below) is int else _put_view(below, old, values)
        return _replace(view, **changes) if changes else view
    made: Any = list(view) if isinstance(view, tuple) else view.copy()
    for step, below in tree.items():
        made[step] = values[below] if type(below) is int else _put_view(below, made[step], values)
    return tuple(made) if isinstance(view, tuple) else made


_MISSING = object()


def _keeps_twins(made: Raw, known: Raw) -> bool:
    """Return whether fields that say the same in the object that was admitted do so in another one."""
    return all((_at(made, one) == _at(made, other)) is (_at(known, one) == _at(known, other)) for one, other in _TWINS)


def _at(raw: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(raw, dict):
            raw = raw.get(str(step))
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
        else:
            return None
    return raw
