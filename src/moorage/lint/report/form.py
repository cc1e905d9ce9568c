"""Define what every report form does, and the totals it is told at the end."""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from moorage.lint.facts.requirements import Acceptance, Requirement
from moorage.lint.finding import Finding, Severity

Write = Callable[[str], object]


class Problem(msgspec.Struct, frozen=True):
    """A source that could not be read at all."""

    source: str
    reason: str


class LintSummary(msgspec.Struct):
    """Totals of a run, and the features its input needs."""

    sources: int = 0
    objects: int = 0
    findings: dict[Severity, int] = msgspec.field(default_factory=dict)
    unchecked_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    other_documents: int = 0
    unreadable: int = 0
    rejected_otherwise: bool = False
    requirements: list[Requirement] = msgspec.field(default_factory=list)
    acceptance: Acceptance | None = None

    def count(self, severity: Severity) -> int:
        return self.findings.get(severity, 0)

    @property
    def total(self) -> int:
        return sum(self.findings.values())

    @property
    def failing(self) -> int:
        """How many findings are more than notes."""
        return self.total - self.count(Severity.INFO)


class Form(Protocol):
    """A report written as findings come. Sources without findings are reported too, as some forms count them."""

    def begin(self) -> None: ...

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None: ...

    def end(self, outcome: LintSummary) -> None: ...


def counted(number: int, noun: str) -> str:
    """`1 error`, `2,000 errors`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
