"""Find the objects that depend on a gate, and what would happen without it: `moorage gates audit --output json`.

Without arguments all gates are looked at, with `gate` one. No more than MAX_FINDINGS of a gate are listed; `totals`
has how many there are.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.model.gates import GATES, Gate, all_gates
from moorage.plan.gates.audit import as_document, audit
from moorage.plan.input.inventory import Inventory

MAX_FINDINGS = 2_000


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    gates = _gates(arguments.get("gate"))
    findings = audit(_inventory(base), gates)
    document = as_document(findings, gates)
    totals = {}
    for gate in document["gates"]:
        totals[gate["name"]] = {
            "objects": len(gate["findings"]),
            "affected": sum(1 for finding in gate["findings"] if finding["breaks"]),
        }
        # Objects that would notice come first where not all can be shown.
        if len(gate["findings"]) > MAX_FINDINGS:
            gate["findings"] = sorted(gate["findings"], key=lambda finding: not finding["breaks"])[:MAX_FINDINGS]
    yield {**document, "totals": totals, "done": True}


def _gates(name: Any) -> list[Gate]:
    if name is None:
        return list(GATES)
    gates = [gate for gate in GATES if gate.name == name]
    if not gates:
        raise BadQuestion(f"gate: there is no gate {name!r}; there are {', '.join(gate.name for gate in GATES)}")
    return gates


def _inventory(base: Base) -> Inventory:
    """Return the input as an audit reads it: with all gates on, so that nothing that needs one is refused."""
    if base.with_all_gates is not None:
        return base.with_all_gates().inventory
    inventory = base.planner.inventory.copy()
    inventory.gates = all_gates()
    return inventory
