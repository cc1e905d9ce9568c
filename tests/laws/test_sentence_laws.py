"""The sentence about a pod that waits, on drawn clusters: what it claims is what a naive evaluator counts.

The evaluator reads the raw objects and knows nothing of plugins: it lists, for each node, what the pod asks for and the
node does not have. Every sentence is parsed back, and each of its claims is counted again.
"""

import re
from collections.abc import Callable, Collection
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_clusters import Raw, Scene, build, scenes

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.plan.explain.groups import Refused, refused_nodes
from moorage.plan.explain.remedies.trials import passing
from moorage.plan.explain.sentence.causes import Cause, Room, ShortOf
from moorage.plan.explain.sentence.choosing import sentence_about
from moorage.plan.explain.sentence.reading import CauseReader
from moorage.plan.explain.sentence.waiting import why_waiting
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import UNSCHEDULABLE

GATES = gates_from({"AllAlpha": True})
KUBELET, FAILURES, CORES, DISK = "example.com/kubelet-version", "spot.example.com/failures", "cores", "disk"
_MILLI = 1000

# -- drawn clusters ----------------------------------------------------------------------------------------------------


def _drawn_node(random: Random, name: str) -> Raw:
    labels = {
        KUBELET: random.choice(["v1.9.0", "v1.35.2", "v1.36.4", None]),
        CORES: random.choice(["4", "8", "2", None]),
        DISK: random.choice(["ssd", "hdd", "nvme", None]),
    }
    taints = []
    if random.random() < 0.5:
        value = random.choice(["3", "9", "20", "110"])
        taints.append({"key": FAILURES, "value": value, "effect": random.choice(["NoSchedule", "NoExecute"])})
    if random.random() < 0.3:
        taints.append({"key": "dedicated", "value": random.choice(["a", "b"]), "effect": "NoSchedule"})
    return {
        "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value is not None}},
        "spec": {"taints": taints, "unschedulable": random.random() < 0.1},
        "status": {"allocatable": {"cpu": random.choice(["1", "2500m", "4"]), "memory": "8Gi", "pods": "9"}},
    }


def _drawn_pod(random: Random, name: str, *, asks: bool) -> Raw:
    requests = {"cpu": random.choice(["300m", "2", "12"]) if asks else random.choice(["500m", "1"])}
    if asks and random.random() < 0.2:
        requests["memory"] = random.choice(["9Gi", "1Gi"])
    spec: Raw = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    if asks:
        expressions = [
            *([{"key": KUBELET, "operator": "SemverGt", "values": ["1.36.99"]}] if random.random() < 0.4 else ()),
            *([{"key": CORES, "operator": "Lt", "values": ["1"]}] if random.random() < 0.2 else ()),
            *([{"key": CORES, "operator": "Gt", "values": ["6"]}] if random.random() < 0.2 else ()),
        ]
        if expressions:
            terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        if random.random() < 0.3:
            spec["nodeSelector"] = {DISK: "ssd"}
        if random.random() < 0.6:
            value = random.choice(["5", "10"])
            spec["tolerations"] = [{"key": FAILURES, "operator": "Lt", "value": value}]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def _drawn_scene(seed: int, node_count: int, pod_count: int) -> Scene:
    random = Random(seed)
    names = [f"n{number}" for number in range(node_count)]
    pods = [(random.choice(names), _drawn_pod(random, f"p{number}", asks=False)) for number in range(pod_count)]
    nodes = [_drawn_node(random, name) for name in names]
    return Scene(nodes, pods, _drawn_pod(random, "asking", asks=True), [], [0] * node_count)


def drawn_scenes() -> st.SearchStrategy[Scene]:
    return st.builds(_drawn_scene, st.integers(0, 2**32), st.integers(1, 7), st.integers(0, 5))


# -- the naive evaluator -----------------------------------------------------------------------------------------------


def _milli(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else int(text) * _MILLI


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.removeprefix("v").split(".")))


