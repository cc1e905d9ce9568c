"""Requests are counted by resource, for as long as the resource is served."""

from moorage.telemetry.apiserver_metrics import ApiServerMetrics, Asked
from moorage.telemetry.metrics import Metrics


def lines(metrics: Metrics) -> list[str]:
    return [line for line in metrics.render()[0].decode().splitlines() if not line.startswith("#")]


def test_series_of_resources_that_are_not_served_any_more_are_forgotten() -> None:
    metrics = Metrics()
    counted = ApiServerMetrics(metrics)
    counted.observe(Asked("GET", version="v1", resource="pods", scope="resource"), 200, 0.1)
    counted.observe(Asked("GET"), 404, 0.1)
    before = lines(metrics)
    for number in range(300):
        asked = Asked("LIST", group=f"g{number}.example.com", version="v1", resource="things", scope="cluster")
        counted.observe(asked, 200, 0.1)
        counted.long_running(asked).inc()
        counted.watch_events.labels(asked.group, asked.version, asked.resource).inc()
    assert len(lines(metrics)) > 25 * 300
    counted.keep_resources({("", "v1", "pods")})
    assert lines(metrics) == before
    asked = Asked("LIST", group="g1.example.com", version="v1", resource="things", scope="cluster")
    counted.observe(asked, 200, 0.1)  # served again
    assert sum("apiserver_request_total{" in line for line in lines(metrics)) == 3
