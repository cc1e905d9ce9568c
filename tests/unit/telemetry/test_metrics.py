import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from moorage.telemetry.apiserver_metrics import ApiServerMetrics, Asked
from moorage.telemetry.metrics import Metrics, add_process_metrics, exponential_buckets

OPEN = "application/openmetrics-text; version=1.0.0"
Read = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(families: Iterable[Metric]) -> Read:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def scraped(metrics: Metrics) -> Read:
    """What Prometheus' own parser reads in the text."""
    body, content_type = metrics.render()
    assert content_type.startswith("text/plain; version=0.0.4")
    return read(parse_text(body.decode()))


def test_counters_and_gauges() -> None:
    metrics = Metrics()
    attempts = metrics.counter("attempts_total", "Attempts.", ("result",))
    attempts.labels("scheduled").inc()
    attempts.labels("scheduled").value += 2
    attempts.labels("error").inc(0.5)
    pending = metrics.gauge("pending", "Pending.").labels()
    pending.inc(5)
    pending.dec()
    assert scraped(metrics) == {
        ("attempts_total", frozenset({("result", "scheduled")})): 3,
        ("attempts_total", frozenset({("result", "error")})): 0.5,
        ("pending", frozenset()): 4,
    }
    pending.set(-1)
    attempts.forget("error")
    assert sorted(scraped(metrics).values()) == [-1, 3]


def test_a_histogram_bucket_counts_values_up_to_its_bound() -> None:
    metrics = Metrics()
    seconds = metrics.histogram("seconds", "Seconds.", ("verb",), (1, 2.5)).labels("GET")
    for value in (0.5, 1, 2, 3, 0.25, 0.25, 0.25, 0.25):
        seconds.observe(value)
    assert seconds.count == 8
    verb = ("verb", "GET")
    assert scraped(metrics) == {
        ("seconds_bucket", frozenset({verb, ("le", "1.0")})): 6,
        ("seconds_bucket", frozenset({verb, ("le", "2.5")})): 7,
        ("seconds_bucket", frozenset({verb, ("le", "+Inf")})): 8,
        ("seconds_sum", frozenset({verb})): 7.5,
        ("seconds_count", frozenset({verb})): 8,
    }


def test_numbers_that_exist_anyway_are_read_when_asked_for() -> None:
    metrics = Metrics()
    hits = 0
    metrics.counter_function("hits_total", "Hits.", lambda: hits)
    metrics.gauge_function("queued", "Queued.", lambda: {("active",): 1, ("backoff",): 2}, ("queue",))
    hits = 7
    assert scraped(metrics)["hits_total", frozenset()] == 7
    assert scraped(metrics)["queued", frozenset({("queue", "backoff")})] == 2


def test_what_nobody_counted_without_labels_is_zero() -> None:
    metrics = Metrics()
    metrics.counter("a_total", "A.")
    metrics.counter("b_total", "B.", ("x",))
    metrics.histogram("c", "C.", buckets=(1,))
    assert set(scraped(metrics).values()) == {0}
    assert ("b_total", frozenset()) not in scraped(metrics)


def test_open_metrics_are_served_on_request() -> None:
    metrics = Metrics()
    metrics.counter("a_total", 'A "quoted"\nhelp.').labels().inc()
    metrics.counter("b", "A counter with a name that OpenMetrics has no place for.").labels().inc()
    metrics.histogram("c", "C.", buckets=(1,)).labels().observe(3)
    body, content_type = metrics.render(f"{OPEN};q=0.9, text/plain")
    assert content_type.startswith("application/openmetrics-text")
    families = {family.name: family for family in parse_open_metrics(body.decode())}  # type: ignore[no-untyped-call]
    assert (families["a"].type, families["b"].type, families["c"].type) == ("counter", "unknown", "histogram")
    assert families["a"].documentation == 'A "quoted"\nhelp.'


@given(st.text(), st.floats())
def test_any_label_and_any_value_survive(label: str, value: float) -> None:
    metrics = Metrics()
    metrics.gauge("g", "G.", ("label",)).labels(label).set(value)
    text = label.encode("utf-8", "replace").decode()
    ((_, labels), found) = next(iter(scraped(metrics).items()))
    assert dict(labels) == {"label": text}
    assert found == value or (math.isnan(value) and math.isnan(found))


def test_mistakes_are_found_at_once() -> None:
    metrics = Metrics()
    counter = metrics.counter("a_total", "A.", ("x", "y"))
    with pytest.raises(ValueError, match="a_total has labels"):
        counter.labels("only one")
    with pytest.raises(ValueError, match="a_total already"):
        metrics.gauge("a_total", "Again.")
    with pytest.raises(ValueError, match="h has labels"):
        metrics.histogram("h", "H.", ("x",)).labels()


def test_components_in_one_process_are_scraped_together() -> None:
    server, scheduler = Metrics(), Metrics()
    server.gauge("same", "Server's.").labels().set(1)
    scheduler.gauge("same", "Scheduler's.").labels().set(2)
    scheduler.gauge("own", "Scheduler's.").labels().set(3)
    server.include(scheduler)
    assert scraped(server) == {("same", frozenset()): 1, ("own", frozenset()): 3}


def test_the_process_is_described() -> None:
    metrics = Metrics()
    add_process_metrics(metrics)
    found = {name: value for (name, _), value in scraped(metrics).items()}
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_open_fds"] <= found["process_max_fds"]
    assert 1_000_000 < found["process_resident_memory_bytes"] < found["process_virtual_memory_bytes"]
    assert found["process_start_time_seconds"] > 1_000_000_000


def test_an_api_server_counts_its_requests() -> None:
    metrics = Metrics()
    counted = ApiServerMetrics(metrics)
    asked = Asked("POST", version="v1", resource="pods", scope="resource")
    counted.observe(asked, 201, 0.004)
    counted.observe(asked, 201, 0.2)
    counted.observe(asked, 409, 0.2)
    counted.long_running(Asked("WATCH", version="v1", resource="pods")).inc()
    counted.watch_events.labels("", "v1", "pods").inc(5)
    counted.mutating.inc()
    found = scraped(metrics)
    labels = frozenset(asked._asdict().items())
    assert found["apiserver_request_total", labels | {("code", "201")}] == 2
    assert found["apiserver_request_total", labels | {("code", "409")}] == 1
    assert found["apiserver_request_duration_seconds_count", labels] == 3
    assert found["apiserver_request_duration_seconds_bucket", labels | {("le", "0.005")}] == 1
    assert found["apiserver_current_inflight_requests", frozenset({("request_kind", "mutating")})] == 1
    by_name = {name: value for (name, _), value in found.items()}
    assert (by_name["apiserver_longrunning_requests"], by_name["apiserver_watch_events_total"]) == (1, 5)


def test_exponential_buckets() -> None:
    assert exponential_buckets(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)
