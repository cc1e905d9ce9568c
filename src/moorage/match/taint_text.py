"""Describe taints and tolerations in the few words that explanations, reports and logs use."""

from moorage.match.comparison import shown
from moorage.match.operators import EQUAL, EXISTS
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration


def describe_taint(taint: Taint) -> str:
    """`key=value`, as people write taints; the effect is left out, it is not what thresholds are about."""
    return f"{shown(taint.key)}={shown(taint.value)}" if taint.value else shown(taint.key)


def describe_taint_with_effect(taint: Taint) -> str:
    return f"{describe_taint(taint)}:{taint.effect}"


def describe_toleration(toleration: Toleration) -> str:
    """`toleration Lt 5`: what decides, in few words."""
    if toleration.expression:
        text = toleration.expression
        return f"toleration expression {go_quote(text if len(text) <= 80 else text[:77] + '...')}"
    if toleration.operator == EXISTS:
        return "toleration Exists"
    return f"toleration {shown(toleration.operator or EQUAL)} {shown(toleration.value)}"
