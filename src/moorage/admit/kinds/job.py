"""Validate Jobs and CronJobs: counts, completion modes, the generated selector, what may change while suspended.

Kubernetes: ValidateJob, ValidateJobSpec, ValidateJobSpecUpdate, ValidateCronJobCreate, ValidateCronJobUpdate
(pkg/apis/batch/validation).
"""

from pathlib import Path

import msgspec

from moorage.admit.kinds.fields import (
    compile_selector,
    options_for_selector,
    validate_immutable,
    validate_not_negative,
    validate_selected,
)
from moorage.admit.kinds.job_policies import (
    validate_failure_policy,
    validate_replacement_policy,
    validate_success_policy,
)
from moorage.admit.kinds.row import Rows, selector_options, validate_only_metadata, workload
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.pod import validate_pod_template
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.ratcheting import options_for_template_update
from moorage.admit.subresources import statuses
from moorage.model import field_error as field
from moorage.model.cron_schedule import schedule_error
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import byte_length, dns1123_label_errors, dns1123_subdomain_errors
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short
from moorage.model.types.container import Container
from moorage.model.types.pod import Affinity, PodSpec, PodTemplateSpec
from moorage.model.types.workload import CronJob, CronJobSpec, Job, JobSpec
from moorage.model.well_known.labels import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME

_PARALLELISM_LIMIT = _FAILED_INDEXES_LIMIT = _MANY_COMPLETIONS = 100_000
_LIMIT_WITH_MANY_COMPLETIONS = 10_000
_MANAGED_BY_LIMIT = 63
_MODES = ("NonIndexed", "Indexed")


def validate_job(job: Job, options: ValidationOptions, *, prefixed_labels: bool = True) -> FieldErrors:
    yield from validate_object_meta(job.metadata, "metadata")
    yield from _validate_generated_selector(job, prefixed_labels=prefixed_labels)
    yield from _validate_spec_and_selector(job.spec, options)
    completions = job.spec.completions
    if job.spec.completionMode == "Indexed" and completions is not None and completions > 0:
        last = f"{job.metadata.name}-{completions - 1}"
        if dns1123_label_errors(last):
            detail = f"will not able to create pod with invalid DNS label: {last}"
            yield field.invalid("metadata.name", job.metadata.name, detail)


def validate_job_update(new: Job, old: Job, options: ValidationOptions) -> FieldErrors:
    """Validate the job as a new one first, so that most errors appear twice, as upstream."""
    labels = old.spec.template.metadata.labels
    yield from validate_job(new, options, prefixed_labels=JOB_NAME in labels and CONTROLLER_UID in labels)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec_and_selector(new.spec, options)
    yield from _validate_completions_kept(new.spec, old.spec)
    shown = internal_form(new.spec.selector)
    yield from validate_immutable(new.spec.selector, old.spec.selector, "spec.selector", shown)
    yield from _validate_template_kept(new, old)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        after, before = getattr(new.spec, name), getattr(old.spec, name)
        yield from validate_immutable(after, before, f"spec.{name}", internal_form(after))


def validate_job_spec(spec: JobSpec, path: str, options: ValidationOptions) -> FieldErrors:
    """Check everything but the selector, which a job inside a CronJob does not have."""
    counts = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    for name in (*counts, "backoffLimitPerIndex", "maxFailedIndexes"):
        yield from validate_not_negative(getattr(spec, name), f"{path}.{name}")
    if spec.maxFailedIndexes is not None and spec.backoffLimitPerIndex is None:
        yield field.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.managedBy is not None:
        yield from _validate_managed_by(spec.managedBy, f"{path}.managedBy")
    yield from _validate_completion_mode(spec, path)
    if spec.podFailurePolicy is not None:
        yield from validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.successPolicy is not None:
        yield from validate_success_policy(spec, f"{path}.successPolicy")
    yield from validate_replacement_policy(spec, f"{path}.podReplacementPolicy")
    yield from validate_pod_template(spec.template, f"{path}.template", options)
    yield from _validate_restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _validate_managed_by(manager: str, path: str) -> FieldErrors:
    domain, slash, rest = manager.partition("/")
    if not manager:
        yield field.required(path)
    elif not slash or not domain or not rest:
        yield field.invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from [field.invalid(path, domain, message) for message in dns1123_subdomain_errors(domain)]
    if byte_length(manager) > _MANAGED_BY_LIMIT:
        yield field.too_long(path, _MANAGED_BY_LIMIT)


def _validate_completion_mode(spec: JobSpec, path: str) -> FieldErrors:
    mode = spec.completionMode
    if mode is not None and mode not in _MODES:
        return [field.not_supported(f"{path}.completionMode", AsJSON(mode), _MODES)]
    if mode == "Indexed":
        return _validate_indexed(spec, path)
    return [
        field.invalid(f"{path}.{name}", getattr(spec, name), "requires indexed completion mode")
        for name in ("backoffLimitPerIndex", "maxFailedIndexes")
        if getattr(spec, name) is not None
    ]