def lacking(scene: Scene, node: Raw) -> dict[str, Any]:
    """What the pod asks for and the node does not have, with what it has instead."""
    spec, labels = scene.pod["spec"], node["metadata"]["labels"]
    requests = spec["containers"][0]["resources"]["requests"]
    lacks: dict[str, Any] = {}
    used = sum(
        _milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        for on, pod in scene.pods
        if on == node["metadata"]["name"]
    )
    free = _milli(node["status"]["allocatable"]["cpu"]) - used
    if free < _milli(requests["cpu"]):
        lacks["cpu"] = free
    if requests.get("memory") == "9Gi":
        lacks["memory"] = 8
    terms = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    for expression in terms["nodeSelectorTerms"][0]["matchExpressions"] if terms else ():
        value, wanted = labels.get(expression["key"]), expression["values"][0]
        if expression["operator"] == "SemverGt" and (value is None or _version(value) <= _version(wanted)):
            lacks["kubelet >"] = value
        if expression["operator"] == "Gt" and (value is None or int(value) <= int(wanted)):
            lacks["cores >"] = value
        if expression["operator"] == "Lt" and (value is None or int(value) >= int(wanted)):
            lacks["cores <"] = value
    if spec.get("nodeSelector") and labels.get(DISK) != "ssd":
        lacks["disk"] = labels.get(DISK)
    for taint in node["spec"]["taints"]:
        below = next((int(one["value"]) for one in spec.get("tolerations", ())), None)
        if taint["key"] == FAILURES and (below is None or int(taint["value"]) >= below):
            lacks["failures"] = taint["value"]
        if taint["key"] == "dedicated":
            lacks["dedicated"] = taint["value"]
    if node["spec"]["unschedulable"]:
        lacks["cordon"] = True
    return lacks


# -- sentences, read back ----------------------------------------------------------------------------------------------

#: A sentence about one thing that all nodes lack: what it is, the best there is, and whether other things count.
_PART = "(?P<part> that it may use)?"
_EVERY = rf"(?:every node{_PART}|the only node)"
_ALONE = {
    "cpu": rf"needs (?P<needs>\w+) cpu; (?:the emptiest node{_PART}|the only node) has (?P<best>\w+) free",
    "cpu none": rf"needs (?P<needs>\w+) cpu; no node{_PART} has any free",
    "memory": rf"needs 9Gi memory; (?:the emptiest node{_PART}|the only node) has 8Gi free",
    "kubelet >": rf"needs kubelet > (?P<needs>\S+); (?:the newest node{_PART}|the only node) has (?P<best>[\d.]+)",
    "cores >": rf"needs cores > (?P<needs>\S+); (?:the highest on a node{_PART} is|the only node has) (?P<best>\S+)",
    "cores <": rf"needs cores < (?P<needs>\S+); (?:the lowest on a node{_PART} is|the only node has) (?P<best>\S+)",
    "failures": rf"tolerates failures < \d+; (?:the lowest on a node{_PART} is|the only node has) (?P<best>\d+)",
    "failures none": rf"{_EVERY} has the taint failures(?:=(?P<best>\d+))?, which it does not tolerate",
    "dedicated": rf"{_EVERY} has the taint dedicated(?:=(?P<best>\w+))?, which it does not tolerate",
    "disk": rf"needs disk=ssd; {_EVERY} has (?P<best>.+)",
    "kubelet > label": rf"needs kubelet > (?P<needs>\S+); no node{_PART} has that label",
    "cores > label": rf"needs cores > (?P<needs>\S+); no node{_PART} has that label",
    "cores < label": rf"needs cores < (?P<needs>\S+); no node{_PART} has that label",
    "disk label": rf"needs disk=ssd; no node{_PART} has that label",
    "cordon": rf"{_EVERY} is cordoned",
}
_LACK = {
    "cpu": r"cpu \(needs (?P<needs>\w+), (?:at most )?(?P<best>\w+) free\)",
    "memory": r"memory \(needs 9Gi, (?:at most )?8Gi free\)",
    "kubelet >": r"kubelet \(needs > (?P<needs>\S+), (?:the newest is|has) (?P<best>[\d.]+)\)",
    "cores >": r"cores \(needs > (?P<needs>\S+), (?:the highest is|has) (?P<best>\S+)\)",
    "cores <": r"cores \(needs < (?P<needs>\S+), (?:the lowest is|has) (?P<best>\S+)\)",
    "failures": r"failures \(tolerates < (?P<needs>\d+), (?:the lowest is|has) (?P<best>\d+)\)",
    "failures none": r"the taint failures(?:=(?P<best>\d+))?",
    "dedicated": r"the taint dedicated(?:=(?P<best>\w+))?",
    "disk": r"the label disk=ssd \(has (?!no such label\))(?P<best>[^)]+)\)",
    "disk label": r"the label disk=ssd \(has no such label\)",
    "kubelet > label": r"kubelet \(needs > (?P<needs>\S+), no such label\)",
    "cores > label": r"cores \(needs > (?P<needs>\S+), no such label\)",
    "cores < label": r"cores \(needs < (?P<needs>\S+), no such label\)",
    "cordon": r"the cordon",
}
_TAINTED = {"failures", "dedicated"}
_LABELS = {"kubelet >", "cores >", "cores <", "disk"}
_OTHERS = {
    r"(?:is|are) short of cpu": {"cpu"},
    r"(?:is|are) short of memory": {"memory"},
    r"(?:has|have) taints that it does not tolerate": _TAINTED,
    r"(?:does|do) not match its node affinity/selector": _LABELS,
    r"(?:is|are) cordoned": {"cordon"},
}
_BUT_FOR = re.compile(
    r"Fits (?:(?P<nodes>[\d,]+) nodes|(?P<node>n\d)) but for (?P<lacks>.+?)"
    r"(?:; (?:the other (?:(?P<left>\d+)|node)|(?P<some>\d+) of the other (?P<of>\d+)) (?P<words>[^;]+))?"
)
_WITH_THAT = re.compile(r"(?P<alone>.+); with that, it f(?P<fits>its .+)")
_MORE = re.compile(r"(?P<rest>.+?)(?:;)? and (?P<more>\d+) more reasons?")


