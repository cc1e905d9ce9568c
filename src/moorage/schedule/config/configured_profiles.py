"""Decide which plugins of a configured profile are asked at which extension point, and why that cannot be done here.

Lists of enabled and disabled plugins are merged with the defaults first; then `multiPoint` is spread over the points.
What Kubernetes' framework would refuse is refused in its words; what only Moorage cannot do is refused by name.
Kubernetes: mergePluginSet in apis/config/v1/default_plugins.go, expandMultiPointPlugins and getValidScoreWeights in
framework/runtime/framework.go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from moorage.model.field_error import FieldError
from moorage.model.go.quoting import go_quote
from moorage.model.schema.known_fields import UnknownField, nearest_name
from moorage.schedule.config.configuration_views import KubeSchedulerProfile, Plugin, Plugins, PluginSet, Point
from moorage.schedule.config.configured_scheduler import ConfigurationError, ConfigurationProblem, ConfiguredProfile
from moorage.schedule.config.default_profile import DEFAULT_PLUGINS, PLUGINS, PluginOrder, default_args
from moorage.schedule.config.third_party import ENTRY_POINT_GROUP, PluginError, PluginRegistry
from moorage.schedule.framework.plugin import MAX_SCORE

EVERYTHING = "*"
MULTI_POINT = "multiPoint"
# The total score of a node is kept in 31 bits.
MAX_WEIGHT = (2**31 - 1) // MAX_SCORE

# Plugins that Kubernetes has and Moorage does not, and what follows from that.
NOT_HERE: Mapping[str, str] = {
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
_DEFAULTS = tuple(Plugin(row.name, row.weight or None) for row in DEFAULT_PLUGINS)
# What earlier versions had, and where it went.
_MOVED = {
    "healthzBindAddress": "v1 has no such field: the address is a flag of the process; take it out",
    "metricsBindAddress": "v1 has no such field: the address is a flag of the process; take it out",
    "algorithmSource": "v1 has no such field: write the policy as plugins of a profile",
}
Points = Mapping[str, frozenset[Point]]


class Findings:
    """Problems and notes as they are found."""

    def __init__(self, source: str, line_of: Callable[[str], int]) -> None:
        self._source = source
        self._line_of = line_of
        self._problems: list[ConfigurationProblem] = []
        self.notes: list[ConfigurationProblem] = []

    def refuse(self, path: str, text: str) -> None:
        self.refuse_as_said(path, f"{path}: {text}" if path else text)

    def refuse_as_said(self, path: str, text: str) -> None:
        """Add a problem whose text already names the field."""
        self._problems.append(ConfigurationProblem(self._source, self._line_of(path), text))

    def refuse_fields(self, errors: Iterable[FieldError]) -> None:
        for error in errors:
            self.refuse_as_said(error.path, str(error))

    def refuse_unknown(self, field: UnknownField, path: str = "") -> None:
        full = f"{path}.{field.path}" if path else field.path
        hint = f"; did you mean {go_quote(field.nearest)}?" if field.nearest is not None else ""
        moved = _MOVED.get(full)
        self.refuse_as_said(full, f"unknown field {go_quote(full)}{f': {moved}' if moved else hint}")

    def note(self, path: str, text: str) -> None:
        self.notes.append(ConfigurationProblem(self._source, self._line_of(path), f"{path}: {text}"))

    def stop_if_refused(self) -> None:
        if self._problems:
            raise ConfigurationError(tuple(dict.fromkeys(self._problems)))


class Asked(msgspec.Struct, frozen=True):
    """The plugins asked at each point, in run order; the weights of all that might score; repeated registrations."""

    at: dict[Point, tuple[str, ...]]
    weights: dict[str, int]
    repeated: tuple[tuple[str, Point], ...] = ()


def merge_plugin_sets(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Return the defaults that are not disabled, in place and as re-configured, followed by all that is added."""
    disabled = (*(Plugin(plugin.name) for plugin in custom.disabled), *defaults.disabled)
    gone = {plugin.name for plugin in disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled: list[Plugin] = []
    replacing: set[int] = set()
    for plugin in () if EVERYTHING in gone else defaults.enabled:
        if plugin.name in gone:
            continue
        index = last.get(plugin.name)
        if index is not None:
            replacing.add(index)
        enabled.append(plugin if index is None else custom.enabled[index])
    enabled += (plugin for index, plugin in enumerate(custom.enabled) if index not in replacing)
    return PluginSet(tuple(enabled), disabled)


def asked_plugins(custom: Plugins, defaults: Sequence[Plugin], points_of: Points) -> Asked:
    """Return which plugins are asked at which point; names that `points_of` does not have are passed over."""
    everywhere = merge_plugin_sets(PluginSet(tuple(defaults)), custom.multiPoint)
    at: dict[Point, tuple[str, ...]] = {}
    repeated: list[tuple[str, Point]] = []
    for point in Point:
        own: PluginSet = getattr(custom, point.value)
        explicit = [plugin.name for plugin in own.enabled if point in points_of.get(plugin.name, ())]
        disabled = {plugin.name for plugin in own.disabled}
        implied: list[str] = []
        overridden: set[str] = set()
        for plugin in () if EVERYTHING in disabled else everywhere.enabled:
            name = plugin.name
            if point not in points_of.get(name, ()) or name in disabled:
                continue
            if name in explicit:
                overridden.add(name)
            elif name in implied:
                repeated.append((name, point))
            else:
                implied.append(name)
        repeated += ((name, point) for i, name in enumerate(explicit) if name in explicit[:i])
        first = [name for name in explicit if name in overridden]
        others = [name for name in explicit if name not in overridden]
        at[point] = tuple(dict.fromkeys((*first, *implied, *others)))
    weights: dict[str, int] = {}
    for plugin in (*custom.score.enabled, *everywhere.enabled):
        weights.setdefault(plugin.name, plugin.weight or 1)  # a plugin that is not to count is to be disabled
    return Asked(at, weights, tuple(dict.fromkeys(repeated)))


def does_not_exist(kind: str, plugin: str, registry: PluginRegistry) -> str:
    """Return Kubernetes' words for a plugin that does not exist, and what can be done; or why it cannot be loaded."""
    if plugin in registry.errors:
        return registry.errors[plugin]
    message = f"{kind} {go_quote(plugin)} does not exist"
    if plugin in NOT_HERE:
        return f"{message} here: {NOT_HERE[plugin]}; take it out of the file"
    near = nearest_name(plugin, registry.names())
    if near is not None:
        return f"{message}; did you mean {go_quote(near)}?"
    return (
        f"{message}: it is not one of Kubernetes' own, and no installed package registers it in the entry point group "
        f"{ENTRY_POINT_GROUP}; install its package, or take it out of the file"
    )


class ProfileCheck(msgspec.Struct):
    """One profile, which has its name, and its path in the file."""

    profile: KubeSchedulerProfile
    path: str
    findings: Findings
    registry: PluginRegistry

    def configured(self, args: Mapping[str, Any]) -> ConfiguredProfile:
        """Return the configured profile; it may be used only if nothing was refused."""
        for where in (*Point, MULTI_POINT):
            own: PluginSet = getattr(self.profile.plugins, where)
            self._check_enabled(where, own)
            self._check_disabled(where, own)
        rows = self.registry.rows
        requested = asked_plugins(self.profile.plugins, _DEFAULTS, {name: row.points for name, row in rows.items()})
        for plugin, point in requested.repeated:
            text = f"plugin {go_quote(plugin)} already registered as {go_quote(point.interface)}"
            self.findings.refuse(self._place(plugin, point), text)
        self._check_counts(requested)
        self._check_halves(requested)
        order = self._order(requested)
        own_rows = {name: rows[name] for name in (*order.filters, *dict(order.scores)) if name not in PLUGINS}
        for plugin, row in own_rows.items():
            try:
                if row.make is not None:
                    row.make(args[plugin] if plugin in args else default_args(row), None)
            except (PluginError, TypeError) as error:
                text = str(error) if isinstance(error, PluginError) else f"{row.origin}: needs arguments: {error}"
                configs = (i for i, config in enumerate(self.profile.pluginConfig) if config.name == plugin)
                given = next((f"{self.path}.pluginConfig[{i}].args" for i in configs), "")
                self.findings.refuse(given or self._place(plugin, min(row.points)), text)
        return ConfiguredProfile(self.profile.schedulerName or "", order, args, own_rows)

    def _check_enabled(self, where: str, own: PluginSet) -> None:
        findings = self.findings
        for i, plugin in enumerate(own.enabled):
            at, name = f"{self.path}.plugins.{where}.enabled[{i}]", plugin.name
            row = self.registry.get(name)
            if row is None:
                kind = "plugin" if where == MULTI_POINT else Point(where).interface
                if where == MULTI_POINT or name not in REMOVED:
                    findings.refuse(at, does_not_exist(kind, name, self.registry))
            elif where in _PLACEMENT:
                text = f"{where} plugins are about groups of pods, and Moorage schedules pods one by one"
                findings.refuse(at, f"{text}; take {name} out")
            elif where != MULTI_POINT and where not in row.points:
                findings.refuse(at, f"plugin {go_quote(name)} does not extend {Point(where).interface} plugin")
            if where not in (MULTI_POINT, Point.SCORE) or plugin.weight is None:
                continue
            if plugin.weight < 0:
                text = f"weight {plugin.weight} of {name}: Moorage takes no negative weights; disable its score instead"
                findings.refuse(f"{at}.weight", text)

    def _check_disabled(self, where: str, own: PluginSet) -> None:
        for i, plugin in enumerate(own.disabled):
            if plugin.name in PLUGINS or plugin.name in NOT_HERE or plugin.name == EVERYTHING:
                continue
            names = self.registry.names()
            if plugin.name not in names:
                near = nearest_name(plugin.name, names)
                hint = f"; did you mean {go_quote(near)}?" if near is not None else ""
                text = f"there is no plugin {go_quote(plugin.name)} to disable{hint}"
                self.findings.note(f"{self.path}.plugins.{where}.disabled[{i}]", text)

    def _check_counts(self, requested: Asked) -> None:
        sorting, binding = len(requested.at[Point.QUEUE_SORT]), len(requested.at[Point.BIND])
        path = f"{self.path}.plugins"
        of_profile = f"for profile with scheduler name {go_quote(self.profile.schedulerName or '')}"
        if sorting != 1:
            text = f"only one queue sort plugin required {of_profile}, but got {sorting}"
            self.findings.refuse(path, f"{text}; enable PrioritySort")
        if not binding:
            self.findings.refuse(path, f"at least one bind plugin is needed {of_profile}; enable DefaultBinder")

    def _check_halves(self, requested: Asked) -> None:
        """In Kubernetes most of these fail for every pod; here a plugin prepares and decides in one."""
        for point, needed, why in _NEEDS:
            for plugin in requested.at[point]:
                if needed in self.registry.rows[plugin].points and plugin not in requested.at[needed]:
                    text = (
                        f"{plugin} is asked at {point} but not at {needed}, {why}: "
                        f"enable it at {needed} too, or disable it at both"
                    )
                    self.findings.refuse(self._place(plugin, needed), text)

    def _place(self, plugin: str, point: Point) -> str:
        """Return the path at which the profile names a plugin for a point."""
        for where in (point.value, MULTI_POINT):
            own: PluginSet = getattr(self.profile.plugins, where)
            for form, listed in (("disabled", own.disabled), ("enabled", own.enabled)):
                named = [i for i, other in enumerate(listed) if other.name in (plugin, EVERYTHING)]
                if named:
                    return f"{self.path}.plugins.{where}.{form}[{named[-1]}]"
        return f"{self.path}.plugins"

    def _order(self, requested: Asked) -> PluginOrder:
        filters = requested.at[Point.FILTER]
        scores = tuple((name, requested.weights[name]) for name in requested.at[Point.SCORE])
        total = sum(weight for _, weight in scores)
        if total > MAX_WEIGHT:
            text = f"the weights of all plugins that score add up to {total}, and Moorage adds up to {MAX_WEIGHT}"
            self.findings.refuse(f"{self.path}.plugins", f"{text}: lower them")
        return PluginOrder(
            filters,
            scores,
            tuple(name for name in requested.at[Point.PRE_FILTER] if name not in filters),
            "SchedulingGates" in requested.at[Point.PRE_ENQUEUE],
            "DefaultPreemption" in requested.at[Point.POST_FILTER],
        )
