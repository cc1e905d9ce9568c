"""Switch the feature gates of components one after the other in a simulated cluster, as an upgrade or a rollback does.

A step is a restart of components with other gates: the objects of the cluster stay, and everything else begins again.
When the API server is among them, objects of the input that it refused before are applied once more, as a tool that
keeps a cluster in line with a repository would. Kubernetes: "Upgrade / Downgrade Strategy" of the KEPs.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import msgspec

from moorage.client.protocol import Object
from moorage.lint.sources import Source
from moorage.model.gate_skew import skews
from moorage.model.gates import GATES, Component, Gate
from moorage.model.kinds import KINDS
from moorage.plan.departures import Departure, EvictionLoop
from moorage.plan.difference.comparison import Becomes, Comparison, compare, sentence
from moorage.plan.gates.audit import audit, order_of_disabling
from moorage.plan.gates.consequence import API
from moorage.plan.gates.gate_file import Switch
from moorage.plan.input.drafts import Draft
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, key_in_inventory
from moorage.plan.input.reading import Reader
from moorage.plan.outcome import FailedLine, Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.simulation.loading import simulate
from moorage.plan.simulation.simulation import Simulation

NO_POD = "no pod is affected now"
#: How pods leave in a step; those that had left before it began have ended.
_ENDINGS = frozenset({State.EVICTED, State.FAILED, State.PREEMPTED, State.DELETED, State.SUCCEEDED, State.REFUSED})


class LaterWrite(msgspec.Struct, frozen=True):
    """An object of which the API server refuses, or takes without some fields, what is written from a step on."""

    subject: str = msgspec.field(name="object")
    gate: str
    message: str


class GateStep(msgspec.Struct, rename="camel", kw_only=True):
    """One restart: what was switched, what happened until the cluster came to rest, and what waits to happen."""

    number: int
    components: tuple[str, ...]
    switched: tuple[str, ...]
    evicted: list[Departure] = []
    loops: list[EvictionLoop] = msgspec.field(default=[], name="evictionLoops")
    failed: list[PodLine] = []
    pending: list[PodLine] = []  # that were not before
    placed: list[PodLine] = []  # that were Pending, or are new
    not_created: list[FailedLine] = []  # workloads that lack more pods than before
    refused: list[LaterWrite] = []
    dropped: list[LaterWrite] = []
    notes: list[str] = []
    summary: str = ""
    harms: bool = False


class GatePlay(msgspec.Struct):
    """All steps, and the plans before the first and after the last of them."""

    before: Outcome
    after: Outcome
    steps: list[GateStep]
    ended: list[PodLine] = []  # pods that left in one of the steps

    @property
    def harms(self) -> bool:
        return any(step.harms for step in self.steps)

    @property
    def sentence(self) -> str:
        """What differs for pods between the first and the last plan."""
        known = {pod.key for pod in self.before.pods if pod.is_present}
        after = _present(self.after)
        after.pods += {pod.key: pod for pod in self.ended if pod.key in known}.values()
        comparison = compare(_present(self.before), after)
        return NO_POD if comparison.is_empty else sentence(comparison)


def settings_with(settings: Settings, switches: Iterable[Switch]) -> Settings:
    """Return the settings of a plan with these gates; components that are not named keep theirs."""
    gates = {component: settings.gates_of(component) for component in Component}
    for switch in switches:
        gates |= switch
    return msgspec.structs.replace(settings, gates=gates[API], others=gates)


def play_switches(planner: Planner, sources: Iterable[Source], steps: Sequence[Switch]) -> GatePlay:
    """Read the sources, plan them with the gates of the planner, then switch gates step by step."""
    with closing(Reader(planner.inventory, planner.settings.gates)) as reader:
        reader.read(sources)
        refused = list(reader.refused)
    simulation = planner.build()
    outcome = planner.with_evictions(simulation, planner.plan(simulation))
    play = GatePlay(outcome, outcome, [])
    for number, switch in enumerate(steps, 1):
        made = _Step(planner, simulation, play.after, switch, refused)
        planner, simulation, play.after, refused = made.planner, made.simulation, made.outcome, made.refused
        play.steps.append(made.report(number))
        play.ended += [pod for pod in play.after.pods if pod.state in _ENDINGS]
    return play


class _Step:
    """A cluster whose components were restarted with other gates, and has come to rest again."""

    def __init__(
        self, planner: Planner, simulation: Simulation, before: Outcome, switch: Switch, refused: list[Draft]
    ) -> None:
        self._before, self._switch, self._old = before, switch, planner.settings
        self.refused = refused
        self._later = list(_later_writes(planner, simulation, switch))
        self.planner = Planner(settings_with(planner.settings, [switch]))
        self.planner.inventory = inventory = _carried(planner.inventory, simulation, self.planner.settings)
        if API in switch and refused:
            with closing(Reader(inventory, inventory.gates, announces_updates=False)) as reader:
                reader.read_again(refused)
                self.refused = list(reader.refused)
        else:
            inventory.rejected = planner.inventory.rejected
        self.simulation = _restarted(simulation, self.planner.settings, inventory)
        self.outcome = self.planner.with_evictions(self.simulation, self.planner.plan(self.simulation))

    def report(self, number: int) -> GateStep:
        comparison = compare(_present(self._before), _present(self.outcome, ended=_ENDINGS))
        known = {(loop.workload, loop.because) for loop in self._before.loops}
        evicted = [one for one in self.outcome.evicted if (one.workload, one.because) not in known]
        loops = [loop for loop in self.outcome.loops if (loop.workload, loop.because) not in known]
        failed = [pod for pod in self.outcome.of_state(State.FAILED) if pod.reason != State.FAILED]
        gates = {component: self.planner.settings.gates_of(component) for component in Component}
        values = {component: {gate.name: one.enabled(gate) for gate in GATES} for component, one in gates.items()}
        stopped = [self.simulation.stopped] if self.simulation.stopped else []
        return GateStep(
            number=number,
            components=tuple(component.value for component in self._switch),
            switched=tuple(_switched(self._old, self._switch)),
            evicted=evicted,
            loops=loops,
            failed=failed,
            pending=_lines(comparison, Becomes.PENDING, Becomes.NEW_PENDING),
            placed=_lines(comparison, Becomes.PLACED, Becomes.NEW),
            not_created=[refusal.line for refusal in comparison.refusals],
            refused=[write for write, drops in self._later if not drops],
            dropped=[write for write, drops in self._later if drops],
            notes=[*stopped, *(f"half enabled: {skew}" for skew in skews(values)), *_advice(self._old, self._switch)],
            summary=NO_POD if comparison.is_empty else sentence(comparison),
            harms=comparison.is_worse or bool(evicted or loops or failed or self._later or stopped),
        )


def _present(outcome: Outcome, ended: frozenset[State] = frozenset()) -> Outcome:
    """Return a plan without the pods that have left, but for those that left in some way."""
    return msgspec.structs.replace(outcome, pods=[pod for pod in outcome.pods if pod.is_present or pod.state in ended])


def _lines(comparison: Comparison, *kinds: Becomes) -> list[PodLine]:
    return [pair.after for pair in comparison.of(*kinds) if pair.after is not None]


def _changes(old: Settings, switch: Switch) -> Iterator[tuple[Component, Gate, bool]]:
    """Return the gates that a step gives another value, of the components that read them."""
    for component, gates in switch.items():
        before = old.gates_of(component)
        for gate in GATES:
            if component in gate.components and gates.enabled(gate) is not before.enabled(gate):
                yield component, gate, gates.enabled(gate)


def _switched(old: Settings, switch: Switch) -> Iterator[str]:
    switched: dict[Component, list[str]] = {}
    for component, gate, on in _changes(old, switch):
        switched.setdefault(component, []).append(f"{gate.name} {'off → on' if on else 'on → off'}")
    yield from (f"{component.value}: {', '.join(gates)}" for component, gates in switched.items())


def _advice(old: Settings, switch: Switch) -> Iterator[str]:
    """Name the components that should have been switched before those of a step: those after it still have it."""
    for component, gate, on in _changes(old, switch):
        order = order_of_disabling(gate)
        earlier = order[order.index(component) + 1 :] if on else order[: order.index(component)]
        late = [one.value for one in earlier if one not in switch and old.gates_of(one).enabled(gate) is not on]
        if late:
            verb = "enable" if on else "disable"
            yield f"{verb} {gate.name} in {', '.join(late)} before {component.value}: docs/runbooks has the order"


def _later_writes(planner: Planner, simulation: Simulation, switch: Switch) -> Iterator[tuple[LaterWrite, bool]]:
    """Return the objects that an API server with fewer gates takes no more, or not whole, and whether it drops fields.

    Pods of workloads are left out: their templates stand for them.
    """
    off = [gate for component, gate, on in _changes(planner.settings, switch) if component is API and not on]
    if not off:
        return
    for finding in audit(_carried(planner.inventory, simulation, planner.settings), off):
        if simulation.owner_of(_object(simulation, finding.item)) is not None:
            continue
        for consequence in finding.consequences:
            if consequence.component is API and consequence.breaks:
                write = LaterWrite(str(finding.item.key), finding.gate.name, consequence.text)
                yield write, consequence.drops


def _object(simulation: Simulation, item: Item) -> Object:
    key = f"{item.key.namespace}/{item.key.name}" if item.key.namespace else item.key.name
    return simulation.world.get(item.kind, key) or Object(item.kind, key, 0, raw=item.raw, view=item.view)


def _carried(inventory: Inventory, simulation: Simulation, settings: Settings) -> Inventory:
    """Return the objects of a cluster as the input of the next simulation: all of them exist."""
    made = Inventory(settings.gates, inventory.namespace)
    made.is_live, made.accounts, made.assumed = inventory.is_live, dict(inventory.accounts), set(inventory.assumed)
    made.custom, made.sources = dict(inventory.custom), inventory.sources
    made.parameters, made.whole_kinds = inventory.parameters, inventory.whole_kinds
    for kind in KINDS.values():
        for found in simulation.world.all(kind):
            key = key_in_inventory(kind, found.namespace, found.name)
            known = inventory.items.get(key)
            place = known.place if known is not None else NOWHERE
            made.items[key] = Item(key, kind, found.raw, found.view, True, place, found.template)
    return made


def _restarted(old: Simulation, settings: Settings, inventory: Inventory) -> Simulation:
    """Return a simulation that goes on where another ended, with other gates."""
    made = simulate(settings, inventory, start=old.clock.now)
    made.random.setstate(old.random.getstate())  # names of new pods are others than those there are
    made.shown_owners |= old.shown_owners
    made.controllers.absent_owners |= old.controllers.absent_owners
    made.ageless |= old.ageless
    return made
