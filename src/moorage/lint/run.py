"""Many sources, one report.

In: sources, a linter, a form. Out: the report, written as it grows, and the outcome. Findings of one source stand
together, also those that are known only at the end, as long as there are not too many to hold back. Memory: one
document, the bounded facts, and at most some thousand findings, for any number of files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.report.form import Problem
from moorage.lint.sources import opened, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import BinaryIO

    from moorage.lint.engine import Linter
    from moorage.lint.finding import Finding
    from moorage.lint.report.form import Form, LintSummary
    from moorage.lint.sources import Source

_MAX_HELD_BACK = 1_000


class _Group(msgspec.Struct):
    """What is known of one source and not yet reported."""

    name: str
    findings: list[Finding] = msgspec.field(default_factory=list)
    problem: Problem | None = None


class OutputError(Exception):
    """The report cannot be written: its reader has closed the pipe, or the disk is full."""


class Run:
    """Lints sources into a form. `at` is the source being read, for error messages."""

    def __init__(self, linter: Linter, form: Form, on_problem: Callable[[Problem], None]) -> None:
        self._linter = linter
        self._form = form
        self._on_problem = on_problem
        self._groups: dict[str, _Group] = {}
        self._held = 0
        self.at = ""

    def lint(self, sources: Iterable[Source], after_each: Callable[[], None]) -> LintSummary:
        self._form.begin()
        for source in sources:
            self.at = source.name
            self._lint_source(source)
            after_each()
        self.at = ""
        for finding in self._linter.finish():
            self._group(finding.place.source).findings.append(finding)
        self._flush()
        outcome = self._linter.outcome
        self._form.end(outcome)
        return outcome

    def _lint_source(self, source: Source) -> None:
        self._group(source.name)
        if source.problem:
            self._failed(source, source.problem)
            return
        try:
            with opened(source) as stream:
                self._read(source, stream)
        except OSError as error:
            self._failed(source, reason_of(error))
        except OutputError:
            raise
        except Exception as error:  # one file must not keep the others from being checked
            self._failed(source, f"internal error, please report it: {type(error).__name__}: {error}")

    def _read(self, source: Source, stream: BinaryIO) -> None:
        for finding in self._linter.lint(source, stream):
            self._group(source.name).findings.append(finding)
            self._held += 1

    def _failed(self, source: Source, reason: str) -> None:
        problem = Problem(source.name, reason)
        self._group(source.name).problem = problem
        self._linter.outcome.unreadable += 1
        self._on_problem(problem)

    def _group(self, name: str) -> _Group:
        """Return the group of a source, a new one if what was known of it has been reported already."""
        group = self._groups.get(name)
        if group is None or self._held > _MAX_HELD_BACK:
            if self._held > _MAX_HELD_BACK:
                self._flush()
            group = self._groups[name] = _Group(name)
            self._held += 1
        return group

    def _flush(self) -> None:
        for group in self._groups.values():
            group.findings.sort(key=lambda finding: finding.sort_key)
            self._form.source(group.name, group.findings, group.problem)
        self._groups = {}
        self._held = 0
