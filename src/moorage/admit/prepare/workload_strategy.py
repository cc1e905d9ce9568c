"""What the API server changes in kinds other than pods before it validates.

In: a raw object with its defaults, the old one on update, the gates. Out: the same object, changed in place: status
and generation as they begin or as they were, fields of disabled gates dropped from templates, a Job's selector made.
Kubernetes: PrepareForCreate and PrepareForUpdate of the strategies in pkg/registry.
"""

from moorage.admit.kinds.job import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from moorage.admit.prepare.mutate import drop_disabled_fields
from moorage.admit.raw import Raw, part
from moorage.model.gates import GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodTemplateSpec

NAMESPACE_FINALIZER = "kubernetes"
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
#: What a status says from the beginning, also where it is zero: the fields that clients may rely on.
_COUNTS = {
    "ReplicaSet": ("replicas",),
    "StatefulSet": ("replicas", "availableReplicas"),
    "DaemonSet": ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    "PodDisruptionBudget": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
}


def prepare_nothing(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """For kinds that are stored as they are."""


def prepare_workload(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """A kind with a pod template at spec.template; creating one is its first generation."""
    _begin(new, old)
    drop_disabled_fields(_template_spec(new), None if old is None else _template_spec(old), gates)


def prepare_daemon_set(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Each change of the template is counted in an annotation, which clients have no say in once it is there."""
    prepare_workload(new, old, gates)
    metadata = part(new, "metadata")
    given = _template_generation(new if old is None else old)
    if old is None or _template_generation(old) < 1:
        generation = max(given, 1)
    else:
        generation = given + _is_other_template(new["spec"].get("template") or {}, old["spec"].get("template") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


def _is_other_template(new: Raw, old: Raw) -> bool:
    """Not if it is only written in another way, such as with nulls."""
    return new != old and convert_view(new, PodTemplateSpec) != convert_view(old, PodTemplateSpec)


def _template_generation(daemon_set: Raw) -> int:
    text = str(((daemon_set.get("metadata") or {}).get("annotations") or {}).get(TEMPLATE_GENERATION, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def prepare_stateful_set(new: Raw, old: Raw | None, gates: GateSet) -> None:
    prepare_workload(new, old, gates)
    if old is None or _max_unavailable(old) is None:
        # MaxUnavailableStatefulSet is off by default.
        rolling = (new["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        rolling.pop("maxUnavailable", None)


def _max_unavailable(stateful_set: Raw) -> object:
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    return (strategy.get("rollingUpdate") or {}).get("maxUnavailable")


def prepare_job(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None and not new["spec"].get("manualSelector"):
        _generate_selector(new)
    prepare_workload(new, old, gates)
    # From here on a job's labels are its own, also if defaulting took them from the template.
    metadata = part(new, "metadata")
    if metadata.get("labels") is not None:
        metadata["labels"] = dict(metadata["labels"])


def _generate_selector(job: Raw) -> None:
    """Label the pods with the job's name and UID, and select them by the UID."""
    metadata, spec = part(job, "metadata"), job["spec"]
    name, uid = metadata.get("name") or "", metadata.get("uid") or ""
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for key, value in ((LEGACY_JOB_NAME, name), (JOB_NAME, name), (LEGACY_CONTROLLER_UID, uid), (CONTROLLER_UID, uid)):
        labels.setdefault(key, value)
    part(part(spec, "selector"), "matchLabels").setdefault(CONTROLLER_UID, uid)


def prepare_cron_job(new: Raw, old: Raw | None, gates: GateSet) -> None:
    _begin(new, old)
    old_job = None if old is None else part(part(part(old, "spec"), "jobTemplate"), "spec")
    job = part(part(new["spec"], "jobTemplate"), "spec")
    drop_disabled_fields(
        part(part(job, "template"), "spec"), None if old_job is None else part(part(old_job, "template"), "spec"), gates
    )


def prepare_volume(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """A volume or claim begins as pending, whatever the document says of one that was bound elsewhere."""
    if old is None:
        new["status"] = {"phase": "Pending"}
    else:
        keep_status(new, old)


def prepare_namespace(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """A namespace begins as active, and with the finalizer that empties it before it goes."""
    spec = part(new, "spec")
    if old is None:
        new["status"] = {"phase": "Active"}
        finalizers = spec.get("finalizers") or []
        if NAMESPACE_FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, NAMESPACE_FINALIZER]
    else:
        keep_status(new, old)
        spec["finalizers"] = (old.get("spec") or {}).get("finalizers") or []


def prepare_disruption_budget(new: Raw, old: Raw | None, gates: GateSet) -> None:
    _begin(new, old)


def prepare_node(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Nodes come with their status. Configuration by ConfigMap is gone since 1.24, but is kept where it is."""
    spec = part(new, "spec")
    if old is None:
        spec.pop("configSource", None)
        (new.get("status") or {}).pop("config", None)
        return
    keep_status(new, old)
    if (old.get("spec") or {}).get("configSource") is None:
        spec.pop("configSource", None)


def _begin(new: Raw, old: Raw | None) -> None:
    if old is None:
        part(new, "metadata")["generation"] = 1
        new["status"] = dict.fromkeys(_COUNTS.get(new["kind"], ()), 0)
    else:
        keep_status(new, old)


def keep_status(new: Raw, old: Raw) -> None:
    if old.get("status") is None:
        new.pop("status", None)
    else:
        new["status"] = old["status"]


def _template_spec(workload: Raw) -> Raw:
    return part(part(part(workload, "spec"), "template"), "spec")