def _validate_indexed(spec: JobSpec, path: str) -> FieldErrors:
    completions, parallelism, failed = spec.completions, spec.parallelism or 0, spec.maxFailedIndexes
    if completions is None:
        yield field.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _PARALLELISM_LIMIT:
        detail = f"must be less than or equal to {_PARALLELISM_LIMIT} when completion mode is Indexed"
        yield field.invalid(f"{path}.parallelism", parallelism, detail)
    if failed is not None:
        if completions is not None and failed > completions:
            yield field.invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
        if failed > _FAILED_INDEXES_LIMIT:
            detail = f"must be less than or equal to {_FAILED_INDEXES_LIMIT}"
            yield field.invalid(f"{path}.maxFailedIndexes", failed, detail)
    if completions is not None and completions > _MANY_COMPLETIONS and spec.backoffLimitPerIndex is not None:
        detail = (
            f"must be less than or equal to {_LIMIT_WITH_MANY_COMPLETIONS} when completions are above "
            f"{_MANY_COMPLETIONS} and used with backoff limit per index"
        )
        if failed is None:
            missing = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            yield field.required(f"{path}.maxFailedIndexes", missing)
        if parallelism > _LIMIT_WITH_MANY_COMPLETIONS:
            yield field.invalid(f"{path}.parallelism", parallelism, detail)
        if failed is not None and failed > _LIMIT_WITH_MANY_COMPLETIONS:
            yield field.invalid(f"{path}.maxFailedIndexes", failed, detail)


