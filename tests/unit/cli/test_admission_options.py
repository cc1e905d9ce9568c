"""Enable admission plugins and name webhooks: what `moorage up` and `moorage apiserver` take, what is remembered."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from moorage.cli.commands.processes.apiserver import apiserver
from moorage.cli.commands.up import command as up
from moorage.cluster.admission_plugins import MOUNTS_TOKENS, PROTECTS_STORAGE, TAINTS_NODES
from moorage.cluster.control_plane import admission_needs
from moorage.cluster.kept.description import write_description

OPTION = "--enable-admission-plugins"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of what the commands would run, in place of running it."""
    processes: list[Any] = []

    def run(make: Callable[[], Any], *_others: object) -> SimpleNamespace:
        processes.append(make())
        return SimpleNamespace(had_started=True, number=0)

    monkeypatch.setattr("moorage.cluster.event_loop.run_until_signal", run)
    return processes


def invoke(command: click.Command, *options: str) -> str:
    result = CliRunner().invoke(command, options)
    assert result.exit_code == 0, result.output
    return result.output


LISTS: list[tuple[list[str], set[str]]] = [
    ([], set()),
    ([f"{OPTION}="], set()),
    ([f"{OPTION}={MOUNTS_TOKENS}"], {MOUNTS_TOKENS}),
    ([f"{OPTION}={MOUNTS_TOKENS}, {TAINTS_NODES},"], {MOUNTS_TOKENS, TAINTS_NODES}),
    ([OPTION, MOUNTS_TOKENS, OPTION, PROTECTS_STORAGE], {MOUNTS_TOKENS, PROTECTS_STORAGE}),
]


@pytest.mark.parametrize(("options", "plugins"), LISTS)
def test_both_commands_take_lists_and_repeated_options(
    options: list[str], plugins: set[str], started: list[Any]
) -> None:
    invoke(apiserver, "--ephemeral", "--port=0", *options)
    invoke(up, "--ephemeral", "--port=0", *options)
    server, cluster = started
    assert server.settings.plugins == plugins
    assert cluster.plane.settings.plugins == plugins


@pytest.mark.parametrize("command", [up, apiserver], ids=["up", "apiserver"])
@pytest.mark.parametrize("name", ["AlwaysPullImages", "serviceaccount", f"{MOUNTS_TOKENS};{TAINTS_NODES}"])
def test_other_plugins_are_refused_by_name(command: click.Command, name: str, started: list[Any]) -> None:
    result = CliRunner().invoke(command, ["--ephemeral", f"{OPTION}={MOUNTS_TOKENS},{name}"])
    assert result.exit_code == 2
    assert f"{name!r} is not one of {TAINTS_NODES}" in " ".join(result.output.split())
    assert not started


def test_plugins_are_added_to_those_that_controllers_need(started: list[Any]) -> None:
    for options in ([], [f"{OPTION}={MOUNTS_TOKENS}"], [f"{OPTION}={MOUNTS_TOKENS}", "--controllers="]):
        invoke(up, "--ephemeral", *options)
    by_controllers = {TAINTS_NODES, PROTECTS_STORAGE}
    enabled = [admission_needs(cluster.plane.settings).plugins for cluster in started]
    assert enabled == [by_controllers, {*by_controllers, MOUNTS_TOKENS}, {MOUNTS_TOKENS}]


def test_a_kept_cluster_remembers_its_plugins_until_others_are_given(tmp_path: Path, started: list[Any]) -> None:
    kept = f"--data-dir={tmp_path}"
    invoke(up, kept, f"{OPTION}={MOUNTS_TOKENS}")
    write_description(tmp_path, started[-1].description)
    invoke(up, kept)
    assert started[-1].plane.settings.plugins == {MOUNTS_TOKENS}
    output = invoke(up, kept, f"{OPTION}=")
    assert started[-1].plane.settings.plugins == set()
    assert f"{OPTION}='': at the last start it was {OPTION}={MOUNTS_TOKENS}" in output


def test_a_kept_cluster_remembers_where_webhooks_are(tmp_path: Path, started: list[Any]) -> None:
    kept, place = f"--data-dir={tmp_path}", "system/hooks=https://127.0.0.1:9443"
    for options, expected in (([f"--webhook-service={place}"], (place,)), ([], (place,)), (["--webhook-service="], ())):
        invoke(up, kept, *options)
        assert started[-1].plane.settings.webhook_services == expected
        write_description(tmp_path, started[-1].description)


def test_webhook_services_that_are_none_are_refused(started: list[Any]) -> None:
    refused = CliRunner().invoke(apiserver, ["--ephemeral", "--webhook-service=hooks=http://here"])
    assert refused.exit_code == 2
    assert "NAMESPACE/NAME=https://HOST[:PORT] is wanted" in refused.output
    assert not started
