"""Merge the options of `moorage up` over those of the cluster's last start, and turn them into settings.

Differences are printed on standard error. Files that options name are stored with their text.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from moorage.cli.admission_options import chosen_plugins
from moorage.cli.commands.up import snapshot_plan
from moorage.cli.options import COMPONENTS, chosen_controllers, etcd_urls, password_in
from moorage.cli.shared import election_times, gates_of_components, read_configuration, read_devices, say
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.kept.description import Description, DescriptionError, merge_options, read_description
from moorage.cluster.kept.places import DEFAULT, default_kubeconfig
from moorage.model.gates import Component

if TYPE_CHECKING:
    from moorage.client.leader_election import ElectionTimes
    from moorage.cluster.ha.layout import HaSettings
    from moorage.cluster.kept.kept_cluster import KeptCluster
    from moorage.store.etcd.settings import EtcdSettings

_DEFAULT_PORT = 6443
#: Options that name a file, or a directory, which is found from anywhere at the next start.
_FILES = (
    "config",
    "policy_file",
    "cert_dir",
    *(f"etcd_{name}" for name in ("cafile", "certfile", "keyfile", "password_file")),
)


class UpOptions(NamedTuple):
    """Arguments of the control plane's settings, what to remember of them, and what is as at the last start."""

    settings: dict[str, Any]
    description: Description
    unchanged: str


def merged_up_options(
    ctx: click.Context, options: dict[str, Any], cluster: KeptCluster | None, *, ephemeral: bool
) -> UpOptions:
    """Return what the cluster is to be. Raises CannotStart, and click's errors for options that are wrong."""
    try:
        stored = read_description(cluster.directory) if cluster is not None and not ephemeral else None
    except DescriptionError as error:
        raise CannotStart(str(error)) from None
    given = {name: value for name, value in options.items() if _is_given(ctx, name)}
    given, files = _with_files(given)
    merged = merge_options(given, stored)
    for name, (now, before) in merged.differences.items():
        say(f"{_written(ctx, name, now)}: at the last start it was {_written(ctx, name, before)}")
    texts = dict(stored.files) if stored is not None else {}
    _note_changed_files(merged.unchanged, texts)
    texts |= files
    values = {**options, **merged.options}
    named_files = {str(values.get("config")), *map(str, values["devices"])}
    description = Description(
        name=cluster.name if cluster is not None else "",
        options=merged.options,
        files={path: text for path, text in texts.items() if path in named_files},
        contexts=stored.contexts if stored is not None else (),
        ephemeral=ephemeral,
    )
    settings = _settings(values, texts, cluster, stored, makes_nodes="nodes" in given, ephemeral=ephemeral)
    settings["data_dir"] = None if ephemeral or cluster is None else cluster.directory
    settings["directory"] = cluster.directory if cluster is not None else None
    settings["description"] = msgspec.json.encode(description)
    unchanged = " ".join(_written(ctx, name, value) for name, value in merged.unchanged.items())
    return UpOptions(settings, description, unchanged)


