"""Change objects other than pods before they are validated: status, generation, gated fields, a Job's selector.

Each function changes a raw object with its defaults in place; `old` is None on creation. Kubernetes: PrepareForCreate
and PrepareForUpdate of the strategies in pkg/registry. Differs: CrossNamespaceVolumeDataSource, an alpha gate, is off.
"""

from collections.abc import Callable

from moorage.admit.prepare.kind_defaults import TEMPLATE_GENERATION
from moorage.admit.prepare.mutate import drop_disabled_fields
from moorage.admit.prepare.service_addresses import drop_what_the_type_has_not, keep_allocated
from moorage.admit.raw import Raw, copy_document, items, part
from moorage.model.gates import NODE_DECLARED_FEATURES, GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.well_known.labels import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME

NAMESPACE_FINALIZER = "kubernetes"
#: What a status says from the beginning, also where it is zero: the fields that clients may rely on.
_COUNTS = {
    "ReplicaSet": ("replicas",),
    "ReplicationController": ("replicas",),
    "StatefulSet": ("replicas", "availableReplicas"),
    "DaemonSet": ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    "PodDisruptionBudget": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
}

#: What Go writes of a status in which nothing is set, for kinds that are stored only.
_FIRST_STATUS: dict[str, Raw] = {
    "FlowSchema": {},
    "HorizontalPodAutoscaler": {"desiredReplicas": 0, "currentMetrics": None},
    "Ingress": {"loadBalancer": {}},
    "PriorityLevelConfiguration": {},
    "ServiceCIDR": {},
    "ValidatingAdmissionPolicy": {},
}


