"""Do what several commands need: read gates, configuration and clusters, choose colours, print reports and errors."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

import click

from moorage.cli.streams import set_encoding

if TYPE_CHECKING:
    from moorage.client.leader_election import ElectionTimes
    from moorage.model.gates import Component, GateSet
    from moorage.model.kinds import Kind
    from moorage.plan.input.inventory import Inventory, Note
    from moorage.plan.input.live_cluster import LiveCluster
    from moorage.plan.planner import Planner
    from moorage.run.devices.spec import DeviceSet
    from moorage.schedule.config.configured_scheduler import Configuration

_BAD_CONFIGURATION = _NO_CLUSTER = _EMPTY_INPUT = 2
_LONG_AFTER = 1.0
_REDRAW_EVERY = 0.1
_WIDTH = 30


def is_piped() -> bool:
    """Return whether standard input is a pipe or a file, and no terminal."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def piped_input(verb: str) -> tuple[str, ...]:
    """Return `-` if something is piped into standard input. Raises UsageError if not."""
    if is_piped():
        return ("-",)
    has_context = any(option.name == "context" for option in click.get_current_context().command.params)
    cluster = ", or name a cluster with --context or --kubeconfig" if has_context else ""
    raise click.UsageError(f"Nothing to {verb}: name files or directories, or pipe manifests in{cluster}.")


def given_options(*names: str) -> list[str]:
    """Return those of the options of the running command that the user has given."""
    context = click.get_current_context()
    options = {name: option.name for option in context.command.params for name in option.opts}
    return [name for name in names if context.params.get(options.get(name) or "")]


def live_input(
    kubeconfig: str, context: str, endpoints: tuple[str, ...] = (), more: Collection[Kind] = ()
) -> LiveCluster:
    """Read the cluster of --kubeconfig, also objects of `more` kinds; exit if it cannot be read."""
    from moorage.plan.input.live_cluster import NoLiveCluster, read_live_cluster

    try:
        return read_live_cluster(kubeconfig, context, endpoints, more)
    except NoLiveCluster as error:
        say(str(error))
        raise click.exceptions.Exit(_NO_CLUSTER) from None


def make_planner(
    kubeconfig: str | None,
    context: str,
    endpoints: tuple[str, ...],
    namespace: str,
    gates: tuple[str, ...],
    config: str | None,
    seed: int,
    only: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    *,
    applies: bool = False,
    reads_pools: bool = False,
) -> Planner:
    """Return a planner with the cluster of --kubeconfig, if there is one, and its gates. Raises UsageError.

    `only` are the options of single components, such as `kubelet_feature_gates`. What manifests are read by that the
    command `applies` is read from the cluster, too, and with `reads_pools` the pools of its autoscaler.
    """
    from moorage.plan.input.configured import configured_planner
    from moorage.plan.input.live_cluster import DEFINITIONS
    from moorage.plan.input.live_pools import POOL_KINDS

    parsed_gates(gates)
    gates_of_components(gates, only)
    if kubeconfig is None and endpoints:
        raise click.UsageError("--scrape needs a cluster: --kubeconfig, --context or $KUBECONFIG.")
    more = (*(DEFINITIONS if applies else ()), *(POOL_KINDS if reads_pools else ()))
    live = live_input(kubeconfig, context, endpoints, more) if kubeconfig is not None else None
    return configured_planner(
        gate_settings(gates),
        seed,
        namespace,
        lambda found: read_configuration(config, found),
        live,
        only=component_settings(only),
    )


def parsed_gates(given: tuple[str, ...], option: str = "--feature-gates", release: int | None = None) -> GateSet:
    from moorage.model.gates import GateError, gates_from

    try:
        return gates_from(gate_settings(given), release)
    except GateError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from None


def gate_settings(given: tuple[str, ...]) -> dict[str, bool]:
    """Return what the options set. Raises GateError."""
    from moorage.model.gates import parse_feature_gates

    settings: dict[str, bool] = {}
    for text in given:
        settings.update(parse_feature_gates(text))
    return settings


def gates_of_components(everywhere: tuple[str, ...], only: Mapping[str, tuple[str, ...]]) -> dict[Component, GateSet]:
    """Return the gates of each component: --feature-gates, overridden by the option of the component."""
    from moorage.model.gates import Component, component_gates

    parsed_gates(everywhere)
    named = {}
    for component in Component:
        option = _gates_option_of(component)
        named[component] = only.get(option.replace("-", "_"), ())
        parsed_gates(named[component], f"--{option}")
    return component_gates(everywhere, named)


def component_settings(only: Mapping[str, tuple[str, ...]]) -> dict[Component, dict[str, bool]]:
    """Return what the options of single components set, for those that are given. Raises GateError."""
    from moorage.model.gates import Component

    given = {component: only.get(_gates_option_of(component).replace("-", "_"), ()) for component in Component}
    return {component: gate_settings(texts) for component, texts in given.items() if texts}


def _gates_option_of(component: Component) -> str:
    return f"{component.value.removeprefix('kube-')}-feature-gates"


