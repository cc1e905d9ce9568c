"""Lint documents one at a time: the API server's rules, then the linter's own.

Kubernetes: the same path as `kubectl apply --dry-run=server`, without a server.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, compress
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.lint.catalogue import Facts, rules
from moorage.lint.checked_alone import Ahead, check_alone, run_checks
from moorage.lint.facts.custom_kinds import CustomKinds, OwnLines
from moorage.lint.facts.device_gates import KINDS as DEVICE_KINDS
from moorage.lint.facts.requirements import Requirements
from moorage.lint.facts.served_kinds import served_kinds
from moorage.lint.finding import NO_EXCERPT, Finding, Lines, RecentLines, Severity, SourcePlace, excerpt_of
from moorage.lint.hints import gate_needed
from moorage.lint.ignores import Ignores
from moorage.lint.input_contents import ContentCount, InputContents
from moorage.lint.reading import ReadDocuments
from moorage.lint.report.form import LintSummary
from moorage.lint.rules.admission import AdmissionFacts, is_held_back
from moorage.lint.rules.attached import AttachedBy, other_traps, pool_traps
from moorage.lint.rules.budgets import BudgetFacts
from moorage.lint.rules.decoding import (
    NO_OBJECT,
    UNCHECKED,
    check_applied_size,
    check_custom_object,
    conversion_complaints,
    decode_complaint,
    errors_of_existing,
    exists_already,
    gate_complaint,
    kind_complaint,
    rejections,
    release_complaint,
    unserved_device_kind,
    unserved_version,
    warnings_given,
)
from moorage.lint.rules.dropped_fields import DroppedFields
from moorage.lint.rules.policies import older_policy
from moorage.lint.rules.pools import PoolFindings
from moorage.lint.sources import Source
from moorage.lint.subject import Complaint, PlacedComplaint, Subject, place_in, pod_part_of
from moorage.model.gates import GateSet, all_gates
from moorage.model.kinds import Kind, kind_of
from moorage.model.schema.older_versions import convert_document, from_older, path_in_v1beta1
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document, read_documents
from moorage.pools.mirror import PoolTemplate
from moorage.pools.reading import Pools, is_pool_kind

if TYPE_CHECKING:
    from moorage.lint.policies.offline_extensions import CallWebhooks

_STRICT_ERRORS = frozenset({"unknown-field", "duplicate-field"})
_MAX_KINDS = 1_000
_MAX_ANCHORED = 10_000
#: What the admission chain refuses, which is known once the whole input is.
_REFUSALS = frozenset({"rejected", "template-pods-rejected", "limit-range-refuses", "policy-refuses"})
_ALL_GATES = all_gates()


class Linter:
    """Lints document after document; `outcome` counts as it goes."""

    def __init__(
        self,
        gates: GateSet,
        rules: frozenset[str],
        *,
        strict: bool = False,
        call_webhooks: "CallWebhooks | None" = None,
        shows_mutations: bool = False,
        attached: AttachedBy | None = None,
        pools: Pools | None = None,
        pool_templates: Sequence[PoolTemplate] = (),
    ) -> None:
        """`pools` are those that were read elsewhere, beside those in the input."""
        self._attached, self._pool_templates = attached, pool_templates
        self._gates = gates
        self._rules = rules
        self._strict = strict
        self._requirements = Requirements()
        self._dropped_fields = DroppedFields(gates)
        self._custom = CustomKinds()
        self._facts = Facts(gates)
        if pools is not None:
            self._facts.of(PoolFindings).give(pools)
        self._admission = AdmissionFacts(gates, call_webhooks=call_webhooks, keeps_changes=shows_mutations)
        self._shows_mutations = shows_mutations
        self.outcome = LintSummary()
        self.contents = InputContents()
        self.ignores = Ignores()
        self._has_aliases = False
        #: The findings of documents with YAML aliases, by all that an alias would repeat.
        self._anchored: dict[tuple[object, ...], Finding] = {}

    def lint(self, source: Source, stream: BinaryIO) -> Iterator[Finding]:
        lines = RecentLines(stream)
        yield from self.lint_documents(source, lines, partial(read_documents, cast("BinaryIO", lines), source.name))

    def lint_documents(self, source: Source, lines: Lines, read: ReadDocuments) -> Iterator[Finding]:
        """Lint the documents of a source; `read` yields them."""
        self.outcome.sources += 1
        count = ContentCount()
        self.ignores.begin(source.name)
        for document in read(on_chunk=partial(self.ignores.add, source.name)):
            if isinstance(document, DecodeError):
                count.add_error(document)
                yield from self._decode_error(document, source, lines.line(document.line))
            else:
                count.objects += 1
                self._has_aliases = self._has_aliases or document.has_aliases
                yield from self._wanted(self._lint_document(document, lines))
                document.detach()  # facts may keep it
        self.contents.add(source, count)

    def lint_document(self, document: Document, lines: Lines) -> Iterator[Finding]:
        """Lint a document that was read elsewhere, without those that come after it."""
        refused = self._noted(self._admission.release_refused())
        yield from self._wanted(chain(self._lint_document(document, lines), refused))

    def _noted(self, placed: Iterable[PlacedComplaint]) -> Iterator[Finding]:
        for complaint, place in placed:
            self._note_refusals([complaint])
            yield self._finding(complaint, place)

    def _note_refusals(self, refusals: Iterable[Complaint]) -> None:
        """Note that something is refused for other reasons than that a gate is off, so that no version accepts it."""
        others = (one for one in refusals if one not in self._admission.wants_gates)
        self.outcome.rejected_otherwise |= any(one.rule in _REFUSALS for one in others)

    def finish(self) -> Iterator[Finding]:
        """Yield what only the whole input shows, and complete the outcome."""
        for document in self._custom.held():
            yield from self._wanted(self._lint_custom(document, OwnLines(document)))
        for template in self._pool_templates if self._attached is not None else ():
            where = SourcePlace(*template.place, column=1, object=f"{template.kind} {template.name}")
            yield from self._wanted(self._finding(each, where) for each in pool_traps(template))
        for finding in self._noted(chain(self._facts.complaints(), self._admission.complaints())):
            yield from self._wanted([finding])
        if self._shows_mutations:
            self.outcome.mutations = list(self._admission.mutations)
        self.outcome.requirements = list(self._requirements)
        self.outcome.acceptance = self._requirements.acceptance(rejected=self.outcome.rejected_otherwise)

    def _wanted(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        kept = [finding for finding in findings if finding.rule in self._rules and not self._repeats(finding)]
        counts = self.outcome.findings
        for finding in kept:
            if finding.ignored:
                self.outcome.ignored += 1
            else:
                counts[finding.severity] = counts.get(finding.severity, 0) + 1
        return iter(kept if len(kept) < 2 else sorted(kept, key=lambda finding: finding.sort_key))

    def _repeats(self, finding: Finding) -> bool:
        """Return whether an alias repeats a finding of its anchor, or of another alias, which then has its place."""
        place = finding.place
        if not self._has_aliases and place.alias is None:
            return False
        message = finding.message.replace(place.path, "") if place.path else finding.message
        key = (place.source, place.line, place.column, finding.rule, message, finding.hint, finding.ignored)
        first = self._anchored.get(key)
        if place.alias is not None:
            (first or finding).also_at.append(place.at_alias)
        elif first is not None:
            return False  # written twice in one place: two findings
        if first is None and len(self._anchored) < _MAX_ANCHORED:
            self._anchored[key] = finding
        return first is not None

    def _decode_error(self, error: DecodeError, source: Source, line: str) -> Iterator[Finding]:
        optional = error.problem in NO_OBJECT or source.name.endswith("Chart.yaml")
        if optional and not source.explicit:
            self.outcome.other_documents += 1
            return
        complaint = decode_complaint(error, line, self._gates.release)
        excerpt = NO_EXCERPT if error.problem is Problem.BINARY else excerpt_of(line, error.column)
        place = SourcePlace(source.name, error.line, error.column, "", complaint.path, excerpt)
        finding = self._finding(complaint, place)
        if error.problem in UNCHECKED and complaint.rule in self._rules:
            self.outcome.unreadable += not finding.ignored
        elif complaint.rule == "rejected":
            self.outcome.rejected_otherwise = True
        yield from self._wanted([finding])

    def _lint_document(self, document: Document, lines: Lines) -> Iterator[Finding]:
        kind = kind_of(document.raw)
        if document.ahead is not None and kind is not None:
            yield from self._lint_served(document, kind, lines)
            return
        if (too_long := check_applied_size(document.raw, namespaced=kind is not None and kind.namespaced)) is not None:
            yield self._finding(too_long, place_in(document, kind, lines, too_long.path))
        unserved = release_complaint(document, self._gates.release)
        if unserved is not None:
            self.outcome.rejected_otherwise = True
            yield self._finding(unserved, place_in(document, None, lines, unserved.path))
        version = document.raw["apiVersion"]
        if self._attached is not None:
            for trap in other_traps(document.raw, document.source, document.line):
                yield self._finding(trap, place_in(document, kind, lines, trap.path))
        convert_document(document)
        if document.raw["apiVersion"] != version:
            kind = kind_of(document.raw)
        if kind is None:
            yield from self._lint_unknown(document, lines)
            return
        yield from self._lint_served(document, kind, lines, checks_gate=unserved is None)

    def _lint_served(
        self, document: Document, kind: Kind, lines: Lines, *, checks_gate: bool = True
    ) -> Iterator[Finding]:
        if checks_gate and (complaint := gate_complaint(kind, self._gates)) is not None:
            yield self._finding(complaint, place_in(document, kind, lines, complaint.path))
        yield from self._lint_object(document, kind, lines)

    def _lint_object(self, document: Document, kind: Kind, lines: Lines) -> Iterator[Finding]:
        self.outcome.objects += 1
        ahead: Ahead | None = document.ahead
        if ahead is not None:
            complaints, form, result = ahead.checked(kind)
        else:
            checked = check_alone(document, kind, self._gates, strict=self._strict, attached=self._attached)
            complaints, form, result = checked
        self.outcome.rejected_otherwise |= self._strict and bool(complaints)
        complaints = [*complaints, *form.complaints]
        if result is None:
            self.outcome.rejected_otherwise = True
        elif result.view is None:
            self.outcome.rejected_otherwise = True
            complaints += conversion_complaints(document, result.problems if isinstance(result, Rejected) else ())
        else:
            subject = Subject(document, kind.name, result.view, pod_part_of(kind.name, result.view), kind, lines)
            if ahead is None:  # what was looked at ahead loses no fields
                complaints += self._dropped(subject, result, {complaint.path for complaint in complaints})
            complaints += self._judge(subject, result, ahead)
        for complaint in complaints:
            yield self._finding(complaint, place_in(document, kind, lines, complaint.path))

    def _lint_unknown(self, document: Document, lines: Lines) -> Iterator[Finding]:
        """Lint an object of a kind that Moorage does not know: its definition may be in the input, also below it."""
        if is_pool_kind(document.raw):
            self._facts.of(PoolFindings).add_document(document, lines)
            if self._custom.versions_of(document.raw) is None:
                self.outcome.objects += 1
                return
        complaint = kind_complaint(document, self._gates.release)
        meant = unserved_device_kind(document.raw)
        if complaint is None and meant is None:
            if (older := older_policy(document.raw)) is not None:
                yield self._finding(older, place_in(document, None, lines, older.path))
            is_custom = document.raw["apiVersion"] not in served_kinds(self._gates.release)
            self._facts.of(BudgetFacts).add_unchecked(is_custom=is_custom)
            if not is_custom or self._custom.versions_of(document.raw) is not None or not self._custom.hold(document):
                yield from self._lint_custom(document, lines)
            return
        if complaint is not None:
            yield self._finding(complaint, place_in(document, None, lines, complaint.path))
            self.outcome.rejected_otherwise = True
        if meant is None:
            self.outcome.objects += 1
            return
        document.raw = from_older(document.raw, meant, "v1beta1", keeps_misplaced=True)
        document.path_as_written = path_in_v1beta1
        yield from self._lint_object(document, meant, lines)

    def _lint_custom(self, document: Document, lines: Lines) -> Iterator[Finding]:
        """Lint a custom object by its definition; without one it is passed over."""
        versions = self._custom.versions_of(document.raw)
        if versions is None:
            kinds, kind = self.outcome.unchecked_kinds, str(document.raw["kind"])
            if kind in kinds or len(kinds) < _MAX_KINDS:
                kinds[kind] = kinds.get(kind, 0) + 1
            return
        self.outcome.objects += 1
        defined = versions.get(str(document.raw["apiVersion"]).rpartition("/")[2])
        if defined is None or not defined.served:
            served = [one.kind.api_version for one in versions.values() if one.served]
            complaints = [unserved_version(document, served)]
        else:
            complaints, refusals, decoded = check_custom_object(document, defined, self._gates, strict=self._strict)
            if decoded is not None:
                complaints += self._admission.add_custom(document, decoded, refusals, defined, lines)
        for complaint in complaints:
            refused = complaint.rule in ("rejected", "unserved-version")
            self.outcome.rejected_otherwise |= refused or (self._strict and complaint.rule in _STRICT_ERRORS)
            yield self._finding(complaint, place_in(document, defined and defined.kind, lines, complaint.path))

    def _dropped(self, subject: Subject, result: Admitted | Rejected, unknown: set[str]) -> Iterator[Complaint]:
        """Yield the fields that the API server drops for want of a gate; what exists keeps them, new pods do not."""
        raw, pods = subject.document.raw, subject.pods
        if (pods is None and subject.kind not in DEVICE_KINDS) or (exists_already(raw) and not (pods and pods.path)):
            return
        for field in self._dropped_fields.find(raw, subject.served, result, unknown):
            if field.gate is not None:
                self._requirements.add_gate(field.gate, subject.place(field.complaint.path))
            yield field.complaint

    def _judge(self, subject: Subject, result: Admitted | Rejected, ahead: Ahead | None) -> Iterator[Complaint]:
        """Yield the API server's verdict first, then what the registered checks find."""
        errors = result.errors if isinstance(result, Rejected) else ()
        if errors and exists_already(subject.document.raw):
            errors = errors_of_existing(subject.document.raw, errors, self._gates)
        if isinstance(result, Admitted):
            yield from warnings_given(result.warnings)
        refusals = list(rejections(errors, self._gates, subject.document.raw))
        if errors:
            needed = [gate_needed(error, self._gates) is not None for error in errors]
            if any(needed):
                self._admission.wants_gates.update(compress(refusals, needed))
                refusals += self._judge_with_gates(subject, {str(error) for error in errors})
        if not is_held_back(subject):
            self._note_refusals(refusals)
            yield from refusals
        if subject.kind == "CustomResourceDefinition" and isinstance(result, Admitted):
            self._custom.add(result.object)
        yield from run_checks(subject, self._facts, frozenset(map(str, errors)), ahead)
        self._requirements.add(subject)
        self._facts.add(subject)
        yield from self._admission.add(subject, refusals)

    def _judge_with_gates(self, subject: Subject, known: set[str]) -> Iterator[Complaint]:
        """Yield what the API server would refuse with the gates that the object needs: it does not look so far now."""
        result = admit(subject.document.raw, None, _ALL_GATES)
        errors = result.errors if isinstance(result, Rejected) else ()
        if exists_already(subject.document.raw):
            errors = errors_of_existing(subject.document.raw, errors, _ALL_GATES)
        unknown = [error for error in errors if str(error) not in known]
        for complaint in rejections(unknown, _ALL_GATES, subject.document.raw):
            message = f"also with the feature gate on: {complaint.message}"
            yield msgspec.structs.replace(complaint, message=message, api_server=False)

    def _finding(self, complaint: Complaint, place: SourcePlace) -> Finding:
        severity = complaint.severity or rules()[complaint.rule].severity
        self.outcome.rejected_otherwise |= complaint.rule == "template-pods-rejected"
        if self._strict and complaint.rule in _STRICT_ERRORS:
            severity = Severity.ERROR
        ignored = self.ignores.cover(complaint.rule, place)
        if not ignored and place.alias is not None:
            ignored = self.ignores.cover(complaint.rule, place.at_alias)
        return Finding(
            complaint.rule, severity, complaint.message, place, complaint.hint, complaint.api_server, ignored
        )