def _best(kind: str, values: list[Any]) -> str | None:
    """The best of what some nodes have, as the sentence writes it; None if there is nothing to name."""
    there = [value for value in values if value is not None]
    if kind == "cpu":
        return _cpu(max(there))
    if kind == "kubelet >":
        return max(there, key=_version).removeprefix("v") if there else None
    if kind in ("cores >", "cores <", "failures"):
        return str((max if kind == "cores >" else min)(map(int, there))) if there else None
    if kind == "dedicated":
        return there[0] if len(set(there)) == 1 else None
    if kind == "disk":
        ordered = sorted(set(there), key=lambda value: (-there.count(value), value))
        ordered += ["no such label"] if len(there) < len(values) and ordered else []
        return " or ".join([*([", ".join(ordered[:-1])] if ordered[1:] else []), *ordered[-1:]]) or None
    return None


def _cpu(milli: int) -> str:
    if milli <= 0:
        return "none"
    return f"{milli}m" if milli % _MILLI else str(milli // _MILLI)


def _check(kind: str, match: re.Match[str], lacks: list[dict[str, Any]]) -> None:
    """Compare the best value of a claim with that of these nodes, all of which lack it."""
    name = kind.removesuffix(" label").removesuffix(" none")
    assert all(name in one for one in lacks), kind
    values = [one[name] for one in lacks]
    groups = match.groupdict()
    if kind.endswith(" label"):
        assert all(value is None for value in values)
    elif kind == "cpu none":
        assert max(values) <= 0
    elif kind == "failures none":
        assert groups["best"] == (values[0] if len(set(values)) == 1 else None)
    elif "best" in groups:
        assert groups["best"] == _best(name, values), kind


def _check_alone(text: str, every: list[dict[str, Any]]) -> str:
    """Check a sentence about something that all nodes lack; return what it is."""
    text = text[:1].lower() + text[1:]
    read = [(kind, match) for kind, pattern in _ALONE.items() if (match := re.fullmatch(pattern, text))]
    assert len(read) == 1, text
    ((kind, match),) = read
    name = kind.removesuffix(" label").removesuffix(" none")
    assert all(name in one for one in every), text
    usable = [one for one in every if len(one) == 1]
    if match.groupdict().get("part"):
        assert usable
        _check(kind, match, usable)
    else:
        _check(kind, match, every)
    return name


def _named(words: str) -> set[str]:
    """What the predicate of a sentence about some nodes names."""
    return set().union(*(names for pattern, names in _OTHERS.items() if re.fullmatch(pattern, words)))


def _check_others(words: str, some: int, left: list[dict[str, Any]]) -> None:
    names = _named(words)
    assert some == sum(bool(names & one.keys()) for one in left), words
    assert some == max(sum(bool(kinds & one.keys()) for one in left) for kinds in _OTHERS.values()), words


def check_sentence(text: str, scene: Scene) -> None:
    every = [lacking(scene, node) for node in scene.nodes]
    fewest = min(map(len, every))
    but_for = _BUT_FOR.fullmatch(text)
    if but_for is not None:
        _check_but_for(but_for, scene, every, fewest)
        return
    everywhere = set.intersection(*(set(one) for one in every))
    further = _WITH_THAT.fullmatch(text)
    if further is not None:
        told = {_check_alone(part, every) for part in further["alone"].split(". Also ")}
        assert told == everywhere
        fits = _BUT_FOR.fullmatch(f"F{further['fits']}")
        assert fits is not None
        _check_but_for(fits, scene, every, fewest, told)
        return
    more = _MORE.fullmatch(text)
    told = {_check_alone(part, every) for part in (more["rest"] if more else text).split(". Also ")}
    assert told <= everywhere
    assert len(told) == min(len(everywhere), 2)
    assert int(more["more"] if more else 0) == len(everywhere) - len(told)
    if more is None:
        assert fewest == len(told), "something else is in the way on every node"


def _check_but_for(
    told: re.Match[str], scene: Scene, every: list[dict[str, Any]], fewest: int, known: Collection[str] = ()
) -> None:
    more = _MORE.fullmatch(told["lacks"])
    text = more["rest"] if more else told["lacks"]
    lists = [(kind, re.match(pattern, text)) for kind, pattern in _LACK.items()]
    kind, first = max(((k, m) for k, m in lists if m), key=lambda one: one[1].end())
    parts = [(kind, first)]
    rest = text[first.end() :].removeprefix(" and ").removeprefix(", ").rstrip(",")
    if rest:
        parts += [(k, m) for k, pattern in _LACK.items() if (m := re.fullmatch(pattern, rest))][:1]
        assert len(parts) == 2, rest
    names = {kind.removesuffix(" label").removesuffix(" none") for kind, _ in parts} | set(known)
    count = len(names) + int(more["more"] if more else 0)
    assert count == fewest, "these are not the nearest nodes"
    near = [one for one in every if names <= one.keys() and len(one) == count]
    if told["node"]:
        named = next(node for node in scene.nodes if node["metadata"]["name"] == told["node"])
        near = [one for one in near if one.keys() == lacking(scene, named).keys()]
        assert near == [lacking(scene, named)]
    elif not more:
        assert int(told["nodes"]) == len(near)
    for kind, match in parts if not more else ():
        _check(kind, match, near)
    if not more and told["words"]:
        left = [one for one in every if one.keys() != near[0].keys()]
        total = int(told["of"] or told["left"] or 1)
        assert total == len(left)
        _check_others(told["words"], int(told["some"] or total), left)
    elif not more and not known:
        assert all(one.keys() == near[0].keys() for one in every)


# -- laws --------------------------------------------------------------------------------------------------------------

Write = Callable[[Candidates], str]


def _candidates(cluster: Cluster, pod: Pod) -> Candidates:
    return Candidates(default_profile(GATES), cluster.shape_of(pod, by_name=True), cluster)


def _written(candidates: Candidates) -> str:
    return why_waiting(candidates, GATES, Pod(), UNSCHEDULABLE, "").text


class ReadsCapacity(CauseReader):
    """Broken on purpose: takes what a node has in all for what is free."""

    def causes(self, group: Refused) -> dict[Cause, Any]:
        read = super().causes(group)
        return {
            cause: Room(value.capacity, value.capacity) if isinstance(cause, ShortOf) else value
            for cause, value in read.items()
        }


class ForgetsTaints(CauseReader):
    """Broken on purpose: sees the first thing in the way only."""

    def causes(self, group: Refused) -> dict[Cause, Any]:
        return dict(list(super().causes(group).items())[:1])


def _with_capacities(candidates: Candidates) -> str:
    return sentence_about(refused_nodes(candidates), ReadsCapacity(candidates, GATES))


def _with_first_causes(candidates: Candidates) -> str:
    return sentence_about(refused_nodes(candidates), ForgetsTaints(candidates, GATES))


def _counting_groups(candidates: Candidates) -> str:
    """Broken on purpose: takes nodes that are told of together for one."""
    refused = [Refused(group.nodes[:1], group.refusals) for group in refused_nodes(candidates)]
    return sentence_about(refused, CauseReader(candidates, GATES))


def _law(write: Write) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(drawn_scenes())
    def law(scene: Scene) -> None:
        candidates = _candidates(build(scene), convert_view(scene.pod, Pod))
        if not passing(candidates).any():
            check_sentence(write(candidates), scene)

    return law


def test_the_sentence_claims_what_a_naive_evaluator_counts() -> None:
    _law(_written)()


def test_the_law_notices_an_amount_that_is_not_free() -> None:
    assert_notices(_law(_with_capacities))


def test_the_law_notices_a_cause_that_is_left_out() -> None:
    assert_notices(_law(_with_first_causes))


def test_the_law_notices_nodes_that_are_not_counted() -> None:
    assert_notices(_law(_counting_groups))


@LAW_SETTINGS
@given(scenes())
def test_every_refusal_has_a_sentence_of_bounded_length(scene: Scene) -> None:
    """Every plugin refuses something in these clusters: the sentence is one line, and its nodes are all there are."""
    candidates = _candidates(build(scene), convert_view(scene.pod, Pod))
    if passing(candidates).any():
        return
    text = why_waiting(candidates, GATES, convert_view(scene.pod, Pod), UNSCHEDULABLE, "an error").text
    assert text[:1].isupper()
    assert text.isprintable()
    assert len(text) <= 320
    counted = _BUT_FOR.fullmatch(text)
    if counted is not None and counted["words"]:
        near = int((counted["nodes"] or "1").replace(",", ""))
        assert near + int(counted["of"] or counted["left"] or 1) == len(scene.nodes)