def prepare_nothing(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Change nothing."""


def prepare_counted(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin the generation at 1, and the status empty if the kind has one."""
    if old is None:
        part(new, "metadata")["generation"] = 1
    prepare_first_status(new, old, gates)


def prepare_first_status(new: Raw, old: Raw | None, gates: GateSet) -> None:
    first = _FIRST_STATUS.get(new["kind"])
    if first is not None:
        _write_status(new, old, copy_document(first))


def prepare_workload(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Prepare a kind with a pod template at spec.template; generation begins at 1."""
    _begin_status(new, old)
    drop_disabled_fields(_template_spec(new), None if old is None else _template_spec(old), gates)


def prepare_replication_controller(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if part(new, "spec").get("template") is None:
        _begin_status(new, old)
    else:
        prepare_workload(new, old, gates)


def prepare_pod_template(new: Raw, old: Raw | None, gates: GateSet) -> None:
    prepare_counted(new, old, gates)
    old_spec = None if old is None else part(part(old, "template"), "spec")
    drop_disabled_fields(part(part(new, "template"), "spec"), old_spec, gates)


def prepare_daemon_set(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Count the changes of the template in an annotation that clients cannot change."""
    prepare_workload(new, old, gates)
    metadata = part(new, "metadata")
    given = _template_generation(new if old is None else old)
    if old is None or _template_generation(old) < 1:
        generation = max(given, 1)
    else:
        generation = given + _is_other_template(new["spec"].get("template") or {}, old["spec"].get("template") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}


def _is_other_template(new: Raw, old: Raw) -> bool:
    """Return whether the templates differ in more than how they are written, such as with nulls."""
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
    # From here on a job's labels are its own, also if they are the template's. Kubernetes gives a job without labels
    # those that the template has now when it reads what was stored, because reading fills in defaults.
    metadata = part(new, "metadata")
    labels = metadata.get("labels") or (part(new["spec"], "template").get("metadata") or {}).get("labels")
    if labels is not None:
        metadata["labels"] = dict(labels)


def _generate_selector(job: Raw) -> None:
    """Label the pods with the job's name and UID, and select them by the UID."""
    metadata, spec = part(job, "metadata"), job["spec"]
    name, uid = metadata.get("name") or "", metadata.get("uid") or ""
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for key, value in ((LEGACY_JOB_NAME, name), (JOB_NAME, name), (LEGACY_CONTROLLER_UID, uid), (CONTROLLER_UID, uid)):
        labels.setdefault(key, value)
    part(part(spec, "selector"), "matchLabels").setdefault(CONTROLLER_UID, uid)


def prepare_cron_job(new: Raw, old: Raw | None, gates: GateSet) -> None:
    _begin_status(new, old)
    old_job = None if old is None else part(part(part(old, "spec"), "jobTemplate"), "spec")
    job = part(part(new["spec"], "jobTemplate"), "spec")
    drop_disabled_fields(
        part(part(job, "template"), "spec"), None if old_job is None else part(part(old_job, "template"), "spec"), gates
    )


_PHASE_TIME = "lastPhaseTransitionTime"


def prepare_volume(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin a volume or claim as Pending, whatever status the document has."""
    _write_status(new, old, {"phase": "Pending"})


def stamp_persistent_volume(new: Raw, old: Raw | None, timestamp: str) -> None:
    """Note since when a new volume is Pending."""
    if old is None:
        new["status"] = {_PHASE_TIME: timestamp}


def prepare_persistent_volume(new: Raw, old: Raw | None, gates: GateSet) -> None:
    since = (new.get("status") or {}).get(_PHASE_TIME)
    _write_status(new, old, {"phase": "Pending", **({_PHASE_TIME: since} if since else {})})


def prepare_namespace(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin a namespace as Active, with the finalizer `kubernetes`."""
    spec = part(new, "spec")
    _write_status(new, old, {"phase": "Active"})
    if old is None:
        finalizers = spec.get("finalizers") or []
        if NAMESPACE_FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, NAMESPACE_FINALIZER]
    else:
        spec["finalizers"] = (old.get("spec") or {}).get("finalizers") or []


def prepare_disruption_budget(new: Raw, old: Raw | None, gates: GateSet) -> None:
    _begin_status(new, old)


def prepare_node(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Drop configSource, gone since 1.24, unless the old node has it. Nodes come with their status."""
    spec = part(new, "spec")
    if old is None:
        spec.pop("configSource", None)
        (new.get("status") or {}).pop("config", None)
        prepare_node_status(new, {}, gates)
        return
    _write_status(new, old, {})
    if (old.get("spec") or {}).get("configSource") is None:
        spec.pop("configSource", None)


def prepare_node_status(new: Raw, old: Raw, gates: GateSet) -> None:
    """Drop declared features where their gate is off, unless the old node has some."""
    declares = (old.get("status") or {}).get("declaredFeatures")
    if not gates.enabled(NODE_DECLARED_FEATURES) and not declares:
        (new.get("status") or {}).pop("declaredFeatures", None)


def _begin_status(new: Raw, old: Raw | None) -> None:
    if old is None:
        part(new, "metadata")["generation"] = 1
    _write_status(new, old, dict.fromkeys(_COUNTS.get(new["kind"], ()), 0))


def _write_status(new: Raw, old: Raw | None, first: Raw) -> None:
    """Give a new object its first status; keep the status of one that is updated."""
    status = first if old is None else old.get("status")
    if status is None:
        new.pop("status", None)
    else:
        new["status"] = status


def _template_spec(workload: Raw) -> Raw:
    return part(part(part(workload, "spec"), "template"), "spec")


def prepare_secret(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Keep the type in an update without one."""
    if old is not None and not new.get("type"):
        new["type"] = old.get("type")


def prepare_service(new: Raw, old: Raw | None, gates: GateSet) -> None:
    keep_allocated(new, old)
    _write_status(new, old, {"loadBalancer": {}})
    if old is not None:
        drop_what_the_type_has_not(new, old)


def prepare_service_account(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Keep only the names of the secrets."""
    if new.get("secrets"):
        new["secrets"] = [{"name": secret.get("name") or ""} for secret in items(new, "secrets")]


def _drop_from_spec(*names: str) -> Callable[[Raw, Raw | None, GateSet], None]:
    """Return the preparation of a kind whose spec has fields of a gate that is off by default."""

    def prepare(new: Raw, old: Raw | None, gates: GateSet) -> None:
        spec, before = part(new, "spec"), (old or {}).get("spec") or {}
        for name in names:
            if before.get(name) is None:
                spec.pop(name, None)

    return prepare


prepare_lease = _drop_from_spec("strategy", "preferredHolder")  # CoordinatedLeaderElection
prepare_csi_driver = _drop_from_spec("preventPodSchedulingIfMissing")  # VolumeLimitScaling


def prepare_volume_attachment(new: Raw, old: Raw | None, gates: GateSet) -> None:
    _write_status(new, old, {"attached": False})


_DATA_SOURCE_FIELDS = ("apiGroup", "kind", "name")
#: (group, kind) that `dataSource` may name; others were always ignored there.
_LEGACY_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def prepare_claim(new: Raw, old: Raw | None, gates: GateSet) -> None:
    prepare_volume(new, old, gates)
    spec, old_spec = part(new, "spec"), {} if old is None else part(old, "spec")
    reference = spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and old_spec.get("dataSourceRef") is None:
        reference = spec["dataSourceRef"] = None
    had_source = old_spec.get("dataSource") is not None or old_spec.get("dataSourceRef") is not None
    if reference is None and not had_source and not _is_legacy_source(spec.get("dataSource")):
        spec.pop("dataSource", None)
    _fill_both_data_sources(spec)
    _fill_both_data_sources(old_spec)


def _is_legacy_source(source: Raw | None) -> bool:
    return source is not None and (source.get("apiGroup") or "", source.get("kind")) in _LEGACY_SOURCES


def _fill_both_data_sources(spec: Raw) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = _named_source(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = _named_source(reference)


def _named_source(source: Raw) -> Raw:
    return {name: source[name] for name in _DATA_SOURCE_FIELDS if source.get(name) is not None}
