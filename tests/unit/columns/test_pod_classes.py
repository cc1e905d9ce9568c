"""Which pods a predicate counts, however it is filed, and the terms that pods own."""

from collections.abc import Mapping
from typing import Any

import pytest

from moorage.columns.cluster import Cluster
from moorage.columns.owned_terms import TermKind
from moorage.columns.pod_classes import label_needed
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
    assert made.affinity_terms.count == 2
    (term,) = made.affinity_terms.about({"app": "web", "tier": "x"})
    assert term.kind is TermKind.REQUIRED_ANTI_AFFINITY
    assert term.owners.on == {0: 2}
    made.remove_pod(made.pods["p"])
    assert term.owners.on == {}
    assert list(made.affinity_terms.about({})) == []
