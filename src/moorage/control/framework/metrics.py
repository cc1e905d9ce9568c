"""Work queue metrics under Kubernetes' names (workqueue_*), and refused requests by controller."""

from collections.abc import Callable, Mapping

from moorage.control.framework.work_queue import WorkQueue
from moorage.telemetry.metrics import Metrics, exponential_buckets

#: Kubernetes' bounds, and some between them for a more exact p99.
_BUCKETS = (*exponential_buckets(10e-9, 10, 12), 0.0025, 0.005, 0.025, 0.05, 0.25, 0.5, 2.5, 5.0, 25.0, 50.0)
_NAME = ("name",)


class ControllerMetrics:
    """Metrics of all controllers, by the controller's name."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._queues: dict[str, WorkQueue] = {}
        self._clock = clock
        self._waited = metrics.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            _NAME,
            _BUCKETS,
        )
        self._worked = metrics.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
            _NAME,
            _BUCKETS,
        )
        self._refused = metrics.counter(
            "moorage_controller_refused_requests_total",
            "Requests of a controller that the API server refused, such as pods of a template that is not valid.",
            _NAME,
        )
        for name, help_text, read in (
            ("workqueue_depth", "Current depth of workqueue", lambda queue: float(len(queue))),
            (
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
                lambda queue: queue.longest_running(self._clock()),
            ),
        ):
            metrics.gauge_function(name, help_text, self._reading(read), _NAME)
        for name, help_text, read in (
            ("workqueue_adds_total", "Total number of adds handled by workqueue", lambda queue: float(queue.adds)),
            (
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                lambda queue: float(queue.retries),
            ),
        ):
            metrics.counter_function(name, help_text, self._reading(read), _NAME)

    def add(self, name: str, queue: WorkQueue) -> None:
        self._queues[name] = queue

    def waited(self, name: str, seconds: float) -> None:
        self._waited.labels(name).observe(seconds)

    def worked(self, name: str, seconds: float) -> None:
        self._worked.labels(name).observe(seconds)

    def refused(self, name: str) -> None:
        self._refused.labels(name).inc()

    def _reading(self, read: Callable[[WorkQueue], float]) -> Callable[[], Mapping[tuple[str, ...], float]]:
        return lambda: {(name,): read(queue) for name, queue in self._queues.items()}
