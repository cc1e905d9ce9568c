"""Enabled and disabled lists: how they are merged with the defaults, and how multiPoint is spread."""

from typing import Any

import pytest
from tests.unit.schedule.configurations import Raw, named, problems, profile, profile_fields

from moorage.model.schema.conversion import convert_view
from moorage.schedule.config.configuration_views import Plugin, Plugins, PluginSet, Point
from moorage.schedule.config.configured_profiles import Asked, asked_plugins, merge_plugin_sets

FILTER, SCORE = Point.FILTER, Point.SCORE
# Four plugins that filter and score, one that only scores.
POINTS = {name: frozenset({FILTER, SCORE}) for name in "ABCX"} | {"S": frozenset({SCORE})}
DEFAULTS = (Plugin("A"), Plugin("B", 2), Plugin("C", 3), Plugin("S"))


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(tuple(map(Plugin, enabled)), tuple(map(Plugin, disabled)))


def asked(**sets: Any) -> Asked:
    return asked_plugins(convert_view(sets, Plugins), DEFAULTS, POINTS)


@pytest.mark.parametrize(
    ("custom", "expected"),
    [
        (plugin_set(), "ABC"),
        (plugin_set(enabled="X"), "ABCX"),
        (plugin_set(disabled="B"), "AC"),
        (plugin_set(enabled="X", disabled="B"), "ACX"),
        (plugin_set(enabled="XB", disabled="B"), "ACXB"),  # disabled and enabled: to the end
        (plugin_set(enabled="XB"), "ABCX"),  # re-configured: stays in its place
        (plugin_set(enabled="CB", disabled="*"), "CB"),
        (plugin_set(disabled="*"), ""),
        (plugin_set(enabled="BB"), "ABCB"),  # twice: the second is in the place of the default
    ],
)
def test_merging(custom: PluginSet, expected: str) -> None:
    merged = merge_plugin_sets(plugin_set(enabled="ABC"), custom)
    assert "".join(plugin.name for plugin in merged.enabled) == expected


def test_a_plugin_that_is_configured_again_takes_its_new_weight() -> None:
    custom = PluginSet((Plugin("B", 7),))
    assert merge_plugin_sets(PluginSet(DEFAULTS), custom).enabled == (Plugin("A"), Plugin("B", 7), *DEFAULTS[2:])


def test_defaults_that_are_disabled_stay_so() -> None:
    merged = merge_plugin_sets(plugin_set("AB", disabled="A"), plugin_set("X"))
    assert [plugin.name for plugin in merged.enabled] == ["B", "X"]
    assert [plugin.name for plugin in merged.disabled] == ["A"]


@pytest.mark.parametrize(
    ("sets", "filters", "scores"),
    [
        ({}, "ABC", "ABCS"),
        ({"multiPoint": {"enabled": named("X")}}, "ABCX", "ABCSX"),
        ({"multiPoint": {"disabled": named("*"), "enabled": named("X", "B")}}, "XB", "XB"),
        ({"multiPoint": {"disabled": named("B")}}, "AC", "ACS"),
        ({"filter": {"disabled": named("B")}}, "AC", "ABCS"),
        ({"filter": {"disabled": named("*")}}, "", "ABCS"),
        ({"filter": {"disabled": named("*"), "enabled": named("C", "A")}}, "CA", "ABCS"),
        # What is explicit at a point comes first if it is in multiPoint, too, and last if it is not.
        ({"filter": {"enabled": named("C", "A")}}, "CAB", "ABCS"),
        ({"filter": {"enabled": named("X", "C")}}, "CABX", "ABCS"),
        # Disabled and enabled at one point: it loses its place.
        ({"filter": {"disabled": named("A"), "enabled": named("A")}}, "BCA", "ABCS"),
        ({"multiPoint": {"disabled": named("*")}, "score": {"enabled": named("S", "A")}}, "", "SA"),
    ],
)
def test_who_is_asked_in_which_order(sets: Raw, filters: str, scores: str) -> None:
    found = asked(**sets)
    assert "".join(found.at[FILTER]) == filters
    assert "".join(found.at[SCORE]) == scores
    assert not found.repeated


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ({}, {"A": 1, "B": 2, "C": 3, "S": 1}),
        ({"multiPoint": {"enabled": [{"name": "B", "weight": 9}]}}, {"A": 1, "B": 9, "C": 3, "S": 1}),
        ({"score": {"enabled": [{"name": "B", "weight": 9}]}}, {"A": 1, "B": 9, "C": 3, "S": 1}),
        (
            {
                "score": {"enabled": [{"name": "B", "weight": 5}]},
                "multiPoint": {"enabled": [{"name": "B", "weight": 9}]},
            },
            {"A": 1, "B": 5, "C": 3, "S": 1},
        ),
        ({"multiPoint": {"enabled": named("B")}}, {"A": 1, "B": 1, "C": 3, "S": 1}),
        ({"score": {"enabled": [{"name": "C", "weight": 0}]}}, {"A": 1, "B": 2, "C": 1, "S": 1}),
    ],
)
def test_the_weight_at_the_point_counts_before_that_of_multipoint(sets: Raw, expected: dict[str, int]) -> None:
    assert asked(**sets).weights == expected


def test_what_is_enabled_twice_is_found() -> None:
    assert asked(filter={"enabled": named("X", "X")}).repeated == (("X", FILTER),)
    assert asked(multiPoint={"enabled": named("X", "X")}).repeated == (("X", FILTER), ("X", SCORE))


# -- with the plugins there are ---------------------------------------------------------------------------------------


