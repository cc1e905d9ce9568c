"""Give controllers the check of policies' types, which they know by its protocol only.

It is imported when a policy is there to be checked: CEL takes a while.
"""

from collections.abc import Iterable

from moorage.client.protocol import Raw
from moorage.control.framework.controller import FieldWarning
from moorage.control.framework.steps import Steps
from moorage.model.types.extension.admission_policies import ValidatingAdmissionPolicy


def check_policy(
    policy: ValidatingAdmissionPolicy, definitions: Iterable[Raw], longest: int
) -> Steps[list[FieldWarning]]:
    """Check the expressions of a policy in steps: see `moorage.admit.extension.type_checking`."""
    from moorage.admit.extension.type_checking.checker import check_policy as check

    return [*(yield from check(policy, definitions, longest))]
