"""What several workload controllers need: counts, status updates, template hashes."""

import hashlib
import json
import re
from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import Create, Delete, Raw, Report, Update, note, warn
from moorage.control.framework.pods_of import POD
from moorage.model.api_error import ApiError
from moorage.model.go.times import time_text
from moorage.model.template_identity import telling_part
from moorage.model.types.workload import JobCondition, JobStatus

ROLLING_UPDATE = "RollingUpdate"
_PERCENT = re.compile(r"[0-9]{1,9}%\Z")
#: No vowels, to avoid words, and no characters that look alike.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def desired_replicas(found: Object) -> int:
    replicas = found.view.spec.replicas
    return 1 if replicas is None else int(replicas)


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """Resolve a number or percentage of the total, rounded up or down; 0 if malformed."""
    if value is None or isinstance(value, int):
        return value or 0
    if not _PERCENT.match(value):
        return 0
    share = int(value[:-1]) * total
    return -(-share // 100) if up else share // 100


def digits(text: str, max_length: int = 10) -> int | None:
    """Return a number that is written in ASCII digits; None if it is malformed or too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= max_length else None


def namespace_is_terminating(error: ApiError) -> bool:
    return error.has_cause("NamespaceTerminating")


def template_hash(template: Raw, collisions: int | None) -> str:
    """Return a short hash for names and labels. Differs: of the template as JSON, not as Go prints it."""
    text = json.dumps(telling_part(template), sort_keys=True, separators=(",", ":"))
    if collisions is not None:
        text += str(collisions)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    return safe_encode(str(number))


def safe_encode(text: str) -> str:
    return "".join(_LETTERS[ord(letter) % len(_LETTERS)] for letter in text)


def ending_condition(status: JobStatus) -> JobCondition | None:
    """Return the condition that says that a Job is finished."""
    return next((one for one in status.conditions if one.type in ("Complete", "Failed") and one.status == "True"), None)


def job_end(status: JobStatus) -> str:
    """Return `Complete` or `Failed`, or an empty text."""
    ending = ending_condition(status)
    return "" if ending is None else ending.type


def status_update(found: Object, status: Raw, annotations: Raw | None = None) -> tuple[Update, ...]:
    """Return the status update, with additional annotations; empty if nothing changes."""
    raw = found.raw
    metadata = raw["metadata"]
    present = metadata.get("annotations") or {}
    wanted = {**present, **(annotations or {})}
    if wanted == present and (raw.get("status") or {}) == status:
        return ()
    document = {**raw, "status": status}
    if wanted != present:
        document["metadata"] = {**metadata, "annotations": wanted}
    return (Update(found.kind, document, "status"),)


def new_pod_report(owner: Object) -> Report:
    return note(owner, "SuccessfulCreate", "Created pod: {name}")


def delete_pod(owner: Object, name: str, uid: str) -> Delete:
    """Delete a pod of a workload, and report it."""
    return Delete(POD, owner.namespace, name, uid, report=note(owner, "SuccessfulDelete", f"Deleted pod: {name}"))


def refusal_report(owner: Object, action: Create | Delete, error: ApiError) -> Report:
    reason, doing = ("FailedCreate", "creating") if isinstance(action, Create) else ("FailedDelete", "deleting")
    return warn(owner, reason, f"Error {doing}: {error.message}")


def condition(kind: str, status: str, reason: str, message: str, now: float, *other_times: str) -> Raw:
    """Return a condition that changes now. `other_times`: fields that have the same time."""
    times = dict.fromkeys((*other_times, "lastTransitionTime"), time_text(now))
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def nonempty(**fields: object) -> Raw:
    """Return the fields of a status that the API omits if they are empty or 0."""
    return {field: value for field, value in fields.items() if value}


def set_condition(conditions: Sequence[Raw], new: Raw, now: float) -> list[Raw]:
    """Set a condition by its type. Its lastTransitionTime stays while the status does."""
    index = next((index for index, one in enumerate(conditions) if one.get("type") == new["type"]), len(conditions))
    old = conditions[index] if index < len(conditions) else {}
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else None
    return [*conditions[:index], {**new, "lastTransitionTime": since or time_text(now)}, *conditions[index + 1 :]]
