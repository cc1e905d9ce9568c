"""Keep counters, gauges and histograms with labels, and render them. Kubernetes: component-base/metrics.

No locks: everything is counted on one event loop. Keep the result of `labels(…)` and call `.inc()` on it, or `.value +=
1` in hot code; `counter_function` and `gauge_function` read numbers that exist anyway. Differs:
kubernetes_feature_enabled has the component as a label.
"""

import os
import resource
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from moorage.model.gates import GATES, Component, GateSet

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[str, ...]
Reading = float | Mapping[Labels, float]


class Sample(NamedTuple):
    """One line of an exposition: suffix of the name, labels in order, value."""

    suffix: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Count:
    """One number. `value` may be added to directly."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def dec(self, amount: float = 1) -> None:
        self.value -= amount

    def set(self, value: float) -> None:
        self.value = value


class Distribution:
    """Observations by bucket, and their sum."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


class Family:
    """All samples of one name: its kind, help text and label names."""

    kind = "untyped"

    def __init__(self, name: str, help_text: str, label_names: Labels) -> None:
        self.name, self.help, self.label_names = name, help_text, label_names
        self.optional: str = ""  # a label that is left out where it is empty

    def samples(self) -> Iterator[Sample]:
        return iter(())

    def _named(self, values: Labels) -> tuple[tuple[str, str], ...]:
        named = zip(self.label_names, values, strict=True)
        return tuple(pair for pair in named if pair[1] or pair[0] != self.optional)


_Child = TypeVar("_Child", Count, Distribution)


class _Labelled(Family, Generic[_Child]):
    """A family with one child for each combination of labels."""

    def __init__(self, name: str, help_text: str, label_names: Labels, new_child: Callable[[], _Child]) -> None:
        super().__init__(name, help_text, label_names)
        self._children: dict[Labels, _Child] = {}
        self._new_child: Callable[[], _Child] = new_child
        if not label_names:
            self.labels()

    def labels(self, *values: str) -> _Child:
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has labels {self.label_names}, got {values}")
            child = self._children[values] = self._new_child()
        return child

    def forget(self, *values: str) -> None:
        self._children.pop(values, None)

    def forget_where(self, labels: Labels, is_gone: Callable[[Labels], bool]) -> None:
        """Forget the children of things that are gone, given the values of some of their labels."""
        value_of = itemgetter(*map(self.label_names.index, labels))
        for values in [values for values in self._children if is_gone(value_of(values))]:
            del self._children[values]


