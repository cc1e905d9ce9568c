"""Matching one taint against one compiled toleration: what each operator costs, and that gates cost `Equal` nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.measure import race, time_call
from bench.result import Result, timed
from moorage.match.tolerations import compile_toleration
from moorage.model.gates import default_gates, gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

if TYPE_CHECKING:
    from collections.abc import Iterator

SLA = Taint(key="node.kubernetes.io/sla", value="950", effect="NoSchedule")
CNI = Taint(key="cni.projectcalico.org/version", value="v3.27.2", effect="NoSchedule")


def measure() -> Iterator[Result]:
    off, on = default_gates(), gates_from({"AllAlpha": True})
    equal = Toleration(key=SLA.key, operator="Equal", value=SLA.value, effect=SLA.effect)
    with_gates, without_gates = compile_toleration(equal, on).match, compile_toleration(equal, off).match
    gates_on, gates_off = race(partial(with_gates, SLA), partial(without_gates, SLA))
    yield timed("tolerations", "match Equal, gates off", gates_off)
    yield timed(
        "tolerations", "match Equal, gates on", gates_on, against=gates_off, compared_with="gates off", goal="1×"
    )
    others = (
        (Toleration(key=SLA.key, operator="Exists"), SLA),
        (Toleration(key=SLA.key, operator="Gt", value="900", effect=SLA.effect), SLA),
        (Toleration(key=CNI.key, operator="SemverLt", value="v3.28.0", effect=CNI.effect), CNI),
        (Toleration(expression="taint.key.startsWith('node.kubernetes.io/')"), SLA),
    )
    for toleration, taint in others:
        match = compile_toleration(toleration, on).match
        matched, reference = race(partial(match, taint), partial(with_gates, SLA))
        operator = toleration.operator or "CEL"
        yield timed("tolerations", f"match {operator}", matched, against=reference, compared_with="Equal")
    yield timed("tolerations", "compile Equal", time_call(partial(compile_toleration, equal, on)))
