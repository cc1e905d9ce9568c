"""Say in one sentence why a pod of a simulated cluster waits, as `explain` does, without trying what would help."""

from moorage.model.kinds import KINDS
from moorage.plan.explain.sentence.waiting import kept_out_sentence, why_waiting
from moorage.plan.pod_lines import PodLine
from moorage.plan.report.reasons import without_preemption
from moorage.plan.simulation.simulation import Simulation


def why_it_waits(simulation: Simulation, line: PodLine) -> str:
    """Return the sentence, without its full stop, for a pod that has no node."""
    pod = simulation.world.view(KINDS.POD, line.key)
    scheduler = pod.spec.schedulerName if pod is not None else ""
    if pod is None or not simulation.scheduler.knows(scheduler):
        return kept_out_sentence(line.reason, line.message, scheduler).rstrip(".")
    candidates = simulation.scheduler.engines[scheduler].candidates(simulation.cluster.shape_of(pod, by_name=True))
    why = why_waiting(candidates, simulation.gates, pod, line.reason, line.message)
    return (why.text or without_preemption(line.message)).rstrip(".")
