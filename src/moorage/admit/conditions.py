"""Conditions in a raw status: one of each type, whose transition time moves only when its answer does.

In: a raw list of conditions, a condition. Out: a new list. Kubernetes: podutil.UpdatePodCondition and
meta.SetStatusCondition.
"""

from collections.abc import Sequence

from moorage.admit.raw import Raw


def with_condition(conditions: Sequence[Raw] | None, wanted: Raw, now: str) -> list[Raw]:
    """The conditions with the wanted one in the place of the old one of its type, or at the end."""
    found = list(conditions or ())
    for index, condition in enumerate(found):
        if condition.get("type") == wanted["type"]:
            same = condition.get("status") == wanted["status"] and condition.get("lastTransitionTime")
            found[index] = {**wanted, "lastTransitionTime": condition["lastTransitionTime"] if same else now}
            return found
    found.append({**wanted, "lastTransitionTime": now})
    return found
