"""How long to wait before a failed pod of a Job is replaced: longer after each failure since the last success.

In: the pods that ended, the time. Out: seconds. Failures are counted by the pods that are still there, so that a
restart forgets none of those, and remembered for those that are gone. Kubernetes: the backoffStore of the Job
controller, which starts anew after a restart.
"""

from collections.abc import Iterable

from moorage.control.job.pods import all_failures, finished_at, is_failed, is_tracked
from moorage.model.types.job import JobSpec
from moorage.model.types.pod import Pod

FIRST_SECONDS, MAX_SECONDS = 10.0, 600.0
#: After so many failures the wait does not get longer.
_ENOUGH = 8


def wait_after(failures: int, last: float, now: float) -> float:
    """For how long still, after so many failures in a row."""
    if failures <= 0:
        return 0.0
    delay = min(MAX_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, _ENOUGH))
    return max(0.0, delay - (now - last))


def wait_of_index(last_failed: Pod | None, now: float) -> float:
    """For how long an index whose last pod this was has to wait."""
    if last_failed is None:
        return 0.0
    return wait_after(all_failures(last_failed) + 1, finished_at(last_failed), now)


class Failures:
    """See the module. One for each Job."""

    def __init__(self) -> None:
        self._ended: dict[str, float] = {}

    def learn(self, pods: Iterable[Pod], spec: JobSpec) -> None:
        """Look at all pods of the Job. Those that the Job itself took away did not fail."""
        last_success = float("-inf")
        for pod in pods:
            metadata = pod.metadata
            if pod.status.phase == "Succeeded":
                last_success = max(last_success, finished_at(pod))
            elif is_failed(pod, spec) and (is_tracked(pod) or metadata.deletionTimestamp is None):
                self._ended[metadata.uid] = finished_at(pod)
        recent = sorted((at, uid) for uid, at in self._ended.items() if at > last_success)
        self._ended = {uid: at for at, uid in recent[-_ENOUGH:]}

    def wait(self, now: float) -> float:
        """Before the next pod is made."""
        return wait_after(len(self._ended), max(self._ended.values(), default=0.0), now)
