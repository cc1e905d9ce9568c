"""Tell the gates of all components: what each is set to, where they disagree, and in which order to turn one off.

A value is true, false, or null where it is not known; a component that does not read the gate has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from moorage.model.gate_skew import Skew, listed, skews
from moorage.model.gates import GATES, Component, Gate, GateSet, gates_from
from moorage.plan.gates.audit import order_of_disabling
from moorage.plan.gates.kep_states import KepState, advice_on, as_rows
from moorage.plan.input.live_gates import LiveGates

#: Gates of other components that only their metrics name.
MAX_OTHERS = 1_000
#: Gates that have a page of their own in docs/runbooks.
RUNBOOKS = frozenset(
    {
        "MatchLabelKeysInPodAffinity",
        "TaintTolerationCEL",
        "TaintTolerationComparisonOperators",
        "TaintTolerationNodeAffinitySemverComparisonOperators",
    }
)
_BY_NAME = {gate.name: gate for gate in GATES}


def gates_document(live: LiveGates | None, wanted: Mapping[str, bool], keps: Sequence[KepState] = ()) -> dict[str, Any]:
    """Return the answer to `GET /api/gates`. Without `live`, all components have the defaults and what is `wanted`.

    `keps` are those that attach brings to a cluster, and how the live one has them.
    """
    values = live.table() if live is not None else values_of(gates_from(dict(wanted)))
    known = live.known() if live is not None else None
    differences = skews(known) if known is not None else []
    others = [name for name in values if name not in _BY_NAME]
    return {
        "told": live is not None,
        "components": _components(values),
        "silent": [] if known is None else [component.value for component in Component if component not in known],
        "gates": [_gate(gate, values[gate.name]) for gate in GATES],
        "others": [{"name": name, "values": values[name]} for name in others[:MAX_OTHERS]],
        "skews": [_skew(skew) for skew in differences],
        "problems": list(live.problems) if live is not None else [],
        "keps": as_rows(keps),
        "kepAdvice": advice_on(keps),
    }


def values_of(gates: GateSet) -> dict[str, dict[str, bool | None]]:
    """Return the values of gates that are the same in all components."""
    return {
        gate.name: {component.value: gates.enabled(gate) for component in sorted(gate.components)} for gate in GATES
    }


def _components(values: Mapping[str, Mapping[str, bool | None]]) -> list[str]:
    """Return Kubernetes' components, then others that told values."""
    ours = [component.value for component in Component]
    others = {name for row in values.values() for name in row} - set(ours)
    return [*ours, *sorted(others)]


def _gate(gate: Gate, values: Mapping[str, bool | None]) -> dict[str, Any]:
    order = order_of_disabling(gate)
    return {
        "name": gate.name,
        "stage": gate.stage.value,
        "default": gate.default,
        "locked": gate.locked,
        "needs": list(gate.needs),
        "feature": gate.feature,
        "since": f"v1.{minor}" if (minor := gate.accepted_from()) is not None else "",
        "values": dict(values),
        "disableOrder": [component.value for component in order],
        "disabling": [] if gate.locked else _disabling(gate, order),
        "runbook": f"docs/runbooks/{gate.name}.md" if gate.name in RUNBOOKS else "",
    }


def _disabling(gate: Gate, order: tuple[Component, ...]) -> list[dict[str, Any]]:
    """Tell what happens to pods after each component that turns the gate off, while the others have it on."""
    steps = []
    for number, component in enumerate(order, 1):
        off = order[:number]
        values = {
            one: {
                other.name: one not in off if other is gate else other.default
                for other in GATES
                if one in other.components
            }
            for one in Component
        }
        happens = [text for skew in skews(values) if gate.name in skew.gates for text in skew.happens]
        steps.append({"component": component.value, "happens": happens})
    return steps


def _skew(skew: Skew) -> dict[str, Any]:
    return {
        "gates": list(skew.gates),
        "on": [component.value for component in skew.on],
        "off": [component.value for component in skew.off],
        "situation": skew.situation,
        "happens": list(skew.happens),
        "remedy": _remedy(skew),
    }


def _remedy(skew: Skew) -> str:
    """Say which components to change, and in which order, so that all agree."""
    what = "it" if len(skew.gates) == 1 else "them"
    order = order_of_disabling(_BY_NAME[skew.gates[0]])
    enable = _in_order(reversed(order), skew.off)
    disable = _in_order(order, skew.on)
    return f"Turn {what} on in {enable}; or, if what depends on {what} may go, off in {disable}."


def _in_order(order: Iterable[Component], wanted: tuple[Component, ...]) -> str:
    names = [component.value for component in order if component in wanted]
    return names[0] if len(names) == 1 else f"{listed(names)}, in this order"
