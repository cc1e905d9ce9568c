"""The report for programs: one JSON object with findings, problems, what the input needs, and a summary.

In: findings grouped by source. Out: JSON, one finding a line, so that it can also be read while it grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.lint.catalogue import BY_NAME
from moorage.lint.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.lint.finding import Finding, Place
    from moorage.lint.report.form import Outcome, Problem, Write


class JsonForm:
    """`version` changes only if a field changes its meaning or goes; new fields may come at any time."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._first = True
        self._problems: list[dict[str, Any]] = []

    def begin(self) -> None:
        self._write('{"version": 1,\n "findings": [')

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            self._write(("\n  " if self._first else ",\n  ") + encoded(_finding(finding)))
            self._first = False
        if problem is not None:
            self._problems.append({"file": problem.source, "reason": problem.reason})

    def end(self, outcome: Outcome) -> None:
        acceptance = outcome.acceptance
        needs = {
            "gates": [
                {
                    "gate": requirement.gate.name,
                    "feature": requirement.gate.feature,
                    "acceptedFrom": _version(requirement.gate.accepted_from()),
                    "onByDefaultFrom": _version(requirement.gate.accepted_by_default_from()),
                    "otherwise": requirement.otherwise,
                    "firstNeededAt": _place(requirement.place),
                }
                for requirement in outcome.requirements
            ],
            "acceptedFrom": _version(acceptance.first) if acceptance else None,
            "acceptedByDefaultFrom": _version(acceptance.by_default) if acceptance else None,
            "withGates": list(acceptance.gates) if acceptance else [],
            "rejectedForOtherReasons": outcome.rejected_otherwise,
            "sentence": acceptance.sentence if acceptance else "",
        }
        summary = {
            "files": outcome.sources,
            "objects": outcome.objects,
            "errors": outcome.count(Severity.ERROR),
            "warnings": outcome.count(Severity.WARNING),
            "notes": outcome.count(Severity.INFO),
            "unreadable": outcome.unreadable,
            "uncheckedKinds": outcome.unchecked_kinds,
            "otherDocuments": outcome.other_documents,
        }
        close = "]" if self._first else "\n ]"
        self._write(
            f'{close},\n "problems": {encoded(self._problems)},\n "needs": {encoded(needs)},\n'
            f' "summary": {encoded(summary)}\n}}\n'
        )


def encoded(value: Any) -> str:
    """JSON text; names of files that are no UTF-8 must not stop it."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, ValueError):
        import json

        return json.dumps(value)


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "apiServer": finding.api_server,
        **_place(finding.place),
        "documentation": BY_NAME[finding.rule].page,
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "file": place.source,
        "line": place.line,
        "column": place.column,
        "object": place.object,
        "path": place.path,
    }


def _version(minor: int | None) -> str | None:
    """`1.35`; None where no release has it, and also where no release is needed."""
    return f"1.{minor}" if minor else None
