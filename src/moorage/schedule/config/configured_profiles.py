"""One profile of a configuration file → who is asked where, or why that cannot be done here, plugin by plugin.

In: a profile and the arguments of its plugins, which are valid. Out: a `ConfiguredProfile`; problems and notes go to
a `Complaints`. What Kubernetes' framework would refuse is refused in its words; what only Moorage cannot do is refused
by name, with what to do about it. Kubernetes: framework/runtime/framework.go.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from moorage.model.go.quoting import go_quote
from moorage.model.schema.unknown_fields import nearest_name
from moorage.schedule.config.configuration_views import KubeSchedulerProfile, Plugin, PluginSet
from moorage.schedule.config.configured_scheduler import ConfiguredProfile
from moorage.schedule.config.default_profile import DEFAULT_PLUGINS, PLUGINS, PluginOrder
from moorage.schedule.config.plugin_args import Args
from moorage.schedule.config.plugin_sets import EVERYTHING, Asked, asked_plugins
from moorage.schedule.framework.extension_points import Point
from moorage.schedule.framework.plugin import MAX_SCORE

MULTI_POINT = "multiPoint"
# The total score of a node is kept in 31 bits.
MAX_WEIGHT = (2**31 - 1) // MAX_SCORE

# Plugins that Kubernetes has and Moorage does not, and what follows from that.
NOT_HERE: Mapping[str, str] = {
    "DynamicResources": "Moorage does not allocate devices to resource claims",
    "GangScheduling": "Moorage schedules pods one by one and not in groups",
    "NodeDeclaredFeatures": "Moorage does not compare pods with the features that nodes declare",
    "PodGroupPodsCount": "Moorage schedules pods one by one and not in groups",
    "TopologyPlacementGenerator": "Moorage schedules pods one by one and not in groups",
}
# Plugins that Kubernetes had once; its validation names them.
REMOVED = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
# Points without which a plugin cannot do its work at another one, and what is missing then.
_NEEDS = (
    (Point.FILTER, Point.PRE_FILTER, "where it prepares what it compares nodes with"),
    (Point.SCORE, Point.PRE_SCORE, "where it prepares what it compares nodes with"),
    (Point.FILTER, Point.RESERVE, "where it keeps for the pod what it found"),
    (Point.FILTER, Point.PRE_BIND, "where it hands over what it found"),
)
_PLACEMENT = (Point.PLACEMENT_GENERATE, Point.PLACEMENT_SCORE)
_POINTS = {row.name: row.points for row in DEFAULT_PLUGINS}
_DEFAULTS = tuple(Plugin(row.name, row.weight or None) for row in DEFAULT_PLUGINS)


class Complaints(Protocol):
    """Where problems and notes go, each with the path of the field that it is about."""

    def refuse(self, path: str, text: str) -> None: ...

    def note(self, path: str, text: str) -> None: ...


def configure_profile(
    profile: KubeSchedulerProfile, name: str, args: Mapping[str, Args], path: str, complaints: Complaints
) -> ConfiguredProfile:
    """The profile; it is of use only if nothing was refused."""
    plugins_path = f"{path}.plugins"
    for where, own in _sets(profile):
        _check_enabled(where, own, f"{plugins_path}.{where}", complaints)
        _check_disabled(own, f"{plugins_path}.{where}", complaints)
    asked = asked_plugins(profile.plugins, _DEFAULTS, _POINTS)
    for plugin, point in asked.repeated:
        text = f"plugin {go_quote(plugin)} already registered as {go_quote(point.interface)}"
        complaints.refuse(_place(profile, plugin, point, plugins_path), text)
    _check_counts(asked, name, plugins_path, complaints)
    _check_halves(profile, asked, plugins_path, complaints)
    return ConfiguredProfile(name, _order(asked, plugins_path, complaints), args)


def does_not_exist(kind: str, plugin: str) -> str:
    """Kubernetes' words for a plugin that nobody has, and what can be done."""
    said = f"{kind} {go_quote(plugin)} does not exist"
    if plugin in NOT_HERE:
        return f"{said} here: {NOT_HERE[plugin]}; take it out of the file"
    near = nearest_name(plugin, frozenset(PLUGINS))
    if near is not None:
        return f"{said}; did you mean {go_quote(near)}?"
    return (
        f"{said}: Moorage has Kubernetes' own plugins and loads no others; take it out of the file, "
        "and leave pods that need it to the scheduler that has it"
    )


