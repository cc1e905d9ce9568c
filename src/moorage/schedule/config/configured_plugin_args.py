"""Read a profile's `pluginConfig` into typed arguments by plugin.

Arguments may give their kind (`kind: NodeAffinityArgs`) and need not.
Kubernetes: decodeNestedObjects of k8s.io/kube-scheduler/config/v1, and validatePluginConfig. Differs:
arguments of a plugin that does not exist are refused.
"""

from typing import Any

import msgspec

from moorage.model.field_error import FieldError, duplicate, invalid
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import UnknownField, nearest_name, unknown_fields
from moorage.schedule.config.configuration_views import API_VERSION, GROUP, KubeSchedulerProfile, PluginConfig, Point
from moorage.schedule.config.configured_profiles import REMOVED, Complaints, does_not_exist
from moorage.schedule.config.plugin_args import Args
from moorage.schedule.config.third_party import PluginRegistry


class GivenArgs(msgspec.Struct):
    """Arguments by plugin; those of Moorage's own plugins also by the path at which they were given."""

    profile: KubeSchedulerProfile
    path: str
    args: dict[str, Any]
    by_path: dict[str, Args]

    def validate(self, gates: GateSet) -> list[FieldError]:
        """Return Kubernetes' field errors for plugins that were removed, and for all arguments."""
        errors: list[FieldError] = []
        for point in Point:
            for i, plugin in enumerate(getattr(self.profile.plugins, point.value).enabled):
                if plugin.name in REMOVED:
                    errors.append(_removed(f"{self.path}.plugins.{point}.enabled[{i}]", plugin.name))
        seen: set[str] = set()
        for i, config in enumerate(self.profile.pluginConfig):
            path = f"{self.path}.pluginConfig[{i}]"
            if config.name in seen:
                errors.append(duplicate(path, config.name))
            seen.add(config.name)
            if config.name in REMOVED:
                errors.append(_removed(path, config.name))
            elif path in self.by_path:
                errors += self.by_path[path].validate(f"{path}.args", gates)
        return errors


def _removed(path: str, name: str) -> FieldError:
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version {go_quote(API_VERSION)})'
    return invalid(path, name, detail)


def read_args(profile: KubeSchedulerProfile, path: str, complaints: Complaints, registry: PluginRegistry) -> GivenArgs:
    """Read the arguments of all plugins of a profile; those that cannot be read are refused."""
    given = GivenArgs(profile, path, {}, {})
    for i, config in enumerate(profile.pluginConfig):
        at = f"{path}.pluginConfig[{i}]"
        row = registry.get(config.name)
        if row is None:
            if config.name not in REMOVED:
                complaints.refuse(at, does_not_exist("plugin", config.name, registry))
        elif row.args is None:
            if config.args:
                complaints.note(f"{at}.args", f"{config.name} takes no arguments, so they have no effect")
        elif issubclass(row.args, Args):
            args = _read(config, row.args, at, complaints)
            if args is not None:
                given.args[config.name] = given.by_path[at] = args
        else:
            foreign = _read_foreign(config, row.args, at, complaints)
            if foreign is not None:
                given.args[config.name] = foreign
    return given


def _read(config: PluginConfig, kind: type[Args], at: str, complaints: Complaints) -> Args | None:
    raw: Any = {} if config.args is None else config.args
    decoding = f"decoding .{at}: "
    if isinstance(raw, dict):
        stated, version = raw.get("kind") or kind.__name__, raw.get("apiVersion") or API_VERSION
        if version != API_VERSION:
            text = f"no kind {go_quote(str(stated))} is registered for version {go_quote(str(version))}"
            complaints.refuse_as_said(
                f"{at}.args.apiVersion", f"{decoding}decoding args for plugin {config.name}: {text}"
            )
            return None
        if stated != kind.__name__:
            text = f"args for plugin {config.name} were not of type {kind.__name__}.{GROUP}, got {stated}.{GROUP}"
            complaints.refuse_as_said(f"{at}.args.kind", f"{decoding}{text}")
            return None
    for unknown in unknown_fields(raw, kind):
        complaints.refuse_unknown(unknown, f"{at}.args")
    try:
        return convert_view(raw, kind)
    except ConversionError as error:
        for problem in error.problems:
            where = f"{at}.args.{problem.path}" if problem.path else f"{at}.args"
            complaints.refuse_as_said(where, f"{decoding}decoding args for plugin {config.name}: {problem.reason}")
    return None


def _read_foreign(config: PluginConfig, kind: type[Any], at: str, complaints: Complaints) -> Any:
    """Read the arguments of another package's plugin: a dict, or its own msgspec type."""
    raw: Any = {} if config.args is None else config.args
    if not isinstance(raw, dict):
        complaints.refuse(f"{at}.args", f"args for plugin {config.name} must be an object")
        return None
    if kind is dict:
        return raw
    known = frozenset(kind.__struct_encode_fields__)
    for name in raw.keys() - known:
        complaints.refuse_unknown(UnknownField(name, nearest_name(name, known)), f"{at}.args")
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        complaints.refuse(f"{at}.args", f"decoding args for plugin {config.name}: {error}")
    return None
