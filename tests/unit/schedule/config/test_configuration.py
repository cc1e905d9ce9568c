"""A configuration file is used as a whole or refused with everything that is wrong with it."""

from typing import Any

import pytest
from tests.unit.schedule.configurations import Raw, configuration, document, named, problems, problems_of

from moorage.model.gates import default_gates
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.schedule.config.default_profile import default_profile

HEAD = b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_an_empty_file_of_the_right_kind_is_the_default() -> None:
    assert configuration() == DEFAULT_CONFIGURATION
    assert load_configuration(HEAD, "config", default_gates()) == DEFAULT_CONFIGURATION


def test_the_default_configuration_is_the_default_profile() -> None:
    made = DEFAULT_CONFIGURATION.make_profiles(default_gates())["default-scheduler"]
    default = default_profile(default_gates())
    assert [plugin.name for plugin in made.filters] == [plugin.name for plugin in default.filters]
    assert [(plugin.name, weight) for plugin, weight in made.scores] == [(p.name, w) for p, w in default.scores]


@pytest.mark.parametrize(
    "fields",
    [
        {"parallelism": 8, "enableProfiling": True, "enableContentionProfiling": False, "delayCacheUntilActive": True},
        {"leaderElection": {"leaderElect": True, "leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "-1s", "resourceLock": "endpoints"}},
        {"leaderElection": {"resourceLock": "leases", "resourceName": "a", "resourceNamespace": "b"}},
        {
            "clientConnection": {
                "kubeconfig": "/k",
                "qps": 12.5,
                "burst": 7,
                "contentType": "a",
                "acceptContentTypes": "",
            }
        },
        {"extenders": []},
        {"extenders": None, "profiles": None},
        {"percentageOfNodesToScore": 100},
        {"profiles": [{"plugins": None, "pluginConfig": None}]},
    ],
)
def test_settings_of_the_process_are_accepted_and_change_nothing(fields: Raw) -> None:
    assert configuration(**fields) == DEFAULT_CONFIGURATION


def test_backoff() -> None:
    backoff = configuration(podInitialBackoffSeconds=2, podMaxBackoffSeconds=30).backoff
    assert [backoff.seconds(failures) for failures in (0, 1, 2, 4, 5)] == [0, 2, 4, 16, 30]


def test_the_only_profile_need_not_have_a_name_and_several_have_their_own() -> None:
    assert [one.name for one in configuration(profiles=[{}]).profiles] == ["default-scheduler"]
    several = configuration(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    assert [one.name for one in several.profiles] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"percentageOfNodesToScore": 30}, "percentageOfNodesToScore: has no effect: Moorage looks at every node"),
        (
            {"profiles": [{"percentageOfNodesToScore": 0}]},
            "profiles[0].percentageOfNodesToScore: has no effect: Moorage looks at every node",
        ),
        (
            {"profiles": [{"plugins": {"filter": {"disabled": named("NodePort")}}}]},
            'profiles[0].plugins.filter.disabled[0]: there is no plugin "NodePort" to disable; '
            'did you mean "NodePorts"?',
        ),
        (
            {"profiles": [{"plugins": {"multiPoint": {"disabled": named("Coscheduling")}}}]},
            'profiles[0].plugins.multiPoint.disabled[0]: there is no plugin "Coscheduling" to disable',
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "NodeName", "args": {"a": 1}}]}]},
            "profiles[0].pluginConfig[0].args: NodeName takes no arguments, so they have no effect",
        ),
    ],
)
def test_settings_without_effect_are_noted(fields: Raw, expected: str) -> None:
    assert [note.text for note in configuration(**fields).notes] == [expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        (
            {"profiles": [{"percentageOfNodesToScore": -1}]},
            "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
        ),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"podInitialBackoffSeconds": 11},
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
        (
            {"leaderElection": {"leaseDuration": "5s"}},
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        ),
        (
            {"leaderElection": {"retryPeriod": "-1500ms"}},
            'leaderElection.retryPeriod: Invalid value: "-1.5s": must be greater than zero',
        ),
        (
            {"leaderElection": {"leaderElect": True, "resourceLock": "endpoints"}},
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
        ({"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName: Required value"),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            "profiles[1].schedulerName: Duplicate value: {}",
        ),
        (
            {"profiles": [{"pluginConfig": named("NodeAffinity", "NodeAffinity")}]},
            'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
        ),
        (
            {"profiles": [{"plugins": {"filter": {"enabled": named("EBSLimits")}}}]},
            'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
        ),
        (
            {"profiles": [{"pluginConfig": named("GCEPDLimits")}]},
            'profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
        ),
        (
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b", "plugins": {"queueSort": {"enabled": named("PrioritySort")}}},
                ]
            },
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"PrioritySort","Weight":0}],'
            '"Disabled":null}: must be the same for all profiles',
        ),
    ],
)
def test_validation_speaks_as_kubernetes_does(fields: Raw, expected: str) -> None:
    assert problems(**fields) == [expected]


