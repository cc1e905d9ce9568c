"""Delete objects at once, after a grace period, or when the last finalizer is gone.

What was handed in is not changed. Kubernetes: rest.BeforeDelete and validation, podStrategy.CheckGracefulDelete, the
generic registry's Delete with its finalizers, the namespace's own. Differs: where upstream stores an object once more
only to remove it in the same request, it is removed right away.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec

from moorage.admit.messages.rejections import invalid_status, read_request
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, conflict
from moorage.model.field_error import AsJSON, FieldErrors, invalid, not_supported
from moorage.model.go.integers import INT64_MAX
from moorage.model.go.times import time_text
from moorage.model.kinds import DELETE_OPTIONS, KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.model.types.request import DeleteOptions, Preconditions

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
_MAX_GRACE_LENGTH = 100 * 366 * 86_400  # for arithmetic only: no object waits for so long
_LAST_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


class Deletion(msgspec.Struct, frozen=True):
    """The result of a deletion. `changed`: the object must be stored, unless it is removed."""

    object: Raw
    removes: bool
    changed: bool


def read_delete_options(document: Raw) -> DeleteOptions:
    """Return the body of a DELETE. Raises ApiError."""
    options: DeleteOptions = read_request(DELETE_OPTIONS, document)
    if errors := list(validate_delete_options(options)):
        raise ApiError(invalid_status(DELETE_OPTIONS, "", errors))
    return options


def validate_delete_options(options: DeleteOptions) -> FieldErrors:
    policy = options.propagationPolicy
    if options.orphanDependents is not None and policy is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        yield invalid("propagationPolicy", AsJSON(policy), detail)
    if policy is not None and policy not in _POLICIES[:3]:
        yield not_supported("propagationPolicy", AsJSON(policy), _POLICIES)
    if any(value != "All" for value in options.dryRun):
        yield not_supported("dryRun", AsJSON(list(options.dryRun)), ("All",))
    if options.ignoreStoreReadErrorWithClusterBreakingPotential:
        detail = "is not supported: this server has no other way to delete than to read first"
        yield invalid("ignoreStoreReadErrorWithClusterBreakingPotential", True, detail)


def decide_deletion(
    kind: Kind,
    stored: Raw,
    options: DeleteOptions,
    now: datetime,
    resource_version: str = "",
    *,
    collects_garbage: bool = True,
) -> Deletion:
    """Decide whether the object is removed, marked or kept. Without a collector its finalizers are not added."""
    check_preconditions(kind, stored, options.preconditions, resource_version)
    metadata = stored["metadata"]
    if kind is KINDS.NAMESPACE:
        if not metadata.get("deletionTimestamp"):
            return _begin_to_terminate(kind, stored, options, now, collects_garbage)
        if (stored.get("spec") or {}).get("finalizers"):
            return Deletion(stored, removes=False, changed=False)
    wanted = options.gracePeriodSeconds
    if wanted is not None and wanted < 0:
        wanted = 1
    changes: Raw | None = {}
    if kind is KINDS.POD:
        changes = _grace(stored, wanted, now)
        if changes is None:
            return Deletion(stored, removes=False, changed=False)
    finalizers = _finalizers(kind, metadata.get("finalizers") or [], options, collects_garbage)
    if finalizers and not changes:
        changes = _marked(metadata, now)
    kept = {**metadata, **(changes or {})}
    if finalizers:
        kept["finalizers"] = finalizers
    else:
        kept.pop("finalizers", None)
    removes = not finalizers and not kept.get("deletionGracePeriodSeconds")
    return Deletion({**stored, "metadata": kept}, removes, kept != metadata)


def is_finalized(kind: Kind, new: Raw, old: Raw) -> bool:
    """Return whether an update took away the last thing that kept a deleted object."""
    metadata, before = new["metadata"], old["metadata"]
    if metadata.get("finalizers") or not before.get("deletionTimestamp"):
        return False
    if kind is KINDS.NAMESPACE and (new.get("spec") or {}).get("finalizers"):
        return False
    return not before.get("deletionGracePeriodSeconds")


def check_preconditions(kind: Kind, stored: Raw, preconditions: Preconditions | None, resource_version: str) -> None:
    """Raise ApiError if the UID or resourceVersion is not the one the client named."""
    if preconditions is None:
        return
    metadata = stored["metadata"]
    for what, wanted, found, why in (
        ("UID", preconditions.uid, metadata.get("uid") or "", "The object might have been deleted and then recreated"),
        ("ResourceVersion", preconditions.resourceVersion, resource_version, "The object might have been modified"),
    ):
        if wanted is None or wanted == found:
            continue
        if kind is KINDS.NAMESPACE:
            text = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            raise conflict(kind, metadata["name"], text)
        text = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). {why}"
        raise conflict(replace(kind, plural=kind.name), metadata["name"], text)


def _grace(pod: Raw, wanted: int | None, now: datetime) -> Raw | None:
    """Return the metadata changes that begin a pod's deletion; None if it has begun and this does not shorten it."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    if metadata.get("deletionTimestamp"):
        return _hastened(metadata, wanted, now)
    seconds = wanted if wanted is not None else spec.get("terminationGracePeriodSeconds") or 0
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in FINISHED_PHASES:
        seconds = 0
    seconds = 1 if seconds < 0 else seconds
    changes: Raw = {
        "deletionTimestamp": time_text(_later(now, seconds).timestamp()),
        "deletionGracePeriodSeconds": seconds,
    }
    if metadata.get("generation"):
        changes["generation"] = min(metadata["generation"] + 1, INT64_MAX)
    return changes


