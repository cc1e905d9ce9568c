"""Reconcile latencies as a monitoring system would work them out: from the histograms that the server exposes.

In: two expositions, one before and one after. Out: for each controller how many keys were worked on in between, how
many of them failed, and p50 and p99 of the time they waited and took. Between two bounds of a histogram values count as
evenly spread, as in Prometheus' histogram_quantile.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAMPLE = re.compile(r'^(workqueue_\w+)\{name="([^"]*)"(?:,le="([^"]*)")?\} (\S+)$', re.MULTILINE)
_WAIT, _WORK = "workqueue_queue_duration_seconds_bucket", "workqueue_work_duration_seconds_bucket"
_RETRIES = "workqueue_retries_total"

Buckets = dict[float, float]


class Latency(msgspec.Struct, frozen=True):
    """Seconds; infinite if it is more than the histogram's last bound."""

    p50: float
    p99: float


class Queue(msgspec.Struct, frozen=True):
    """One controller's, between two looks at it."""

    controller: str
    reconciles: int
    retries: int
    wait: Latency
    work: Latency


class Scrape:
    """One exposition."""

    def __init__(self, text: str) -> None:
        self._buckets: dict[tuple[str, str], Buckets] = {}
        self._values: dict[tuple[str, str], float] = {}
        for metric, name, bound, value in _SAMPLE.findall(text):
            if bound:
                self._buckets.setdefault((metric, name), {})[float(bound)] = float(value)
            else:
                self._values[metric, name] = float(value)

    def since(self, before: Scrape) -> list[Queue]:
        """Of all controllers that did something."""
        found = []
        for metric, name in self._buckets:
            if metric != _WORK:
                continue
            work, wait = self._grown(before, _WORK, name), self._grown(before, _WAIT, name)
            reconciles = max(work.values(), default=0.0)
            if reconciles:
                retries = self._values.get((_RETRIES, name), 0.0) - before._values.get((_RETRIES, name), 0.0)
                found.append(Queue(name, int(reconciles), int(retries), _latency(wait), _latency(work)))
        return found

    def _grown(self, before: Scrape, metric: str, name: str) -> Buckets:
        old: Mapping[float, float] = before._buckets.get((metric, name), {})
        return {bound: count - old.get(bound, 0.0) for bound, count in self._buckets.get((metric, name), {}).items()}


def _latency(buckets: Buckets) -> Latency:
    return Latency(quantile(buckets, 0.5), quantile(buckets, 0.99))


def quantile(buckets: Buckets, part: float) -> float:
    """Of cumulative counts by upper bound."""
    bounds = sorted(buckets.items())
    wanted = part * bounds[-1][1] if bounds else 0.0
    if not wanted:
        return 0.0
    for (low, below), (high, upto) in pairwise([(0.0, 0.0), *bounds]):
        if upto >= wanted:
            return high if high == float("inf") else low + (high - low) * (wanted - below) / (upto - below)
    return float("inf")
