"""Pods by their number: which of a StatefulSet's pods is which, and how each of them is.

In: a StatefulSet and its pods. Out: ordinals, names, states. Kubernetes: stateful_set_utils.go.
"""

import re

from moorage.client.protocol import Object
from moorage.control.framework.pods_of import available_in, ready_condition
from moorage.model.types.pod import Pod
from moorage.model.types.workload import StatefulSet

REVISION_LABEL = "controller-revision-hash"
POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
_NUMBERED = re.compile(r"(.*)-([0-9]+)\Z", re.DOTALL)
_LARGEST = 2**31 - 1


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """`web` and 3 for `web-3`; -1 where there is no number."""
    found = _NUMBERED.match(name)
    if found is None:
        return "", -1
    digits = found[2]
    ordinal = int(digits) if len(digits) <= 10 else _LARGEST + 1
    return found[1], ordinal if ordinal <= _LARGEST else -1


def ordinal_of(pod: Object) -> int:
    return parent_and_ordinal(pod.name)[1]


def wanted_ordinals(view: StatefulSet) -> range:
    start = view.spec.ordinals.start if view.spec.ordinals is not None else 0
    return range(start, start + replicas_of(view))


def replicas_of(view: StatefulSet) -> int:
    return 1 if view.spec.replicas is None else view.spec.replicas


def pod_name(stateful_set: Object, ordinal: int) -> str:
    return f"{stateful_set.name}-{ordinal}"


def revision_name(pod: Object) -> str:
    """The name of the revision that it was made from."""
    found: str = pod.view.metadata.labels.get(REVISION_LABEL, "")
    return found


def has_identity(pod: Object) -> bool:
    labels = pod.view.metadata.labels
    return bool(labels.get(POD_NAME_LABEL) == pod.name)


def is_leaving(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is not None


def is_running_and_ready(pod: Object) -> bool:
    view: Pod = pod.view
    return view.status.phase == "Running" and ready_condition(view) is not None


def is_unavailable(pod: Object, min_ready_seconds: int, now: float) -> bool:
    return available_in(pod.view, min_ready_seconds, now) != 0 or is_leaving(pod)