class Gauge(_Labelled[Count]):
    """Numbers that go up and down, by labels."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, label_names: Labels) -> None:
        super().__init__(name, help_text, label_names, Count)

    def samples(self) -> Iterator[Sample]:
        for values, child in self._children.items():
            yield Sample("", self._named(values), child.value)


class Counter(Gauge):
    """Numbers that only grow."""

    kind = "counter"


class Histogram(_Labelled[Distribution]):
    """Distributions by labels."""

    kind = "histogram"

    def __init__(self, name: str, help_text: str, label_names: Labels, buckets: Sequence[float]) -> None:
        self.bounds = tuple(sorted(buckets))
        super().__init__(name, help_text, label_names, lambda: Distribution(self.bounds))

    def samples(self) -> Iterator[Sample]:
        for values, child in self._children.items():
            named, below = self._named(values), 0
            for bound, count in zip((*map(_bound_text, self.bounds), "+Inf"), child.counts, strict=True):
                below += count
                yield Sample("_bucket", (*named, ("le", bound)), below)
            yield Sample("_sum", named, child.sum)
            yield Sample("_count", named, below)


class Function(Family):
    """Numbers that are read when scraped: one, or a mapping by labels."""

    def __init__(self, name: str, help_text: str, label_names: Labels, kind: str, read: Callable[[], Reading]) -> None:
        super().__init__(name, help_text, label_names)
        self.kind = kind
        self._read = read

    def samples(self) -> Iterator[Sample]:
        reading = self._read()
        if isinstance(reading, Mapping):
            for values, value in reading.items():
                yield Sample("", self._named(values), value)
        else:
            yield Sample("", (), reading)


_F = TypeVar("_F", bound=Family)


class Metrics:
    """One component's families, by name."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._included: list[Metrics] = []

    def counter(self, name: str, help_text: str, labels: Labels = ()) -> Counter:
        return self._add(Counter(name, help_text, labels))

    def gauge(self, name: str, help_text: str, labels: Labels = ()) -> Gauge:
        return self._add(Gauge(name, help_text, labels))

    def histogram(
        self, name: str, help_text: str, labels: Labels = (), buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Histogram:
        return self._add(Histogram(name, help_text, labels, buckets))

    def counter_function(self, name: str, help_text: str, read: Callable[[], Reading], labels: Labels = ()) -> Function:
        return self._add(Function(name, help_text, labels, "counter", read))

    def gauge_function(self, name: str, help_text: str, read: Callable[[], Reading], labels: Labels = ()) -> Function:
        return self._add(Function(name, help_text, labels, "gauge", read))

    def include(self, other: "Metrics") -> None:
        """Show another component's families too, for several components at one address."""
        self._included.append(other)

    def exclude(self, other: "Metrics") -> None:
        self._included = [included for included in self._included if included is not other]

    def families(self) -> list[Family]:
        families: dict[str, Family] = {}
        for other in self._included:
            families.update((family.name, family) for family in other.families())
        families.update(self._families)
        return [families[name] for name in sorted(families)]

    def render(self, accept: str = "") -> tuple[bytes, str]:
        return render(self.families(), accept)

    def _add(self, family: _F) -> _F:
        if family.name in self._families:
            raise ValueError(f"there is a metric {family.name} already")
        self._families[family.name] = family
        return family


def _bound_text(bound: float) -> str:
    return repr(float(bound)) if bound != int(bound) else f"{bound:.1f}"


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(start * factor**i for i in range(count))


def render(families: Iterable[Family], accept: str = "") -> tuple[bytes, str]:
    is_open = "application/openmetrics-text" in accept
    lines: list[str] = []
    for family in families:
        name, kind = family.name, family.kind
        if is_open:
            if kind == "counter":
                name, kind = (name.removesuffix("_total"), kind) if name.endswith("_total") else (name, "unknown")
            elif kind == "untyped":
                kind = "unknown"
        lines.append(f"# HELP {name} {_escape(family.help, quotes=is_open)}\n")
        lines.append(f"# TYPE {name} {kind}\n")
        lines.extend(_render_sample(family.name, sample) for sample in family.samples())
    if is_open:
        lines.append("# EOF\n")
    return "".join(lines).encode("utf-8", "replace"), OPEN_METRICS if is_open else TEXT


def _render_sample(name: str, sample: Sample) -> str:
    if not sample.labels:
        return f"{name}{sample.suffix} {_number(sample.value)}\n"
    labels = ",".join(f'{label}="{_escape(value, quotes=True)}"' for label, value in sample.labels)
    return f"{name}{sample.suffix}{{{labels}}} {_number(sample.value)}\n"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    if value == float("-inf"):
        return "-Inf"
    if value != value:
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _escape(text: str, *, quotes: bool) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quotes else escaped


NAME = "kubernetes_feature_enabled"


def add_feature_metrics(metrics: Metrics, gates: Mapping[Component, GateSet]) -> None:
    values: dict[tuple[str, ...], float] = {
        (gate.name, gate.stage.value, component.value): float(switched.enabled(gate))
        for component, switched in gates.items()
        for gate in GATES
        if component in gate.components
    }
    help_text = "This metric records the data about the stage and enablement of a k8s feature."
    metrics.gauge_function(NAME, help_text, lambda: values, ("name", "stage", "component"))


_STAT = Path("/proc/self/stat")
_FDS = Path("/proc/self/fd")


def add_process_metrics(metrics: Metrics) -> None:
    started = time.time() - time.monotonic() + _stat()[18] / os.sysconf("SC_CLK_TCK") if _STAT.exists() else time.time()
    metrics.counter_function("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", _cpu)
    metrics.gauge_function(
        "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", lambda: started
    )
    metrics.gauge_function(
        "process_max_fds",
        "Maximum number of open file descriptors.",
        lambda: float(resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    )
    if not _STAT.exists():
        return
    metrics.gauge_function(
        "process_open_fds", "Number of open file descriptors.", lambda: sum(1 for _ in _FDS.iterdir())
    )
    metrics.gauge_function("process_virtual_memory_bytes", "Virtual memory size in bytes.", lambda: _stat()[19])
    metrics.gauge_function(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        lambda: _stat()[20] * resource.getpagesize(),
    )


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _stat() -> list[int]:
    """Return the numbers in /proc/self/stat after the command's name and state."""
    return [int(field) for field in _STAT.read_text().rpartition(")")[2].split()[1:]]
