"""tolerationSeconds beside a threshold: the pod is evicted although the threshold holds.

In: a pod's tolerations. Out: `toleration-seconds-evicts`.
Kubernetes: the taint-eviction controller starts the timer when it sees a NoExecute taint that the toleration matches,
whatever the taint's value does later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.subject import Complaint, PodPart
from moorage.match.operators import TOLERATION, comparison_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_seconds(pods: PodPart) -> Iterator[Complaint]:
    for index, toleration in enumerate(pods.spec.tolerations):
        seconds = toleration.tolerationSeconds
        if seconds is None:
            continue
        if toleration.expression:
            if "taint.value" not in toleration.expression:
                continue  # `taint.key.startsWith('node.kubernetes.io/')` for 300 s is what tolerationSeconds is for
            holds = "the expression holds"
        elif (compared := comparison_of(toleration.operator, TOLERATION)) and toleration.effect in ("", "NoExecute"):
            holds = f"{toleration.key} {compared.symbol} {toleration.value} holds"
        else:
            continue
        when = "at once" if seconds <= 0 else f"{seconds} s after the taint is seen"
        yield Complaint(
            "toleration-seconds-evicts",
            f"{pods.spec_path}.tolerations[{index}].tolerationSeconds",
            f"the pod is evicted {when}, although {holds}: tolerationSeconds limits how long a matching NoExecute "
            "taint is tolerated; it is no grace period for when the threshold stops holding",
            "remove tolerationSeconds: the pod then stays as long as the toleration matches, and is evicted at once "
            "when it no longer does; for a grace period use terminationGracePeriodSeconds",
        )
