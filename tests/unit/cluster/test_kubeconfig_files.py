"""The kubeconfig of a cluster: whose file it may be, and what a failed start leaves of it."""

import asyncio
from pathlib import Path

import pytest

from moorage.client.kubeconfig.context_file import ContextFile, Login, kubeconfig_of
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.health import Phase
from moorage.cluster.kubeconfig_files import AwaitedKubeconfig, awaited_files
from moorage.model.gates import gates_from
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import Watchdog

pytestmark = pytest.mark.real_time

MANIFEST = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"


def _process(
    file: Path | None, data_dir: Path | None = None, port: int = 0, *, force: bool = False
) -> ApiServerProcess:
    return ApiServerProcess(ApiServerSettings(gates_from({}), data_dir, port=port), file, force=force)


async def test_a_manifest_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(MANIFEST)
    process = _process(file)
    with pytest.raises(
        CannotStart, match=r"--write-kubeconfig: .*cluster.yaml is not a kubeconfig \(its kind is Node\)"
    ):
        await process.start()
    await process.stop()
    assert file.read_text() == MANIFEST
    process = _process(file, force=True)
    await process.start()
    assert load_access(str(file)).server == process.url
    await process.stop()


async def test_a_cluster_that_is_not_well_is_running_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.cluster.api_server.Phase", _NeverStarted)
    file = tmp_path / "kubeconfig"
    first, other = _process(file), _process(file)
    await first.start()
    with pytest.raises(CannotStart, match="leads to another cluster, which is running"):
        await other.start()
    await other.stop()
    await first.stop()


class _NeverStarted(Phase):
    """A server whose hooks are not finished, so that /livez is 500."""

    def is_starting(self) -> str:
        return "not finished"


async def test_the_file_of_a_running_cluster_stays_its_own(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    first = _process(file)
    await first.start()
    before = file.read_text()
    for other in (_process(file), _process(file, tmp_path / "data")):
        with pytest.raises(CannotStart, match="leads to another cluster, which is running"):
            await other.start()
        await other.stop()
    assert file.read_text() == before
    await first.stop()
    second = _process(file)  # the first has ended: its file is free
    await second.start()
    assert file.read_text() != before
    await second.stop()


async def test_a_start_that_fails_removes_the_file_that_scripts_wait_for(tmp_path: Path) -> None:
    file, data = tmp_path / "kubeconfig", tmp_path / "data"
    first = _process(file, data)
    await first.start()
    assert (data / "kubeconfig").exists()
    second = _process(file, data)  # the same cluster, which is running: its files stay
    with pytest.raises(CannotStart, match="in use"):
        await second.start()
    await second.stop()
    assert file.exists()
    assert (data / "kubeconfig").exists()
    await first.stop()
    assert file.exists()

    other = _process(None)
    await other.start()
    third = _process(file, data, int(other.url.rpartition(":")[2]))
    with pytest.raises(CannotStart, match="cannot listen"):
        await third.start()
    await third.stop()
    await other.stop()
    assert not file.exists()
    assert not (data / "kubeconfig").exists()


async def test_a_start_that_fails_leaves_a_file_that_has_other_contexts(tmp_path: Path) -> None:
    file = tmp_path / "config"
    for name in ("prod", "moorage"):
        ContextFile(file, name).write(kubeconfig_of(name, Login("https://127.0.0.1:1", b"CA")))
    process = _process(file, Path("/dev/null/x"))
    with pytest.raises(CannotStart, match="/dev/null/x"):
        await process.start()
    await process.stop()
    assert load_access(str(file), context="prod").server == "https://127.0.0.1:1"


class _Component:
    def __init__(self, file: Path) -> None:
        self.found = file.exists()
        self.watchdog = Watchdog(Metrics())

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def failure(self) -> BaseException:
        return RuntimeError()


async def test_a_component_waits_for_its_kubeconfig_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "kubeconfig"
    awaited = AwaitedKubeconfig(lambda: _Component(file), [file], 60, "kube-scheduler")
    starting = asyncio.create_task(awaited.start())
    await asyncio.sleep(0.15)
    assert not starting.done()
    file.touch()
    await starting
    assert awaited.component.found
    await awaited.stop()


async def test_a_component_does_not_wait_for_ever_and_can_be_stopped_while_it_waits(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    awaited = AwaitedKubeconfig(lambda: _Component(file), [file], 0.05, "kubelet")
    await awaited.start()
    assert not awaited.component.found
    waiting = AwaitedKubeconfig(lambda: _Component(file), [file], 60, "kubelet")
    starting = asyncio.create_task(waiting.start())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await waiting.stop()


def test_which_files_are_waited_for() -> None:
    assert awaited_files("a", {"KUBECONFIG": "b"}) == [Path("a")]
    assert awaited_files("", {"KUBECONFIG": "b:c"}) == [Path("b"), Path("c")]
    assert awaited_files("", {}) == []
