"""When a Job has succeeded enough before every index has.

In: the policy, the indexes that succeeded. Out: the number of the first rule that is fulfilled. Kubernetes:
matchSuccessPolicy.
"""

from moorage.control.job.indexes import Indexes, parse_indexes
from moorage.model.types.job import SuccessPolicy


def fulfilled_rule(policy: SuccessPolicy | None, completions: int, succeeded: Indexes) -> int | None:
    if policy is None or not succeeded.intervals:
        return None
    for number, rule in enumerate(policy.rules):
        count = rule.succeededCount
        if rule.succeededIndexes is None:
            if count is not None and succeeded.total >= count:
                return number
            continue
        required = parse_indexes(rule.succeededIndexes, completions)
        if not required.intervals:
            continue
        both = required.overlap(succeeded)
        if both == required.total or (count is not None and both >= count):
            return number
    return None