def test_a_point_can_be_emptied_and_filled_again() -> None:
    order = profile(
        {
            "preFilter": {"disabled": named("*"), "enabled": named("NodeResourcesFit")},
            "filter": {"disabled": named("*"), "enabled": named("NodeResourcesFit", "NodeName")},
            "score": {"disabled": named("*"), "enabled": [{"name": "ImageLocality", "weight": 3}]},
        }
    ).order
    assert order.filters == ("NodeResourcesFit", "NodeName")
    assert order.scores == (("ImageLocality", 3),)
    assert order.before_filters == ()


def test_only_a_few_plugins_are_enough() -> None:
    few = named("PrioritySort", "NodeResourcesFit", "DefaultBinder")
    order = profile({"multiPoint": {"disabled": named("*"), "enabled": few}}).order
    assert order.filters == ("NodeResourcesFit",)
    assert order.scores == (("NodeResourcesFit", 1),)
    assert not order.preempts
    assert not order.respects_scheduling_gates


NEITHER = "or disable it at both"


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        (
            {"filter": {"enabled": named("NodeAfinity")}},
            ['filter.enabled[0]: FilterPlugin "NodeAfinity" does not exist; did you mean "NodeAffinity"?'],
        ),
        (
            {"permit": {"enabled": named("Coscheduling")}},
            [
                'permit.enabled[0]: PermitPlugin "Coscheduling" does not exist: it is not one of Kubernetes\' own, '
                "and no installed package registers it in the entry point group moorage.plugins; "
                "install its package, or take it out of the file"
            ],
        ),
        (
            {"multiPoint": {"enabled": named("GangScheduling")}},
            [
                'multiPoint.enabled[0]: plugin "GangScheduling" does not exist here: '
                "Moorage schedules pods one by one and not in groups; take it out of the file"
            ],
        ),
        (
            {"multiPoint": {"enabled": named("EBSLimits")}},
            [
                'multiPoint.enabled[0]: plugin "EBSLimits" does not exist: it is not one of Kubernetes\' own, '
                "and no installed package registers it in the entry point group moorage.plugins; "
                "install its package, or take it out of the file"
            ],
        ),
        (
            {"score": {"enabled": named("NodeName")}},
            ['score.enabled[0]: plugin "NodeName" does not extend ScorePlugin plugin'],
        ),
        (
            {"postBind": {"enabled": named("DefaultBinder")}},
            ['postBind.enabled[0]: plugin "DefaultBinder" does not extend PostBindPlugin plugin'],
        ),
        (
            {"placementScore": {"enabled": named("NodeResourcesFit")}},
            [
                "placementScore.enabled[0]: placementScore plugins are about groups of pods, "
                "and Moorage schedules pods one by one; take NodeResourcesFit out"
            ],
        ),
        (
            {"filter": {"enabled": named("NodePorts", "NodePorts")}},
            ['filter.enabled[1]: plugin "NodePorts" already registered as "FilterPlugin"'],
        ),
        (
            {"multiPoint": {"enabled": named("NodeName", "NodeName")}},
            ['multiPoint.enabled[1]: plugin "NodeName" already registered as "FilterPlugin"'],
        ),
        (
            {"preFilter": {"disabled": named("NodePorts")}},
            [
                "preFilter.disabled[0]: NodePorts is asked at filter but not at preFilter, where it prepares what it "
                f"compares nodes with: enable it at preFilter too, {NEITHER}"
            ],
        ),
        (
            {"preScore": {"disabled": named("TaintToleration")}},
            [
                "preScore.disabled[0]: TaintToleration is asked at score but not at preScore, where it prepares what "
                f"it compares nodes with: enable it at preScore too, {NEITHER}"
            ],
        ),
        (
            {"reserve": {"disabled": named("*")}},
            [
                f"reserve.disabled[0]: {plugin} is asked at filter but not at reserve, where it keeps for the pod "
                f"what it found: enable it at reserve too, {NEITHER}"
                for plugin in ("VolumeBinding", "DynamicResources")
            ],
        ),
        (
            {"preBind": {"disabled": named("VolumeBinding")}},
            [
                "preBind.disabled[0]: VolumeBinding is asked at filter but not at preBind, where it hands over "
                f"what it found: enable it at preBind too, {NEITHER}"
            ],
        ),
        (
            {"score": {"enabled": [{"name": "ImageLocality", "weight": -1}]}},
            [
                "score.enabled[0].weight: weight -1 of ImageLocality: Moorage takes no negative weights; "
                "disable its score instead"
            ],
        ),
    ],
)
def test_refused_by_name(plugins: Raw, expected: list[str]) -> None:
    assert problems(profiles=[profile_fields(plugins)]) == [f"profiles[0].plugins.{text}" for text in expected]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        (
            {"queueSort": {"disabled": named("*")}},
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0; '
            "enable PrioritySort",
        ),
        (
            {"bind": {"disabled": named("DefaultBinder")}},
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"; '
            "enable DefaultBinder",
        ),
        (
            {"score": {"enabled": [{"name": "ImageLocality", "weight": 21474824}]}},
            "the weights of all plugins that score add up to 21474838, and Moorage adds up to 21474836: lower them",
        ),
    ],
)
def test_refused_as_a_whole(plugins: Raw, expected: str) -> None:
    assert problems(profiles=[profile_fields(plugins)]) == [f"profiles[0].plugins: {expected}"]


def test_disabling_what_is_not_here_is_no_mistake() -> None:
    disabled = named("PodGroupScheduling", "GangScheduling")
    assert profile({"multiPoint": {"disabled": disabled}}).order == profile().order
