"""A plugin's refusal: how final it is, the reason that is counted, and what exactly was compared."""

from enum import StrEnum

import msgspec


class Code(StrEnum):
    """Whether evicting pods could undo the refusal."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class Verdict(msgspec.Struct, frozen=True):
    """Why a plugin refuses a node or, from `prepare`, the pod.

    `reasons` are counted in the FailedScheduling event; `details` hold the evaluated inequality, for `moorage explain`.
    """

    code: Code
    reasons: tuple[str, ...]
    details: tuple[str, ...] = ()

    @property
    def objections(self) -> int:
        """How many things are in the way: each taint, resource or claim counts."""
        return max(len(self.reasons), len(self.details), 1)


def unschedulable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNSCHEDULABLE, (reason,), details)


def unresolvable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNRESOLVABLE, (reason,), details)
