"""Whether a Job rests, as its conditions tell it.

In: the conditions so far, whether the Job is suspended now. Out: the conditions as they should be, if they
change. Kubernetes: ensureJobConditionStatus for JobSuspended.
"""

from collections.abc import Sequence

from moorage.control.framework.actions import Raw
from moorage.control.job.accounting import condition

_SUSPENDED = "Suspended"


def tell_suspension(conditions: Sequence[Raw], *, is_suspended: bool, now: float) -> list[Raw] | None:
    """The new conditions; None if nothing changes. A Job that never rested need not say that it does not."""
    status, reason, message = (
        ("True", "JobSuspended", "Job suspended") if is_suspended else ("False", "JobResumed", "Job resumed")
    )
    new = condition(_SUSPENDED, status, reason, message, now)
    for position, old in enumerate(conditions):
        if old.get("type") == _SUSPENDED:
            if old.get("status") == status:
                return None
            return [*conditions[:position], new, *conditions[position + 1 :]]
    return [*conditions, new] if is_suspended else None
