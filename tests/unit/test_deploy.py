"""What is in `deploy/` fits the programs: flags exist, files that they name are mounted, probes ask real ports."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click import Context
from tests.deployment import (
    COMPONENTS,
    MANIFESTS,
    ROOT,
    UNITS,
    environment_file,
    manifest,
    manifest_command,
    unit_command,
)
from tests.deployment import sections_of as sections
from tests.etcd_process import BINARIES

from moorage.cli.main import moorage

ENVIRONMENT = environment_file()
#: What belongs to one way of running only, or differs by nature.
_OF_ONE_WAY = {"--listen-metrics-urls"}


def flags_of_etcd() -> set[str]:
    told = subprocess.run([BINARIES / "etcd", "--help"], capture_output=True, text=True, check=False)
    return set(re.findall(r"^\s+(--[a-z0-9-]+)", told.stdout + told.stderr, re.MULTILINE))


def check_moorage(arguments: list[str]) -> None:
    """Parse a command line as `moorage` does, without looking for its files. Raises UsageError."""
    name, *options = arguments
    command = moorage.get_command(Context(moorage), name)
    assert command is not None
    _, left, _ = command.make_parser(Context(command)).parse_args(list(options))
    assert left == []


@pytest.mark.parametrize("name", COMPONENTS)
def test_flags_of_moorage_exist(name: str) -> None:
    program, *arguments = unit_command(f"moorage-{name}", ENVIRONMENT)
    assert program == "/usr/local/bin/moorage"
    check_moorage(arguments)
    check_moorage(manifest_command(name, ENVIRONMENT))
    gated = {**ENVIRONMENT, f"{name.upper().replace('-', '_')}_ARGS": "--feature-gates=AllAlpha=true -v 2"}
    check_moorage(unit_command(f"moorage-{name}", gated)[1:])


def test_a_wrong_flag_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        check_moorage(["apiserver", "--etcd-server=http://127.0.0.1:2379"])


def test_flags_of_etcd_exist() -> None:
    known = flags_of_etcd()
    for command in (unit_command("etcd", ENVIRONMENT)[1:], manifest_command("etcd", ENVIRONMENT)[1:]):
        assert {word.partition("=")[0] for word in command} <= known
    assert "--no-such-flag" not in known


@pytest.mark.parametrize("name", ["etcd", *COMPONENTS])
def test_units_and_manifests_say_the_same(name: str) -> None:
    unit = unit_command("etcd" if name == "etcd" else f"moorage-{name}", ENVIRONMENT)[1:]
    pod = manifest_command(name, ENVIRONMENT)
    pod = [word for word in pod if word.partition("=")[0] not in _OF_ONE_WAY]
    assert pod[1 if name == "etcd" else 0 :] == unit


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_whole(name: str) -> None:
    pod = manifest(name)
    (container,) = pod["spec"]["containers"]
    command = manifest_command(name, ENVIRONMENT)
    paths = [word.partition("=")[2] for word in command if word.partition("=")[2].startswith("/")]
    mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert [path for path in paths if not any(f"{path}/".startswith(f"{place}/") for place in mounted)] == []
    assert {mount["name"] for mount in container["volumeMounts"]} == {one["name"] for one in pod["spec"]["volumes"]}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            asked = container[probe]["httpGet"]
            assert any(re.search(rf"[=:]{asked['port']}$", word) for word in command), probe


def test_manifests_have_no_findings() -> None:
    program = str(ROOT / ".venv" / "bin" / "moorage")
    command = shutil.which("moorage") or program
    done = subprocess.run([command, "lint", "deploy/manifests"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "No findings: 4 objects in 4 files checked.\n"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for path in UNITS.values():
        text = re.sub(r"/usr/local/bin/\w+", "/bin/true", path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", *sorted(map(str, tmp_path.glob("*.service")))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    about = [line for line in (done.stdout + done.stderr).splitlines() if "moorage" in line or "etcd" in line]
    assert about == []


@pytest.mark.parametrize("name", UNITS)
def test_units_are_hardened(name: str) -> None:
    service = sections(UNITS[name])["Service"]
    assert service["NoNewPrivileges"] == ["yes"]
    assert service["ProtectSystem"] == ["strict"]
    assert service["CapabilityBoundingSet"] == [""]
    assert service["User"] in (["etcd"], ["moorage"])
    assert service["Restart"] == ["always"]
