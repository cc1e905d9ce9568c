"""How many members a cluster may have, where its etcd comes from, and how its processes are started."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.commands.up import command
from moorage.cluster.admission_plugins import MOUNTS_TOKENS
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import Settings
from moorage.cluster.ha.commands import Commands, child_environment, gates_text
from moorage.cluster.ha.layout import HaSettings, Members, find_etcd, free_port, members_problem, open_members
from moorage.model.gates import Component, default_gates, gates_from
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION


@pytest.mark.parametrize("members", [1, 3, 5, 7])
def test_odd_numbers_of_members_are_accepted(members: int) -> None:
    assert members_problem(members) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ha=4"], "3 of 4 etcd members must agree, so that 4 survive the loss of 1, as 3 do"),
        (["--ha=9"], "must be an odd number from 1 to 7"),
        (["--ha=0"], "must be an odd number from 1 to 7"),
        (["--ha=3", "--etcd-servers=http://127.0.0.1:2379"], "--ha starts an etcd of its own"),
        (["--etcd-binary=etcd", "--ephemeral"], "--etcd-binary is the etcd of --ha"),
        (["--etcd-cafile=x"], "The options of etcd need --etcd-servers."),
        (["--ephemeral", "--leader-elect-renew-deadline=1m"], "leaseDuration must be greater than renewDeadline"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], said: str) -> None:
    ran = CliRunner().invoke(command, options)
    assert ran.exit_code == 2
    assert said in ran.output


def test_without_an_etcd_it_is_said_where_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("moorage.cluster.ha.layout.find_spec", lambda name: None)
    ran = CliRunner().invoke(command, ["--ha=3", "--ephemeral"])
    assert ran.exit_code == 1
    assert ran.output.count("\n") == 1
    assert "pip install 'moorage[etcd]'" in ran.output


def test_an_etcd_that_is_named_comes_first_then_the_one_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "etcd"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    package = find_etcd()
    assert package.endswith("etcdbin/etcd") or "etcd" in package
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{tmp_path}")
    assert find_etcd(str(own)) == str(own)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_etcd() == str(own)
    with pytest.raises(CannotStart, match="is not a program"):
        find_etcd("/nowhere/etcd")


def test_the_ports_of_members_stay_and_their_number_does(tmp_path: Path) -> None:
    made = open_members(tmp_path, 3)
    assert len({*made.clients, *made.peers}) == 6
    assert open_members(tmp_path, 3) == made
    with pytest.raises(CannotStart, match="has a cluster of 3 etcd members: start it with --ha 3"):
        open_members(tmp_path, 5)
    (tmp_path / "ha.json").write_text("{")
    with pytest.raises(CannotStart, match="is damaged"):
        open_members(tmp_path, 3)


def test_a_cluster_of_one_process_does_not_become_one_of_several(tmp_path: Path) -> None:
    (tmp_path / "moorage.db").write_text("")
    with pytest.raises(CannotStart, match="in SQLite"):
        open_members(tmp_path, 3)


def test_a_free_port_is_never_one_of_the_excluded_ports() -> None:
    port = free_port()
    assert free_port(range(port, port + 1)) != port


def commands(directory: Path, plugins: frozenset[str] = frozenset()) -> Commands:
    gates = dict.fromkeys(Component, default_gates()) | {
        Component.SCHEDULER: gates_from({"TaintTolerationComparisonOperators": True})
    }
    ha = HaSettings(3, scheduler_config="x", devices=("gpu=1", "/a.yaml"), device_files={"/a.yaml": "y"})
    settings = Settings(gates, DEFAULT_CONFIGURATION, 3, True, None, "127.0.0.1", 0, None, (), ha=ha, plugins=plugins)
    return Commands(settings, ha, Members((1, 2, 3), (4, 5, 6), "token"), directory, "/bin/etcd")


def test_command_lines_say_everything(tmp_path: Path) -> None:
    made = commands(tmp_path)
    etcd = made.etcd(2)
    assert etcd[0] == "/bin/etcd"
    assert "--initial-cluster=etcd-1=https://127.0.0.1:4,etcd-2=https://127.0.0.1:5,etcd-3=https://127.0.0.1:6" in etcd
    assert "--listen-client-urls=https://127.0.0.1:2" in etcd
    assert "--client-cert-auth=true" in etcd
    server = " ".join(made.api_server("apiserver-1", 7, "10.0.0.1"))
    assert "--etcd-servers https://127.0.0.1:1,https://127.0.0.1:2,https://127.0.0.1:3" in server
    assert "--port 7 --advertise-address 10.0.0.1" in server
    assert "--enable-garbage-collector=true" in server
    scheduler = " ".join(made.scheduler())
    assert (
        "--leader-elect-lease-duration 15s --leader-elect-renew-deadline 10s --leader-elect-retry-period 2s"
        in scheduler
    )
    assert scheduler.endswith("--feature-gates TaintTolerationComparisonOperators=true")
    assert f"--config {tmp_path}/components/scheduler.yaml" in scheduler
    assert "garbage-collector-controller" in " ".join(made.controller_manager())
    assert f"--devices gpu=1 --devices {tmp_path}/components/devices-1.yaml" in " ".join(made.kubelet(3))


def test_api_servers_run_the_plugins_of_the_option_and_those_that_controllers_need(tmp_path: Path) -> None:
    for plugins, expected in (
        (frozenset[str](), "StorageObjectInUseProtection,TaintNodesByCondition"),
        (frozenset({MOUNTS_TOKENS}), "ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition"),
    ):
        words = commands(tmp_path, plugins).api_server("apiserver-1", 7, "")
        assert words.count("--enable-admission-plugins") == 1
        assert words[words.index("--enable-admission-plugins") + 1] == expected


def test_children_have_no_settings_of_their_own() -> None:
    environment = {"PATH": "/bin", "MOORAGE_UP_NODES": "5", "MOORAGE_READY_FD": "7"}
    assert child_environment(environment) == {"PATH": "/bin", "MOORAGE_NO_SETTINGS": "1"}


def test_gates_are_named_where_they_are_not_as_by_default() -> None:
    assert gates_text(default_gates()) == ""
    changed = gates_from({"AllAlpha": True, "AllBeta": True})
    assert gates_from(dict.fromkeys((one.partition("=")[0] for one in gates_text(changed).split(",")), True)) == changed
