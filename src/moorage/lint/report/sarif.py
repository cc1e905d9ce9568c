"""SARIF 2.1.0, which code hosts read into their review pages.

In: findings grouped by source. Out: one SARIF log with one run.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from moorage import __version__
from moorage.lint.catalogue import RULES
from moorage.lint.finding import Severity
from moorage.lint.report.as_json import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.lint.finding import Finding
    from moorage.lint.report.form import Outcome, Problem, Write

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_INDEX = {rule.name: index for index, rule in enumerate(RULES)}


class SarifForm:
    """Results are written as they come; what could not be read is told as a notification at the end."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._first = True
        self._notifications: list[dict[str, Any]] = []

    def begin(self) -> None:
        driver = {
            "name": "moorage",
            "version": __version__,
            "rules": [
                {
                    "id": rule.name,
                    "shortDescription": {"text": rule.summary},
                    "help": {"text": f"{rule.summary} More in {rule.page}."},
                    "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                }
                for rule in RULES
            ],
        }
        self._write(
            '{"$schema": "https://json.schemastore.org/sarif-2.1.0.json",\n "version": "2.1.0",\n "runs": [{\n'
            f'  "tool": {{"driver": {encoded(driver)}}},\n  "columnKind": "unicodeCodePoints",\n  "results": ['
        )

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            self._write(("\n   " if self._first else ",\n   ") + encoded(_result(finding)))
            self._first = False
        if problem is not None:
            self._notifications.append(
                {
                    "level": "error",
                    "message": {"text": f"{problem.source}: {problem.reason}"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri_of(problem.source)}}}],
                }
            )

    def end(self, outcome: Outcome) -> None:
        invocation = {
            "executionSuccessful": not outcome.unreadable,
            "toolExecutionNotifications": self._notifications,
        }
        close = "]" if self._first else "\n  ]"
        self._write(f'{close},\n  "invocations": [{encoded(invocation)}]\n }}]\n}}\n')


def _result(finding: Finding) -> dict[str, Any]:
    place = finding.place
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri_of(place.source)}}
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": max(place.column, 1)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if logical := ", ".join(part for part in (place.object, place.path) if part):
        location["logicalLocations"] = [{"fullyQualifiedName": logical}]
    return {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}\nhint: {finding.hint}" if finding.hint else finding.message},
        "locations": [location],
    }


def uri_of(source: str) -> str:
    """Return a path as a URI reference; relative ones stay relative, so that they are found in a checkout."""
    if source == "<stdin>":
        return "stdin"
    try:
        escaped = quote(os.fsencode(source))
    except UnicodeEncodeError:  # no file has such a name, but a report must not fail for it
        escaped = quote(source.encode("utf-8", "replace"))
    if escaped.startswith("/"):
        return f"file://{escaped}"
    return escaped.removeprefix("./")
