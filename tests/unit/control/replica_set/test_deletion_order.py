"""Which pods go first."""

from random import Random
from typing import Any

import pytest
from tests.unit.control.workloads import pod, ready, seen
from tests.virtual_time import BASE

from moorage.client.protocol import Object
from moorage.control.framework import deletion_order
from moorage.control.framework.deletion_order import deletion_cost
from moorage.control.framework.steps import finish
from moorage.model.well_known.annotations import POD_DELETION_COST

_NOW = BASE + 100_000


def pods_to_delete(pods: list[Object], related: list[Object], count: int, patience: int, now: float) -> list[Object]:
    return finish(deletion_order.pods_to_delete(pods, related, count, patience, now))


def _pod(name: str, node: str = "n", status: dict[str, Any] | None = None, **metadata: Any) -> Object:
    spec = {"nodeName": node} if node else {}
    made = {"creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    return seen(pod(name, spec=spec, status=ready() if status is None else status, metadata=made))


def _restarted(times: int) -> dict[str, Any]:
    return {**ready(), "containerStatuses": [{"name": "c", "restartCount": times}]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_pod("unassigned", ""), _pod("b", status={"phase": "Pending"})),
        (_pod("pending", status={"phase": "Pending"}), _pod("b", status={"phase": "Unknown"})),
        (_pod("unknown", status={"phase": "Unknown"}), _pod("b", status={"phase": "Running"})),
        (_pod("not ready", status={"phase": "Running"}), _pod("b", annotations={POD_DELETION_COST: "-9"})),
        (_pod("cheap", annotations={POD_DELETION_COST: "-1"}), _pod("b")),
        (_pod("cheaper", annotations={POD_DELETION_COST: "1"}), _pod("b", annotations={POD_DELETION_COST: "2"})),
        (_pod("ready later", status=ready("2026-01-01T20:00:00Z")), _pod("b")),
        (_pod("ready, nobody knows since when", status=ready(None)), _pod("b")),
        (_pod("restarted", status=_restarted(3)), _pod("b", status=_restarted(2))),
        (_pod("younger", creationTimestamp="2026-01-02T03:00:00Z"), _pod("b")),
    ],
    ids=lambda found: found.name,
)
def test_the_one_that_is_missed_least_goes_first(first: Object, second: Object) -> None:
    for pods in ([first, second], [second, first]):
        assert pods_to_delete(pods, pods, 1, 0, _NOW) == [first]


def test_pods_that_share_their_node_go_before_those_that_do_not() -> None:
    pods = [_pod("alone", "a"), _pod("b1", "b"), _pod("b2", "b")]
    assert {found.name for found in pods_to_delete(pods, pods, 2, 0, _NOW)} >= {"b1"}
    assert pods_to_delete(pods, pods, 1, 0, _NOW)[0].name in {"b1", "b2"}
    others = [_pod("x", "a"), _pod("y", "a")]
    assert pods_to_delete(pods, [*pods, *others], 1, 0, _NOW)[0].name == "alone"


def test_what_is_not_available_yet_goes_before_what_is_however_cheap_that_would_be() -> None:
    recent = _pod("recent", status=ready("2026-01-02T03:46:35Z"))
    cheap = _pod("cheap", annotations={POD_DELETION_COST: "-5"})
    assert pods_to_delete([cheap, recent], [], 1, 10, _NOW) == [recent]
    assert pods_to_delete([cheap, recent], [], 1, 0, _NOW) == [cheap]


def test_ages_of_the_same_magnitude_are_the_same() -> None:
    older = _pod("a-older", status=ready("2026-01-01T00:00:00Z"))
    younger = _pod("b-younger", status=ready("2026-01-01T00:10:00Z"))
    assert pods_to_delete([younger, older], [], 1, 0, _NOW) == [older]


def test_sidecars_count_when_containers_are_equal() -> None:
    restarts = [{"name": "s", "restartCount": 2}, {"name": "init", "restartCount": 9}]
    spec = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "init"}], "nodeName": "n"}
    made = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    one = seen(pod("one", spec=spec, status={**ready(), "initContainerStatuses": restarts}, metadata=made))
    assert pods_to_delete([_pod("a"), one], [], 1, 0, _NOW) == [one]


def test_all_of_them_need_no_order() -> None:
    pods = [_pod("a"), _pod("b")]
    assert pods_to_delete(pods, pods, 2, 0, _NOW) == pods


@pytest.mark.parametrize(
    ("text", "cost"),
    [("5", 5), ("-5", -5), ("0", 0), ("05", 0), ("+5", 0), ("x", 0), ("", 0), ("2147483648", 0), ("9" * 99, 0)],
)
def test_costs_that_cannot_be_read_are_none(text: str, cost: int) -> None:
    assert deletion_cost(_pod("a", annotations={POD_DELETION_COST: text}).view) == cost


@pytest.mark.parametrize("count", [1, 7, 150, 299])
def test_the_cheapest_of_many_are_the_first_of_all_in_order(count: int) -> None:
    random = Random(count)
    pods = [
        _pod(
            f"{random.random()}",
            random.choice(["", "a", "b", "c"]),
            random.choice([{"phase": "Running"}, {"phase": "Pending"}, _restarted(random.randrange(3))]),
            annotations={POD_DELETION_COST: str(random.randrange(4))},
        )
        for _ in range(300)
    ]
    in_order = pods_to_delete([*pods], pods, len(pods) - 1, 0, _NOW)
    assert pods_to_delete(pods, pods, count, 0, _NOW) == in_order[:count]
    first: list[Object] = []
    for taken in range(1, min(count, 7) + 1):
        rest = [pod for pod in pods if pod not in first]
        first += pods_to_delete(rest, pods, 1, 0, _NOW)
        assert first == in_order[:taken]
