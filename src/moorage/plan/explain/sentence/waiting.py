"""Say in one sentence why a pod waits: what it needs and the best there is, or what else keeps it from a node.

Kubernetes has the FailedScheduling event, which counts nodes by their first reason.
"""

from collections.abc import Sequence

import msgspec

from moorage.match.daemon_pods import pinned_to
from moorage.match.devices.claims import DeviceClaimFacts, class_names
from moorage.match.volumes.claims import ClaimFacts, ClaimState
from moorage.model.gates import GateSet
from moorage.model.types.pod import Pod
from moorage.plan.explain.groups import Refused, refused_nodes
from moorage.plan.explain.remedies.trials import passing
from moorage.plan.explain.sentence.choosing import sentence_about, sentence_about_one
from moorage.plan.explain.sentence.reading import CauseReader
from moorage.plan.explain.sentence.words import capital, cut, listed, small, without_name
from moorage.plan.pod_lines import NO_SCHEDULER, NOT_CREATED, REFUSED, TERMINATING
from moorage.schedule.candidates import Candidates
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.framework.plugin import Verdict
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON
from moorage.schedule.plugins.volumes.volume_binding import UNBOUND_IMMEDIATE

_CLAIMS = {
    ClaimState.MISSING: "does not exist",
    ClaimState.LOST: "is bound to a volume that is gone",
    ClaimState.DELETED: "is being deleted",
    ClaimState.FOREIGN: "belongs to another pod",
}


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, and the whole keys of those that it names shorter."""

    text: str
    keys: dict[str, str] = {}


def why_waiting(candidates: Candidates, gates: GateSet, pod: Pod, reason: str, message: str) -> Sentence:
    """Return why a pod waits; `reason` and `message` are those of its condition."""
    return why_refused(candidates, refused_nodes(candidates), gates, pod, reason, message)


def why_refused(
    candidates: Candidates, refused: Sequence[Refused], gates: GateSet, pod: Pod, reason: str, message: str
) -> Sentence:
    """Return why a pod waits, of which it is known what the nodes say."""
    if reason == UNSCHEDULABLE:
        return _no_node(candidates, refused, gates, message)
    if reason != CONDITION_REASON:
        return Sentence(kept_out_sentence(reason, message, pod.spec.schedulerName))
    names = [cut(gate.name) for gate in pod.spec.schedulingGates]
    held = f"Waits until its scheduling gate{'s' if len(names) > 1 else ''} {listed(names)} {_are(names)} removed"
    nodes, fitting = len(candidates.cluster.nodes), int(passing(candidates).sum())
    if fitting:
        return Sentence(f"{held}; {fitting:,} of {nodes:,} node{'s' if nodes > 1 else ''} would take it")
    then = _no_node(candidates, refused, gates, "")
    return Sentence(f"{held}; even then no node takes it: {small(then.text)}" if then.text else held, then.keys)


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def kept_out_sentence(reason: str, message: str, scheduler: str = "") -> str:
    """Say why the scheduler does not look at a pod."""
    if reason == NO_SCHEDULER:
        return f"Waits for scheduler {cut(scheduler)}, which is not simulated here"
    if reason == TERMINATING:
        return "Is being deleted"
    if reason == NOT_CREATED:
        return f"Does not exist yet: {message}"
    if reason == REFUSED:
        return f"The API server refuses it: {without_name(message)}"
    return capital(message)


def _no_node(candidates: Candidates, refused: Sequence[Refused], gates: GateSet, message: str) -> Sentence:
    nodes = candidates.cluster.nodes
    if not len(nodes):
        return Sentence("There are no nodes")
    pinned = pinned_to(candidates.shape.spec)
    if pinned and pinned not in nodes.slot_of:
        return Sentence(f"Is only for node {cut(pinned)}, which does not exist")
    if candidates.rejection is not None:
        return Sentence(_rejected(candidates, candidates.rejection[1]))
    reader = CauseReader(candidates, gates)
    at_pinned = next((group for group in refused if pinned in group.nodes), None)
    if at_pinned is not None:
        only = msgspec.structs.replace(at_pinned, nodes=(pinned,))
        return _with_keys(sentence_about_one(only, reader), reader)
    if not refused or sum(len(group.nodes) for group in refused) < len(nodes):
        return Sentence(capital(message))  # an error, not the nodes, ended the attempt
    return _with_keys(sentence_about(refused, reader), reader)


def _with_keys(text: str, reader: CauseReader) -> Sentence:
    return Sentence(text, {short: key for short, key in reader.shortened.items() if short in text})


def _missing_classes(claims: Sequence[ClaimFacts]) -> list[str]:
    """Return the storage classes that unbound claims name and that do not exist."""
    waiting = [one.claim for one in claims if one.state is ClaimState.IMMEDIATE and one.storage_class is None]
    return sorted({cut(one.spec.storageClassName) for one in waiting if one is not None and one.spec.storageClassName})


def _of_devices(facts: DeviceClaimFacts) -> str:
    """Say what is wrong with a claim on devices; empty if nothing that is known here."""
    template = facts.entry.resourceClaimTemplateName
    if facts.claim is None:
        if facts.problem and template is not None:
            return f"Its ResourceClaim of template {cut(template)} is not created yet"
        return f"Its ResourceClaim {cut(facts.name)} does not exist" if facts.problem and facts.name else ""
    if facts.problem:
        return f"Its ResourceClaim {cut(facts.name)} cannot be used: {facts.problem}"
    named = zip(class_names(facts.claim.spec), facts.classes, strict=False)
    missing = next((name for name, device_class in named if device_class is None and name), "")
    return f"Needs a device of class {cut(missing)}; there is no such DeviceClass" if missing else ""


def _rejected(candidates: Candidates, verdict: Verdict) -> str:
    """Say why no node is even looked at."""
    for facts in candidates.shape.claims:
        if facts.state in _CLAIMS:
            return f"Its claim {cut(facts.use.name)} {_CLAIMS[facts.state]}"
    if verdict.reasons[:1] == (UNBOUND_IMMEDIATE,):
        names = [cut(one.use.name) for one in candidates.shape.claims if one.state is ClaimState.IMMEDIATE]
        classes = _missing_classes(candidates.shape.claims)
        why = f": there is no StorageClass {listed(classes, 'or')}" if classes else ""
        return f"Its claim{'s' if len(names) > 1 else ''} {listed(names)} {_are(names)} not bound to a volume yet{why}"
    for device_facts in candidates.shape.devices:
        problem = _of_devices(device_facts)
        if problem:
            return problem
    return f"No node is looked at: {', '.join(verdict.reasons)}"
