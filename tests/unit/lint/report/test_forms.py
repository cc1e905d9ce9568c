"""Every form of the report, read back by a real parser."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from tests.unit.lint.linting import lint_with_outcome, tolerating

from moorage.lint.catalogue import rules as all_rules
from moorage.lint.finding import Finding, Severity, SourcePlace, excerpt_of
from moorage.lint.report.documents import JsonForm, JUnitForm, SarifForm, uri_of
from moorage.lint.report.form import Form, GitHubForm, LintSummary, Problem, TextForm, counted

HOSTILE = "a\x00\x1b[31m\u202e\ud800<&>\"'%::,\r\n\tend\ufffe"
FINDING = Finding(
    "rejected",
    Severity.ERROR,
    f"message {HOSTILE}",
    SourcePlace(f"dir/{HOSTILE}.yaml", 3, 5, f"Pod default/{HOSTILE}", "spec.x", excerpt_of(f"  x: {HOSTILE}", 3)),
    hint=f"hint {HOSTILE}",
)
NOWHERE = Finding("unreadable", Severity.ERROR, "too large", SourcePlace("big.yaml"))
WARNING = Finding("cel-constant", Severity.WARNING, "always true", SourcePlace("a.yaml", 1, 1), "remove it\nthen rest")
PROBLEM = Problem(f"gone{HOSTILE}", "No such file")


def report(kind: type[Any], **options: Any) -> str:
    written: list[str] = []
    form: Form = kind(written.append, **options)
    form.begin()
    form.source("clean.yaml", [])
    form.source(FINDING.place.source, [FINDING])
    form.source("a.yaml", [WARNING, NOWHERE])
    form.source(PROBLEM.file, [], PROBLEM)
    _, outcome = lint_with_outcome(tolerating("{key: a, operator: Gt, value: '5'}"))
    outcome.findings = {Severity.ERROR: 2, Severity.WARNING: 1}
    outcome.unreadable = 1
    outcome.unchecked_kinds = {f"Kind{HOSTILE}": 2}
    form.end(outcome)
    return "".join(written)


def test_json() -> None:
    document = json.loads(report(JsonForm))
    assert document["version"] == 1
    assert [finding["rule"] for finding in document["findings"]] == ["rejected", "cel-constant", "unreadable"]
    first = document["findings"][0]
    assert first["message"] == FINDING.message
    assert (first["line"], first["column"], first["severity"], first["path"]) == (3, 5, "error", "spec.x")
    assert document["problems"] == [{"file": PROBLEM.file, "reason": "No such file"}]
    (gate,) = document["needs"]["gates"]
    assert gate["gate"] == "TaintTolerationComparisonOperators"
    assert (gate["acceptedFrom"], gate["onByDefaultFrom"]) == ("1.35", None)
    assert gate["firstNeededAt"]["line"] == 6
    assert document["needs"]["acceptedFrom"] == "1.35"
    assert document["needs"]["withGates"] == ["TaintTolerationComparisonOperators"]
    assert document["summary"]["errors"] == 2


def test_sarif() -> None:
    document = json.loads(report(SarifForm))
    assert (document["version"], len(document["runs"])) == ("2.1.0", 1)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.name for rule in all_rules().values()]
    assert all(f"docs/findings/{rule['id']}.md" in rule["help"]["text"] for rule in rules)
    assert all(rule["shortDescription"]["text"] for rule in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii()
        assert not set(uri) & set(' <>"\\\n')
    regions = [result["locations"][0]["physicalLocation"].get("region") for result in run["results"]]
    assert regions == [{"startLine": 3, "startColumn": 5}, {"startLine": 1, "startColumn": 1}, None]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert len(invocation["toolExecutionNotifications"]) == 1


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("a b.yaml", "a%20b.yaml"),
        ("./x/y.yaml", "x/y.yaml"),
        ("/etc/é.yaml", "file:///etc/%C3%A9.yaml"),
        ("<stdin>", "stdin"),
    ],
)
def test_paths_as_uris(source: str, uri: str) -> None:
    assert uri_of(source) == uri


def test_junit() -> None:
    root = ElementTree.fromstring(report(JUnitForm))
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites[::2]] == ["clean.yaml", "a.yaml"]
    counts = [tuple(suite.get(name) for name in ("tests", "failures", "errors")) for suite in suites]
    assert counts == [("1", "0", "0"), ("1", "1", "0"), ("2", "2", "0"), ("1", "0", "1")]
    assert all(len(suite.findall("testcase")) == int(suite.get("tests", "")) for suite in suites)
    (failure,) = suites[1].iter("failure")
    assert failure.get("type") == "rejected"
    assert "<&>\"'%::,\r\n\tend" in (failure.text or "")
    assert suites[0].find("testcase/failure") is None


def test_github() -> None:
    lines = report(GitHubForm).splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 4
    assert (
        commands[1]
        == "::warning file=a.yaml,line=1,col=1,title=cel-constant::always true%0Ahint: remove it%0Athen rest"
    )
    assert commands[2] == "::error file=big.yaml,title=unreadable::too large"
    head, _, data = commands[0].removeprefix("::error ").partition("::")
    properties = dict(pair.split("=", 1) for pair in head.split(","))
    assert set(properties) == {"file", "line", "col", "title"}
    assert "%25%3A%3A%2C" in properties["file"]
    assert "%25::," in data
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("colour", [True, False])
def test_text(colour: bool) -> None:
    text = report(TextForm, colour=colour)
    assert ("\x1b[1;31m" in text) is colour
    plain = text
    for code in ("0", "1", "2", "1;31", "1;33", "36"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert all(character.isprintable() or character == "\n" for character in plain)
    lines = plain.splitlines()
    assert "  1:1      warning [cel-constant]" in lines
    assert "    hint: remove it" in lines
    assert "          then rest" in lines
    assert "  -        error [unreadable]" in lines
    assert "What the input needs" in lines
    assert lines[-1].startswith(
        "2 errors, 1 warning, 1 unreadable: 1 object in 1 file checked, 2 of other kinds passed over"
    )


def test_text_of_a_clean_run() -> None:
    written: list[str] = []
    TextForm(written.append, colour=False).end(LintSummary(sources=3, objects=4_000))
    assert "".join(written) == "No findings: 4,000 objects in 3 files checked.\n"


@pytest.mark.parametrize("kind", [JsonForm, SarifForm, JUnitForm])
def test_a_run_without_findings_parses_too(kind: type[Any]) -> None:
    written: list[str] = []
    form: Form = kind(written.append)
    form.begin()
    form.end(LintSummary())
    text = "".join(written)
    if kind is JUnitForm:
        ElementTree.fromstring(text)
    else:
        json.loads(text)


def test_counted() -> None:
    assert [counted(number, "error") for number in (0, 1, 2_000)] == ["0 errors", "1 error", "2,000 errors"]


@pytest.mark.parametrize("width", [40, 60, 90])
def test_text_is_wrapped_at_the_width_of_the_terminal(width: int) -> None:
    long = "the pod is evicted 30 s after the taint is seen, although failure-probability < 5 holds: tolerationSeconds"
    place = SourcePlace("a.yaml", 12, 150, "Pod default/payment-processor", "", excerpt_of("x: " + "y" * 200, 150))
    finding = Finding("rejected", Severity.ERROR, f"{long}\n{long}", place, hint=long)
    written: list[str] = []
    form = TextForm(written.append, width=width)
    form.source("a.yaml", [finding])
    _, outcome = lint_with_outcome(tolerating("{key: a, operator: Gt, value: '5'}"))
    form.end(outcome)
    lines = "".join(written).split("\n")
    words = "--feature-gates=TaintTolerationComparisonOperators=true.", "spec.tolerations[0].operator"
    assert all(len(line) <= width for line in lines if line.strip() not in words)
    assert " ".join("".join(written).split()).count(long) == 3
    (caret,) = (number for number, line in enumerate(lines) if "^" in line)
    assert lines[caret - 1][lines[caret].index("^")] == "y"
    unbroken = report(TextForm)
    assert unbroken.count("First needed by") == 1
