"""Quantiles out of histograms."""

from __future__ import annotations

from math import inf

import pytest
from bench.controllers.latencies import Scrape, quantile

_BEFORE = """
workqueue_work_duration_seconds_bucket{name="a",le="0.1"} 5
workqueue_work_duration_seconds_bucket{name="a",le="1"} 5
workqueue_work_duration_seconds_bucket{name="a",le="+Inf"} 5
workqueue_retries_total{name="a"} 1
"""
_AFTER = """
# HELP workqueue_depth Current depth of workqueue
workqueue_depth{name="a"} 0
workqueue_queue_duration_seconds_bucket{name="a",le="0.1"} 10
workqueue_queue_duration_seconds_bucket{name="a",le="+Inf"} 10
workqueue_work_duration_seconds_bucket{name="a",le="0.1"} 10
workqueue_work_duration_seconds_bucket{name="a",le="1"} 15
workqueue_work_duration_seconds_bucket{name="a",le="+Inf"} 15
workqueue_work_duration_seconds_bucket{name="idle",le="+Inf"} 0
workqueue_retries_total{name="a"} 4
"""


@pytest.mark.parametrize(
    ("buckets", "part", "value"),
    [
        ({}, 0.5, 0.0),
        ({1.0: 0.0, inf: 0.0}, 0.5, 0.0),
        ({1.0: 10.0, inf: 10.0}, 0.5, 0.5),
        ({1.0: 5.0, 2.0: 10.0, inf: 10.0}, 0.9, 1.8),
        ({1.0: 5.0, inf: 10.0}, 0.9, inf),
    ],
)
def test_values_are_evenly_spread_between_bounds(buckets: dict[float, float], part: float, value: float) -> None:
    assert quantile(buckets, part) == pytest.approx(value)


def test_what_happened_between_two_looks_counts() -> None:
    (queue,) = Scrape(_AFTER).since(Scrape(_BEFORE))
    assert (queue.controller, queue.reconciles, queue.retries) == ("a", 10, 3)
    assert (queue.work.p50, queue.work.p99) == pytest.approx((0.1, 0.982))
    assert (queue.wait.p50, queue.wait.p99) == pytest.approx((0.05, 0.099))
