"""`# moorage: ignore RULE` comments: which findings they cover, and how reports show those."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.unit.lint.linting import lint, lint_with_outcome, node, stream, tolerating

import moorage
from moorage.cli.commands.lint import command

if TYPE_CHECKING:
    from pathlib import Path

NEVER = "toleration-never-matches"
FIRST = "{key: a, operator: Lt, value: '-9223372036854775808'}"


def pod(*, above: str = "", beside: str = "", head: str = "", second: str = "") -> str:
    """A pod whose first toleration never matches, with comments around it."""
    return (
        f"{head}apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  tolerations:\n{above}"
        f"  - {FIRST}{beside}\n{second}  containers: [{{name: app, image: 'app:1'}}]\n"
    )


def ignored(*texts: str) -> list[tuple[str, bool]]:
    return [(finding.rule, finding.ignored) for finding in lint(*texts)]


def test_without_a_comment_the_finding_counts() -> None:
    assert ignored(pod()) == [(NEVER, False)]


@pytest.mark.parametrize(
    "text",
    [
        pod(above=f"  # moorage: ignore {NEVER}\n"),
        pod(above=f"  # moorage: ignore {NEVER} -- the taint comes with the next release\n"),
        pod(above=f"  # moorage: ignore {NEVER}\n  # the taint comes with the next release\n"),
        pod(above=f"  # moorage: ignore {NEVER}\n  # moorage: ignore cel-*\n"),
        pod(above="  #moorage:ignore toleration-*\n"),
        pod(beside=f"  # moorage: ignore {NEVER}"),
        pod(beside=f"  # no taint yet # moorage: ignore cel-*, {NEVER}"),
        pod(head=f"# moorage: ignore {NEVER}\n"),
        pod(head=f"# Copyright\n\n# moorage: ignore {NEVER}\n# More\n"),
        pod(head=f"---\n# moorage: ignore {NEVER}\n"),
        pod(head=f"--- # moorage: ignore {NEVER}\n"),
        pod(head=f"# moorage: ignore {NEVER}\n---\n"),
        pod(head="# moorage: ignore *\n"),
        pod(head=f"# moorage: ignore {NEVER}\n").replace("\n", "\r\n"),
        pod().replace("  tolerations:", f"  # moorage: ignore {NEVER}\n  tolerations:"),
        pod().replace("spec:", f"# moorage: ignore {NEVER}\nspec:"),
    ],
)
def test_a_comment_covers_its_line_the_block_below_or_the_document_it_heads(text: str) -> None:
    assert ignored(text) == [(NEVER, True)]


@pytest.mark.parametrize(
    "text",
    [
        pod(above="  # moorage: ignore cel-*\n"),
        pod(above=f"  # moorage: ignore {NEVER}\n\n"),
        pod(second=f"  # moorage: ignore {NEVER}\n"),
        pod().replace("  tolerations:", f"  tolerations: # moorage: ignore {NEVER}"),
        pod().replace("{name: web}", f"{{name: web, annotations: {{a: 'b # moorage: ignore {NEVER}'}}}}"),
        pod().replace("kind: Pod", f"# moorage: ignore {NEVER}\nkind: Pod"),
        pod().replace("metadata:", f"# moorage: ignore {NEVER}\nmetadata:"),
    ],
)
def test_a_comment_elsewhere_covers_nothing(text: str) -> None:
    assert ignored(text) == [(NEVER, False)]


def test_a_comment_above_an_item_covers_all_its_lines_and_no_other_item() -> None:
    item = "  - key: {0}\n    operator: Lt\n\n    # the value\n    value: '0'\n"
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  tolerations:\n{item.format('a')}"
        f"  # moorage: ignore {NEVER}\n{item.format('b')}{item.format('c')}  containers: [{{name: a, image: b}}]\n"
    )
    assert ignored(text) == [(NEVER, False), (NEVER, True), (NEVER, False)]


def test_blocks_inside_of_blocks() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n# moorage: ignore toleration-*\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec:\n    # moorage: ignore cel-*\n"
        "    tolerations:\n    - {key: a, operator: Lt, value: '0'}\n    - {expression: 'true'}\n"
        "    containers: [{name: a, image: b}]\n"
        "- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n  spec:\n    tolerations:\n    - {expression: 'true'}\n"
        "    - {key: a, operator: Lt, value: '0'}\n    containers: [{name: a, image: b}]\n"
    )
    findings = {(finding.place.object[-1], finding.rule.partition("-")[0]): finding.ignored for finding in lint(text)}
    assert findings == {
        ("a", "cel"): True,
        ("a", "toleration"): True,
        ("b", "cel"): False,
        ("b", "toleration"): False,
    }


def test_a_comment_inside_a_block_of_text_is_text() -> None:
    text = pod().replace("{name: web}", f"\n  name: web\n  annotations:\n    note: |\n      # moorage: ignore {NEVER}x")
    assert ignored(text) == [(NEVER, False)]
    assert moorage.lint(text).ignore_mistakes == ()


def test_the_head_of_one_document_says_nothing_about_the_next_or_the_next_file() -> None:
    covered, other = pod(head=f"# moorage: ignore {NEVER}\n"), pod()
    assert ignored(stream(covered, other)) == [(NEVER, True), (NEVER, False)]
    assert ignored(stream(other, covered)) == [(NEVER, False), (NEVER, True)]
    assert ignored(f"{covered}---\n# moorage: ignore {NEVER}\n", other) == [(NEVER, True), (NEVER, False)]


def test_findings_that_need_the_whole_input_are_covered_too() -> None:
    taint = "{key: sla, value: high, effect: NoSchedule}"
    bound = tolerating("{key: sla, operator: Gt, value: '5'}")
    assert [(each, False) for each, _ in ignored(node("n1", taint), bound)] == ignored(node("n1", taint), bound)
    covered = ignored(*(f"# moorage: ignore *\n{text}" for text in (node("n1", taint), bound)))
    assert covered
    assert all(is_ignored for _, is_ignored in covered)


def test_ignored_findings_are_counted_apart() -> None:
    _, outcome = lint_with_outcome(pod(head="# moorage: ignore *\n"))
    assert (outcome.total, outcome.failing, outcome.ignored) == (0, 0, 1)


def run(folder: Path, text: str, *arguments: str) -> tuple[int, str, str]:
    path = folder / "pod.yaml"
    path.write_text(text, encoding="utf-8")
    gate = "--feature-gates=TaintTolerationComparisonOperators=true"
    result = CliRunner().invoke(command, [gate, *arguments, str(path)], standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.return_value, result.stdout, result.stderr


def test_show_ignored_prints_them_marked_and_the_exit_code_is_zero(tmp_path: Path) -> None:
    text = pod(head=f"# moorage: ignore {NEVER}\n")
    code, out, _ = run(tmp_path, text)
    assert (code, NEVER in out) == (0, False)
    assert "No findings: 1 object in 1 file checked, 1 finding ignored." in out
    code, out, _ = run(tmp_path, text, "--show-ignored")
    assert (code, f"ignored warning [{NEVER}]" in out) == (0, True)


def test_programs_read_which_findings_are_ignored(tmp_path: Path) -> None:
    text = pod(head=f"# moorage: ignore {NEVER}\n")
    report = json.loads(run(tmp_path, text, "-o", "json", "--show-ignored")[1])
    assert [each["ignored"] for each in report["findings"]] == [True]
    assert (report["summary"]["ignored"], report["summary"]["warnings"]) == (1, 0)
    assert json.loads(run(tmp_path, text, "-o", "json")[1])["findings"] == []
    results = json.loads(run(tmp_path, text, "-o", "sarif", "--show-ignored")[1])["runs"][0]["results"]
    assert [each["suppressions"] for each in results] == [[{"kind": "inSource"}]]
    plain = json.loads(run(tmp_path, pod(), "-o", "sarif", "--show-ignored")[1])["runs"][0]["results"]
    assert [each.get("suppressions") for each in plain] == [None]
    assert 'failures="0" errors="0" skipped="1"' in run(tmp_path, text, "-o", "junit", "--show-ignored")[1]
    assert "::notice" in run(tmp_path, text, "-o", "github", "--show-ignored")[1]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ignore toleration-never-match", "there is no rule 'toleration-never-match' (did you mean"),
        ("ignore nonsense-*", "there is no rule 'nonsense-*'"),
        ("ignore", "names no rule"),
        ("ingore toleration-never-matches", "moorage: ingore is unknown; write # moorage: ignore RULE"),
    ],
)
def test_mistakes_in_comments_are_named_with_their_line(tmp_path: Path, comment: str, message: str) -> None:
    code, _, err = run(tmp_path, pod(above=f"  # moorage: {comment}\n"))
    assert code == 1
    assert "pod.yaml:6: " in err
    assert message in err


def test_the_library_keeps_ignored_findings_apart() -> None:
    report = moorage.lint(pod(above=f"  # moorage: ignore {NEVER}, nonsense\n"), gates={"AllAlpha": True})
    assert report.is_clean
    assert [finding.rule for finding in report.ignored] == [NEVER]
    assert "there is no rule 'nonsense'" in report.ignore_mistakes[0]
