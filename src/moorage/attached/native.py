"""Learn which operators of tolerations a cluster knows itself: those are left to it.

They are found by the feature gates in the metrics of its API server. A release alone does not tell: gates are switched.
Kubernetes: KEP-5471, of which `kubernetes_feature_enabled` tells the gate. Differs: an operator whose gate some
component has off, as far as they tell, is lowered.
"""

from typing import NamedTuple

from moorage.attach.tolerations import COMPARING as COMPARING
from moorage.client.http_client import HttpClient
from moorage.match.operators import OperatorPlace, gate_of
from moorage.plan.input.live_gates import LiveGates, ask_server, gates_in


class Native(NamedTuple):
    """The operators that the cluster knows, and why they are not known, if so."""

    operators: frozenset[str] = frozenset()
    problem: str = ""


def native_operators(gates: LiveGates) -> frozenset[str]:
    """Return the operators whose gate is on in every component that tells it."""
    found = []
    for name in COMPARING:
        gate = gate_of(name, OperatorPlace.TOLERATION)
        told = gates.values.get(gate.name, {}) if gate is not None else {}
        if told and all(told.values()):
            found.append(name)
    return frozenset(found)


async def read_native(client: HttpClient) -> Native:
    """Ask the API server."""
    texts: dict[str, str] = {}
    problems: list[str] = []
    await ask_server(client, texts, problems)
    return Native(native_operators(gates_in(texts)), "; ".join(problems))
