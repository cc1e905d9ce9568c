"""Admission of one pod: defaults, mutation, validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.manifests import pod_document
from bench.measure import time_call
from bench.result import Result, timed
from moorage.admit.admission import admit
from moorage.model.gates import gates_from

if TYPE_CHECKING:
    from collections.abc import Iterator


def measure() -> Iterator[Result]:
    gates = gates_from({"AllAlpha": True})
    pod = pod_document(7)
    yield timed("validation", "admit a pod", time_call(lambda: admit(pod, None, gates)))