def _settings(
    values: dict[str, Any],
    texts: dict[str, str],
    cluster: KeptCluster | None,
    stored: Description | None,
    *,
    makes_nodes: bool,
    ephemeral: bool,
) -> dict[str, Any]:
    if values["etcd_binary"] and not values["ha"]:
        raise click.UsageError("--etcd-binary is the etcd of --ha; one that runs already is named by --etcd-servers.")
    only = {f"{name.replace('-', '_')}_feature_gates" for name in COMPONENTS}
    switched = gates_of_components(tuple(values["gates"]), {name: tuple(values[name]) for name in only})
    has_name = cluster is not None and cluster.name not in ("", DEFAULT)
    port = values["port"]
    nodes = values["nodes"] if makes_nodes else 0 if stored is not None else None
    config = values["config"]
    times = election_times(values["lease_duration"], values["deadline"], values["retry"])
    kubeconfig = values["kubeconfig"] or (default_kubeconfig() if has_name else None)
    return {
        "gates": switched,
        "configuration": read_configuration(config, switched[Component.SCHEDULER], texts.get(str(config))),
        "nodes": nodes if values["simulate"] else 0,
        "simulates": values["simulate"],
        "bind_address": values["bind_address"],
        "authorization_mode": values["authorization_mode"],
        "policy_file": Path(values["policy_file"]) if values["policy_file"] else None,
        "port": port if port is not None else _preferred_port(stored) if has_name else _DEFAULT_PORT,
        "prefers_port": port is None and has_name,
        "kubeconfig": Path(kubeconfig) if kubeconfig else None,
        "simulates_storage": values["simulates_storage"],
        "devices": read_devices(tuple(values["devices"]), texts),
        "controllers": chosen_controllers(values["controllers"]),
        "plugins": chosen_plugins(values["plugins"]),
        "webhook_services": tuple(filter(None, values["webhook_services"])),
        "audit_log_path": values["audit_log_path"],
        "etcd": _etcd(values),
        "cert_dir": Path(values["cert_dir"]) if values["cert_dir"] else None,
        "election": times,
        "ha": _ha(values, texts, times) if values["ha"] else None,
        "context": cluster.context if cluster is not None else "moorage",
        "snapshot_plan": snapshot_plan(
            values["snapshot_every"],
            values["snapshots_kept"],
            is_sqlite=not (values["ha"] or values["etcd_servers"] or ephemeral),
        ),
    }


def _etcd(values: dict[str, Any]) -> EtcdSettings | None:
    """Raises click.BadParameter."""
    from moorage.store.etcd.settings import EtcdSettings

    servers = etcd_urls(",".join(values["etcd_servers"]), "--etcd-servers")
    if not servers:
        return None
    return EtcdSettings(
        servers=servers,
        prefix=values["etcd_prefix"],
        ca_file=values["etcd_cafile"],
        cert_file=values["etcd_certfile"],
        key_file=values["etcd_keyfile"],
        username=values["etcd_username"],
        password=password_in(values["etcd_password_file"]) if values["etcd_password_file"] else "",
    )


def _ha(values: dict[str, Any], texts: dict[str, str], times: ElectionTimes) -> HaSettings:
    from moorage.cluster.ha.layout import HaSettings

    config, devices = values["config"], tuple(values["devices"])
    text = texts.get(str(config), "") if config else ""
    files = {name: texts[name] for name in devices if name in texts}
    return HaSettings(values["ha"], values["etcd_binary"], text, devices, files, times)


def _preferred_port(stored: Description | None) -> int:
    return stored.port if stored is not None else 0


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)


def _with_files(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return options with absolute paths, and the texts of the files that can be read."""
    given = dict(given)
    if given.get("kubeconfig"):
        given["kubeconfig"] = str(Path(given["kubeconfig"]).absolute())
    for name in _FILES:
        if given.get(name):
            given[name] = str(Path(given[name]).absolute())
    if "devices" in given:
        given["devices"] = [value if "=" in value else str(Path(value).absolute()) for value in given["devices"]]
    paths = [given.get("config") or "", *(value for value in given.get("devices", ()) if "=" not in value)]
    texts = {}
    for path in filter(None, paths):
        with suppress(OSError, UnicodeDecodeError):  # the caller says why it cannot be read
            texts[path] = Path(path).read_text("utf-8")
    return given, texts


def _note_changed_files(unchanged: dict[str, Any], texts: dict[str, str]) -> None:
    for path in (unchanged.get("config") or "", *unchanged.get("devices", ())):
        with suppress(OSError, UnicodeDecodeError):
            if path in texts and Path(path).read_text("utf-8") != texts[path]:
                say(f"{path} has changed since the last start, and is used as it was: name it again to use it as it is")


def _written(ctx: click.Context, name: str, value: Any) -> str:
    """Return an option as it would be typed."""
    option = next(option for option in ctx.command.params if option.name == name)
    if isinstance(value, bool):
        return (option.opts if value else option.secondary_opts or option.opts)[0]
    words = value if isinstance(value, list) else [value]
    return " ".join(f"{option.opts[0]}={shlex.quote(str(word))}" for word in words) or f"no {option.opts[0]}"