def _hastened(metadata: Raw, wanted: int | None, now: datetime) -> Raw | None:
    current = metadata.get("deletionGracePeriodSeconds")
    current = 1 if current is not None and current < 0 else current
    if not current:
        return {}
    if wanted is None or wanted >= current:
        return None
    until_end = from_text(metadata["deletionTimestamp"]) - now
    began = now + min(until_end, until_end - timedelta(seconds=min(current, _MAX_GRACE_LENGTH)))
    end = _later(began, wanted)
    if end < now:
        end, wanted = now, 1 if wanted else 0
    return {"deletionTimestamp": time_text(end.timestamp()), "deletionGracePeriodSeconds": wanted}


def _marked(metadata: Raw, now: datetime) -> Raw:
    """Return the metadata changes of an object that only waits for its finalizers."""
    changes: Raw = {"deletionGracePeriodSeconds": 0}
    before = metadata.get("deletionTimestamp")
    if not before or from_text(before) > now:
        changes["deletionTimestamp"] = time_text(now.timestamp())
    if not before and metadata.get("generation"):
        changes["generation"] = min(metadata["generation"] + 1, INT64_MAX)
    return changes


def _finalizers(kind: Kind, current: list[str], options: DeleteOptions, collects_garbage: bool) -> list[str]:
    if not collects_garbage:
        return current
    kept = [name for name in current if name not in (ORPHAN, FOREGROUND)]
    added = _wanted_finalizer(kind, current, options)
    wanted = [*kept, added] if added else kept
    return current if set(wanted) == set(current) else wanted


def _wanted_finalizer(kind: Kind, current: list[str], options: DeleteOptions) -> str:
    """Return the finalizer to add: what the client asks for, else what the object has, else the default of its kind."""
    if kind.dependents == "none":
        return ""
    if options.orphanDependents is not None:
        return ORPHAN if options.orphanDependents else ""
    if options.propagationPolicy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.propagationPolicy, "")
    own = next((name for name in current if name in (ORPHAN, FOREGROUND)), "")
    return own or (ORPHAN if kind.dependents == "orphan" else "")


def _begin_to_terminate(
    kind: Kind, stored: Raw, options: DeleteOptions, now: datetime, collects_garbage: bool
) -> Deletion:
    metadata = {**stored["metadata"], "deletionTimestamp": time_text(now.timestamp())}
    finalizers = _finalizers(kind, metadata.get("finalizers") or [], options, collects_garbage)
    if finalizers:
        metadata["finalizers"] = finalizers
    status = {**(stored.get("status") or {}), "phase": "Terminating"}
    return Deletion({**stored, "metadata": metadata, "status": status}, removes=False, changed=True)


def _later(time: datetime, seconds: int) -> datetime:
    """Add seconds to a time, up to the last time that can be written."""
    return time + timedelta(seconds=min(seconds, int((_LAST_TIME - time).total_seconds())))


def from_text(text: str) -> datetime:
    """Parse a time that this server has written; others may have an offset."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
