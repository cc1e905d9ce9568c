"""Define what every report form does, and write the forms for people: text, and annotations of GitHub pull requests."""

from collections.abc import Callable, Sequence
from textwrap import TextWrapper
from typing import Any, Protocol

import msgspec

from moorage.lint.facts.requirements import Acceptance, Requirement
from moorage.lint.finding import Finding, Severity, SourcePlace
from moorage.lint.report.printable import folded, printable, printable_lines, visible_length

Write = Callable[[str], object]


class Problem(msgspec.Struct, frozen=True):
    """A source that could not be read at all."""

    file: str
    reason: str


class Mutation(msgspec.Struct, frozen=True):
    """What a policy or webhook would change of an object, or of the pods of a workload, as JSON patch operations."""

    place: SourcePlace
    are_pods: bool
    source: str
    patch: tuple[dict[str, Any], ...]

    @property
    def sentence(self) -> str:
        pods = "its pods are" if self.are_pods else "it is"
        return f"{pods} changed by {self.source}"


class LintSummary(msgspec.Struct):
    """Totals of a run, and the features its input needs."""

    sources: int = 0
    objects: int = 0
    findings: dict[Severity, int] = msgspec.field(default_factory=dict)
    #: How many findings `# moorage: ignore` comments cover; the counts by severity are without them.
    ignored: int = 0
    unchecked_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    other_documents: int = 0
    unreadable: int = 0
    #: How many sources should have had objects and have none.
    empty: int = 0
    rejected_otherwise: bool = False
    requirements: list[Requirement] = msgspec.field(default_factory=list)
    acceptance: Acceptance | None = None
    #: What policies and webhooks would change, if that is to be shown.
    mutations: list[Mutation] | None = None

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


_SIGNS = {"add": "+", "remove": "-", "replace": "~"}


def describe_operation(operation: dict[str, Any]) -> str:
    """Write an operation of a JSON patch as a line: `+ /metadata/labels/a "b"`, `- /spec/x`, `~ /spec/y 1`."""
    sign = _SIGNS.get(str(operation.get("op")), str(operation.get("op")))
    source = f" from {operation['from']}" if "from" in operation else ""
    value = f" {msgspec.json.encode(operation['value']).decode()}" if "value" in operation else ""
    return f"{sign} {operation.get('path')}{source}{value}"


_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.INFO: "1;36"}
_BOLD, _DIM, _GREEN, _CYAN = "1", "2", "32", "36"
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MAX_KINDS = 5
_NARROWEST = 30


