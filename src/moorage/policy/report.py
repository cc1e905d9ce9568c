"""Write the results of test cases as text, JSON or JUnit XML, with the same facts in each."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.lint.report.documents import xml_text
from moorage.policy.judging import CaseResult, failed_expressions


class SuiteResult(NamedTuple):
    """The results of a suite, by its name."""

    name: str
    results: Sequence[CaseResult]

    @property
    def failed(self) -> int:
        return sum(bool(result.problems) for result in self.results)

    @property
    def errors(self) -> int:
        return sum(bool(result.error) for result in self.results)


def text_lines(suites: Sequence[SuiteResult], colour: Callable[[str, bool], str]) -> list[str]:
    """Return a line for each case, and what is wrong with those that fail. `colour` marks PASS and FAIL."""
    lines: list[str] = []
    for suite in suites:
        lines.append(suite.name)
        for result in suite.results:
            mark = colour("PASS" if result.passed else "FAIL", result.passed)
            place = "" if result.passed else f"  ({result.case.file}:{result.case.line})"
            lines.append(f"  {mark}  {result.case.case.name}{place}")
            lines += [f"        {line}" for line in _details(result)]
    counted = [result for suite in suites for result in suite.results]
    failed = sum(not result.passed for result in counted)
    return [*lines, "", f"{len(counted) - failed} passed, {failed} failed"]


def _details(result: CaseResult) -> list[str]:
    if result.error:
        return [result.error]
    if not result.problems:
        return []
    details = list(result.problems)
    if result.answer is not None:
        for failed in failed_expressions(result.answer):
            through = f" (binding {failed.binding})" if failed.binding else ""
            where = f", {failed.field}: {failed.expression}" if failed.field else ""
            details.append(f"{failed.policy}{through}{where}")
        for change in result.answer.remarks.changes:
            details.append(f"{change.source} changed the object: {msgspec.json.encode(change.patch).decode()}")
    return details


def json_document(suites: Sequence[SuiteResult]) -> dict[str, Any]:
    """Return all results as plain data. `version` grows only if a field changes its meaning or goes."""
    counted = [result for suite in suites for result in suite.results]
    failed = sum(not result.passed for result in counted)
    return {
        "version": 1,
        "suites": [{"name": suite.name, "cases": [_case(result) for result in suite.results]} for suite in suites],
        "summary": {"passed": len(counted) - failed, "failed": failed},
    }


def _case(result: CaseResult) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": result.case.case.name,
        "file": result.case.file,
        "line": result.case.line,
        "passed": result.passed,
        "problems": [*result.problems, *([result.error] if result.error else [])],
    }
    answer = result.answer
    if answer is not None:
        document |= {
            "decision": answer.decision,
            "message": answer.message,
            "warnings": answer.warnings,
            "audit": answer.remarks.audit,
            "failedExpressions": failed_expressions(answer),
            "changes": [
                {"source": change.source, "binding": change.binding, "patch": change.patch}
                for change in answer.remarks.changes
            ],
        }
    return document


def junit_lines(suites: Sequence[SuiteResult]) -> list[str]:
    """Return JUnit XML: a test suite for each suite, a failure or error for each case that has not passed."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="moorage policy test">']
    for suite in suites:
        lines.append(
            f'<testsuite name="{xml_text(suite.name)}" tests="{len(suite.results)}" '
            f'failures="{suite.failed}" errors="{suite.errors}">'
        )
        lines += [_testcase(suite.name, result) for result in suite.results]
        lines.append("</testsuite>")
    return [*lines, "</testsuites>"]


def _testcase(suite: str, result: CaseResult) -> str:
    case = result.case
    head = (
        f'<testcase classname="{xml_text(suite)}" name="{xml_text(case.case.name)}" '
        f'file="{xml_text(case.file)}" line="{case.line}"'
    )
    if result.passed:
        return f"{head}/>"
    tag = "error" if result.error else "failure"
    first = result.error or result.problems[0]
    details = "\n".join(_details(result))
    return f'{head}><{tag} message="{xml_text(first)}">{xml_text(details)}</{tag}></testcase>'
