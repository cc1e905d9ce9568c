"""Write reports for programs: JSON, SARIF 2.1.0 for code hosts, JUnit XML for CI systems.

Findings are written one a line as they come, so that a report can be read while it grows.
"""

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from moorage import __version__
from moorage.lint.catalogue import Rule, rules
from moorage.lint.finding import Finding, Severity, SourcePlace
from moorage.lint.pages import page_of
from moorage.lint.report.form import LintSummary, Problem, Write

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_INDEX = {rule.name: index for index, rule in enumerate(rules().values())}
#: Characters that XML 1.0 cannot represent, not even as references.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: A Markdown link to another page of the documentation.
_RELATIVE_LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:)[^()\s]*\)")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


class _JsonList:
    """A list of findings in JSON, open until the end of the report, and the problems to tell there."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._first = True
        self._problems: list[dict[str, Any]] = []

    def _add(self, indent: str, entry: dict[str, Any]) -> None:
        self._write(f"{'' if self._first else ','}\n{indent}{encoded(entry)}")
        self._first = False


class JsonForm(_JsonList):
    """`version` changes only if a field changes its meaning or goes; new fields may come at any time."""

    def begin(self) -> None:
        self._write('{"version": 1,\n "findings": [')

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            self._add("  ", _finding(finding))
        if problem is not None:
            self._problems.append({"file": problem.file, "reason": problem.reason})

    def end(self, outcome: LintSummary) -> None:
        close = "]" if self._first else "\n ]"
        changes = "" if outcome.mutations is None else f' "mutations": {encoded(mutations_data(outcome))},\n'
        self._write(
            f'{close},\n "problems": {encoded(self._problems)},\n "needs": {encoded(needs_data(outcome))},\n{changes}'
            f' "summary": {encoded(summary_data(outcome))}\n}}\n'
        )


def needs_data(outcome: LintSummary) -> dict[str, Any]:
    """Return which features and releases the input needs, as plain data."""
    acceptance = outcome.acceptance
    return {
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


def mutations_data(outcome: LintSummary) -> list[dict[str, Any]]:
    """Return what policies and webhooks would change, as plain data."""
    return [
        {"by": one.source, "pods": one.are_pods, "patch": list(one.patch), **_place(one.place)}
        for one in outcome.mutations or ()
    ]


def summary_data(outcome: LintSummary) -> dict[str, Any]:
    """Return the totals of a run, as plain data."""
    return {
        "files": outcome.sources,
        "objects": outcome.objects,
        "errors": outcome.count(Severity.ERROR),
        "warnings": outcome.count(Severity.WARNING),
        "notes": outcome.count(Severity.INFO),
        "ignored": outcome.ignored,
        "unreadable": outcome.unreadable,
        "empty": outcome.empty,
        "uncheckedKinds": outcome.unchecked_kinds,
        "otherDocuments": outcome.other_documents,
    }


def encoded(value: Any) -> str:
    """Return JSON, also for file names that are not UTF-8."""
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
        "ignored": finding.ignored,
        **_place(finding.place),
        "alsoAt": [_place(place) for place in finding.also_at],
        "documentation": finding.documentation,
    }


def _place(place: SourcePlace) -> dict[str, Any]:
    return {
        "file": place.source,
        "line": place.line,
        "column": place.column,
        "object": place.object,
        "path": place.path,
    }


def _version(minor: int | None) -> str | None:
    """`1.35`; None if no release has it or none is needed."""
    return f"1.{minor}" if minor else None


class SarifForm(_JsonList):
    """One SARIF log with one run; unreadable sources become notifications at its end."""

    def begin(self) -> None:
        driver = {
            "name": "moorage",
            "version": __version__,
            "rules": [
                {
                    "id": rule.name,
                    "shortDescription": {"text": rule.summary},
                    "help": _help(rule),
                    "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                }
                for rule in rules().values()
            ],
        }
        self._write(
            '{"$schema": "https://json.schemastore.org/sarif-2.1.0.json",\n "version": "2.1.0",\n "runs": [{\n'
            f'  "tool": {{"driver": {encoded(driver)}}},\n  "columnKind": "unicodeCodePoints",\n  "results": ['
        )

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            self._add("   ", _result(finding))
        if problem is not None:
            self._problems.append(
                {
                    "level": "error",
                    "message": {"text": f"{problem.file}: {problem.reason}"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri_of(problem.file)}}}],
                }
            )

    def end(self, outcome: LintSummary) -> None:
        invocation = {
            "executionSuccessful": not outcome.unreadable and not outcome.empty,
            "toolExecutionNotifications": self._problems,
        }
        close = "]" if self._first else "\n  ]"
        self._write(f'{close},\n  "invocations": [{encoded(invocation)}]\n }}]\n}}\n')


def _help(rule: Rule) -> dict[str, str]:
    """Return what a viewer shows about a rule: its whole page, so that nothing has to be published anywhere."""
    text = f"{rule.summary} More by `moorage lint --explain {rule.name}`, and in {rule.page}."
    try:
        return {"text": text, "markdown": _without_links(page_of(rule.name))}
    except FileNotFoundError:
        return {"text": text}


def _without_links(page: str) -> str:
    """Return a page without its links to other pages, which lead nowhere in a viewer."""
    return _RELATIVE_LINK.sub(r"\1", page)


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": _INDEX[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message_and_hint},
        "locations": [_location(finding.place)],
    }
    if finding.also_at:
        result["relatedLocations"] = [{"id": n, **_location(place)} for n, place in enumerate(finding.also_at)]
    return {**result, "suppressions": [{"kind": "inSource"}]} if finding.ignored else result


def _location(place: SourcePlace) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri_of(place.source)}}
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": max(place.column, 1)}
    location: dict[str, Any] = {"physicalLocation": physical}
    if logical := ", ".join(part for part in (place.object, place.path) if part):
        location["logicalLocations"] = [{"fullyQualifiedName": logical}]
    return location


def uri_of(source: str) -> str:
    """Return a path as a URI reference; relative ones stay relative, so that they are found in a checkout."""
    if source == "<stdin>":
        return "stdin"
    try:
        escaped = quote(os.fsencode(source))
    except UnicodeEncodeError:
        escaped = quote(source.encode("utf-8", "replace"))
    if escaped.startswith("/"):
        return f"file://{escaped}"
    return escaped.removeprefix("./")


class JUnitForm:
    """A suite for each source, a failed case for each finding; a source without findings is one case that passed.

    Notes are cases that passed, with what they say as output.
    """

    def __init__(self, write: Write) -> None:
        self._write = write

    def begin(self) -> None:
        self._write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="moorage lint">\n')

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        cases = [_case(finding) for finding in findings]
        if problem is not None:
            cases.append(
                _testcase(name, "readable", f'<error message="{xml_text(problem.reason)}" type="unreadable"/>')
            )
        ignored = sum(finding.ignored for finding in findings)
        failures = sum(finding.severity is not Severity.INFO and not finding.ignored for finding in findings)
        errors = int(problem is not None)
        if not cases:
            cases = [_testcase(name, "lint", "")]
        self._write(
            f'<testsuite name="{xml_text(name)}" tests="{len(cases)}" failures="{failures}" errors="{errors}" '
            f'skipped="{ignored}">\n{"".join(cases)}</testsuite>\n'
        )

    def end(self, outcome: LintSummary) -> None:
        self._write("</testsuites>\n")


def _case(finding: Finding) -> str:
    place = finding.place
    name = f"{finding.rule} {place.path}".rstrip()
    text = f"{place.position}: {finding.severity}: {finding.message_and_hint}"
    content = f"<system-out>{xml_text(text)}</system-out>"
    if finding.ignored:
        content = f'<skipped message="ignored by a comment: {xml_text(text)}"/>'
    elif finding.severity is not Severity.INFO:
        message, rule = xml_text(finding.message), xml_text(finding.rule)
        content = f'<failure message="{message}" type="{rule}">{xml_text(text)}</failure>'
    return _testcase(place.object or place.source, f"{name} (line {place.line})" if place.line else name, content)


def _testcase(class_name: str, name: str, content: str) -> str:
    return f'  <testcase classname="{xml_text(class_name)}" name="{xml_text(name)}">{content}</testcase>\n'


def xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text).translate(_ESCAPES)
