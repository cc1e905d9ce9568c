"""CronJobs.

In: views and the options of the pod template inside the job template. Out: field errors. Kubernetes:
ValidateCronJobCreate, ValidateCronJobUpdate (pkg/apis/batch/validation).
"""

import re
from functools import lru_cache
from pathlib import Path

from moorage.admit.kinds.fields import shown_label_selector, validate_not_negative
from moorage.admit.kinds.job import validate_job_spec
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.model.cron_schedule import schedule_error
from moorage.model.field_error import AsJSON, FieldError, invalid, not_supported, required
from moorage.model.names import byte_length
from moorage.model.types.workload import CronJob, CronJobSpec

_MAX_NAME_LENGTH = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_is_zone_part = re.compile(r"[A-Za-z._0-9+-]{1,14}\Z").match


def validate_cron_job(cron_job: CronJob, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(cron_job.metadata, "metadata")
    errors += _validate_spec(cron_job.spec, None, options)
    if byte_length(cron_job.metadata.name) > _MAX_NAME_LENGTH:
        # The jobs' names are the CronJob's name and eleven characters.
        errors.append(invalid("metadata.name", cron_job.metadata.name, "must be no more than 52 characters"))
    return errors


def validate_cron_job_update(new: CronJob, old: CronJob, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    return errors + _validate_spec(new.spec, old.spec, options)


def _validate_spec(spec: CronJobSpec, old: CronJobSpec | None, options: ValidationOptions) -> list[FieldError]:
    errors = _validate_schedule(spec, old)
    errors += validate_not_negative(spec.startingDeadlineSeconds, "spec.startingDeadlineSeconds")
    if spec.timeZone is not None and (old is None or old.timeZone != spec.timeZone):
        errors += _validate_time_zone(spec.timeZone, "spec.timeZone")
    if not spec.concurrencyPolicy:
        errors.append(required("spec.concurrencyPolicy"))
    elif spec.concurrencyPolicy not in _POLICIES:
        errors.append(not_supported("spec.concurrencyPolicy", AsJSON(spec.concurrencyPolicy), _POLICIES))
    job = spec.jobTemplate.spec
    errors += validate_job_spec(job, "spec.jobTemplate.spec", options)
    if job.selector is not None:
        shown = AsJSON(shown_label_selector(job.selector))
        errors.append(invalid("spec.jobTemplate.spec.selector", shown, "`selector` will be auto-generated"))
    if job.manualSelector:
        errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
    errors += validate_not_negative(spec.successfulJobsHistoryLimit, "spec.successfulJobsHistoryLimit")
    return errors + validate_not_negative(spec.failedJobsHistoryLimit, "spec.failedJobsHistoryLimit")


def _validate_schedule(spec: CronJobSpec, old: CronJobSpec | None) -> list[FieldError]:
    schedule, path = spec.schedule, "spec.schedule"
    if not schedule:
        return [required(path)]
    message = schedule_error(schedule)
    errors = [] if message is None else [invalid(path, schedule, message)]
    if "TZ" in schedule:
        zone_was_there = old is not None and "TZ" in old.schedule
        if not zone_was_there:
            detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid(path, schedule, detail))
        elif spec.timeZone is not None:
            errors.append(invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


def _validate_time_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [invalid(path, AsJSON(zone), "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            return [invalid(path, AsJSON(zone), f"unknown time zone {zone}")]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, AsJSON(zone), detail))
        if zone == "Local":  # the one spelling that Go knows
            return errors
    return errors if _is_known_zone(zone) else [*errors, invalid(path, AsJSON(zone), f"unknown time zone {zone}")]


@lru_cache(maxsize=256)
def _is_known_zone(zone: str) -> bool:
    """Where this machine has no time zone database, every well-formed name passes."""
    from zoneinfo import TZPATH, ZoneInfo

    try:
        ZoneInfo(zone)
    except (LookupError, ValueError, OSError):
        return zone == "UTC" or not any(Path(directory).is_dir() for directory in TZPATH)
    return True