class TextForm:
    """Each finding is a small block: place, message, source line with carets, hint; last what the input needs."""

    def __init__(self, write: Write, *, colour: bool = False, width: int | None = None) -> None:
        """`width` is the terminal's; None: lines are not broken, as for other programs."""
        self._write = write
        self._colour = colour
        self._width = max(width, _NARROWEST) if width is not None else None

    def begin(self) -> None:
        pass

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        if findings:
            self._write(f"{self._styled(printable(name), _BOLD)}\n")
        for finding in findings:
            self._write("\n".join(self._block(finding)) + "\n\n")

    def _block(self, finding: Finding) -> list[str]:
        place = finding.place
        where = f"{place.line}:{place.column}" if place.line else "-"
        kind = self._styled(f"{finding.severity}", _DIM if finding.ignored else _COLOURS[finding.severity])
        kind = f"ignored {kind}" if finding.ignored else kind
        rule = self._styled(f"[{finding.rule}]", _DIM)
        head = f"  {where:<8} {kind} {rule} "
        if self._width is not None and visible_length(head) + len(place.object) > self._width:
            head = f"{head.rstrip()}\n    "
        lines = [f"{head}{printable(place.object)}".rstrip()]
        lines += self._wrapped("    ", finding.message)
        if place.excerpt.line:
            gutter = f"{place.line:>7}"
            excerpt = place.excerpt if self._width is None else place.excerpt.cut(self._width - len(gutter) - 3)
            lines.append(f"{self._styled(gutter + ' |', _DIM)} {excerpt.line}")
            carets = self._styled(excerpt.carets, _COLOURS[finding.severity])
            lines.append(f"{self._styled(' ' * len(gutter) + ' |', _DIM)} {carets}")
        if finding.also:
            lines += self._wrapped("    ", finding.also)
        if finding.hint:
            first, *rest = self._wrapped("          ", finding.hint)
            lines += [f"    {self._styled('hint:', _CYAN)}{first[9:]}", *rest]
        return lines

    def _wrapped(self, indent: str, text: str) -> list[str]:
        lines = printable_lines(text)
        if self._width is None:
            return [f"{indent}{line}" for line in lines]
        wrapper = TextWrapper(
            self._width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        return [wrapped for line in lines for wrapped in wrapper.wrap(line) or [""]]

    def end(self, outcome: LintSummary) -> None:
        for line in (*self._needs(outcome), *self._mutations(outcome)):
            self._write(line + "\n")
        summary = self._summary(outcome)
        for line in [summary] if self._width is None else folded(summary, self._width):
            self._write(line + "\n")

    def _needs(self, outcome: LintSummary) -> list[str]:
        if not outcome.requirements or outcome.acceptance is None:
            return []
        lines = [self._styled("What the input needs", _BOLD)]
        for requirement in outcome.requirements:
            gate = requirement.gate
            place = printable(requirement.place.described)
            lines += self._wrapped("  ", f"{gate.name}: {gate.feature}")
            lines += self._wrapped("    ", f"{requirement.sentence} First needed by {place}.")
        lines += self._wrapped("  ", outcome.acceptance.sentence)
        return [*lines, ""]

    def _mutations(self, outcome: LintSummary) -> list[str]:
        if outcome.mutations is None:
            return []
        lines = [self._styled("What policies change", _BOLD)]
        for mutation in outcome.mutations:
            lines += self._wrapped("  ", f"{printable(mutation.place.described)}: {mutation.sentence}")
            for operation in mutation.patch:
                lines.append(f"    {printable(describe_operation(operation))}")
        return [*lines, ""] if outcome.mutations else [f"{lines[0]}: nothing", ""]

    def _summary(self, outcome: LintSummary) -> str:
        checked = f"{counted(outcome.objects, 'object')} in {counted(outcome.sources, 'file')}"
        skipped = _unchecked(outcome)
        if outcome.empty and not outcome.objects and not outcome.total:
            return f"{self._styled('Nothing to check', _COLOURS[Severity.ERROR])}: {checked}{skipped}."
        if not outcome.total and not outcome.unreadable and not outcome.empty:
            return f"{self._styled('No findings', _GREEN)}: {checked} checked{skipped}."
        parts = []
        for severity, noun in ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note")):
            if number := outcome.count(severity):
                parts.append(self._styled(counted(number, noun), _COLOURS[severity]))
        if outcome.unreadable:
            parts.append(self._styled(f"{outcome.unreadable:,} unreadable", _COLOURS[Severity.ERROR]))
        if outcome.empty:
            parts.append(self._styled(f"{outcome.empty:,} empty", _COLOURS[Severity.ERROR]))
        pages = " `moorage lint --explain RULE` tells more about a rule." if outcome.total else ""
        return f"{', '.join(parts)}: {checked} checked{skipped}.{pages}"

    def _styled(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self._colour else text


def _unchecked(outcome: LintSummary) -> str:
    parts = []
    if outcome.ignored:
        parts.append(f"{counted(outcome.ignored, 'finding')} ignored")
    if kinds := outcome.unchecked_kinds:
        names = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
        shown = ", ".join(printable(name) for name in names[:_MAX_KINDS]) + (", …" if len(names) > _MAX_KINDS else "")
        parts.append(f"{sum(kinds.values()):,} of other kinds passed over ({shown})")
    if outcome.other_documents:
        parts.append(f"{counted(outcome.other_documents, 'other YAML document')} passed over")
    return "".join(f", {part}" for part in parts)


class GitHubForm(TextForm):
    """One `::error file=…,line=…::message` a finding, and the totals as text.

    GitHub shows the first ten of each severity beside the code and all in the log.
    """

    def source(self, name: str, findings: Sequence[Finding], problem: Problem | None = None) -> None:
        for finding in findings:
            place = finding.place
            properties = {"file": place.source.removeprefix("./")}
            if place.line:
                properties |= {"line": str(place.line), "col": str(max(place.column, 1))}
            ignored = "ignored: " if finding.ignored else ""
            properties["title"] = f"{ignored}{finding.rule} {place.object}".rstrip()
            command = "notice" if finding.ignored else _COMMANDS[finding.severity]
            self._command(command, properties, finding.message_and_hint)
        if problem is not None:
            self._command("error", {"file": problem.file, "title": "unreadable"}, problem.reason)

    def _command(self, name: str, properties: dict[str, str], message: str) -> None:
        given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        self._write(f"::{name} {given}::{_data(message)}\n")


def _data(text: str) -> str:
    safe = "\n".join(printable_lines(text))
    return safe.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
