"""Many sources, one report: grouping, holding back, and what happens when something cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.lint.linting import linter, node, tolerating

from moorage.lint import checked_alone
from moorage.lint import run as run_module
from moorage.lint.run import OutputError, Run
from moorage.lint.sources import sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from moorage.lint.finding import Finding
    from moorage.lint.report.form import LintSummary, Problem

NEVER = tolerating("{key: a, operator: Lt, value: '0'}")


class Recorder:
    """A form that remembers what it was told."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, list[str], bool]] = []

    def begin(self) -> None:
        self.groups.clear()

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        self.groups.append((name.rpartition("/")[2], [finding.rule for finding in findings], problem is not None))

    def end(self, outcome: LintSummary) -> None:
        self.groups.append(("end", [], False))


def run_over(folder: Path, *paths: str) -> tuple[list[tuple[str, list[str], bool]], list[str], LintSummary]:
    recorder, problems, ticks = Recorder(), [], [0]

    def tick() -> None:
        ticks[0] += 1

    run = Run(linter(), recorder, lambda problem: problems.append(problem.reason))
    outcome = run.lint(sources_of([str(folder / path) for path in paths] or [str(folder)]), tick)
    assert ticks[0] >= 1
    return recorder.groups, problems, outcome


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_late_findings_stand_with_their_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=node("n1", "{key: sla, value: high, effect: NoSchedule}"),
        b=NEVER,
        c=tolerating("{key: sla, operator: Gt, value: '5'}"),
    )
    groups, _, outcome = run_over(tmp_path)
    assert groups == [
        ("a.yaml", ["taint-not-comparable"], False),
        ("b.yaml", ["toleration-never-matches"], False),
        ("c.yaml", [], False),
        ("end", [], False),
    ]
    assert outcome.total == 2


def test_nothing_is_held_back_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_MAX_HELD_BACK", 3)
    write(tmp_path, a=node("n1", "{key: sla, value: high, effect: NoSchedule}"), b="---\n".join([NEVER] * 9), c=NEVER)
    write(tmp_path, d=tolerating("{key: sla, operator: Gt, value: '5'}"))
    groups, _, outcome = run_over(tmp_path)
    assert sum(len(rules) for _, rules, _ in groups) == outcome.total == 11
    assert groups[0] == ("a.yaml", [], False)
    assert ("a.yaml", ["taint-not-comparable"], False) in groups[-3:]
    assert all(name != "b.yaml" or rules for name, rules, _ in groups)


def test_unreadable_files_do_not_keep_the_others_from_being_linted(tmp_path: Path) -> None:
    write(tmp_path, a=NEVER)
    groups, problems, outcome = run_over(tmp_path, "gone.yaml", "a.yaml")
    assert groups[:2] == [("gone.yaml", [], True), ("a.yaml", ["toleration-never-matches"], False)]
    assert problems == ["No such file or directory"]
    assert outcome.unreadable == 1


def test_an_internal_error_affects_one_file_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise RecursionError("too\ndeep")

    write(tmp_path, a=NEVER, b="apiVersion: v1\nkind: ConfigMap\n")
    monkeypatch.setattr(checked_alone, "TOLERATION_CHECKS", [broken])
    groups, problems, outcome = run_over(tmp_path)
    assert [group[2] for group in groups] == [True, False, False]
    assert problems == ["internal error, please report it: RecursionError: too\ndeep"]
    assert outcome.unreadable == 1


def test_an_output_that_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Recorder):
        def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
            raise OutputError

    monkeypatch.setattr(run_module, "_MAX_HELD_BACK", 0)
    write(tmp_path, a=NEVER, b=NEVER)
    with pytest.raises(OutputError):
        Run(linter(), Closed(), lambda problem: None).lint(sources_of([str(tmp_path)]), lambda: None)
