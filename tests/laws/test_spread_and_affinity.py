"""Pod affinity and topology spread: counts that follow the cluster give what counting everything for each pod gives.

The plugins are compared with a transcription of Kubernetes on random clusters, while pods come and go, nodes change and
namespaces are relabelled. Every law runs twice: with the domain of a slot as its trait, as for zones, and with what
follows from the domain's count, as for hostnames in large clusters.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.laws.naive_spread_and_affinity import (
    Refusal,
    World,
    affinity_refusals,
    affinity_scores,
    spread_refusals,
    spread_scores,
)

from moorage.columns.cluster import Cluster
from moorage.columns.codes import LabelColumn
from moorage.columns.pod_classes import UNCHANGED, DomainCounts
from moorage.match.label_selector import compile_label_set
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule import standings
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.framework import wide
from moorage.schedule.framework.plugin import Mask, Plugin, Profile
from moorage.schedule.framework.wide import Traits
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit
from moorage.schedule.plugins.pod_affinity_domains import AffinityWant
from moorage.schedule.plugins.pod_topology_spread import SYSTEM_DEFAULTS, PodTopologySpread
from moorage.schedule.plugins.spread_domains import BalancedDomains, DefaultSelectors, SpreadWant
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.standings import Standings

Raw = dict[str, Any]
GATES = gates_from({"AllAlpha": True})
ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
KEYS = (ZONE, HOST, RACK)
SERVICE = {"app": "web"}


class Story:
    """A random cluster that goes on changing, kept twice: as a `Cluster` and as plain lists."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, list[Pod]] = {}
        self.namespaces: dict[str, dict[str, str]] = {}
        self.selectors = DefaultSelectors()
        self.selectors.set_service("default", "web", SERVICE)
        for _ in range(self.random.randint(1, 5)):
            self.add_node()
        self.label_namespace()
        for _ in range(self.random.randint(0, 14)):
            self.add_pod()

    @property
    def world(self) -> World:
        return World(self.nodes, self.pods, self.namespaces, GATES)

    # -- events ---------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        happens = (self.add_node, self.change_node, self.remove_node, self.add_pod, self.add_pod, self.remove_pod)
        for _ in range(self.random.randint(1, 4)):
            self.random.choice((*happens, self.label_namespace))()

    def add_node(self) -> None:
        name = f"n{self.random.randint(0, 9)}"
        if name not in self.nodes:
            self.nodes[name] = self.node(name)
            self.pods[name] = []
            self.cluster.add_node(self.nodes[name])

    def change_node(self) -> None:
        if self.nodes:
            name = self.random.choice(list(self.nodes))
            self.nodes[name] = self.node(name)
            self.cluster.update_node(self.nodes[name])

    def remove_node(self) -> None:
        if len(self.nodes) > 1:
            name = self.random.choice(list(self.nodes))
            del self.nodes[name], self.pods[name]
            self.cluster.remove_node(name)

    def add_pod(self) -> None:
        pod = self.pod(f"p{self.random.getrandbits(32)}")
        name = self.random.choice(list(self.nodes))
        self.pods[name].append(pod)
        self.cluster.add_pod(self.cluster.record(pod.metadata.name, pod), self.cluster.nodes.slot_of[name])

    def remove_pod(self) -> None:
        name = self.random.choice(list(self.nodes))
        if self.pods[name]:
            gone = self.pods[name].pop(self.random.randrange(len(self.pods[name])))
            self.cluster.remove_pod(self.cluster.pods[gone.metadata.name])

    def label_namespace(self) -> None:
        name = self.random.choice(["default", "team"])
        self.namespaces[name] = self.random.choice([{}, {"team": "a"}, {"team": "b"}])
        self.cluster.set_namespace(name, self.namespaces[name])

    # -- objects --------------------------------------------------------------------------------------------------

    def node(self, name: str) -> Node:
        labels = {HOST: self.random.choice([name, name, name, None]), ZONE: self.random.choice(["a", "b", "c", None])}
        labels[RACK] = self.random.choice(["1", "2", None])
        taints = self.random.choice([[], [], [{"key": "sla", "value": "95", "effect": "NoSchedule"}]])
        metadata = {"name": name, "labels": {key: value for key, value in labels.items() if value}}
        allocatable = {"cpu": self.random.choice(["1", "4"]), "memory": "4Gi", "pods": "20"}
        return convert_view(
            {"metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": allocatable}}, Node
        )

    def pod(self, name: str) -> Pod:
        random = self.random
        metadata: Raw = {"name": name, "namespace": random.choice(["default", "default", "team"])}
        metadata["labels"] = random.choice(
            [{}, {"app": "web"}, {"app": "web"}, {"app": "web", "rev": "1"}, {"app": "db"}]
        )
        if random.random() < 0.1:
            metadata["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        spec: Raw = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}
        if random.random() < 0.6:
            spec["affinity"] = {kind: self.rules() for kind in ("podAffinity", "podAntiAffinity")}
            if random.random() < 0.3:
                expression = {"key": ZONE, "operator": random.choice(["In", "NotIn"]), "values": ["a"]}
                terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
                spec["affinity"]["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if random.random() < 0.5:
            spec["topologySpreadConstraints"] = [self.constraint() for _ in range(random.randint(1, 3))]
        if random.random() < 0.3:
            spec["tolerations"] = [{"key": "sla", "operator": "Gt", "value": "90"}]
        return convert_view({"metadata": metadata, "spec": spec}, Pod)

    def rules(self) -> Raw:
        return {
            "requiredDuringSchedulingIgnoredDuringExecution": self.some(self.term, 0.4),
            "preferredDuringSchedulingIgnoredDuringExecution": self.some(
                lambda: {"weight": self.random.randint(1, 9), "podAffinityTerm": self.term()}, 0.4
            ),
        }

    def some(self, make: Callable[[], Raw], probability: float) -> list[Raw]:
        return [make() for _ in range(2) if self.random.random() < probability]

    def term(self) -> Raw:
        term: Raw = {"labelSelector": self.selector(), "topologyKey": self.random.choice(KEYS)}
        if self.random.random() < 0.3:
            term["namespaces"] = ["team"]
        if self.random.random() < 0.3:
            absent = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
            term["namespaceSelector"] = self.random.choice([{}, {"matchLabels": {"team": "a"}}, absent])
        return term

    def selector(self) -> Raw | None:
        exists = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        not_db = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}
        return self.random.choice([{"matchLabels": {"app": "web"}}, exists, exists, not_db, {}, None])

    def constraint(self) -> Raw:
        random = self.random
        when = random.choice(["DoNotSchedule", "ScheduleAnyway"])
        constraint: Raw = {
            "maxSkew": random.randint(1, 3),
            "topologyKey": random.choice(KEYS),
            "whenUnsatisfiable": when,
        }
        constraint["labelSelector"] = self.selector()
        if when == "DoNotSchedule" and random.random() < 0.6:
            constraint["minDomains"] = random.randint(1, 4)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if random.random() < 0.5:
                constraint[policy] = random.choice(["Honor", "Ignore"])
        if random.random() < 0.3:
            constraint["matchLabelKeys"] = ["rev"]
        return constraint


@contextmanager
def traits_of(size: str) -> Iterator[None]:
    """Whether domains count as small, so that what follows from their counts is the trait, or as large.

    With small domains only one slot of a class waits in its heap, so that the others have to be looked for.
    """
    small = size == "small"
    with (
        patch.object(wide, "_FEW_DOMAINS", 0 if small else 1 << 30),
        patch.object(standings, "_LINE", 1 if small else 64),
    ):
        yield


SIZES = pytest.mark.parametrize("size", ["small", "large"])
Check = Callable[[Story, Pod, Candidates], None]


def law_of(check: Check, make: Callable[[Story], Plugin[Any]], size: str, how: settings) -> Callable[[], None]:
    """The check holds for a new shape, and still does after the cluster has changed a few times."""

    @how
    @given(st.integers(0, 2**32))
    def law(seed: int) -> None:
        with traits_of(size):
            story = Story(seed)
            asking = story.pod("asking")
            plugin = make(story)
            profile = Profile("alone", (plugin,), ((plugin, 1),))
            candidates = Candidates(profile, story.cluster.shape_of(asking), story.cluster)
            for _ in range(3):
                check(story, asking, candidates)
                story.go_on()

    return law


def refusals(candidates: Candidates) -> dict[str, Refusal]:
    found: dict[str, Refusal] = {}
    for item in candidates.filters:
        mask = item.plugin.filter(item.prepared.want, candidates.cluster)
        for slot, node in candidates.cluster.nodes:
            verdict = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
            assert bool(mask[slot]) is (verdict is None)
            if verdict is not None:
                found[node.metadata.name] = (str(verdict.code), verdict.reasons[0])
    return found


def scores(candidates: Candidates) -> dict[str, int] | None:
    feasible = candidates.feasible()
    table = candidates.score_table(feasible)
    if not table:
        return None
    (of_plugin,) = table.values()
    return {node.metadata.name: int(of_plugin[slot]) for slot, node in candidates.cluster.nodes if feasible[slot]}


def affinity_is_that_of_kubernetes(story: Story, pod: Pod, candidates: Candidates) -> None:
    refused = affinity_refusals(pod, story.world)
    assert refusals(candidates) == refused
    feasible = [name for name in story.nodes if name not in refused]
    if feasible:
        assert scores(candidates) == affinity_scores(pod, story.world, feasible, hard_weight=3)


def spread_is_that_of_kubernetes(story: Story, pod: Pod, candidates: Candidates) -> None:
    refused = spread_refusals(pod, story.world)
    assert refusals(candidates) == refused
    feasible = [name for name in story.nodes if name not in refused]
    is_served = pod.metadata.namespace == "default" and pod.metadata.labels.get("app") == "web"
    selector = compile_label_set(SERVICE if is_served else {})
    if feasible:
        assert scores(candidates) == spread_scores(pod, story.world, feasible, SYSTEM_DEFAULTS, selector)


def _affinity(story: Story) -> Plugin[Any]:
    return InterPodAffinity(hard_weight=3)


def _spread(story: Story) -> Plugin[Any]:
    return PodTopologySpread(GATES, selectors=story.selectors)


@SIZES
def test_affinity_is_that_of_kubernetes(size: str) -> None:
    law_of(affinity_is_that_of_kubernetes, _affinity, size, LAW_SETTINGS)()


@SIZES
def test_spread_is_that_of_kubernetes(size: str) -> None:
    law_of(spread_is_that_of_kubernetes, _spread, size, LAW_SETTINGS)()


# -- the best node --------------------------------------------------------------------------------------------------


def _everything(story: Story) -> Profile:
    plugins = (TaintToleration(GATES), NodeResourcesFit(), _spread(story), _affinity(story))
    return Profile("all", plugins, tuple((plugin, 2) for plugin in plugins))


def best_is_best(candidates: Candidates) -> None:
    """The best slot by classes is the one that is found by looking at all slots."""
    feasible = candidates.feasible()
    best = candidates.best()
    if not feasible.any():
        assert best == NO_SLOT
        return
    total = np.sum(list(candidates.score_table(feasible).values()), axis=0)
    slots = np.flatnonzero(feasible)
    tie = candidates.cluster.nodes.tie
    assert best == max(slots.tolist(), key=lambda slot: (int(total[slot]), int(tie[slot])))


def placing_law(size: str, how: settings) -> Callable[[], None]:
    @how
    @given(st.integers(0, 2**32))
    def law(seed: int) -> None:
        with traits_of(size):
            story = Story(seed)
            profile = _everything(story)
            shapes = [story.cluster.shape_of(story.pod(f"asking-{i}")) for i in range(2)]
            asked = [Candidates(profile, shape, story.cluster) for shape in shapes]
            for _ in range(4):
                for candidates in asked:
                    best_is_best(candidates)
                    fresh = Candidates(profile, candidates.shape, story.cluster)
                    assert fresh.best() == candidates.best()
                story.go_on()

    return law


@SIZES
def test_the_best_of_the_classes_is_the_best_node(size: str) -> None:
    placing_law(size, LAW_SETTINGS)()


fill = Standings._fill

# -- broken twins ---------------------------------------------------------------------------------------------------


class DeafToOthers(InterPodAffinity):
    """Ignores the anti-affinity of pods on the nodes."""

    def filter_traits(self, want: AffinityWant, traits: Traits) -> Mask:
        want.existing = []
        return super().filter_traits(want, traits)


def test_the_law_of_affinity_notices_who_does_not_listen() -> None:
    with patch.object(AffinityWant, "_terms_about_this", lambda want, cluster: []):
        assert_notices(law_of(affinity_is_that_of_kubernetes, _affinity, "large", UNTIL_NOTICED))


def test_the_law_of_affinity_notices_a_mask_that_does_not_listen() -> None:
    assert_notices(law_of(affinity_is_that_of_kubernetes, lambda story: DeafToOthers(3), "large", UNTIL_NOTICED))


def test_the_law_of_affinity_notices_that_nobody_goes_first() -> None:
    with patch.object(AffinityWant, "begins_a_series", False):
        assert_notices(law_of(affinity_is_that_of_kubernetes, _affinity, "small", UNTIL_NOTICED))


@SIZES
def test_the_law_of_affinity_notices_stale_counts(size: str) -> None:
    with patch.object(DomainCounts, "follow", lambda counts, slot, counts_here=True: UNCHANGED):
        assert_notices(law_of(affinity_is_that_of_kubernetes, _affinity, size, UNTIL_NOTICED))


def test_the_law_of_spread_notices_that_too_few_domains_are_enough() -> None:
    fewest = BalancedDomains.fewest
    with patch.object(BalancedDomains, "fewest", lambda domains, min_domains: fewest(domains, 1)):
        assert_notices(law_of(spread_is_that_of_kubernetes, _spread, "large", UNTIL_NOTICED))


def test_the_law_of_spread_notices_nodes_that_do_not_count() -> None:
    with patch.object(SpreadWant, "_included", lambda want, constraint, keyed: keyed):
        assert_notices(law_of(spread_is_that_of_kubernetes, _spread, "small", UNTIL_NOTICED))


@SIZES
def test_the_law_of_spread_notices_stale_counts(size: str) -> None:
    with patch.object(SpreadWant, "follow", lambda want, cluster, slot: None):
        assert_notices(law_of(spread_is_that_of_kubernetes, _spread, size, UNTIL_NOTICED))


def test_the_law_of_the_best_node_notices_slots_that_stay_in_their_class() -> None:
    with patch.object(Standings, "put", lambda classes, slot, key, traits: None):
        assert_notices(placing_law("small", UNTIL_NOTICED))


def test_the_law_of_the_best_node_notices_who_waits_outside() -> None:
    with patch.object(Standings, "_fill", lambda classes, code, members: fill(classes, code, members[:1])):
        assert_notices(placing_law("large", UNTIL_NOTICED))


def test_the_law_of_the_best_node_notices_neighbours_nobody_told() -> None:
    with patch.object(LabelColumn, "members", lambda column, code: ()):
        assert_notices(placing_law("small", UNTIL_NOTICED))
