"""Count and time the requests of the API server. Kubernetes: apiserver's endpoints/metrics."""

from collections.abc import Container
from typing import NamedTuple

from moorage.model.kinds import Kind
from moorage.telemetry.admission_metrics import AdmissionMetrics
from moorage.telemetry.metrics import Count, Distribution, Labels, Metrics

_BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3),
    *(4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
)


_RESOURCE = ("group", "version", "resource")


class Asked(NamedTuple):
    """Labels of a request: `verb` is GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE …"""

    verb: str
    dry_run: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    scope: str = ""  # resource, namespace or cluster
    component: str = "apiserver"


def asked_of(verb: str, kind: Kind, namespace: str, name: str, subresource: str = "", dry_run: str = "") -> Asked:
    scope = "resource" if name or verb == "POST" else "namespace" if namespace else "cluster"
    return Asked(verb, dry_run, kind.group, kind.version, kind.plural, subresource, scope)


class ApiServerMetrics:
    """Counts requests by labels and status code, and those in flight."""

    def __init__(self, metrics: Metrics) -> None:
        labels = Asked._fields
        without_dry_run = tuple(name for name in labels if name != "dry_run")
        self._total = metrics.counter(
            "apiserver_request_total",
            "Counter of apiserver requests by verb, dry run, group, version, resource, scope, component and code.",
            (*labels, "code"),
        )
        self._seconds = metrics.histogram(
            "apiserver_request_duration_seconds",
            "Response latency in seconds by verb, dry run, group, version, resource, subresource, scope and component.",
            labels,
            _BUCKETS,
        )
        self._long_running = metrics.gauge(
            "apiserver_longrunning_requests",
            "Long-running requests that are active, by verb, group, version, resource, scope and component.",
            without_dry_run,
        )
        self.watch_events = metrics.counter(
            "apiserver_watch_events_total", "Number of events sent to watch clients.", ("group", "version", "resource")
        )
        inflight = metrics.gauge(
            "apiserver_current_inflight_requests", "Requests that are being answered, by kind.", ("request_kind",)
        )
        self.mutating = inflight.labels("mutating")
        self.read_only = inflight.labels("readOnly")
        self.admission = AdmissionMetrics(metrics)
        self._known: dict[tuple[Asked, int], tuple[Count, Distribution]] = {}

    def observe(self, asked: Asked, code: int, seconds: float) -> None:
        total, durations = self._known.get((asked, code)) or self.counted(asked, code)
        total.value += 1
        durations.observe(seconds)

    def counted(self, asked: Asked, code: int) -> tuple[Count, Distribution]:
        """Return where requests with these labels are counted."""
        known = self._known[asked, code] = (self._total.labels(*asked, str(code)), self._seconds.labels(*asked))
        return known

    def keep_resources(self, served: Container[Labels]) -> None:
        """Forget the series of resources other than these, each with group, version and plural."""

        def is_gone(resource: Labels) -> bool:
            return bool(resource[2]) and resource not in served

        for family in (self._total, self._seconds, self._long_running, self.watch_events):
            family.forget_where(_RESOURCE, is_gone)
        self._known = {key: known for key, known in self._known.items() if not is_gone(key[0][2:5])}

    def long_running(self, asked: Asked) -> Count:
        return self._long_running.labels(asked.verb, *asked[2:])
