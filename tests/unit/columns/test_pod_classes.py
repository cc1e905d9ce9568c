"""Which pods a predicate counts, however it is filed, and the terms that pods own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from moorage.columns.cluster import Cluster
from moorage.columns.codes import LabelColumn
from moorage.columns.owned_terms import TermKind
from moorage.columns.pod_classes import UNCHANGED, DomainCounts, PodCounts, label_needed
from moorage.columns.slots import Slots
from moorage.match.label_selector import Selector, parse_selector
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod


def pod(labels: dict[str, str], **spec: Any) -> Pod:
    return convert_view({"metadata": {"namespace": "default", "labels": labels}, "spec": spec}, Pod)


def cluster() -> Cluster:
    made = Cluster()
    made.add_node(convert_view({"metadata": {"name": "n"}}, Node))
    return made


def counts(selector: Selector, asked: list[str]) -> Any:
    def predicate(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
        asked.append(labels.get("app", ""))
        return selector.match(labels)

    return predicate


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("app=web", (("app", "web"),)),
        ("tier,app in (db,web)", (("app", "db"), ("app", "web"))),
        ("app!=web", None),
        ("app", None),
        ("", None),
    ],
)
def test_the_label_that_a_selector_asks_for(text: str, labels: tuple[tuple[str, str], ...] | None) -> None:
    found = label_needed(parse_selector(text))
    assert (None if found is None else tuple(sorted(found))) == labels


@pytest.mark.parametrize("before", [True, False])
def test_pods_are_counted_whether_they_or_the_predicate_came_first(before: bool) -> None:
    selector, asked = parse_selector("app in (web,db)"), list[str]()
    made = cluster()
    placed = [made.record(str(i), pod({"app": app})) for i, app in enumerate(("web", "db", "other", "web"))]
    if before:
        for record in placed:
            made.add_pod(record, 0)
    counted = made.count_pods("key", counts(selector, asked), label_needed(selector))
    if not before:
        for record in placed:
            made.add_pod(record, 0)
    assert counted.on == {0: 3}
    assert "other" not in asked
    made.remove_pod(placed[0])
    made.add_pod(made.record("new", pod({"app": "db", "rev": "2"})), 0)
    made.add_pod(made.record("newer", pod({"app": "other", "rev": "2"})), 0)
    assert counted.on == {0: 3}
    assert made.count_pods("key", counts(selector, asked)) is counted


def test_what_reads_namespaces_is_counted_again_into_the_same_counts() -> None:
    made = cluster()
    made.add_pod(made.record("p", pod({"app": "web"})), 0)

    def of_team(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
        return made.namespaces.get(namespace, {}).get("team") == "a"

    counted = made.count_pods("team", of_team, reads_namespaces=True)
    assert counted.on == {}
    made.set_namespace("default", {"team": "a"})
    assert counted.on == {0: 1}
    made.remove_pod(made.pods["p"])
    assert counted.on == {}


def affine(**labels: str) -> Pod:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term, term]}
    return pod(labels, affinity={"podAntiAffinity": rules})


def test_owners_of_a_term_are_counted_once_for_each_time_they_state_it() -> None:
    made = cluster()
    made.add_pod(made.record("p", affine(app="web")), 0)
    made.add_pod(made.record("q", affine(app="db")), 0)
    assert made.affinity_terms.generation == 2
    (term,) = made.affinity_terms.about({"app": "web", "tier": "x"})
    assert term.kind is TermKind.REQUIRED_ANTI_AFFINITY
    assert term.owners.on == {0: 2}
    made.remove_pod(made.pods["p"])
    assert term.owners.on == {}
    assert list(made.affinity_terms.about({})) == []


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
    return {value: int(domains.counts[code]) for value, code in domains.column.values.code_of.items()}


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
    assert by_value(domains) == {None: 0, "a": 1, "new": 5}
    pods.change(1, -5)
    assert domains.follow(1) == (3, 0)
    assert domains.pods == 1


def test_members_of_a_domain_follow_the_labels() -> None:
    zones = column("a", "b", "a")
    assert zones.members(1) == {0, 2}
    zones.set(2, "c")
    zones.set(0, None)
    assert [zones.members(code) for code in (1, 2, 3)] == [set(), {1}, {2}]
