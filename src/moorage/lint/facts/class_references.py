"""Find classes that pods name and the input does not have: PriorityClasses, RuntimeClasses.

A class that is not in the input is missing if the input has others; else it is worth a note, once: it may be in the
cluster. Kubernetes: pods without their class are refused.
"""

from collections.abc import Iterator

import msgspec

from moorage.lint.finding import Severity, SourcePlace
from moorage.lint.hints import did_you_mean
from moorage.lint.subject import Complaint, PlacedComplaint, Subject

_MAX_KEPT = 2_000


class _Reference(msgspec.Struct):
    """The first place that names a class, and how many more do."""

    place: SourcePlace
    others: int = 0


class ClassReferences:
    """The classes of one kind that the input has, and those that its pods name. `built_in` classes always exist."""

    def __init__(self, kind: str, rule: str, built_in: frozenset[str] = frozenset()) -> None:
        self._kind, self._rule, self._built_in = kind, rule, built_in
        self._classes: set[str] = set()
        self._named: dict[str, _Reference] = {}

    def has(self, name: str) -> None:
        """Note a class of the input."""
        self._classes.add(name)

    def refer(self, name: str, subject: Subject, field: str) -> None:
        """Note that the pods of an object name a class in a field of their spec."""
        assert subject.pods is not None
        if (known := self._named.get(name)) is not None:
            known.others += 1
        elif name not in self._built_in and len(self._named) < _MAX_KEPT:
            self._named[name] = _Reference(subject.place(f"{subject.pods.spec_path}.{field}"))

    def complaints(self) -> Iterator[PlacedComplaint]:
        for name, reference in self._named.items():
            if name in self._classes:
                continue
            more = f" (and {reference.others} more name it)" if reference.others else ""
            message = f'{self._kind} "{name}" is not in the input'
            hint = did_you_mean(name, self._classes | self._built_in)
            severity = None
            if self._classes:
                message += f", which has {', '.join(sorted(self._classes)[:3])}{more}"
            else:
                message += f"{more}: a server without it refuses the pods"
                severity = Severity.INFO
            place = reference.place
            yield Complaint(self._rule, place.path, message, hint, severity=severity), place
