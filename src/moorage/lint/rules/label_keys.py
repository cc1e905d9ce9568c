"""Find matchLabelKeys and mismatchLabelKeys (KEP-3633) that conflict in the pods of a template, or that no pod has.

Kubernetes: merges the keys into the selector when a pod is created and validates afterwards; a template is validated
unmerged, so its mistakes show only in the events of the ReplicaSet. A key the pod has no label for is skipped silently.
"""

from collections.abc import Collection, Iterator
from typing import Any

from moorage.lint.catalogue import ERROR, WARNING, Facts, Rule, Theme, check
from moorage.lint.hints import hint_for
from moorage.lint.rules.decoding import written_path
from moorage.lint.subject import CONTROLLER_LABELS, Complaint, PodPart, Subject
from moorage.match.label_keys import PREFERRED, REQUIRED
from moorage.model.types.pod import PodAffinityTerm
from moorage.model.well_known.labels import CONTROLLER_UID, POD_TEMPLATE_HASH, REVISION_HASH

_INSTEAD = {
    "StatefulSet": REVISION_HASH,
    "DaemonSet": REVISION_HASH,
    "Job": CONTROLLER_UID,
    "CronJob": CONTROLLER_UID,
}


def affinity_terms(pods: PodPart) -> Iterator[tuple[str, PodAffinityTerm]]:
    affinity = pods.spec.affinity
    if affinity is None:
        return
    for name, part in (("podAffinity", affinity.podAffinity), ("podAntiAffinity", affinity.podAntiAffinity)):
        if part is None:
            continue
        path = f"{pods.spec_path}.affinity.{name}"
        for index, term in enumerate(part.requiredDuringSchedulingIgnoredDuringExecution):
            yield f"{path}.{REQUIRED}[{index}]", term
        for index, weighted in enumerate(part.preferredDuringSchedulingIgnoredDuringExecution):
            yield f"{path}.{PREFERRED}[{index}].podAffinityTerm", weighted.podAffinityTerm


def label_keys(pods: PodPart) -> list[tuple[str, str]]:
    """Return all keys of the two lists, each with its path."""
    keys: list[tuple[str, str]] = []
    for path, term in affinity_terms(pods):
        keys += [(f"{path}.matchLabelKeys[{i}]", key) for i, key in enumerate(term.matchLabelKeys)]
        keys += [(f"{path}.mismatchLabelKeys[{i}]", key) for i, key in enumerate(term.mismatchLabelKeys)]
    for index, constraint in enumerate(pods.spec.topologySpreadConstraints):
        path = f"{pods.spec_path}.topologySpreadConstraints[{index}].matchLabelKeys"
        keys += [(f"{path}[{i}]", key) for i, key in enumerate(constraint.matchLabelKeys)]
    return keys


@check(
    Theme.LABEL_KEYS,
    Rule("match-label-key-absent", WARNING, "The pods will not have this label, so the key is silently ignored."),
    Rule("pod-template-hash-absent", WARNING, "Only Deployments give their pods the label pod-template-hash."),
)
def check_absent_keys(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    pods = subject.pods
    if pods is None:
        return
    labels = pods.metadata.labels
    given = CONTROLLER_LABELS[subject.kind]
    for path, key in label_keys(pods):
        if key in labels or key in given:
            continue
        if key == POD_TEMPLATE_HASH and subject.kind not in ("Pod", "Deployment"):
            yield _hash_absent(subject.kind, path)
        else:
            whose = "the pod has" if subject.kind == "Pod" else f"the pods of this {subject.kind} will have"
            yield Complaint(
                "match-label-key-absent",
                path,
                f"{whose} no label {key!r}, so this key is silently ignored",
                f"add the label{_nearest(key, labels)}, or remove the key",
            )


def _hash_absent(kind: str, path: str) -> Complaint:
    instead = _INSTEAD.get(kind)
    return Complaint(
        "pod-template-hash-absent",
        path,
        f"only a Deployment gives its pods the label {POD_TEMPLATE_HASH!r}; the pods of a {kind} do not have it, so "
        "this key is silently ignored",
        f"a {kind} tells its revisions apart by {instead}: write that instead" if instead else "remove the key",
    )


def _nearest(key: str, labels: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, labels, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


@check(
    Theme.API_SERVER,
    Rule("template-pods-rejected", ERROR, "The template is accepted, but every pod made from it will be refused."),
)
def check_hidden_conflicts(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    """Admit a pod made from the template, and report errors that the template itself does not have."""
    pods, gates = subject.pods, facts.gates
    if pods is None or not pods.path or not label_keys(pods) or any("matchLabelKeys" in text for text in refusals):
        return
    from moorage.admit.admission import Rejected, admit

    namespace = subject.view.metadata.namespace or "default"
    result = admit(pod_from_template(subject.document.raw, subject.kind, namespace, pods), None, gates)
    if not isinstance(result, Rejected):
        return
    for error in result.errors:
        text = str(error)
        if f"{pods.path}{text}" not in refusals:
            yield Complaint(
                "template-pods-rejected",
                f"{pods.path}{written_path(error.path)}",
                f"the {subject.kind} is accepted, but its pods will be refused: {text}",
                hint_for(error, gates),
                api_server=True,
            )


def pod_from_template(raw: dict[str, Any], kind: str, namespace: str, pods: PodPart) -> dict[str, Any]:
    """Return the pod that a controller of this kind would create, with the labels it adds."""
    template: Any = raw
    for step in pods.path.rstrip(".").split("."):
        template = template[step]
    metadata = {
        "name": "pod",
        "namespace": namespace,
        "labels": pods.metadata.labels | dict.fromkeys(CONTROLLER_LABELS[kind], "0"),
        "annotations": dict(pods.metadata.annotations),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
