"""A profile's `pluginConfig` → typed arguments by plugin, or why they cannot be read.

In: a profile. Out: `GivenArgs`, which can be validated once everything could be read. Arguments may say what they are
(`kind: NodeAffinityArgs`) and need not. Kubernetes: decodeNestedObjects of k8s.io/kube-scheduler/config/v1, and
validatePluginConfig. Differs: arguments of a plugin that is not there are refused.
"""

from typing import Any, Protocol

import msgspec

from moorage.model.field_error import FieldError, duplicate, invalid
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.unknown_fields import UnknownField, unknown_fields
from moorage.schedule.config.configuration_views import API_VERSION, GROUP, KubeSchedulerProfile, PluginConfig
from moorage.schedule.config.configured_profiles import REMOVED, does_not_exist
from moorage.schedule.config.default_profile import PLUGINS
from moorage.schedule.config.plugin_args import Args
from moorage.schedule.config.plugin_args_validation import validate_args
from moorage.schedule.framework.extension_points import Point


class Complaints(Protocol):
    """Where problems and notes go, each with the path of the field that it is about."""

    def refuse(self, path: str, text: str) -> None: ...

    def refuse_as_said(self, path: str, text: str) -> None: ...

    def refuse_unknown(self, field: UnknownField, path: str) -> None: ...

    def note(self, path: str, text: str) -> None: ...


class GivenArgs(msgspec.Struct):
    """Arguments by plugin, and everything by the path at which it was given."""

    profile: KubeSchedulerProfile
    path: str
    args: dict[str, Args]
    by_path: dict[str, Args]

    def validate(self, gates: GateSet) -> list[FieldError]:
        """Kubernetes' complaints about the profile's plugins that were removed, and about all arguments."""
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
                errors += validate_args(self.by_path[path], f"{path}.args", gates)
        return errors


def _removed(path: str, name: str) -> FieldError:
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version {go_quote(API_VERSION)})'
    return invalid(path, name, detail)


def read_args(profile: KubeSchedulerProfile, path: str, complaints: Complaints) -> GivenArgs:
    """The arguments of all plugins of a profile; what cannot be read is refused."""
    given = GivenArgs(profile, path, {}, {})
    for i, config in enumerate(profile.pluginConfig):
        at = f"{path}.pluginConfig[{i}]"
        row = PLUGINS.get(config.name)
        if row is None:
            if config.name not in REMOVED:
                complaints.refuse(at, does_not_exist("plugin", config.name))
        elif row.args is None:
            if config.args:
                complaints.note(f"{at}.args", f"{config.name} takes no arguments, so they have no effect")
        else:
            args = _read(config, row.args, at, complaints)
            if args is not None:
                given.args[config.name] = given.by_path[at] = args
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
