"""Say in which order nodes are tried, what they are called, and which pods stay on a node that leaves."""

from collections.abc import Iterable

from moorage.autoscale.karpenter.candidates import DISRUPTED, Candidate
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_SCHEDULE


def in_turn(candidates: list[Candidate]) -> Iterable[Candidate]:
    """Yield candidates of the pools in turn, each pool's in their order."""
    of_pool: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        of_pool.setdefault(candidate.pool.name, []).append(candidate)
    for position in range(max(map(len, of_pool.values()), default=0)):
        for own in of_pool.values():
            if position < len(own):
                yield own[position]


def named(node: str, world: World) -> str:
    return f"node/{node}" if world.get(KINDS.NODE, node) is not None else f"nodeclaim/{node}"


def tolerates_disruption(pod: Pod) -> bool:
    taint = Taint(key=DISRUPTED, effect=NO_SCHEDULE)
    return any(
        one.effect in ("", taint.effect)
        and one.key in ("", taint.key)
        and (one.operator == "Exists" or (one.key and not one.value and one.operator in ("", "Equal")))
        for one in pod.spec.tolerations
    )
