"""Load plugins of other packages by entry point, check them when they are loaded, guard them when they are called.

A package registers a `Plugin` class in the entry point group `moorage.plugins`, under the plugin's name. Only plugins
that a configuration names are imported. Kubernetes: app.WithPlugin, which links a plugin into the scheduler's binary.
"""

from collections.abc import Callable
from functools import wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec
import numpy as np

from moorage.model.go.quoting import go_quote
from moorage.schedule.config.configuration_views import Point
from moorage.schedule.config.default_profile import PLUGINS, Row
from moorage.schedule.framework.events import Requeue
from moorage.schedule.framework.plugin import MAX_SCORE, Normalization, Plugin, Prepared, Verdict
from moorage.schedule.framework.wide import WidePlugin

ENTRY_POINT_GROUP = "moorage.plugins"
_DEFAULT_WEIGHT = 1
# What a plugin overrides to be asked at a point.
_FILTERING = ("explain", "filter_traits")
_SCORING = ("score_slot", "score", "score_traits")


class PluginError(Exception):
    """A plugin of another package that cannot be loaded or breaks the interface; names its entry point and package."""


class PluginRegistry:
    """Moorage's own plugins and, loaded when they are asked for by name, those of installed packages."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = dict(PLUGINS)
        self.errors: dict[str, str] = {}
        self._installed: dict[str, list[EntryPoint]] | None = None

    @property
    def installed(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of all installed packages by plugin name; none is loaded."""
        if self._installed is None:
            self._installed = {}
            for entry in entry_points(group=ENTRY_POINT_GROUP):
                self._installed.setdefault(entry.name, []).append(entry)
        return self._installed

    def get(self, name: str) -> Row | None:
        """Return a plugin's row; None if there is no such plugin, or it cannot be loaded, which `errors` then tells."""
        row = self.rows.get(name)
        if row is not None or name in self.errors or name not in self.installed:
            return row
        try:
            row = self.rows[name] = _load(self.installed[name])
        except PluginError as error:
            self.errors[name] = str(error)
        return row

    def names(self) -> frozenset[str]:
        return frozenset((*PLUGINS, *self.installed))


def _load(entries: list[EntryPoint]) -> Row:
    entry = entries[0]
    origin = f"plugin {go_quote(entry.name)} (entry point {entry.value} of {_package(entry)})"
    if len(entries) > 1:
        packages = ", ".join(sorted(map(_package, entries)))
        raise PluginError(
            f"{origin}: {len(entries)} packages register a plugin of this name: {packages}; uninstall one"
        )
    try:
        loaded = entry.load()
    except (Exception, SystemExit) as error:
        raise PluginError(f"{origin}: cannot be loaded: {_told(error)}") from error
    complaint = _complaint(loaded, entry.name)
    if complaint:
        raise PluginError(f"{origin}: {complaint}")
    plugin: type[Plugin[Any]] = loaded
    points = [(Point.FILTER, _FILTERING), (Point.SCORE, _SCORING)]
    extends = frozenset(point for point, methods in points if _overrides(plugin, methods)) or {Point.FILTER}

    def make(args: Any, _: Any) -> Plugin[Any]:
        try:
            instance = plugin(args)
        except (Exception, SystemExit) as error:
            raise PluginError(f"{origin}: {plugin.__name__}(args) raised {_told(error)}") from error
        return _guard(instance, origin)

    weight = _DEFAULT_WEIGHT if Point.SCORE in extends else 0
    return Row(plugin.name, frozenset(extends), make, weight, plugin.args_type or dict, origin)


