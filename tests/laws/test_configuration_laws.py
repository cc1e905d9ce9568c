"""Laws of the scheduler's configuration: who is asked is what the rules say, and no file is too strange."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.schedule.clusters import cluster_of, node, pod

from moorage.model.gates import GateSet, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configuration_views import Plugin, Plugins, Point
from moorage.schedule.config.configured_profiles import Asked, Points, asked_plugins
from moorage.schedule.config.configured_scheduler import Configuration, ConfigurationError, ConfigurationProblem
from moorage.schedule.config.default_profile import PLUGINS
from moorage.schedule.cycle import Bind

Raw = dict[str, Any]
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
NAMES = tuple("ABCDX")
POINTS: Points = {name: frozenset({Point.FILTER, Point.SCORE} if name != "D" else {Point.SCORE}) for name in NAMES}
DEFAULTS = (Plugin("A"), Plugin("B", 2), Plugin("C", 3), Plugin("D"))
Ask = Callable[[Plugins, tuple[Plugin, ...], Points], Asked]
Load = Callable[[Mapping[str, Any], str, GateSet], Configuration]


def plugin_sets(names: tuple[str, ...]) -> st.SearchStrategy[Raw]:
    enabled = st.lists(st.sampled_from(names), max_size=4, unique=True)
    disabled = st.lists(st.sampled_from(("*", *names)), max_size=3, unique=True)

    def listed(chosen: list[str]) -> list[Raw]:
        return [{"name": name, "weight": 1 + len(name)} for name in chosen]

    return st.builds(lambda on, off: {"enabled": listed(on), "disabled": listed(off)}, enabled, disabled)


# -- who is asked -----------------------------------------------------------------------------------------------------


def asked_by_the_rules(custom: Plugins, point: Point) -> list[str]:
    """The same, from Kubernetes' description of the rules instead of its code."""
    everywhere = [plugin.name for plugin in DEFAULTS]
    off = {plugin.name for plugin in custom.multiPoint.disabled}
    on = [plugin.name for plugin in custom.multiPoint.enabled]
    everywhere = [] if "*" in off else [name for name in everywhere if name not in off]
    everywhere += [name for name in on if name not in everywhere]
    own = getattr(custom, point.value)
    explicit = [plugin.name for plugin in own.enabled if point in POINTS[plugin.name]]
    here_off = {plugin.name for plugin in own.disabled}
    usable = [name for name in everywhere if point in POINTS[name] and not {name, "*"} & here_off]
    return sorted({*explicit, *usable}, key=lambda name: _rank(name, explicit, usable))


def _rank(name: str, explicit: list[str], usable: list[str]) -> tuple[int, int]:
    if name not in explicit:
        return 1, usable.index(name)
    return (0 if name in usable else 2), explicit.index(name)


def law_asked(ask: Ask) -> None:
    @LAW_SETTINGS
    @given(plugin_sets(NAMES), plugin_sets(NAMES))
    def law(everywhere: Raw, filters: Raw) -> None:
        custom = convert_view({"multiPoint": everywhere, "filter": filters}, Plugins)
        found = ask(custom, DEFAULTS, POINTS)
        for point in (Point.FILTER, Point.SCORE):
            assert list(found.at[point]) == asked_by_the_rules(custom, point)

    law()


def test_who_is_asked_is_what_the_rules_say() -> None:
    law_asked(asked_plugins)


def _in_alphabetical_order(custom: Plugins, defaults: tuple[Plugin, ...], points: Points) -> Asked:
    """Broken: forgets the order in which plugins are named."""
    found = asked_plugins(custom, defaults, points)
    return Asked({point: tuple(sorted(names)) for point, names in found.at.items()}, found.weights)


def test_another_order_is_noticed() -> None:
    assert_notices(partial(law_asked, _in_alphabetical_order))


# -- no file is too strange -------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers(-5, 200) | st.sampled_from(["", "*", "NodeAffinity", "System", "5s"])
KEYS = st.sampled_from(
    ["name", "weight", "enabled", "disabled", "plugins", "pluginConfig", "args", "score", "filter", "kind", "shape"]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
ARGS = st.fixed_dictionaries(
    {"name": st.sampled_from([*PLUGINS, "DynamicResources", "Own"])},
    optional={
        "args": st.dictionaries(
            st.sampled_from(
                sorted({field for row in PLUGINS.values() if row.args for field in row.args.__struct_fields__})
            ),
            ANYTHING,
            max_size=3,
        )
    },
)
PROFILES = st.fixed_dictionaries(
    {},
    optional={
        "schedulerName": st.sampled_from(["default-scheduler", "other", ""]),
        "plugins": st.dictionaries(st.sampled_from([*Point, "multiPoint"]), plugin_sets((*PLUGINS, "Own")), max_size=3),
        "pluginConfig": st.lists(ARGS, max_size=2),
        "percentageOfNodesToScore": SCALARS,
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "profiles": st.lists(PROFILES | ANYTHING, max_size=2),
        "leaderElection": st.dictionaries(st.sampled_from(["leaderElect", "leaseDuration"]), SCALARS, max_size=2),
        "podInitialBackoffSeconds": SCALARS,
        "extenders": ANYTHING,
        "parallelism": ANYTHING,
    },
)


def attempt(load: Load, raw: Raw) -> tuple[Configuration | None, tuple[ConfigurationProblem, ...]]:
    try:
        return load(raw, "config", default_gates()), ()
    except ConfigurationError as error:
        return None, error.problems


def law_any_file(load: Load) -> None:
    """It makes a scheduler that finds a plain pod its node, or there is something to say against it."""

    @LAW_SETTINGS
    @given(DOCUMENTS)
    def law(fields: Raw) -> None:
        configuration, problems = attempt(load, HEAD | fields)
        if configuration is None:
            assert problems
            assert all(problem.text for problem in problems)
            return
        cluster = cluster_of(node("a"))
        scheduler = configuration.make_scheduler(cluster, default_gates())
        for profile in configuration.profiles:
            name = profile.name
            scheduler.add(cluster.record(f"default/{name}", pod(name, schedulerName=name)), 0.0)
            assert isinstance(scheduler.step(0.0), Bind) or "NodeAffinity" in profile.args

    law()


def test_any_file_is_used_or_refused() -> None:
    law_any_file(load_configuration)


def _without_a_word(raw: Mapping[str, Any], source: str, gates: GateSet) -> Configuration:
    """Broken: refuses and does not say why."""
    try:
        return load_configuration(raw, source, gates)
    except ConfigurationError:
        raise ConfigurationError(()) from None


def test_a_refusal_without_a_word_is_noticed() -> None:
    assert_notices(partial(law_any_file, _without_a_word))
