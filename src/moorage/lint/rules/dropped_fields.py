"""Find fields that the API server drops silently because their feature gate is off.

What is dropped is what the document has and the admitted object has not. Its gate is the one that keeps the field when
it is on: admission is asked, once for each field of a kind. Fields of a few gates that Moorage does not have are listed
here. Kubernetes: dropDisabledFields of the strategies in pkg/registry, DropDisabledPodFields.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.admit.admission import admit
from moorage.lint.catalogue import WARNING, Rule, Theme, declare
from moorage.lint.hints import gate_hint
from moorage.lint.subject import Complaint
from moorage.model.gates import GATES, GateSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from moorage.admit.admission import Admitted, Rejected
    from moorage.admit.raw import Raw
    from moorage.model.gates import Gate
    from moorage.model.kinds import Kind

declare(
    Theme.API_SERVER,
    Rule("field-dropped", WARNING, "The API server drops this field silently, because its feature gate is off."),
)


class _GateElsewhere(NamedTuple):
    """A gate that Moorage does not have: the end of the field's path, its name, the first release that has it."""

    field: re.Pattern[str]
    name: str
    first: int


#: All are off by default in every release so far.
_GATES_ELSEWHERE = (
    _GateElsewhere(re.compile(r"spec\.schedulingGroup$"), "GenericWorkload", 35),
    _GateElsewhere(re.compile(r"\.sources\[\]\.clusterTrustBundle$"), "ClusterTrustBundleProjection", 29),
    _GateElsewhere(re.compile(r"\.sources\[\]\.podCertificate$"), "PodCertificateRequest", 34),
    _GateElsewhere(re.compile(r"\.lifecycle(\.stopSignal)?$"), "ContainerStopSignals", 33),
    _GateElsewhere(re.compile(r"updateStrategy\.rollingUpdate(\.maxUnavailable)?$"), "MaxUnavailableStatefulSet", 24),
)
_INDEX = re.compile(r"\[\d+\]")
_NOT_COMPARED = dict.fromkeys(("apiVersion", "kind", "metadata", "status"))
_NAMES = re.compile(r"\.(attributes|capacity)\..*\.")
#: The most objects with which gates are looked for, and the most fields that are reported of one object.
_MAX_LOOKUPS = 100
_MAX_REPORTED = 50


class DroppedField(NamedTuple):
    """A field that was dropped, and the gate that keeps it; None for gates that Moorage does not have."""

    complaint: Complaint
    gate: Gate | None


class DroppedFields:
    """Finds dropped fields under some gates."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._off = [gate for gate in GATES if not gates.enabled(gate)]
        self._known: dict[tuple[Kind, str], Gate | _GateElsewhere | None] = {}
        self._lookups = 0

    def find(
        self, raw: Raw, kind: Kind, result: Admitted | Rejected, unknown: Collection[str] = ()
    ) -> Iterator[DroppedField]:
        """Yield the fields of a document that are missing in the admitted object for want of a gate.

        `unknown` are the paths of fields that the kind does not have: those have no gate.
        """
        if not loses_fields(raw, result):
            return
        assert result.object is not None
        fields = {path: (kind, _field(path)) for path in missing_fields(raw, result.object) if path not in unknown}
        new = [path for path, field in fields.items() if field not in self._known]
        if new and self._lookups < _MAX_LOOKUPS:
            self._lookups += 1
            self._look_up(raw, {path: fields[path] for path in new})
        found = [(path, gate) for path, field in fields.items() if (gate := self._known.get(field)) is not None]
        for path, gate in found[:_MAX_REPORTED]:
            complaint = _complaint(path, gate, self._gates.release)
            yield DroppedField(complaint, None if isinstance(gate, _GateElsewhere) else gate)

    def _look_up(self, raw: Raw, fields: dict[str, tuple[Kind, str]]) -> None:
        """Find the gate that keeps each field when it is on: alone, or together with the gates that it needs."""
        for field in fields.values():
            self._known.setdefault(field, _gate_elsewhere(field[1]))
        alone = [(gate, frozenset({gate.name})) for gate in self._off]
        together = [(gate, _with_needs(gate)) for gate in self._off if gate.needs]
        for gate, names in (*alone, *together):
            kept = admit(raw, None, GateSet(self._gates.names | names, self._gates.release)).object
            missing = set(missing_fields(raw, kept)) if kept is not None else set(fields)
            for path, field in fields.items():
                if path not in missing and self._known[field] is None:
                    self._known[field] = gate


def loses_fields(raw: Raw, result: Admitted | Rejected) -> bool:
    """Return whether the admitted object lacks a field of the document."""
    return result.object is not None and _loses_some({**raw, **_NOT_COMPARED}, result.object)


def _field(path: str) -> str:
    """Return the path without positions in lists and without the names of attributes."""
    return _NAMES.sub(r".\1.*.", _INDEX.sub("[]", path))


def _with_needs(gate: Gate) -> frozenset[str]:
    """Return the names of a gate and of those that it cannot be on without."""
    names, pending = {gate.name}, [*gate.needs]
    while pending:
        needed = pending.pop()
        names.add(needed)
        pending += [name for other in GATES if other.name == needed for name in other.needs]
    return frozenset(names)


def _gate_elsewhere(field: str) -> _GateElsewhere | None:
    return next((elsewhere for elsewhere in _GATES_ELSEWHERE if elsewhere.field.search(field)), None)


def _complaint(path: str, gate: Gate | _GateElsewhere, release: int | None) -> Complaint:
    first = gate.first if isinstance(gate, _GateElsewhere) else gate.accepted_from()
    is_known = release is None or (first is not None and first <= release)
    why = f"the feature gate {gate.name} is off" if is_known else f"Kubernetes 1.{release} does not know it"
    message = f"the API server silently drops {path.rpartition('.')[2]}: {why}"
    if isinstance(gate, _GateElsewhere):
        flag = f"--feature-gates={gate.name}=true"
        hint = f"needs {flag} (Kubernetes 1.{gate.first} and later have it, off by default; Moorage does not)"
        return Complaint("field-dropped", path, message, hint)
    return Complaint("field-dropped", path, message, gate_hint(gate, release))


def _loses_some(given: Raw, kept: Raw) -> bool:
    """Return whether any field is missing, without its path: that is what nearly all objects are asked."""
    for name, value in given.items():
        if not value:
            continue
        other = kept.get(name)
        if other is None:
            return True
        kind = type(value)
        if kind is dict:
            if type(other) is dict and value != other and _loses_some(value, other):
                return True
        elif kind is list and type(other) is list and type(value[0]) is dict and len(value) == len(other):
            for item, kept_item in zip(value, other, strict=True):
                is_pair = type(item) is dict and type(kept_item) is dict
                if is_pair and item != kept_item and _loses_some(item, kept_item):
                    return True
    return False


def missing_fields(raw: Raw, admitted: Raw) -> Iterator[str]:
    """Yield the path of every field that the admitted object does not have; empty values are no loss."""
    for name, value in raw.items():
        if name not in _NOT_COMPARED and value:
            yield from _missing(value, admitted.get(name), name)


def _missing(given: Any, kept: Any, path: str) -> Iterator[str]:
    if kept is None:
        yield path
    elif isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            other = kept.get(name)
            if value and (other is None or isinstance(value, dict | list)):
                yield from _missing(value, other, f"{path}.{name}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, value in enumerate(given):
            if isinstance(value, dict | list):
                yield from _missing(value, kept[index], f"{path}[{index}]")
