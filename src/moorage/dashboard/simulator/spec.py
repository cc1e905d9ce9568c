"""Describe the input of a simulated cluster, and make the planner that `moorage plan` would make of it.

On its way to another process a spec is a line of JSON with the number of objects, then one line for each of them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from moorage.lint.finding import Severity
from moorage.lint.sources import STDIN, STDIN_NAME, Source, sources_of
from moorage.model.gates import GateError, GateSet, all_gates
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.input.configured import configured_planner
from moorage.plan.input.live_cluster import LiveCluster, Missing
from moorage.plan.input.live_gates import LiveGates
from moorage.plan.planner import Planner, Settings
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration, ConfigurationError


class BadInput(Exception):
    """Why there is no cluster to simulate: one line for the user."""


class LiveInput(msgspec.Struct):
    """What a live cluster says besides its objects. `namespace` is that of the kubeconfig's context."""

    server: str
    namespace: str = "default"
    missing: list[Missing] = []
    gates: LiveGates = LiveGates({})
    read_at: float = 0.0
    #: The kinds that were read because policies look them up.
    parameters: frozenset[str] = frozenset()


class InputSpec(msgspec.Struct):
    """A cluster in files, or the objects of a live one, and what the command line says of it.

    `objects` are documents, or their JSON as `msgspec.Raw`. `configuration` is the text of a
    KubeSchedulerConfiguration. `seq` numbers the state that the spec was made from.
    """

    files: list[str] = []
    stdin: str = ""  # what the file `-` holds
    live: LiveInput | None = None
    objects: list[Any] = []
    feature_gates: dict[str, bool] = {}
    seed: int = 0
    namespace: str = ""
    configuration: str | None = None
    configuration_name: str = "configuration"
    seq: int = 0

    @classmethod
    def of_live(cls, live: LiveCluster, **settings: Any) -> "InputSpec":
        """Return the spec of a cluster that was read as `moorage plan` reads it."""
        known = LiveInput(live.server, live.namespace, live.missing, live.gates, live.read_at, live.parameters)
        return cls(live=known, objects=live.objects, **settings)


def lines_of(spec: InputSpec) -> Iterator[bytes]:
    """Return the lines to send."""
    encode = msgspec.json.encode
    yield encode((len(spec.objects), msgspec.structs.replace(spec, objects=[]))) + b"\n"
    for raw in spec.objects:
        yield encode(raw) + b"\n"


def spec_from(lines: Iterable[bytes]) -> InputSpec:
    """Put together what was sent. Raises EOFError where the sender ended in the middle."""
    decode = msgspec.json.Decoder().decode
    received = iter(lines)
    try:
        number, spec = msgspec.json.decode(next(received, b""), type=tuple[int, InputSpec])
        spec.objects = [decode(line) for line in received]
    except msgspec.DecodeError as error:
        raise EOFError(f"the input ends early: {error}") from None
    if len(spec.objects) != number:
        raise EOFError(f"the input ends after {len(spec.objects)} of {number} objects")
    return spec


def planner_of(spec: InputSpec, known: KnownObjects | None = None, tick: Callable[[], None] = lambda: None) -> Planner:
    """Return a planner with the input loaded. Raises BadInput; what single files and objects lack is noted.

    `tick` is called after each file.
    Objects of a live cluster that are `known` are not admitted again.
    """
    live = None
    if spec.live is not None:
        told = spec.live
        about = told.missing, told.gates, told.read_at, told.parameters
        live = LiveCluster(told.server, told.namespace, spec.objects, *about)
    try:
        planner = configured_planner(spec.feature_gates, spec.seed, spec.namespace, _configure(spec), live, known)
    except (GateError, ConfigurationError) as error:
        problems = getattr(error, "problems", ()) or (error,)
        raise BadInput("; ".join(map(str, problems))) from None
    planner.load(_sources(spec), tick, announces_updates=live is None)
    return planner


def audited_planner_of(spec: InputSpec) -> Planner:
    """Return a planner that has read the files with all gates on, as `moorage gates audit` reads them."""
    planner = Planner(Settings(all_gates(), namespace=spec.namespace or "default"))
    planner.load(_sources(spec), announces_updates=False)
    return planner


def _configure(spec: InputSpec) -> Callable[[GateSet], Configuration]:
    if spec.configuration is None:
        return lambda gates: DEFAULT_CONFIGURATION
    text = spec.configuration.encode()
    return lambda gates: load_configuration(text, spec.configuration_name, gates)


def _sources(spec: InputSpec) -> Iterator[Source]:
    for path in spec.files:
        if path == STDIN:
            yield Source(STDIN_NAME, content=spec.stdin.encode())
        else:
            yield from sources_of([path])


def problem_of(planner: Planner, spec: InputSpec) -> str:
    """Say why there is nothing to show; empty if there is anything."""
    inventory = planner.inventory
    if inventory.items:
        return ""
    where = (
        spec.live.server
        if spec.live is not None
        else ", ".join(STDIN_NAME if path == STDIN else path for path in spec.files)
    )
    if not inventory.sources:
        return f"no *.yaml, *.yml or *.json files in {where}"
    errors = [str(note) for note in inventory.notes if note.level is Severity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"nothing could be read: {errors[0]}{more}"
    return f"there are no nodes, pods or workloads in {where}"
