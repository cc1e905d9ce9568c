"""Annotations of a Deployment's ReplicaSets: revision, revision history, size.

`kubectl rollout history` and `undo` read them. Kubernetes: SetNewReplicaSetAnnotations.
"""

from moorage.client.protocol import Object

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)
#: Some hundred revisions.
_MAX_HISTORY_LENGTH = 2000
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def revision_of(found: Object) -> int | None:
    """Return the revision annotation: 0 if absent, None if malformed."""
    return _revision(found.view.metadata.annotations.get(REVISION))


def next_revision(old: list[Object]) -> int:
    return max((revision_of(found) or 0 for found in old), default=0) + 1


def number_in(found: Object, annotation: str) -> int | None:
    """Return a count from an annotation; None if absent or malformed."""
    text = found.view.metadata.annotations.get(annotation, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) > _INT32_MAX:
        return None
    return int(text)


def copied_annotations(deployment: Object) -> dict[str, str]:
    annotations = deployment.view.metadata.annotations
    return {key: value for key, value in annotations.items() if key not in _NOT_COPIED}


def new_annotations(present: dict[str, str], copied: dict[str, str], revision: int) -> dict[str, str]:
    """Return the annotations of the newest ReplicaSet; an earlier revision of it goes to the history."""
    annotations = {**present, **copied}
    before = _revision(present.get(REVISION))
    if before is None or before >= revision:
        return annotations
    annotations[REVISION] = str(revision)
    if REVISION not in present:
        return annotations
    history = [said for said in present.get(REVISION_HISTORY, "").split(",") if said]
    history.append(present[REVISION])
    while len(history) > 1 and len(",".join(history)) > _MAX_HISTORY_LENGTH:
        del history[0]
    annotations[REVISION_HISTORY] = ",".join(history)
    return annotations


def _revision(text: str | None) -> int | None:
    if not text:
        return 0
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 19:
        return None
    return int(text) if int(text) <= _INT64_MAX else None
