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
        text = "How long in seconds an item stays in workqueue before being requested"
        self._waited = metrics.histogram("workqueue_queue_duration_seconds", text, _NAME, _BUCKETS)
        text = "How long in seconds processing an item from workqueue takes."
        self._worked = metrics.histogram("workqueue_work_duration_seconds", text, _NAME, _BUCKETS)
        self._refused = metrics.counter(
            "moorage_controller_refused_requests_total",
            "Requests of a controller that the API server refused, such as pods of a template that is not valid.",
            _NAME,
        )
        gauge, counter = metrics.gauge_function, metrics.counter_function
        gauge("workqueue_depth", "Current depth of workqueue", self._reading(lambda queue: float(len(queue))), _NAME)
        text = "How many seconds has the longest running processor for workqueue been running."
        longest = self._reading(lambda queue: queue.longest_running(clock()))
        gauge("workqueue_longest_running_processor_seconds", text, longest, _NAME)
        for what in ("adds", "retries"):
            count = self._reading(lambda queue, what=what: float(getattr(queue, what)))
            counter(f"workqueue_{what}_total", f"Total number of {what} handled by workqueue", count, _NAME)

    def add(self, name: str, queue: WorkQueue) -> None:
        self._queues[name] = queue

    def waited(self, name: str, seconds: float) -> None:
        self._waited.labels(name).observe(seconds)

    def worked(self, name: str, seconds: float) -> None:
        self._worked.labels(name).observe(seconds)

    def refused(self, name: str) -> None:
        self._refused.labels(name).inc()

    def _reading(self, read: Callable[..., float]) -> Callable[[], Mapping[tuple[str, ...], float]]:
        return lambda: {(name,): read(queue) for name, queue in self._queues.items()}
