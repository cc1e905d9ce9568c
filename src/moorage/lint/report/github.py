"""GitHub workflow commands: annotations on the lines of a pull request.

In: findings grouped by source. Out: `::error file=…,line=…::message` lines, and the summary as plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.finding import Severity
from moorage.lint.report.printable import printable_lines
from moorage.lint.report.text import TextForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.lint.finding import Finding
    from moorage.lint.report.form import Outcome, Problem, Write

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GitHubForm:
    """One command a finding; GitHub shows the first ten of each severity beside the code and all in the log."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def begin(self) -> None:
        pass

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            place = finding.place
            properties = {"file": place.source.removeprefix("./")}
            if place.line:
                properties |= {"line": str(place.line), "col": str(max(place.column, 1))}
            properties["title"] = f"{finding.rule} {place.object}".rstrip()
            hint = f"\nhint: {finding.hint}" if finding.hint else ""
            self._command(_COMMANDS[finding.severity], properties, f"{finding.message}{hint}")
        if problem is not None:
            self._command("error", {"file": problem.source, "title": "unreadable"}, problem.reason)

    def _command(self, name: str, properties: dict[str, str], message: str) -> None:
        given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        self._write(f"::{name} {given}::{_data(message)}\n")

    def end(self, outcome: Outcome) -> None:
        TextForm(self._write, colour=False).end(outcome)


def _data(text: str) -> str:
    safe = "\n".join(printable_lines(text))
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
