"""Pods with drawn tolerations and affinity, each pinned to a node with drawn taints, and where they belong.

The oracle is our scheduler with all gates on, which the laws of attach compare with the meaning of each operator.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from tests.e2e.component_processes import until
from tests.interop.attached.unaware_cluster import NODES, Tenant, UnawareCluster
from tests.laws.test_attach_laws import ALL_ON, allowed, natively
from tests.unit.attach.workloads import pod, requirement, term, toleration

from moorage.attach.formats import EFFECT_NAMES
from moorage.attach.questions import asked_labels

Raw = dict[str, Any]
#: The operators to draw from, each with its values.
Operators = dict[str, tuple[str, ...]]
HOST = "kubernetes.io/hostname"
_KEYS = ("spot", "node.kubernetes.io/sla", "example.com/driver")
_EFFECTS = tuple(EFFECT_NAMES)
_NUMBERS = ("0", "7", "940", "950", "960", "9223372036854775807")
_VERSIONS = ("1.2", "v1.2.0", "1.2.3", "1.2.4-rc.1", "1.2.3-rc.1", "v535.104.5", "999999.0.1")
VALUES = (*_NUMBERS, *_VERSIONS, "", "007", "word")
_EXPRESSIONS = ('taint.value.startsWith("9")', "int(taint.value) % 2 == 0", "taint.value in ['word', '7']")
_PLAIN: Operators = {"Equal": (*_NUMBERS, *_VERSIONS), "Exists": ("",)}
THRESHOLDS: Operators = {"Gt": (*_NUMBERS, "-5"), "Lt": (*_NUMBERS, "-5")}
VERSIONS: Operators = {"SemverGt": _VERSIONS, "SemverLt": _VERSIONS, "SemverEq": _VERSIONS}
EXPRESSIONS: Operators = {"CEL": _EXPRESSIONS}
_TOGETHER = 100
#: Long enough to outlast a test.
_SECONDS = 36000


class Pinned(NamedTuple):
    """A pod as its user writes it, and the node that it asks for."""

    document: Raw
    node: str

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])


def drawn_taints(random: Random, most: int = 4) -> list[Raw]:
    pairs = random.sample([(key, effect) for key in _KEYS for effect in _EFFECTS], random.randint(1, most))
    return [{"key": key, "effect": effect, "value": random.choice(VALUES)} for key, effect in pairs]


def drawn_pods(random: Random, number: int, operators: Operators) -> list[Pinned]:
    """Draw pods with these comparisons and with plain tolerations, in turn for each node."""
    return [_pinned(random, f"p{index}", NODES[index % len(NODES)], operators) for index in range(number)]


def _pinned(random: Random, name: str, node: str, operators: Operators) -> Pinned:
    tolerations = [
        _toleration(random, operators if random.random() < 0.6 else _PLAIN) for _ in range(random.randint(1, 4))
    ]
    terms = [_term(random, node) for _ in range(2)] if random.random() < 0.4 else None
    document = pod(*tolerations, required=terms, nodeSelector={HOST: node}, terminationGracePeriodSeconds=0)
    document["metadata"] = {"name": name}
    return Pinned(document, node)


def _toleration(random: Random, operators: Operators) -> Raw:
    operator = random.choice(sorted(operators))
    effect = random.choice((*_EFFECTS, *_EFFECTS, ""))
    seconds = _SECONDS if effect == "NoExecute" and random.random() < 0.3 else None
    return toleration(operator, random.choice(operators[operator]), random.choice(_KEYS), effect, seconds)


def _term(random: Random, node: str) -> Raw:
    return random.choice(
        [
            term(requirement(HOST, "In", node)),
            term(requirement(HOST, "NotIn", "node-1"), requirement("zone", "DoesNotExist")),
            {"matchFields": [requirement("metadata.name", "In", random.choice(NODES))]},
            term(requirement("zone", "Exists")),
        ]
    )


def wrong_placements(cluster: UnawareCluster, tenant: Tenant, pods: Sequence[Pinned], sent: Sequence[Raw]) -> list[str]:
    """Create the pods as they are `sent`; return those that are placed, or left waiting, where they must not be.

    A pod with a match label may wait: whoever answers it comes later.
    """
    tenant.create(*sent)
    placed = tenant.placements()
    assert all(list(map(bool, placed.values())).count(each) > len(pods) // 10 for each in (True, False)), placed
    nodes = cluster.nodes()
    return [
        f"{json.dumps(each.document['spec'])} on {json.dumps(_taints_of(nodes, each.node))}: {placed[each.name]!r}"
        for each, created in zip(pods, sent, strict=True)
        if (placed[each.name] == each.node) != may_be_placed(each, nodes)
        and (placed[each.name] or not asked_labels(created["spec"]))
    ]


def unlike_the_original(cluster: UnawareCluster, tenant: Tenant, pods: Sequence[Pinned]) -> list[str]:
    """Create the pods as their users write them; return those that are placed wrongly.

    A controller answers what no affinity expresses, so pods that may be placed are waited for.
    """
    for start in range(0, len(pods), _TOGETHER):
        tenant.create(*(each.document for each in pods[start : start + _TOGETHER]))
    nodes = cluster.nodes()
    where = {each.name: each.node if may_be_placed(each, nodes) else "" for each in pods}
    assert all(list(map(bool, where.values())).count(each) > len(pods) // 10 for each in (True, False)), where
    unlike: dict[str, str] = {}

    def is_over() -> bool:
        placed = tenant.placements()
        unlike.clear()
        unlike.update({name: node for name, node in placed.items() if node != where[name]})
        return any(unlike.values()) or (bool(placed) and not unlike)

    with suppress(AssertionError):
        until(is_over)
    return [
        f"{json.dumps(each.document['spec'])} on {json.dumps(_taints_of(nodes, each.node))}: {unlike[each.name]!r}"
        for each in pods
        if each.name in unlike
    ]


def may_be_placed(pinned: Pinned, nodes: list[Raw]) -> bool:
    return any(allowed(natively(pinned.document), nodes, ALL_ON))


def _taints_of(nodes: Sequence[Raw], name: str) -> Any:
    return next(node["spec"].get("taints") for node in nodes if node["metadata"]["name"] == name)