def _validate_restart_policy(spec: JobSpec, path: str) -> list[FieldError]:
    policy = spec.template.spec.restartPolicy
    if policy in ("", "Always"):
        return [field.required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [field.not_supported(path, AsJSON(policy), ("OnFailure", "Never"))]
    if spec.podFailurePolicy is not None and policy != "Never":
        return [field.invalid(path, AsJSON(policy), 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _validate_generated_selector(job: Job, *, prefixed_labels: bool) -> FieldErrors:
    """Check that the selector is the one made from the job's UID, unless the job brings its own."""
    if job.spec.manualSelector or job.spec.selector is None:
        return
    if not job.metadata.uid:
        yield field.required("metadata.uid")
    names = {LEGACY_CONTROLLER_UID: job.metadata.uid, LEGACY_JOB_NAME: job.metadata.name}
    if prefixed_labels:
        names |= {CONTROLLER_UID: job.metadata.uid, JOB_NAME: job.metadata.name}
    labels = job.spec.template.metadata.labels
    for key, expected in names.items():
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield field.required(path, f"must be '{expected}'")
        elif labels[key] != expected:
            yield field.invalid(path, AsJSON(labels), f"must be '{expected}'")
    selector = compile_selector(job.spec.selector)
    if selector is not None and not selector.match(names):
        yield field.invalid("spec.selector", AsJSON(internal_form(job.spec.selector)), "`selector` not auto-generated")


def _validate_spec_and_selector(spec: JobSpec, options: ValidationOptions) -> FieldErrors:
    yield from validate_job_spec(spec, "spec", options)
    if spec.selector is None:
        yield field.required("spec.selector")
    yield from validate_label_selector(spec.selector, "spec.selector", options_for_selector(options))
    selector = compile_selector(spec.selector)
    if selector is not None:
        yield from validate_selected(selector, spec.template, "spec.template")


def _validate_completions_kept(new: JobSpec, old: JobSpec) -> list[FieldError]:
    """Let an indexed job grow and shrink, with as many pods at a time as it has indexes."""
    if new.completionMode != "Indexed":
        return validate_immutable(new.completions, old.completions, "spec.completions")
    if new.completions in (None, old.completions) or new.completions == new.parallelism:
        return []
    return [field.invalid("spec.completions", new.completions, "can only be modified in tandem with spec.parallelism")]


def _validate_template_kept(new: Job, old: Job) -> list[FieldError]:
    """Let a suspended job without pods be steered elsewhere and given other resources."""
    template, before = new.spec.template, old.spec.template
    if not _may_have_another_template(old):
        return [] if template == before else [_template_changed(template, "spec.template")]
    before = _with_scheduling_of(template, before)
    before = msgspec.structs.replace(
        before,
        spec=msgspec.structs.replace(
            before.spec,
            containers=_with_resources_of(template.spec.containers, before.spec.containers),
            initContainers=_with_resources_of(template.spec.initContainers, before.spec.initContainers),
        ),
    )
    return [] if template.spec == before.spec else [_template_changed(template.spec, "spec.template.spec")]


def _may_have_another_template(old: Job) -> bool:
    rests = old.status.startTime is None or any(
        condition.type == "Suspended" and condition.status == "True" for condition in old.status.conditions
    )
    return bool(old.spec.suspend) and rests and not old.status.active


def _template_changed(new: PodTemplateSpec | PodSpec, path: str) -> FieldError:
    return field.invalid(path, AsJSON(internal_form(new)), FIELD_IS_IMMUTABLE)


def _with_scheduling_of(new: PodTemplateSpec, old: PodTemplateSpec) -> PodTemplateSpec:
    before, after = old.spec.affinity or Affinity(), new.spec.affinity
    affinity = msgspec.structs.replace(before, nodeAffinity=after.nodeAffinity if after is not None else None)
    spec = msgspec.structs.replace(
        old.spec,
        affinity=None if after is None and affinity == Affinity() else affinity,
        nodeSelector=new.spec.nodeSelector,
        tolerations=new.spec.tolerations,
        schedulingGates=new.spec.schedulingGates,
    )
    meta = msgspec.structs.replace(old.metadata, labels=new.metadata.labels, annotations=new.metadata.annotations)
    return msgspec.structs.replace(old, metadata=meta, spec=spec)


def _with_resources_of(new: tuple[Container, ...], old: tuple[Container, ...]) -> tuple[Container, ...]:
    if len(new) != len(old):
        return old
    return tuple(
        msgspec.structs.replace(before, resources=after.resources) if before.name == after.name else before
        for after, before in zip(new, old, strict=True)
    )


_MAX_NAME_LENGTH = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_is_zone_part = whole(r"[A-Za-z._0-9+-]{1,14}")


def validate_cron_job(cron_job: CronJob, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(cron_job.metadata, "metadata")
    yield from _validate_spec(cron_job.spec, None, options)
    if byte_length(cron_job.metadata.name) > _MAX_NAME_LENGTH:
        # The jobs' names are the CronJob's name and eleven characters.
        yield field.invalid("metadata.name", cron_job.metadata.name, "must be no more than 52 characters")


def validate_cron_job_update(new: CronJob, old: CronJob, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec, old.spec, options)


def _validate_spec(spec: CronJobSpec, old: CronJobSpec | None, options: ValidationOptions) -> FieldErrors:
    yield from _validate_schedule(spec, old)
    yield from validate_not_negative(spec.startingDeadlineSeconds, "spec.startingDeadlineSeconds")
    if spec.timeZone is not None and (old is None or old.timeZone != spec.timeZone):
        yield from _validate_time_zone(spec.timeZone, "spec.timeZone")
    yield from field.required_one_of(spec.concurrencyPolicy, _POLICIES, "spec.concurrencyPolicy")
    job = spec.jobTemplate.spec
    yield from validate_job_spec(job, "spec.jobTemplate.spec", options)
    if job.selector is not None:
        shown = AsJSON(internal_form(job.selector))
        yield field.invalid("spec.jobTemplate.spec.selector", shown, "`selector` will be auto-generated")
    if job.manualSelector:
        yield field.not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    yield from validate_not_negative(spec.successfulJobsHistoryLimit, "spec.successfulJobsHistoryLimit")
    yield from validate_not_negative(spec.failedJobsHistoryLimit, "spec.failedJobsHistoryLimit")


def _validate_schedule(spec: CronJobSpec, old: CronJobSpec | None) -> list[FieldError]:
    schedule, path = spec.schedule, "spec.schedule"
    if not schedule:
        return [field.required(path)]
    message = schedule_error(schedule)
    errors = [] if message is None else [field.invalid(path, schedule, message)]
    if "TZ" in schedule:
        zone_was_there = old is not None and "TZ" in old.schedule
        if not zone_was_there:
            detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(field.invalid(path, schedule, detail))
        elif spec.timeZone is not None:
            errors.append(field.invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


@reads_text("a", "/", "-", ".", "Europe", arguments=("",))
def _validate_time_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [field.invalid(path, AsJSON(zone), "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            return [field.invalid(path, AsJSON(zone), f"unknown time zone {zone}")]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(field.invalid(path, AsJSON(zone), detail))
        if zone == "Local":  # the one spelling that Go knows
            return errors
    return errors if _is_known_zone(zone) else [*errors, field.invalid(path, AsJSON(zone), f"unknown time zone {zone}")]


@remember_short(256)
def _is_known_zone(zone: str) -> bool:
    """Check a time zone; without a time zone database on this machine, every well-formed name passes."""
    from zoneinfo import TZPATH, ZoneInfo

    try:
        ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        return zone == "UTC" or not any(Path(directory).is_dir() for directory in TZPATH)
    return True


def _cron_job_options(gates: GateSet, old: CronJob | None) -> ValidationOptions:
    return options_for_template_update(gates, None if old is None else old.spec.jobTemplate.spec.template)


ROWS: Rows = {
    Job: workload(
        validate_job,
        validate_job_update,
        defaults.default_job,
        statuses.validate_job_status,
        strategies.prepare_job,
        selector_options,
    ),
    CronJob: workload(
        validate_cron_job,
        validate_cron_job_update,
        defaults.default_cron_job,
        validate_only_metadata,
        strategies.prepare_cron_job,
        _cron_job_options,
    ),
}
