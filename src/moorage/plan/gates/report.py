"""Print the findings of an audit as text or as JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.lint.report.printable import printable
from moorage.model.gates import Gate
from moorage.plan.gates.audit import Finding, order_of_disabling

Raw = dict[str, Any]

_MAX_SHOWN = 50


def render_text(findings: list[Finding], gates: Iterable[Gate], *, everything: bool = False) -> str:
    """Print for each gate which objects depend on it, what would happen, and in which order to disable it."""
    return "\n".join(line for gate in gates for line in _of_gate(gate, findings, everything)) + "\n"


def _of_gate(gate: Gate, findings: list[Finding], everything: bool) -> Iterator[str]:
    mine = [finding for finding in findings if finding.gate.name == gate.name]
    if not mine and gate.locked:
        yield f"{gate.name}: is locked {'on' if gate.default else 'off'}, and cannot be disabled"
        return
    if not mine:
        yield f"{gate.name}: nothing depends on it"
        return
    breaking = sum(finding.breaks for finding in mine)
    depends = "1 object depends on it" if len(mine) == 1 else f"{len(mine)} objects depend on it"
    yield f"{gate.name}: {depends}, {breaking} would be affected"
    shown = mine if everything else mine[:_MAX_SHOWN]
    for finding in shown:
        yield f"  {printable(str(finding.item.key))}  {', '.join(finding.paths)}"
        for component, text, breaks in finding.consequences:
            yield f"    {'!' if breaks else '-'} {component.value}: {printable(text)}"
    if len(shown) < len(mine):
        yield f"  … and {len(mine) - len(shown)} more (--all shows them)"
    if gate.locked:
        yield "  It is locked on, and cannot be disabled."
        return
    order = ", then ".join(component.value for component in order_of_disabling(gate))
    yield f"  To disable it: {order}."


def as_document(findings: list[Finding], gates: Iterable[Gate]) -> Raw:
    return {
        "gates": [
            {
                "name": gate.name,
                "disableOrder": [component.value for component in order_of_disabling(gate)],
                "findings": [_as_raw(finding) for finding in findings if finding.gate.name == gate.name],
            }
            for gate in gates
        ],
        "breaks": any(finding.breaks for finding in findings),
    }


def _as_raw(finding: Finding) -> Raw:
    key, place = finding.item.key, finding.item.place
    return {
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "source": place.source,
        "fields": list(finding.paths),
        "breaks": finding.breaks,
        "consequences": [
            {"component": component.value, "text": text, "breaks": breaks}
            for component, text, breaks in finding.consequences
        ],
    }