def _complaint(loaded: Any, name: str) -> str:
    """Return what is wrong with what an entry point leads to; nothing if it is a plugin."""
    if not isinstance(loaded, type) or not issubclass(loaded, Plugin):
        given = f"class {loaded.__name__}" if isinstance(loaded, type) else f"a value of type {type(loaded).__name__}"
        return f"is {given}, not a subclass of moorage.schedule.framework.Plugin"
    if getattr(loaded, "name", None) != name:
        return f"class {loaded.__name__} has the name {getattr(loaded, 'name', None)!r}, which should be {name!r}"
    if not loaded.local and not issubclass(loaded, WidePlugin):
        return f"class {loaded.__name__} is not local, so it has to derive from moorage.schedule.framework.WidePlugin"
    if not _overrides(loaded, (*_FILTERING, *_SCORING, "prepare")):
        return f"class {loaded.__name__} overrides neither explain nor score_slot, so it would do nothing"
    if _overrides(loaded, ("filter", "filter_slot")) and not _overrides(loaded, ("explain",)):
        return f"class {loaded.__name__} overrides filter but not explain, so nothing would say why a node is refused"
    args: Any = loaded.args_type
    if args is not None and not (isinstance(args, type) and issubclass(args, msgspec.Struct)):
        return f"args_type of class {loaded.__name__} is not a msgspec.Struct"
    return ""


def _overrides(plugin: type[Plugin[Any]], methods: tuple[str, ...]) -> bool:
    base = WidePlugin if issubclass(plugin, WidePlugin) else Plugin
    return any(getattr(plugin, method, None) is not getattr(base, method, None) for method in methods)


def _package(entry: EntryPoint) -> str:
    return f"package {entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# -- calls ------------------------------------------------------------------------------------------------------------


def _guard(plugin: Plugin[Any], origin: str) -> Plugin[Any]:
    """Have every public method raise PluginError, and nothing else, for errors and for results of the wrong type."""
    for name in dir(type(plugin)):
        method = getattr(plugin, name)
        if not name.startswith("_") and callable(method) and name != "args_type":
            setattr(plugin, name, _guarded(method, name, plugin, origin))
    if plugin.requeue_on is not None:
        rows: Any = tuple(_guarded_row(row) for row in plugin.requeue_on)
        plugin.requeue_on = rows  # type: ignore[misc]
    return plugin


def _guarded(method: Callable[..., Any], name: str, plugin: Plugin[Any], origin: str) -> Callable[..., Any]:
    check = _CHECKS.get(name)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = method(*args, **kwargs)
        except PluginError:
            raise
        except Exception as error:
            raise PluginError(f"{origin}: {name} raised {_told(error)}") from error
        if check is not None and (expected := check(result, plugin, args)):
            raise PluginError(f"{origin}: {name} returned {result!r}, not {expected}")
        return result

    return call


def _guarded_row(row: Requeue) -> Requeue:
    """Guard a hint: one that fails lets the pod be tried again, as in Kubernetes."""
    hint = row.hint
    if hint is None:
        return row

    def may_help(*args: Any) -> bool:
        try:
            return bool(hint(*args))
        except Exception:
            return True

    return Requeue(row.kinds, may_help)


def _is_score(value: int, plugin: Plugin[Any]) -> bool:
    return value >= 0 and (value <= MAX_SCORE or plugin.normalization is not Normalization.NONE)


def _check_score(result: Any, plugin: Plugin[Any], args: tuple[Any, ...]) -> str:
    if isinstance(result, int | np.integer) and not isinstance(result, bool) and _is_score(int(result), plugin):
        return ""
    limit = f"0–{MAX_SCORE}" if plugin.normalization is Normalization.NONE else "0 or more"
    return f"an int of {limit}"


def _check_array(kind: Any, word: str) -> Callable[[Any, Plugin[Any], tuple[Any, ...]], str]:
    def check(result: Any, plugin: Plugin[Any], args: tuple[Any, ...]) -> str:
        slots = args[1].nodes.slots.capacity
        if isinstance(result, np.ndarray) and np.issubdtype(result.dtype, kind) and result.shape == (slots,):
            return ""
        return f"an array of {slots} {word}, one for each slot"

    return check


def _check_type(kinds: tuple[type, ...], expected: str) -> Callable[[Any, Plugin[Any], tuple[Any, ...]], str]:
    return lambda result, plugin, args: "" if isinstance(result, kinds) else expected


_CHECKS = {
    "prepare": _check_type((Prepared,), "a Prepared"),
    "explain": _check_type((Verdict, type(None)), "a Verdict or None"),
    "filter_slot": _check_type((bool, np.bool_), "a bool"),
    "score_slot": _check_score,
    "filter": _check_array(np.bool_, "bools"),
    "score": _check_array(np.integer, "integers"),
}
