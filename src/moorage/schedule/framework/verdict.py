"""A plugin's no: how final it is, in which words, and what exactly was compared."""

from enum import StrEnum

import msgspec


class Code(StrEnum):
    """Whether evicting pods could turn the no into a yes."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class Verdict(msgspec.Struct, frozen=True):
    """Why a plugin refuses a node (or, from `prepare`, every node).

    `reasons` are Kubernetes' words, counted in the FailedScheduling event; `details` name the taint, label or amount
    and the inequality that was evaluated, for `moorage explain`.
    """

    code: Code
    reasons: tuple[str, ...]
    details: tuple[str, ...] = ()


def unschedulable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNSCHEDULABLE, (reason,), details)


def unresolvable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNRESOLVABLE, (reason,), details)
