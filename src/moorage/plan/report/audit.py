"""Print an audit of gates: for each gate what depends on it and what would happen, then a summary and a legend."""

from collections.abc import Iterator, Sequence

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.model.gates import Gate
from moorage.plan.gates.audit import Finding, order_of_disabling
from moorage.plan.report.terminal import BOLD, DIM, GREEN, RED, TerminalLines

_MAX_SHOWN = 50
#: So many gates without objects get a line each.
_MAX_LINES = 3


class AuditText(TerminalLines):
    """Prints an audit."""

    def lines(self, findings: Sequence[Finding], gates: Sequence[Gate]) -> Iterator[str]:
        used = {finding.gate.name for finding in findings}
        for gate in gates:
            if gate.name in used:
                yield from self._used(gate, [finding for finding in findings if finding.gate.name == gate.name])
        yield from self._unused([gate for gate in gates if gate.name not in used])
        if findings:
            yield ""
            yield from self._wrapped("", 0, "! has a visible effect    - has none", DIM)
        if len(gates) > 1:
            yield from self._summary(findings, gates)

    def _used(self, gate: Gate, mine: Sequence[Finding]) -> Iterator[str]:
        breaking = sum(finding.breaks for finding in mine)
        depends = f"{counted(len(mine), 'object')} {'depends' if len(mine) == 1 else 'depend'} on it"
        colour = RED if breaking else GREEN
        head = f"{self._styled(gate.name, BOLD)}: "
        yield from self._wrapped(head, 2, f"{depends}, {breaking:,} would be affected", colour)
        shown = self._cut(mine, _MAX_SHOWN)
        for finding in shown:
            yield from self._wrapped("  ", 4, f"{finding.item.key}  {', '.join(finding.paths)}")
            for component, text, breaks, _ in finding.consequences:
                mark = self._styled("!", RED) if breaks else "-"
                yield from self._wrapped(f"    {mark} {component.value}: ", 8, text)
        if len(shown) < len(mine):
            yield f"  … and {len(mine) - len(shown)} more (--all shows them)"
        if gate.locked:
            yield "  It is locked on, and cannot be disabled."
            return
        order = ", then ".join(component.value for component in order_of_disabling(gate))
        yield from self._wrapped("  ", 4, f"To disable it: {order}.")

    def _unused(self, gates: Sequence[Gate]) -> Iterator[str]:
        for gate in gates:
            if gate.locked:
                text = f"{gate.name}: is locked {'on' if gate.default else 'off'}, and cannot be disabled"
                yield from self._wrapped("", 2, text)
        free = [gate.name for gate in gates if not gate.locked]
        if len(free) > _MAX_LINES and not self._all:
            yield from self._wrapped("", 2, f"Nothing depends on {', '.join(free)}.")
        else:
            yield from (f"{name}: nothing depends on it" for name in free)

    def _summary(self, findings: Sequence[Finding], gates: Sequence[Gate]) -> Iterator[str]:
        objects = {finding.item.key for finding in findings}
        affected = {finding.item.key for finding in findings if finding.breaks}
        used = len({finding.gate.name for finding in findings})
        text = (
            f"{counted(len(objects), 'object')} {'depends' if len(objects) == 1 else 'depend'} on {used:,} of "
            f"{counted(len(gates), 'gate')}; {len(affected):,} would be affected if one of them were disabled."
        )
        yield from self._wrapped("", 2, printable(text), RED if affected else GREEN)
