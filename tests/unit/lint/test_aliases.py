"""One finding for a YAML anchor, with the places of all aliases that repeat the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.lint.linting import CONTAINERS, lint, lint_with_outcome, pod

from moorage.lint.finding import Finding, Severity
from moorage.lint.report.documents import JsonForm, JUnitForm, SarifForm
from moorage.lint.report.form import GitHubForm, LintSummary, TextForm
from moorage.model.text.documents import Document, read_values
from moorage.model.text.documents import read_documents as read

NEVER = '{key: fp, operator: Lt, value: "0"}'
SHARED = f"""\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {{name: a}}
  spec: &spec
    tolerations:
    - &toleration {NEVER}
    containers: [{{name: app, image: 'app:1'}}]
- apiVersion: v1
  kind: Pod
  metadata: {{name: b}}
  spec: *spec
- apiVersion: v1
  kind: Pod
  metadata: {{name: c}}
  spec:
    tolerations:
    - {{key: x, operator: Exists}}
    - *toleration
    containers: [{{name: app, image: 'app:1'}}]
"""


def also(finding: Finding) -> list[tuple[int, int, str, str]]:
    return [(place.line, place.column, place.object, place.path) for place in finding.also_at]


def test_one_finding_with_all_places() -> None:
    [finding], outcome = lint_with_outcome(SHARED)
    assert (finding.place.line, finding.place.object) == (9, "Pod default/a")
    assert also(finding) == [
        (14, 9, "Pod default/b", "spec.tolerations[0].value"),
        (21, 7, "Pod default/c", "spec.tolerations[1].value"),
    ]
    assert finding.also == "also at line 14 (Pod default/b), 21 (Pod default/c)"
    assert outcome.findings == {Severity.WARNING: 1}


def test_errors_of_the_api_server_are_the_same_up_to_the_path() -> None:
    [finding] = lint(SHARED.replace("Lt", "Less"))
    assert finding.message.startswith("spec.tolerations[0].operator: Unsupported value")
    assert [line for line, *_ in also(finding)] == [14, 21]


@pytest.mark.parametrize(
    ("spec", "places"),
    [
        (f"  <<: &base\n    tolerations: [{NEVER}]\n", []),
        (f"  nodeSelector: &n {{a: b}}\n  tolerations: [{NEVER}, {NEVER}]\n", None),
        (f"  tolerations:\n  - &t {NEVER}\n  - *t\n  - *t\n", [(7, 5), (8, 5)]),
        ("  tolerations:\n  - {key: fp, operator: Lt, value: &v '0'}\n  - {key: fq, operator: Lt, value: *v}\n", None),
    ],
)
def test_aliases_in_one_object(spec: str, places: list[tuple[int, int]] | None) -> None:
    findings = [finding for finding in lint(pod(spec)) if finding.rule == "toleration-never-matches"]
    if places is None:  # two faults, each written where it is
        assert len(findings) == 2
        assert [also(finding) for finding in findings] == [[], []]
    else:
        assert [[(line, column) for line, column, *_ in also(finding)] for finding in findings] == [places]


def test_merge_keys() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec:\n    <<: &base\n"
        f"      tolerations: [{NEVER}]\n    containers: &c [{{name: a, image: b}}]\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n  spec:\n    <<: *base\n    containers: *c\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: c}\n  spec:\n    <<: [*base, {priority: 0}]\n"
        "    containers: *c\n"
    )
    [finding] = lint(text)
    assert [(line, name) for line, _, name, _ in also(finding)] == [(15, "Pod default/b"), (21, "Pod default/c")]


def test_a_fault_that_only_an_alias_has_names_the_alias() -> None:
    """The anchor stands where it is no fault: in an annotation that is text."""
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {kept: &value '0'}\nspec:\n"
        "  tolerations: [{key: fp, operator: Lt, value: *value}]\n" + CONTAINERS
    )
    [finding] = lint(text)
    assert (finding.place.line, also(finding)) == (7, [])  # the field itself is written there
    text = text.replace("{kept: &value '0'}", "&all {operator: Lt, key: fp, value: '0'}").replace(
        "[{key: fp, operator: Lt, value: *value}]", "[*all]"
    )
    [finding] = lint(text)
    assert (finding.place.line, [line for line, *_ in also(finding)]) == (5, [7])


def test_a_comment_at_an_alias_covers_that_use_only() -> None:
    text = SHARED.replace("    - *toleration", "    - *toleration  # moorage: ignore toleration-never-matches")
    findings, outcome = lint_with_outcome(text)
    assert [(finding.ignored, [line for line, *_ in also(finding)]) for finding in findings] == [
        (False, [14]),
        (True, [21]),
    ]
    assert outcome.ignored == 1


def written(form: Any, findings: list[Finding]) -> str:
    parts: list[str] = []
    made = form(parts.append)
    made.begin()
    made.source("0.yaml", findings)
    made.end(LintSummary())
    return "".join(parts)


def test_every_form_has_the_places_once() -> None:
    findings = lint(SHARED)
    assert "    also at line 14 (Pod default/b), 21 (Pod default/c)\n" in written(TextForm, findings)
    [of_json] = json.loads(written(JsonForm, findings))["findings"]
    assert [(place["line"], place["object"]) for place in of_json["alsoAt"]] == [
        (14, "Pod default/b"),
        (21, "Pod default/c"),
    ]
    [result] = json.loads(written(SarifForm, findings))["runs"][0]["results"]
    regions = [place["physicalLocation"]["region"] for place in result["relatedLocations"]]
    assert regions == [{"startLine": 14, "startColumn": 9}, {"startLine": 21, "startColumn": 7}]
    assert [place["id"] for place in result["relatedLocations"]] == [0, 1]
    junit, annotations = written(JUnitForm, findings), written(GitHubForm, findings)
    assert junit.count("<testcase") == junit.count("also at line 14") == 1
    assert annotations.count("::warning") == annotations.count("also at line 14") == 1


def test_many_places_are_counted() -> None:
    uses = "".join("  - *t\n" for _ in range(30))
    [finding] = lint(pod(f"  tolerations:\n  - &t {NEVER}\n{uses}").replace("Lt", "Less"))
    assert finding.also.endswith(" and 20 more")


def aliases(text: str, *paths: str) -> list[tuple[int, int] | None]:
    from io import BytesIO

    [document] = read(BytesIO(text.encode()), "x")
    assert isinstance(document, Document)
    return [document.alias(path) for path in paths]


def test_places_of_aliases() -> None:
    text = (
        "apiVersion: v1\nkind: A\nmetadata: &m {name: a}\n"
        "spec:\n  a: &a [1, {b: 2}]\n  c: *a\n  d: [x, *a, *m]\n  e: {<<: *m, f: *a}\n"
    )
    assert aliases(text, "spec.a[1].b", "spec.c", "spec.c[1].b", "spec.d[0]", "spec.d[1][0]", "spec.d[2].name") == [
        None,
        None,  # its key is written there
        (6, 6),
        None,
        (7, 10),
        (7, 14),
    ]
    assert aliases(text, "spec.e.name", "spec.e.f[0]", "spec.e", "spec.missing.x") == [(8, 11), (8, 18), None, None]
    assert aliases('{"apiVersion": "v1", "kind": "A", "spec": {"a": 1}}', "spec.a") == [None]
    assert read_values(text.encode(), "x")[0].raw["spec"]["c"] == [1, {"b": 2}]
