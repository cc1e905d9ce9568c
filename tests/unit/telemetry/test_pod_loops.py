"""Workloads whose pods end the same way again and again."""

import pytest

from moorage.model.go.times import time_text
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.telemetry.pod_loops import QUIET, TURNS, PodLoops, workload_name

BEGAN = 1_700_000_000.4


def metadata(created: float, owner: str = "web-7c", kind: str = "ReplicaSet") -> ObjectMeta:
    owners = (OwnerReference(apiVersion="apps/v1", kind=kind, name=owner, uid="u", controller=True),) if owner else ()
    labels = {"pod-template-hash": owner.rpartition("-")[2]} if owner else {}
    return ObjectMeta(
        name="p", namespace="default", labels=labels, ownerReferences=owners, creationTimestamp=time_text(created)
    )


@pytest.mark.parametrize(
    ("owner", "kind", "name"),
    [
        ("web-7c", "ReplicaSet", "Deployment default/web"),
        ("web", "ReplicaSet", "ReplicaSet default/web"),
        ("db-7c", "StatefulSet", "StatefulSet default/db-7c"),
        ("", "", ""),
    ],
)
def test_the_workload_of_a_pod(owner: str, kind: str, name: str) -> None:
    assert workload_name(metadata(BEGAN, owner, kind)) == name


def test_a_loop_is_named_once_until_it_is_quiet() -> None:
    loops, news = PodLoops(), []
    for number in range(20):
        now = BEGAN + 2 * number
        loop = loops.ended(metadata(now - 1), now)
        if loop is not None and loop.is_news:
            news.append((loop.workload, loop.pods, loop.text("refused", "why")))
    text = "Deployment default/web makes pods again and again that are refused, 4 within 6 s: why"
    assert news == [("Deployment default/web", TURNS + 1, text)]
    later = BEGAN + 40 + QUIET
    assert loops.ended(metadata(later), later) is None
    again = [loops.ended(metadata(later + number), later + number) for number in range(2, 2 + TURNS)]
    assert [loop is not None and loop.is_news for loop in again][-1]


def test_pods_that_end_together_are_no_loop() -> None:
    loops = PodLoops()
    assert [loops.ended(metadata(BEGAN - 60), BEGAN + number / 10) for number in range(50)] == [None] * 50


def test_pods_without_a_controller_and_other_workloads_do_not_count() -> None:
    loops = PodLoops()
    for number in range(10):
        now = BEGAN + 2 * number
        assert loops.ended(metadata(now - 1, ""), now) is None
        assert loops.ended(metadata(now - 1, f"web{number}-7c"), now) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.telemetry.pod_loops._MAX_WORKLOADS", 2)
    loops = PodLoops()
    for number in range(3):
        loops.ended(metadata(BEGAN, f"web{number}-7c"), BEGAN)
    assert loops.ended(metadata(BEGAN + 2, "web2-7c"), BEGAN + 3) is not None
    assert loops.ended(metadata(BEGAN + 2, "web0-7c"), BEGAN + 3) is None
