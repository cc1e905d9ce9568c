"""Arguments of plugins: how they are read, what is wrong with them, in Kubernetes' words."""

import pytest
from tests.unit.schedule.configurations import Raw, configuration, problems, profile, profile_fields

from moorage.model.gates import gates_from

ARGS = "profiles[0].pluginConfig[0].args"
KIND = "kubescheduler.config.k8s.io"


def strategy(**fields: object) -> Raw:
    return {"scoringStrategy": fields}


def ratio(*shape: tuple[int, int]) -> Raw:
    points = [{"utilization": utilization, "score": score} for utilization, score in shape]
    return strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": points})


def constraint(**fields: object) -> Raw:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **fields}


def constraints(*stated: Raw, defaulting: str = "List") -> Raw:
    return {"defaultConstraints": list(stated), "defaultingType": defaulting}


def affinity(operator: str) -> Raw:
    term = {"matchExpressions": [{"key": "a", "operator": operator, "values": ["1.2.3"]}]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        ("NodeResourcesFit", {}),
        ("NodeResourcesFit", {"ignoredResources": ["example.com/foo"], "ignoredResourceGroups": ["example.com"]}),
        ("NodeResourcesFit", strategy(type="MostAllocated", resources=[{"name": "cpu"}, {"name": "x", "weight": 100}])),
        ("NodeResourcesFit", ratio((0, 0), (100, 10))),
        ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory"}]}),
        ("InterPodAffinity", {"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True}),
        ("PodTopologySpread", constraints(constraint(), constraint(topologyKey="rack"))),
        ("PodTopologySpread", {"defaultingType": "System"}),
        ("NodeAffinity", affinity("In")),
        ("NodeAffinity", {"addedAffinity": None}),
        ("DefaultPreemption", {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1}),
        ("VolumeBinding", {"bindTimeoutSeconds": 0}),
    ],
)
def test_accepted(plugin: str, args: Raw) -> None:
    assert set(profile(**{plugin: args}).args) == {plugin}
    typed = {"apiVersion": f"{KIND}/v1", "kind": f"{plugin}Args", **args}
    assert set(profile(**{plugin: typed}).args) == {plugin}


def test_arguments_may_be_left_out() -> None:
    assert set(configuration(profiles=[{"pluginConfig": [{"name": "NodeAffinity"}]}]).profiles[0].args) == {
        "NodeAffinity"
    }


@pytest.mark.parametrize(
    ("plugin", "args", "expected"),
    [
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": -1},
            [f"{ARGS}.minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
            [
                f"{ARGS}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            [
                f"{ARGS}.minCandidateNodesPercentage: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesAbsolute",
                f"{ARGS}.minCandidateNodesAbsolute: Invalid value: 0: "
                "cannot be zero at the same time as minCandidateNodesPercentage",
            ],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 101},
            [f"{ARGS}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
        ),
        (
            "PodTopologySpread",
            constraints(defaulting="None"),
            [f'{ARGS}.defaultingType: Unsupported value: "None": supported values: "System", "List"'],
        ),
        (
            "PodTopologySpread",
            constraints(constraint(), defaulting="System"),
            [f'{ARGS}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty'],
        ),
        (
            "PodTopologySpread",
            constraints({"labelSelector": {}}, constraint(whenUnsatisfiable="Maybe"), constraint(maxSkew=-1)),
            [
                f"{ARGS}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)",
                f"{ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty",
                f"{ARGS}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty",
                f"{ARGS}.defaultConstraints[0].labelSelector: Forbidden: "
                "constraint must not define a selector, as they deduced for each pod",
                f'{ARGS}.defaultConstraints[1].whenUnsatisfiable: Unsupported value: "Maybe": '
                'supported values: "DoNotSchedule", "ScheduleAnyway"',
                f"{ARGS}.defaultConstraints[2].maxSkew: Invalid value: -1: not in valid range (0, inf)",
            ],
        ),
        (
            "PodTopologySpread",
            constraints(constraint(), constraint()),
            [f'{ARGS}.defaultConstraints[1]: Duplicate value: "{{zone, ScheduleAnyway}}"'],
        ),
        (
            "NodeResourcesFit",
            strategy(type="Most", resources=[{"name": "cpu", "weight": 101}, {"name": "memory", "weight": -1}]),
            [
                f'{ARGS}.scoringStrategy.type: Unsupported value: "Most": supported values: '
                '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
                f"{ARGS}.scoringStrategy.resources[0].weight: Invalid value: 101: "
                "resource weight of cpu not in valid range (0, 100]",
                f"{ARGS}.scoringStrategy.resources[1].weight: Invalid value: -1: "
                "resource weight of memory not in valid range (0, 100]",
            ],
        ),
        (
            "NodeResourcesFit",
            strategy(type="RequestedToCapacityRatio"),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio: Required value: "
                "must be specified when type is RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            strategy(type="LeastAllocated", requestedToCapacityRatio={}),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio: Forbidden: "
                "must be nil when type is not RequestedToCapacityRatio"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio(),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                "at least one point must be specified"
            ],
        ),
        (
            "NodeResourcesFit",
            ratio((50, 11), (50, -1), (101, 0)),
            [
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: "
                "values must be sorted in increasing order",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: "
                "not in valid range [0, 10]",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: -1: "
                "not in valid range [0, 10]",
                f"{ARGS}.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: 101: "
                "not in valid range [0, 100]",
            ],
        ),
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            [f"{ARGS}.ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"],
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
            [
                f"{ARGS}.resources[0].weight: Invalid value: 2: must be 1",
                f'{ARGS}.resources[1].name: Duplicate value: "cpu"',
            ],
        ),
        (
            "VolumeBinding",
            {"bindTimeoutSeconds": -1, "shape": [{"utilization": 0, "score": 10}]},
            [
                f"{ARGS}.bindTimeoutSeconds: Invalid value: -1: "
                "invalid BindTimeoutSeconds, should not be a negative value",
                f'{ARGS}.shape: Invalid value: [{{"Utilization":0,"Score":10}}]: unexpected field `shape`, '
                "remove it or turn on the feature gate StorageCapacityScoring",
            ],
        ),
        (
            "DefaultPreemption",
            {"kind": "InterPodAffinityArgs"},
            [
                "decoding .profiles[0].pluginConfig[0]: args for plugin DefaultPreemption were not of type "
                f"DefaultPreemptionArgs.{KIND}, got InterPodAffinityArgs.{KIND}"
            ],
        ),
        (
            "DefaultPreemption",
            {"apiVersion": f"{KIND}/v1beta3", "kind": "DefaultPreemptionArgs"},
            [
                "decoding .profiles[0].pluginConfig[0]: decoding args for plugin DefaultPreemption: "
                f'no kind "DefaultPreemptionArgs" is registered for version "{KIND}/v1beta3"'
            ],
        ),
        (
            "NodeResourcesFit",
            strategy(type="MostAllocated", resources=[{"Name": "cpu"}]),
            [f'unknown field "{ARGS}.scoringStrategy.resources[0].Name"; did you mean "name"?'],
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": "5"},
            [
                "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: json: "
                "cannot unmarshal string into Go struct field InterPodAffinityArgs.hardPodAffinityWeight of type int32"
            ],
        ),
        (
            "DynamicResources",
            {"filterTimeout": "-3s", "bindingTimeout": "500ms"},
            [
                f'{ARGS}.filterTimeout: Invalid value: "-3s": must be zero or positive',
                f'{ARGS}.bindingTimeout: Invalid value: "500ms": must be at least 1 second',
            ],
        ),
        (
            "DynamicResources",
            {"filterTimeout": "soon"},
            [
                "decoding .profiles[0].pluginConfig[0]: decoding args for plugin DynamicResources: "
                'time: invalid duration "soon"'
            ],
        ),
    ],
)
def test_refused(plugin: str, args: Raw, expected: list[str]) -> None:
    assert problems(profiles=[profile_fields(**{plugin: args})]) == expected


def test_added_affinity_may_compare_versions_once_the_gate_is_on() -> None:
    fields = profile_fields(NodeAffinity=affinity("SemverGt"))
    (said,) = problems(profiles=[fields])
    assert said.startswith(
        f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]"
    )
    on = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})
    assert configuration(on, profiles=[fields]).profiles[0].args


def test_arguments_that_are_no_object_are_refused() -> None:
    fields = {"pluginConfig": [{"name": "NodeAffinity", "args": ["a"]}]}
    assert problems(profiles=[fields]) == [
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeAffinity: "
        "json: cannot unmarshal array into Go value of type v1.NodeAffinityArgs"
    ]
