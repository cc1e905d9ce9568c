"""Lint many sources, and report them as one.

Findings of one source are reported together, also those that need several objects and come from `Linter.finish`,
unless too many are held back. Memory is bounded for any number of files: one document, the facts, about a thousand
findings.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from moorage.lint.engine import Linter
from moorage.lint.finding import Finding
from moorage.lint.input_contents import EmptySource
from moorage.lint.reading import Reading, WorkerDiedError, plain_readings
from moorage.lint.report.form import Form, LintSummary
from moorage.lint.report.form import Problem as SourceProblem
from moorage.lint.sources import Source, reason_of

_MAX_HELD_BACK = 1_000


class _Group(msgspec.Struct):
    """What is known of one source and not yet reported."""

    name: str
    findings: list[Finding] = msgspec.field(default_factory=list)
    problem: SourceProblem | None = None


class OutputError(Exception):
    """The report cannot be written: its reader has closed the pipe, or the disk is full."""


class Run:
    """Lints sources into a form."""

    def __init__(
        self,
        linter: Linter,
        form: Form,
        on_problem: Callable[[SourceProblem], None],
        *,
        allows_empty: bool = False,
        shows_ignored: bool = False,
        read: Callable[[Iterable[Source]], Iterator[Reading]] = plain_readings,
    ) -> None:
        """`read` opens the sources in turn; it may look ahead."""
        self._read_sources = read
        self._linter = linter
        self._shows_ignored = shows_ignored
        self._allows_empty = allows_empty
        self._form = form
        self._on_problem = on_problem
        self._groups: dict[str, _Group] = {}
        self._held = 0

    def lint(self, sources: Iterable[Source], after_each: Callable[[], None], paths: Sequence[str] = ()) -> LintSummary:
        """Lint all sources; `paths` are what the user named, for the message if there are no objects."""
        self._form.begin()
        for reading in self._read_sources(sources):
            self._lint_source(reading)
            after_each()
        for finding in self._linter.finish():
            self._keep(finding)
        if not self._allows_empty:
            for empty in self._linter.contents.faults(paths):
                self._is_empty(empty)
        self._flush()
        outcome = self._linter.outcome
        self._form.end(outcome)
        return outcome

    def _lint_source(self, reading: Reading) -> None:
        source = reading.source
        self._group(source.name)
        if source.problem:
            self._failed(source, source.problem)
            return
        try:
            with reading.opened() as (lines, read):
                for finding in self._linter.lint_documents(source, lines, read):
                    self._keep(finding)
                    self._held += 1
        except OSError as error:
            self._failed(source, reason_of(error))
        except (OutputError, WorkerDiedError):
            raise
        except Exception as error:  # one file must not keep the others from being checked
            self._failed(source, f"internal error, please report it: {type(error).__name__}: {error}")

    def _keep(self, finding: Finding) -> None:
        if self._shows_ignored or not finding.ignored:
            self._group(finding.place.source).findings.append(finding)

    def _is_empty(self, empty: EmptySource) -> None:
        problem = SourceProblem(*empty)
        self._group(empty.name).problem = problem
        self._linter.outcome.empty += 1
        self._on_problem(problem)

    def _failed(self, source: Source, reason: str) -> None:
        self._linter.contents.fail()
        problem = SourceProblem(source.name, reason)
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
