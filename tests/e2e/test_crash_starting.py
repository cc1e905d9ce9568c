"""How `moorage up` ends when it is told to, and what it says when it cannot begin."""

import asyncio
import socket
import subprocess
from pathlib import Path

import pytest
from tests.e2e.up_process import UpProcess, run_up
from tests.e2e.wire_client import Access, WireClient

_PATIENCE = 240.0  # seconds: for a test that fails instead of hanging


def test_sigterm_ends_watches_and_everything_else(tmp_path: Path) -> None:
    async def main() -> None:
        with UpProcess(tmp_path, "--data-dir", str(tmp_path / "data")) as server:
            access = Access(server.kubeconfig)
            watching = [asyncio.create_task(_watched(access, plural)) for plural in ("pods", "nodes", "events") * 10]
            idle = [await access.connect() for _ in range(10)]
            async with WireClient(access) as client:
                assert (await client.ask("GET", "/readyz")).body == b"ok"
            status = await asyncio.to_thread(server.terminate)
            assert status == 0, server.output
            for _, writer in idle:
                writer.transport.abort()
            # Each has seen the end that a stream has when it is over, not one that is cut off.
            assert await asyncio.gather(*watching) == [True] * len(watching)
            assert server.complaints == []

    asyncio.run(asyncio.wait_for(main(), _PATIENCE))


async def _watched(access: Access, plural: str) -> bool:
    async with WireClient(access) as client:
        async for event in client.watch(f"/api/v1/{plural}?watch=1"):
            assert event["type"] in ("ADDED", "MODIFIED", "DELETED")
    return True


def test_a_directory_is_used_by_one_process(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with UpProcess(tmp_path, "--data-dir", str(data)) as server:
        second = run_up("--data-dir", str(data), "--port", "0", "--write-kubeconfig", str(tmp_path / "second"))
        assert_refused(second, f"data directory {data} is in use by another process (pid {server.pid})")
        assert not (tmp_path / "second").exists()
        other = run_up("--data-dir", str(tmp_path / "other"), "--port", str(server.port))
        assert_refused(other, f"cannot listen on 127.0.0.1 port {server.port}: ")
        assert server.terminate() == 0


def test_a_port_that_something_else_has(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        ended = run_up("--ephemeral", "--port", str(port), "--write-kubeconfig", str(tmp_path / "kubeconfig"))
    assert_refused(ended, f"cannot listen on 127.0.0.1 port {port}: ")
    assert not (tmp_path / "kubeconfig").exists()


@pytest.mark.parametrize("place", ["data", "database", "keys", "nowhere"])
def test_a_directory_that_cannot_be_used(tmp_path: Path, place: str) -> None:
    data = tmp_path / "data"
    if place == "data":
        data.write_text("not a directory")
        data = data / "below"
    elif place == "nowhere":
        data = Path("/proc/nowhere/data")
    else:
        data.mkdir()
        name = "pki" if place == "keys" else "moorage.db"
        (data / name).write_text("neither keys nor a database, whichever is looked for")
    ended = run_up("--data-dir", str(data), "--port", "0")
    assert_refused(ended, str(data) if place != "keys" else "certificates cannot be made: ")


def test_a_kubeconfig_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    target = tmp_path / "file" / "kubeconfig"
    ended = run_up("--ephemeral", "--port", "0", "--write-kubeconfig", str(target))
    assert_refused(ended, f"cannot write {target}: ")


def assert_refused(ended: "subprocess.CompletedProcess[str]", why: str) -> None:
    """One line for the user, and nothing of how the program is made."""
    assert ended.returncode == 1, ended
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr + ended.stdout
    assert "internal error" not in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