def duration_of(option: str, text: str) -> float:
    """Return the seconds of a Go duration, such as 1m30s; 0 may have no unit. Raises click.BadParameter."""
    from moorage.model.go.times import DurationError, parse_duration

    try:
        seconds = parse_duration(text) / 1_000_000_000
    except DurationError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from None
    if seconds < 0:
        raise click.BadParameter("must not be negative", param_hint=f"'{option}'")
    return seconds


def election_times(lease: str, deadline: str, retry: str) -> ElectionTimes:
    """Parse the times of --leader-elect-…, which must fit together."""
    from moorage.client.leader_election import ElectionTimes

    given = {"lease-duration": lease, "renew-deadline": deadline, "retry-period": retry}
    seconds = [duration_of(f"--leader-elect-{name}", text) for name, text in given.items()]
    times = ElectionTimes(int(seconds[0]), seconds[1], seconds[2])
    if complaint := times.complaint():
        raise click.UsageError(f"leader election: {complaint}")
    return times


def read_configuration(path: str | None, gates: GateSet, text: str | None = None) -> Configuration:
    """Read the file of --config, or `text` in its place, the default configuration without; exit if it is wrong."""
    from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, ConfigurationError

    if not path:
        return DEFAULT_CONFIGURATION
    from moorage.lint.sources import reason_of
    from moorage.schedule.config.configuration import load_configuration

    try:
        configuration = load_configuration(Path(path).read_bytes() if text is None else text.encode(), path, gates)
    except OSError as error:
        say(f"{path}: {reason_of(error)}")
    except ConfigurationError as error:
        for problem in error.problems:
            say(str(problem))
    else:
        for note in configuration.notes:
            say(f"{note.source}:{note.line}: note: {note.text}")
        return configuration
    raise click.exceptions.Exit(_BAD_CONFIGURATION)


def prepare_output(*, is_text: bool) -> None:
    """Let standard output spell plainly or escape what its encoding lacks; what programs read is UTF-8."""
    set_encoding(sys.stdout, is_text=is_text)


def write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def terminal_width() -> int:
    """Return the columns of the terminal, 100 elsewhere; $COLUMNS is often left over from another program."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100


def complain_of_unreadable(notes: Iterable[Note]) -> None:
    """Tell what could not be read on standard error, where it is seen although the report goes into a file."""
    from moorage.plan.input.inventory import UNREADABLE

    for note in notes:
        if note.message.startswith(UNREADABLE):
            say(str(note))


def refuse_empty(inventory: Inventory, paths: Sequence[str], *, allows_empty: bool) -> None:
    """Exit if the input has no Kubernetes object, unless that is allowed; mention named files without any."""
    from moorage.lint.input_contents import ALLOW_EMPTY

    for empty in inventory.contents.mentions():
        say(str(empty))
    faults = [] if allows_empty else [str(empty) for empty in inventory.contents.faults(paths)]
    for fault in faults:
        say(fault)
    if faults:
        context = click.get_current_context(silent=True)
        options = [name for one in context.command.params for name in one.opts] if context is not None else []
        hint = f"; {ALLOW_EMPTY}" if ALLOW_EMPTY.split()[0] in options else ""
        say(f"input without a Kubernetes object is an error{hint}")
        raise click.exceptions.Exit(_EMPTY_INPUT)


def read_devices(values: tuple[str, ...], texts: Mapping[str, str] = MappingProxyType({})) -> tuple[DeviceSet, ...]:
    """Read the values of --devices: `driver=count,…`, or files unless `texts` has them. Raises click.BadParameter."""
    from moorage.lint.sources import reason_of
    from moorage.run.devices.spec import DeviceSpecError, parse_devices

    devices: list[DeviceSet] = []
    for value in values:
        try:
            text = value if "=" in value else texts.get(value)
            read = parse_devices(Path(value).read_text("utf-8") if text is None else text, value)
        except (OSError, UnicodeDecodeError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            raise click.BadParameter(f"{value}: {reason}", param_hint="'--devices'") from None
        except DeviceSpecError as error:
            raise click.BadParameter(str(error), param_hint="'--devices'") from None
        if not read:
            say(f"--devices: {value} names no devices")
        devices += read
    return tuple(devices)


def coloured(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Print one line on standard error, with control characters made visible."""
    from moorage.lint.report.printable import printable

    click.echo(f"moorage: {printable(text)}", err=True)


class Progress:
    """A bar on standard error that counts ticks; it is not drawn during the first second."""

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        noun: str = "files",
    ) -> None:
        self._total = total
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._done = 0
        self._next_at = clock() + _LONG_AFTER
        self._drawn = 0

    def tick(self) -> None:
        self._done += 1
        now = self._clock()
        if now >= self._next_at:
            self._next_at = now + _REDRAW_EVERY
            self._draw()

    def _draw(self) -> None:
        filled = _WIDTH * self._done // max(self._total, 1)
        bar = "#" * min(filled, _WIDTH)
        line = f"[{bar:-<{_WIDTH}}] {self._done:,}/{self._total:,} {self._noun}"
        self._stream.write(f"\r{line:<{self._drawn}}")
        self._stream.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        """Remove the line, if there is one, so that something else can be printed."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0
