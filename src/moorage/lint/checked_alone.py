"""Check an object by itself: read its fields, admit it, and run the rules that look at nothing else.

This part of linting may be done by another process, in any order. `Ahead` is its result; documents with anything out
of the ordinary have none, and the linter does all of it when their turn comes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.lint.catalogue import CHECKS, TOLERATION_CHECKS
from moorage.lint.facts.held_objects import paths_of_places
from moorage.lint.rules.attached import AttachedBy, AttachedForm, attached_form, original_form
from moorage.lint.rules.decoding import check_applied_size, exists_already, field_complaints, release_complaint
from moorage.lint.rules.dropped_fields import loses_fields
from moorage.lint.subject import Subject, pod_part_of, toleration_lists
from moorage.model.field_error import FieldError, parse_field_path
from moorage.model.kinds import KINDS, kind_of
from moorage.model.schema.older_versions import convert_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from moorage.admit.raw import Raw
    from moorage.lint.catalogue import AnyCollector, Facts
    from moorage.lint.finding import Lines
    from moorage.lint.subject import Complaint
    from moorage.model.gates import GateSet
    from moorage.model.kinds import Kind
    from moorage.model.text.documents import Document
    from moorage.model.text.positions import Location


class CheckedAlone(NamedTuple):
    """What is known of an object without any other; `result` is None for one that is not admitted at all."""

    complaints: list[Complaint]
    form: AttachedForm
    result: Admitted | Rejected | None


def check_alone(
    document: Document, kind: Kind, gates: GateSet, *, strict: bool, attached: AttachedBy | None
) -> CheckedAlone:
    """Check the fields of an object and admit it; the document then has the form that was admitted."""
    complaints = list(field_complaints(document, kind, strict=strict))
    form = original_form(document.raw) if attached is None else attached_form(document.raw, attached)
    if form.is_refused:
        return CheckedAlone(complaints, form, None)
    if form.raw is not document.raw:
        document.raw, document.path_as_written = form.raw, form.as_written
    return CheckedAlone(complaints, form, admit(document.raw, None, gates))


#: A check: which list of tolerations it is called for (-1 for the object), and its position among the checks.
_Check = tuple[int, int]
_OF_OBJECT = -1


class Ahead(NamedTuple):
    """What was found ahead of an object's turn: enough to go on without its text."""

    raw: Raw
    #: The places that will be asked for, by steps; that of the document at no steps.
    places: dict[tuple[str, ...], tuple[int, int]]
    complaints: list[Complaint]
    view: Any
    warnings: tuple[str, ...]
    errors: tuple[FieldError, ...]
    #: What checks have found, without those that found nothing, and the checks that look at more than this object.
    found: dict[_Check, list[Complaint]]
    unchecked: frozenset[_Check]

    def checked(self, kind: Kind) -> CheckedAlone:
        """Return the same as `check_alone`, but for the admitted object: nothing asks for it."""
        if self.errors:
            result: Admitted | Rejected = Rejected(kind, "", self.errors, warnings=self.warnings, view=self.view)
        else:
            result = Admitted({}, self.view, self.warnings)
        return CheckedAlone(self.complaints, AttachedForm(self.raw, []), result)


class _NeedsFactsError(Exception):
    """A check looks at more than one object."""


class _NoFacts:
    """Stands for the facts of the input where they are not known."""

    def __init__(self, gates: GateSet) -> None:
        self.gates = gates

    def of(self, collector: type[AnyCollector]) -> AnyCollector:
        raise _NeedsFactsError(collector)


def look_ahead(document: Document, lines: Lines, gates: GateSet, *, strict: bool) -> Ahead | None:
    """Check an object ahead of its turn; None for all that is out of the ordinary. The document may be changed."""
    kind = kind_of(document.raw)
    if kind is None or document.has_aliases or kind is KINDS.CUSTOM_RESOURCE_DEFINITION or document.misplaced:
        return None
    if check_applied_size(document.raw, namespaced=kind.namespaced) is not None:
        return None
    version, start = document.raw["apiVersion"], document.location("")
    convert_document(document)
    if document.raw["apiVersion"] != version or document.path_as_written is not None or document.misplaced:
        return None
    if release_complaint(document, gates.release) is not None:
        return None
    raw = document.raw
    complaints, form, result = check_alone(document, kind, gates, strict=strict, attached=None)
    if form.is_refused or form.complaints or form.raw is not raw or result is None or result.view is None:
        return None
    errors = result.errors if isinstance(result, Rejected) else ()
    if (isinstance(result, Rejected) and not errors) or loses_fields(raw, result):
        return None
    warnings = result.warnings if isinstance(result, Admitted) else ()
    subject = Subject(document, kind.name, result.view, pod_part_of(kind.name, result.view), kind, lines)
    # What exists already is judged by other errors, which the linter knows when its turn comes.
    if errors and exists_already(raw):
        return None
    found, unchecked = _found_by_checks(subject, gates, frozenset(map(str, errors)))
    asked = {complaint.path for complaint in complaints}
    asked.update(complaint.path for each in found.values() for complaint in each)
    asked.update(paths_of_places(subject))
    places = {parse_field_path(path): _plain(document.location(path)) for path in asked}
    places[()] = _plain(start)
    return Ahead(raw, places, complaints, result.view, warnings, errors, found, unchecked)


def _plain(place: Location) -> tuple[int, int]:
    """Return a place as it is cheap to send."""
    return place.line, place.column


def _found_by_checks(
    subject: Subject, gates: GateSet, texts: frozenset[str]
) -> tuple[dict[_Check, list[Complaint]], frozenset[_Check]]:
    """Return what the checks find that look at one object only, and the others."""
    facts: Any = _NoFacts(gates)
    found: dict[_Check, list[Complaint]] = {}
    others: list[_Check] = []
    for check, run in _checks_of(subject, facts, texts):
        try:
            if complaints := list(run()):
                found[check] = complaints
        except _NeedsFactsError:
            others.append(check)
    return found, frozenset(others)


def _checks_of(
    subject: Subject, facts: Facts, texts: frozenset[str]
) -> Iterator[tuple[_Check, Callable[[], Iterator[Complaint]]]]:
    """Yield the registered checks, ready to run: those of lists of tolerations, then those of objects."""
    for number, listed in enumerate(toleration_lists(subject)):
        for position, check_list in enumerate(TOLERATION_CHECKS):
            yield (number, position), partial(check_list, listed, subject, facts)
    for position, check in enumerate(CHECKS):
        yield (_OF_OBJECT, position), partial(check, subject, facts, texts)


def run_checks(
    subject: Subject, facts: Facts, texts: frozenset[str], ahead: Ahead | None = None
) -> Iterator[Complaint]:
    """Yield what the registered checks find; those that were run ahead of the object's turn are not run again."""
    if ahead is not None and not ahead.found and not ahead.unchecked:
        return
    for check, run in _checks_of(subject, facts, texts):
        if ahead is None or check in ahead.unchecked:
            yield from run()
        elif check in ahead.found:
            yield from ahead.found[check]
