"""A rolling update, played step by step on the planned cluster: does it complete, and if not, where does it stop?

In: a world whose pods are placed, and a Deployment. Out: a `Rollout`: each step the Deployment controller takes, with
what the scheduler made of it; if it stops, the message of the pods it waits for; and, by trying, the `matchLabelKeys`
line with which it would not. A placed pod counts as available: nothing is known of probes.
Kubernetes: pkg/controller/deployment/rolling.go and recreate.go.
"""

import msgspec

from moorage.admit.raw import Raw
from moorage.plan.controllers import surplus
from moorage.plan.input.inventory import Item
from moorage.plan.naming import template_hash
from moorage.plan.owners import POD_TEMPLATE_HASH
from moorage.plan.placement import Placement
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.pod_maker import FailedCreate
from moorage.plan.world import World


class Step(msgspec.Struct, frozen=True):
    """One thing the controller did, and how many pods of each template there are after it."""

    number: int
    action: str
    old: int
    new: int
    available: int
    placed: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    message: str = ""


class Rollout(msgspec.Struct):
    """A rollout: whether it completes and, if not, at which step and why it stops."""

    deployment: str
    max_surge: int
    max_unavailable: int
    steps: list[Step] = msgspec.field(default_factory=list)
    completes: bool = False
    message: str = ""
    fix: str = ""


def play_rollout(world: World, placement: Placement, item: Item, template: Raw | None = None) -> Rollout:
    """Replace the Deployment's pods by pods of `template`, or of its own template restarted."""
    spec = item.view.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    rolling = spec.strategy.rollingUpdate
    surge = _scaled(rolling.maxSurge if rolling is not None else None, replicas, up=True)
    unavailable = _scaled(rolling.maxUnavailable if rolling is not None else None, replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1  # else nothing could ever move
    play = _Play(world, placement, item, template, replicas)
    rollout = Rollout(str(item.key), surge, unavailable, play.steps)
    if spec.strategy.type == "Recreate":
        play.remove(list(play.old), "remove all old pods (strategy Recreate)")
        play.create(replicas)
    else:
        while play.scale_up(surge) or play.scale_down(unavailable):
            pass
    rollout.completes = play.is_complete()
    if not rollout.completes:
        rollout.message = play.why_not()
    return rollout


class _Play:
    """The pods of both templates, and the moves of the controller."""

    def __init__(self, world: World, placement: Placement, item: Item, template: Raw | None, replicas: int) -> None:
        self.world = world
        self.steps: list[Step] = []
        self.old = world.pods_of(item.key)
        self.new: list[PlannedPod] = []
        self._placement = placement
        self._item = item
        self._template = item.raw["spec"]["template"] if template is None else template
        self._replicas = replicas
        used = {pod.pod.metadata.labels.get(POD_TEMPLATE_HASH) for pod in self.old}
        self._revision = template_hash(self._template)
        while self._revision in used:
            self._revision = template_hash(self._template, taken=self._revision)
        self._refused: FailedCreate | None = None
        placement.frozen.add(item.key)  # this is the controller of its pods now

    def scale_up(self, surge: int) -> bool:
        room = self._replicas + surge - len(self.old) - len(self.new)
        number = min(room, self._replicas - len(self.new))
        return number > 0 and self._refused is None and self.create(number)

    def create(self, number: int) -> bool:
        created: list[PlannedPod] = []
        for _ in range(number):
            made = self.world.controllers.replica(self._item, self._revision, self._template)
            if isinstance(made, FailedCreate):
                self._refused = made
                break
            self.world.add(made)
            created.append(made)
        self.new += created
        self._settle(f"create {_pods(len(created))} of the new template", created)
        return bool(created)

    def scale_down(self, unavailable: int) -> bool:
        """Remove old pods as far as enough others are available; those that are not available go first."""
        least = self._replicas - unavailable
        missing = len(self.new) - _available(self.new)
        room = len(self.old) + len(self.new) - least - missing
        if not self.old or room <= 0:
            return False
        going = [pod for pod in self.old if not pod.node][:room]
        spare = _available(self.old) + _available(self.new) - least
        going += surplus([pod for pod in self.old if pod.node], min(spare, room - len(going)))
        if not going:
            return False
        self.remove(going, f"remove {_pods(len(going))} of the old template")
        return True

    def remove(self, pods: list[PlannedPod], action: str) -> None:
        waiting = [pod for pod in self.new if not pod.node]
        for pod in pods:
            self.world.remove(pod)
            self.old.remove(pod)
        self._settle(action, waiting)

    def _settle(self, action: str, watched: list[PlannedPod]) -> None:
        self._placement.run()
        pending = [pod for pod in self.new if not pod.node]
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                action=action,
                old=len(self.old),
                new=len(self.new),
                available=_available(self.old) + _available(self.new),
                placed=tuple(f"{pod.key} on {pod.node}" for pod in watched if pod.node),
                pending=tuple(pod.key for pod in pending),
                message=pending[0].message if pending else "",
            )
        )

    def is_complete(self) -> bool:
        return not self.old and len(self.new) == self._replicas == _available(self.new)

    def why_not(self) -> str:
        if self._refused is not None:
            return self._refused.message
        waiting = next((pod for pod in self.new if not pod.node), None)
        if waiting is not None:
            return f"{waiting.key} stays Pending: {waiting.message}"
        return "too few of the old pods are available, so that none may be removed"


def _available(pods: list[PlannedPod]) -> int:
    return sum(1 for pod in pods if pod.node)


def _pods(number: int) -> str:
    return f"{number} pod" if number == 1 else f"{number} pods"


def _scaled(amount: int | str | None, of: int, *, up: bool) -> int:
    """A number, or a percentage: of the surge rounded up, of the unavailable rounded down."""
    if amount is None:
        amount = "25%"
    if isinstance(amount, int):
        return amount
    percent = int(amount.removesuffix("%") or 0)
    return -(-percent * of // 100) if up else percent * of // 100
