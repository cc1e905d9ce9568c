"""What a profile enables and disables, on top of the defaults → which plugins are asked at each extension point.

In: the `plugins` of a profile, the default ones, and at which points each plugin may be asked. Out: names in run order
by point, and the weights of those that score. First the lists of enabled and disabled plugins are merged; then
`multiPoint` is spread over the points. Kubernetes: mergePluginSet in apis/config/v1/default_plugins.go, then
expandMultiPointPlugins and getValidScoreWeights in framework/runtime.
"""

from collections.abc import Mapping, Sequence

import msgspec

from moorage.schedule.config.configuration_views import Plugin, Plugins, PluginSet
from moorage.schedule.framework.extension_points import Point

EVERYTHING = "*"
Points = Mapping[str, frozenset[Point]]


class Asked(msgspec.Struct, frozen=True):
    """Who is asked where, in order; the weights of all that might score; who is named twice, and where."""

    at: dict[Point, tuple[str, ...]]
    weights: dict[str, int]
    repeated: tuple[tuple[str, Point], ...] = ()


def merge_plugin_sets(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    """Defaults that are not disabled, each in its place but as re-configured, if it is; then all that is added."""
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
    """Who is asked where. Names that `points_of` does not have are passed over; somebody else complains about them."""
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
