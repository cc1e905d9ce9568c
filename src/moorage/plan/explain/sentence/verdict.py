"""Say in one sentence what becomes of a pod."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moorage.lint.report.form import counted
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.sentence.words import capital, small, without_name
from moorage.schedule.diagnosis import Refusal

if TYPE_CHECKING:
    from moorage.plan.explain.explanation import Explanation


def sentence_of(told: "Explanation") -> str:
    """Return the sentence with which every view of an explanation begins."""
    if told.standing is Standing.REFUSED and told.replicas is not None and told.replicas.refusal:
        return f"{capital(told.replicas.counts) or 'Its pods are refused'}: {without_name(told.replicas.refusal)}"
    return told.why.text if told.standing is Standing.REFUSED else capital(verdict(told))


def verdict(told: "Explanation") -> str:
    """Say in one sentence what becomes of the pod."""
    of = f"{told.feasible:,} of {counted(told.nodes, 'node')}"
    if told.standing is Standing.REFUSED:
        return f"were its pods let in, {of} would do"
    if told.standing is Standing.COMPLETE and told.next is not None:
        return f"{_next_name(told)} would {_would(told, told.next)}"
    if told.standing is Standing.BOUND:
        again = {group.nodes: group for group in told.refused if told.node in group.nodes}
        would = f"it would not be put there again: {_said(next(iter(again.values())).refusals)}" if again else ""
        return f"on node {told.node}. {would or f'Were it scheduled again, {of} would do.'}"
    if told.standing is Standing.FAILED:
        return f"the kubelet of node {told.node} refused it" if told.reason != "Failed" else f"failed on {told.node}"
    if told.standing is Standing.EVICTED:
        return f"had to leave node {told.node}"
    if told.standing is Standing.FITS:
        return f"goes to {_where(told)}"
    if told.standing is Standing.PREEMPTS and told.preemption is not None:
        victims = counted(len(told.preemption.victims), "pod")
        return f"gets {told.node} once {victims} with a lower priority {_have(told)} left it"
    return told.why.text


def _where(told: "Explanation") -> str:
    if told.feasible == 1:
        return f"{told.node}, the only node of {told.nodes:,} on which it fits"
    why = f"{told.feasible:,} of {counted(told.nodes, 'node')} fit, and it scores highest ({told.scores[0].total})"
    if told.tied > 1:
        why += f"; {told.tied:,} nodes score as much, between which fewer pods and then --seed {told.seed} decide"
    return f"{told.node}: {why}"


def _have(told: "Explanation") -> str:
    return "has" if told.preemption is not None and len(told.preemption.victims) == 1 else "have"


def _next_name(told: "Explanation") -> str:
    """Name the pod that is not there."""
    is_job = told.workload.startswith("Job ")
    if told.replicas is not None and not told.replicas.existing:
        return "a first one"
    return "one more pod" if is_job else "the next replica"


def _would(told: "Explanation", then: Standing) -> str:
    if then is Standing.FITS:
        return f"go to {_where(told)}"
    if then is Standing.REFUSED:
        return f"be refused: {told.message}"
    if then is Standing.PREEMPTS and told.preemption is not None:
        return f"evict {counted(len(told.preemption.victims), 'pod')} from {told.node}"
    return f"be Pending: {small(told.why.text)}"


def _said(refusals: Sequence[Refusal]) -> str:
    return "; ".join(reason for refusal in refusals for reason in refusal.verdict.reasons)