def _sets(profile: KubeSchedulerProfile) -> Iterator[tuple[str, PluginSet]]:
    for where in (*Point, MULTI_POINT):
        yield where, getattr(profile.plugins, where)


def _check_enabled(where: str, own: PluginSet, path: str, complaints: Complaints) -> None:
    for i, plugin in enumerate(own.enabled):
        at, name = f"{path}.enabled[{i}]", plugin.name
        if name not in PLUGINS:
            kind = "plugin" if where == MULTI_POINT else Point(where).interface
            if where == MULTI_POINT or name not in REMOVED:
                complaints.refuse(at, does_not_exist(kind, name))
        elif where in _PLACEMENT:
            text = f"{where} plugins are about groups of pods, and Moorage schedules pods one by one; take {name} out"
            complaints.refuse(at, text)
        elif where != MULTI_POINT and where not in PLUGINS[name].points:
            complaints.refuse(at, f"plugin {go_quote(name)} does not extend {Point(where).interface} plugin")
        if where not in (MULTI_POINT, Point.SCORE) or plugin.weight is None:
            continue
        if plugin.weight < 0:
            text = f"weight {plugin.weight} of {name}: Moorage takes no negative weights; disable its score instead"
            complaints.refuse(f"{at}.weight", text)
        elif name in PLUGINS and Point.SCORE in PLUGINS[name].points and not PLUGINS[name].weight:
            complaints.note(f"{at}.weight", f"{name} scores nothing here, so its weight has no effect")


def _check_disabled(own: PluginSet, path: str, complaints: Complaints) -> None:
    for i, plugin in enumerate(own.disabled):
        if plugin.name in PLUGINS or plugin.name in NOT_HERE or plugin.name == EVERYTHING:
            continue
        near = nearest_name(plugin.name, frozenset(PLUGINS))
        hint = f"; did you mean {go_quote(near)}?" if near is not None else ""
        text = f"there is no plugin {go_quote(plugin.name)} to disable{hint}"
        complaints.note(f"{path}.disabled[{i}]", text)


def _check_counts(asked: Asked, name: str, path: str, complaints: Complaints) -> None:
    sorting, binding = len(asked.at[Point.QUEUE_SORT]), len(asked.at[Point.BIND])
    if sorting != 1:
        text = (
            f"only one queue sort plugin required for profile with scheduler name {go_quote(name)}, but got {sorting}"
        )
        complaints.refuse(path, f"{text}; enable PrioritySort")
    if not binding:
        text = f"at least one bind plugin is needed for profile with scheduler name {go_quote(name)}"
        complaints.refuse(path, f"{text}; enable DefaultBinder")


def _check_halves(profile: KubeSchedulerProfile, asked: Asked, path: str, complaints: Complaints) -> None:
    """In Kubernetes most of these fail for every pod; here a plugin prepares and decides in one."""
    for point, needed, why in _NEEDS:
        for plugin in asked.at[point]:
            if needed in _POINTS[plugin] and plugin not in asked.at[needed]:
                text = (
                    f"{plugin} is asked at {point} but not at {needed}, {why}: "
                    f"enable it at {needed} too, or disable it at both"
                )
                complaints.refuse(_place(profile, plugin, needed, path), text)


def _place(profile: KubeSchedulerProfile, plugin: str, point: Point, path: str) -> str:
    """The path of what somebody wrote about a plugin that concerns a point."""
    for where in (point.value, MULTI_POINT):
        own: PluginSet = getattr(profile.plugins, where)
        for form, listed in (("disabled", own.disabled), ("enabled", own.enabled)):
            named = [i for i, other in enumerate(listed) if other.name in (plugin, EVERYTHING)]
            if named:
                return f"{path}.{where}.{form}[{named[-1]}]"
    return path


def _order(asked: Asked, path: str, complaints: Complaints) -> PluginOrder:
    filters = asked.at[Point.FILTER]
    scores = tuple((name, asked.weights[name]) for name in asked.at[Point.SCORE] if PLUGINS[name].weight)
    total = sum(weight for _, weight in scores)
    if total > MAX_WEIGHT:
        text = (
            f"the weights of all plugins that score add up to {total}, and Moorage adds up to {MAX_WEIGHT}: lower them"
        )
        complaints.refuse(path, text)
    return PluginOrder(
        filters,
        scores,
        tuple(name for name in asked.at[Point.PRE_FILTER] if name not in filters),
        "SchedulingGates" in asked.at[Point.PRE_ENQUEUE],
        "DefaultPreemption" in asked.at[Point.POST_FILTER],
    )
