"""JUnit XML, which every CI system shows: a suite for each source, a failed case for each finding.

In: findings grouped by source. Out: XML that parses whatever bytes the manifests hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.lint.finding import Finding
    from moorage.lint.report.form import Outcome, Problem, Write

#: XML 1.0 has no way at all to write these, not even as references.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


class JUnitForm:
    """A source without findings is one case that passed."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def begin(self) -> None:
        self._write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="moorage lint">\n')

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        cases = [_case(finding) for finding in findings]
        if problem is not None:
            cases.append(
                _testcase(name, "readable", f'<error message="{_escaped(problem.reason)}" type="unreadable"/>')
            )
        failures, errors = len(findings), int(problem is not None)
        if not cases:
            cases = [_testcase(name, "lint", "")]
        self._write(
            f'<testsuite name="{_escaped(name)}" tests="{len(cases)}" failures="{failures}" errors="{errors}" '
            f'skipped="0">\n{"".join(cases)}</testsuite>\n'
        )

    def end(self, outcome: Outcome) -> None:
        self._write("</testsuites>\n")


def _case(finding: Finding) -> str:
    place = finding.place
    name = f"{finding.rule} {place.path}".rstrip()
    text = f"{place.position}: {finding.severity}: {finding.message}"
    if finding.hint:
        text += f"\nhint: {finding.hint}"
    failure = (
        f'<failure message="{_escaped(finding.message)}" type="{_escaped(finding.rule)}">{_escaped(text)}</failure>'
    )
    return _testcase(place.object or place.source, f"{name} (line {place.line})" if place.line else name, failure)


def _testcase(class_name: str, name: str, content: str) -> str:
    return f'  <testcase classname="{_escaped(class_name)}" name="{_escaped(name)}">{content}</testcase>\n'


def _escaped(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text).translate(_ESCAPES)
