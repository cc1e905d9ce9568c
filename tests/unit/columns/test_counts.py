"""Counts per slot and per domain, brought up to date slot by slot."""

import numpy as np

from moorage.columns.counts import UNCHANGED, DomainCounts, PodCounts
from moorage.columns.interning import LabelColumn
from moorage.columns.slots import Slots


def column(*values: str | None) -> LabelColumn:
    made = LabelColumn("zone", Slots(len(values)).array(np.int32))
    for slot, value in enumerate(values):
        made.set(slot, value)
    return made


def counted(*pods: int) -> PodCounts:
    counts = PodCounts()
    for slot, number in enumerate(pods):
        if number:
            counts.change(slot, number)
    return counts


def by_value(domains: DomainCounts) -> dict[str | None, int]:
    return {value: int(domains.counts[code]) for code, value in enumerate(domains.column.values.values)}


def test_slots_without_pods_are_not_kept() -> None:
    counts = counted(0, 2)
    counts.change(1, -2)
    assert counts.on == {}
    assert counted(0, 2).every(3).tolist() == [0, 2, 0]


def test_domain_counts_are_the_sums_of_their_slots() -> None:
    domains = DomainCounts(column("a", "b", "a", None), [(counted(1, 2, 3, 4), 1)])
    domains.recount()
    assert by_value(domains) == {None: 0, "a": 4, "b": 2}
    assert domains.pods == 6


def test_kinds_of_pods_have_weights_and_are_counted_without() -> None:
    domains = DomainCounts(column("a", "b"), [(counted(1, 2), 3), (counted(1), -3)])
    domains.recount()
    assert by_value(domains) == {None: 0, "a": 0, "b": 6}
    assert domains.pods == 4


def test_only_slots_that_count_are_in_a_domain() -> None:
    domains = DomainCounts(column("a", "a"), [(counted(1, 2), 1)])
    domains.recount(np.array([True, False]))
    assert by_value(domains) == {None: 0, "a": 1}
    assert domains.follow(1, counts_here=True) == (0, 1)
    assert by_value(domains) == {None: 0, "a": 3}


def test_following_a_slot_tells_which_domains_changed() -> None:
    zones, pods = column("a", "b"), counted(1)
    domains = DomainCounts(zones, [(pods, 1)])
    domains.recount()
    assert domains.follow(0) == UNCHANGED
    pods.change(1, 5)
    assert domains.follow(1) == (0, 2)
    zones.set(1, "new")
    assert domains.follow(1) == (2, 3)
    assert by_value(domains) == {None: 0, "a": 1, "b": 0, "new": 5}
    pods.change(1, -5)
    assert domains.follow(1) == (3, 0)
    assert domains.pods == 1


def test_members_of_a_domain_follow_the_labels() -> None:
    zones = column("a", "b", "a")
    assert zones.members(1) == {0, 2}
    zones.set(2, "c")
    zones.set(0, None)
    assert [zones.members(code) for code in (1, 2, 3)] == [set(), {1}, {2}]
