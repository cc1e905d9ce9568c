"""A data directory that cannot be written, or is full, gets one clear line and an exit code, whatever it holds."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.component_processes import components as running_components

pytestmark = pytest.mark.real_time
#: Root may write everywhere but on a file system that is mounted read-only, for which it gets a namespace of its own.
_MOUNT = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" "$0" && exec "$@"'


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a server that was killed."""
    directory = tmp_path_factory.mktemp("killed")
    with running_components(directory) as components:
        components.kill(components.api_server())
    return directory / "data"


def _run(directory: Path, *command: str, mount: str = _MOUNT) -> "subprocess.CompletedProcess[str]":
    program = [sys.executable, "-m", "moorage", *command]
    if mount is not _MOUNT and os.geteuid():
        pytest.skip("only root may mount a small disk")
    if os.geteuid():
        directory.chmod(0o500)
        try:
            return subprocess.run(program, capture_output=True, text=True, timeout=240)
        finally:
            directory.chmod(0o700)
    inside = ["unshare", "--mount", "sh", "-c", mount, str(directory), *program]
    ran = subprocess.run(inside, capture_output=True, text=True, timeout=240)
    if "unshare:" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"root may not mount here: {shlex.quote(ran.stderr.strip())}")
    return ran


@pytest.mark.parametrize("is_used", [True, False], ids=["used", "new"])
@pytest.mark.parametrize("command", [("up", "--port", "0"), ("apiserver", "--port", "0")], ids=lambda words: words[0])
def test_a_cluster_does_not_start_in_it(command: tuple[str, ...], is_used: bool, used: Path, tmp_path: Path) -> None:
    directory = used if is_used else tmp_path
    _is_one_line(_run(directory, *command, "--data-dir", str(directory)))


@pytest.mark.parametrize("command", [("check",), ("repair", "--remove-damaged"), ("repair", "--new")], ids=" ".join)
def test_a_store_is_not_touched_in_it(command: tuple[str, ...], used: Path) -> None:
    _is_one_line(_run(used, "store", command[0], str(used), *command[1:]))


@pytest.mark.parametrize("size", ["4k", "16k", "64k"])
@pytest.mark.parametrize("command", ["up", "apiserver"])
def test_a_cluster_does_not_start_on_a_full_disk(command: str, size: str, tmp_path: Path) -> None:
    mount = f'mount -t tmpfs -o size={size} none "$0" && exec "$@"'
    ran = _run(tmp_path, command, "--port", "0", "--data-dir", str(tmp_path), mount=mount)
    assert ran.returncode == 1, ran.stderr
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    assert "no space left on device" in ran.stderr.lower()
    assert "damaged" not in ran.stderr


def _is_one_line(ran: "subprocess.CompletedProcess[str]") -> None:
    assert ran.returncode == 1, ran.stderr
    lines = ran.stderr.splitlines()
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith("moorage: ")
    assert "Read-only file system" in lines[0] or "Permission denied" in lines[0]
    assert "internal error" not in lines[0]
