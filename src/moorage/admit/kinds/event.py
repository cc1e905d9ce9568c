"""Validate Events of both groups, and Leases: what components write many times a second.

Errors about an Event of events.k8s.io are at the core group's paths, upstream's real ones.
Kubernetes: ValidateEventCreate, ValidateEventUpdate (pkg/apis/core/validation/events.go), ValidateLease.
"""

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.rejections import as_manifest
from moorage.admit.metadata import (
    path_segment_errors,
    validate_dns_subdomain,
    validate_label_name,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.prepare import strategies
from moorage.model.field_error import FieldError, FieldErrors, forbidden, invalid, one_of, required
from moorage.model.names import byte_length
from moorage.model.types.core import Event, Lease, LeaseSpec
from moorage.model.types.other_versions import Event as ReportedEvent
from moorage.model.types.other_versions import EventSeries as ReportedSeries

OTHER_NAMESPACE = "does not match event.namespace"
MUST_BE_UNSET = "needs to be unset"
_MAX_WORD_LENGTH, _MAX_NOTE_LENGTH = 128, 1024
_LEASE_STRATEGIES = ("OldestEmulationVersion",)


def validate_event(event: Event, options: ValidationOptions) -> FieldErrors:
    errors = list(_validate_sense(as_reported(event), "reportingComponent"))
    return errors or validate_object_meta(event.metadata, "metadata", name_rule=path_segment_errors)


def validate_event_update(new: Event, old: Event, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_sense(as_reported(new), "reportingComponent")


def as_reported(event: Event) -> ReportedEvent:
    return ReportedEvent(
        metadata=event.metadata,
        eventTime=event.eventTime,
        series=None if event.series is None else ReportedSeries(event.series.count, event.series.lastObservedTime),
        reportingController=event.reportingComponent,
        reportingInstance=event.reportingInstance,
        action=event.action,
        reason=event.reason,
        regarding=event.involvedObject,
        related=event.related,
        note=event.message,
        type=event.type,
        deprecatedSource=event.source,
        deprecatedFirstTimestamp=event.firstTimestamp,
        deprecatedLastTimestamp=event.lastTimestamp,
        deprecatedCount=event.count,
    )


def validate_reported_event(event: ReportedEvent, options: ValidationOptions) -> FieldErrors:
    yield from _validate_sense(event, "reportingController")
    yield from validate_object_meta(event.metadata, "metadata")
    yield from _validate_series(event.series)
    if event.eventTime is None:
        yield required("eventTime")
    if event.type not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.type}")
    old_fields = (
        ("firstTimestamp", event.deprecatedFirstTimestamp),
        ("lastTimestamp", event.deprecatedLastTimestamp),
        ("count", event.deprecatedCount),
        ("source", event.deprecatedSource.component or event.deprecatedSource.host),
    )
    yield from [invalid(path, "", MUST_BE_UNSET) for path, value in old_fields if value]


def validate_reported_event_update(new: ReportedEvent, old: ReportedEvent, options: ValidationOptions) -> FieldErrors:
    yield from _validate_sense(new, "reportingController")
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.series != old.series:
        yield from _validate_series(new.series)
    for path, name in (
        ("involvedObject", "regarding"),
        ("reason", "reason"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ):
        after, before = getattr(new, name), getattr(old, name)
        if after != before:
            yield from validate_immutable(after, before, path, as_manifest(after))


def _validate_series(series: ReportedSeries | None) -> list[FieldError]:
    if series is None:
        return []
    errors = [] if series.count >= 2 else [invalid("series.count", "", "should be at least 2")]
    return errors if series.lastObservedTime is not None else [*errors, required("series.lastObservedTime")]


def _validate_sense(event: ReportedEvent, controller_path: str) -> FieldErrors:
    """Check the rules that are older than the group: an event without eventTime is of the old kind."""
    about, namespace = event.regarding.namespace, event.metadata.namespace
    if event.eventTime is None:
        if namespace not in ((about,) if about else ("", "default")):
            yield invalid("involvedObject.namespace", about, OTHER_NAMESPACE)
    else:
        if not about and namespace not in ("default", "kube-system"):
            yield invalid("involvedObject.namespace", about, OTHER_NAMESPACE)
        yield from _validate_words(event, controller_path)
    yield from validate_dns_subdomain(namespace, "namespace")


def _validate_words(event: ReportedEvent, controller_path: str) -> FieldErrors:
    if not event.reportingController:
        yield required(controller_path)
    yield from validate_label_name(event.reportingController, controller_path)
    for path in ("reportingInstance", "action", "reason"):
        word = getattr(event, path)
        if not word:
            yield required(path)
        if byte_length(word) > _MAX_WORD_LENGTH:
            yield invalid(path, "", f"can have at most {_MAX_WORD_LENGTH} characters")
    if byte_length(event.note) > _MAX_NOTE_LENGTH:
        yield invalid("message", "", f"can have at most {_MAX_NOTE_LENGTH} characters")


def validate_lease(lease: Lease, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(lease.metadata, "metadata", any_finalizer=True)
    yield from _validate_lease_spec(lease.spec)


def validate_lease_update(new: Lease, old: Lease, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from _validate_lease_spec(new.spec)


def _validate_lease_spec(spec: LeaseSpec) -> FieldErrors:
    if spec.leaseDurationSeconds is not None and spec.leaseDurationSeconds <= 0:
        yield invalid("spec.leaseDurationSeconds", spec.leaseDurationSeconds, "must be greater than 0")
    if spec.leaseTransitions is not None and spec.leaseTransitions < 0:
        yield invalid("spec.leaseTransitions", spec.leaseTransitions, "must be greater than or equal to 0")
    yield from one_of(spec.strategy, _LEASE_STRATEGIES, "spec.strategy")
    if spec.preferredHolder and not spec.strategy:
        yield forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


ROWS: Rows = {
    Lease: KindRow(validate_lease, validate_lease_update, prepare=strategies.prepare_lease),
    Event: KindRow(validate_event, validate_event_update),
    ReportedEvent: KindRow(validate_reported_event, validate_reported_event_update),
}