def test_several_profiles_need_names() -> None:
    assert problems(profiles=[{}, {}]) == [
        "profiles[0].schedulerName: Required value",
        "profiles[1].schedulerName: Required value",
        "profiles[1].schedulerName: Duplicate value: {}",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"profile": []}, 'unknown field "profile"; did you mean "profiles"?'),
        ({"profiles": [{"plugin": {}}]}, 'unknown field "profiles[0].plugin"; did you mean "plugins"?'),
        (
            {"profiles": [{"plugins": {"filter": {"enabled": [{"nmae": "NodePorts"}]}}}]},
            'unknown field "profiles[0].plugins.filter.enabled[0].nmae"; did you mean "name"?',
        ),
        ({"leaderElection": {"wholly": "other"}}, 'unknown field "leaderElection.wholly"'),
        (
            {"healthzBindAddress": "0.0.0.0:10251"},
            'unknown field "healthzBindAddress": v1 has no such field: '
            "the address is a flag of the process; take it out",
        ),
        (
            {"parallelism": "16"},
            "parallelism: json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism "
            "of type int32",
        ),
        (
            {"clientConnection": {"qps": "many"}},
            "clientConnection.qps: json: cannot unmarshal string into Go struct field "
            "ClientConnectionConfiguration.clientConnection.qps of type float32",
        ),
        (
            {"leaderElection": {"leaseDuration": "5"}},
            'leaderElection.leaseDuration: time: missing unit in duration "5"',
        ),
        (
            {"extenders": [{"urlPrefix": "http://x"}]},
            "extenders: Moorage calls no extenders: take them out, or leave their pods to a scheduler that does",
        ),
    ],
)
def test_what_cannot_be_read_is_named(fields: Raw, expected: str) -> None:
    assert problems(**fields) == [expected]


@pytest.mark.parametrize("version", ["v1beta3", "v1beta2", "v1alpha1", "v2"])
def test_other_versions_are_to_be_converted(version: str) -> None:
    full = f"kubescheduler.config.k8s.io/{version}"
    assert problems_of(document() | {"apiVersion": full}) == [
        f'apiVersion: no kind "KubeSchedulerConfiguration" is registered for version "{full}"; '
        "set it to kubescheduler.config.k8s.io/v1, and whatever v1 has no more will be named"
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "kind: couldn't decode as KubeSchedulerConfiguration, got v1, Kind=Pod"),
        (b"", "config:1: is empty; it should be one KubeSchedulerConfiguration"),
        (HEAD + b"---\n" + HEAD, "config:4: holds 2 documents; it should be one KubeSchedulerConfiguration"),
        (b"a: b", "config:1: neither 'apiVersion' nor 'kind' is set: not an API object"),
        (HEAD + b"parallelism: 2\nparallelism: 3\n", 'config:4: duplicate field "parallelism"'),
        (
            HEAD + b"\nparallelism: -2\n",
            "config:4: parallelism: Invalid value: -2: should be an integer value greater than zero",
        ),
    ],
)
def test_whatever_is_wrong_has_its_line(given: Any, expected: str) -> None:
    assert problems_of(given) == [expected]


def test_text_that_is_no_yaml_is_no_configuration() -> None:
    (problem,) = problems_of(HEAD + b"profiles: [\n")
    assert problem.startswith("config:")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    said = problems(
        parallelism=0,
        podInitialBackoffSeconds=-1,
        extenders=[{}],
        profiles=[{"plugins": {"filter": {"enabled": named("Foo", "ImageLocality")}}}],
    )
    assert len(said) == 5
