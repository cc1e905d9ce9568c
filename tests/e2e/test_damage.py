"""Real processes on damaged files: one line, exit code 1, nothing served; repair, and the cluster is there again."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.e2e.component_processes import components as running_components
from tests.e2e.component_processes import until

from moorage.client.kubeconfig.access import tls_context
from moorage.client.kubeconfig.loading import load_access
from moorage.store.data_directory import FILE_NAME

pytestmark = pytest.mark.real_time
WAL = f"{FILE_NAME}-wal"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a server that was killed, with writes that are in its log only."""
    directory = tmp_path_factory.mktemp("killed")
    with running_components(directory) as components:
        components.kill(components.api_server())
        process = components.api_server()  # the log of the first start is in the file now
        access = load_access(str(components.kubeconfig))
        for number in range(10):
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
            request = Request(
                f"{access.server}/api/v1/namespaces/default/configmaps",
                json.dumps(document).encode(),
                {"Content-Type": "application/json"},
            )
            urlopen(request, context=tls_context(access), timeout=60).close()
        components.kill(process)
    assert (directory / "data" / WAL).stat().st_size
    return directory / "data"


def _flip(directory: Path) -> None:
    """Flip one bit of the name inside of a Namespace's value, where the file has it."""
    content = bytearray((directory / FILE_NAME).read_bytes())
    content[content.index(b'"name":"kube-node-lease"') + 8] ^= 1
    (directory / FILE_NAME).write_bytes(content)


def _cut(directory: Path) -> None:
    content = (directory / WAL).read_bytes()
    (directory / WAL).write_bytes(content[: len(content) // 2])


def _moorage(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "moorage", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize(
    ("damage", "line", "repair"),
    [
        (
            _flip,
            r"/namespaces/kube-node-lease \(revision \d+\) is not as it was written",
            "--remove-damaged",
        ),
        (_cut, r"the write-ahead log \(moorage\.db-wal\) is cut: .*; revisions? .* missing", "--accept-missing"),
        (lambda path: (path / WAL).unlink(), r"is missing; revisions? .* missing", "--accept-missing"),
        (lambda path: (path / FILE_NAME).write_bytes(b""), r"has 0 bytes, but moorage\.mark says", "--new"),
    ],
    ids=["flipped", "cut", "gone", "empty"],
)
def test_damage_is_named_and_repaired(
    damage: Callable[[Path], object], line: str, repair: str, killed: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(killed, directory)
    damage(directory)
    refused = _moorage("up", "--data-dir", str(directory), "--port", "0")
    assert refused.returncode == 1, refused.stderr
    assert re.search(line, refused.stderr), refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert f"moorage store repair {directory}" in refused.stderr
    assert _moorage("store", "check", str(directory)).returncode == 1
    repaired = _moorage("store", "repair", str(directory), repair)
    assert repaired.returncode == 0, repaired.stderr
    assert "is kept in" in repaired.stdout
    with running_components(tmp_path) as components:
        components.api_server()
        until(components.kubeconfig.exists)
    assert _moorage("store", "check", str(directory)).returncode == 0
