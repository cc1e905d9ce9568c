"""Counters, gauges and histograms with labels. Kubernetes: component-base/metrics.

No locks: everything is counted on one event loop. Keep the result of `labels(…)` and call `.inc()` on it, or `.value +=
1` in hot code; `counter_function` and `gauge_function` read numbers that exist anyway.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

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

    def observe_many(self, value: float, times: int) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    @property
    def count(self) -> int:
        return sum(self.counts)


class Family:
    """All samples of one name: its kind, help text and label names."""

    kind = "untyped"

    def __init__(self, name: str, help_text: str, label_names: Labels) -> None:
        self.name, self.help, self.label_names = name, help_text, label_names

    def samples(self) -> Iterator[Sample]:
        return iter(())

    def _named(self, values: Labels) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.label_names, values, strict=True))


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
        """Return the child for these labels, to be kept by the caller."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has labels {self.label_names}, got {values}")
            child = self._children[values] = self._new_child()
        return child

    def forget(self, *values: str) -> None:
        self._children.pop(values, None)


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

    def families(self) -> list[Family]:
        """Return all families by name; this component's own win over included ones."""
        found: dict[str, Family] = {}
        for other in self._included:
            found.update((family.name, family) for family in other.families())
        found.update(self._families)
        return [found[name] for name in sorted(found)]

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


# -- exposition --------------------------------------------------------------------------------------------------------


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
