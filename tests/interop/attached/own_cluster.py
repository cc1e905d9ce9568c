"""Our own cluster as one that does not know comparing tolerations: `moorage up` with the gates of the release."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.component_processes import free_port, until
from tests.interop.attached.unaware_cluster import NODES, UnawareCluster
from tests.interop.programs import Process, Programs, programs_in


class OwnCluster(UnawareCluster):
    """A `moorage up` that can be started again on the same port and data."""

    def __init__(self, programs: Programs) -> None:
        kubeconfig = programs.directory / "own.kubeconfig"
        self._command = (
            *("up", "-v0", f"--port={free_port()}", f"--nodes={len(NODES)}"),
            *(f"--data-dir={programs.directory / 'data'}", f"--write-kubeconfig={kubeconfig}"),
        )
        self._kubeconfig, self._programs = kubeconfig, programs
        self._process = self._started()
        super().__init__(programs, kubeconfig)

    def restart(self) -> None:
        self._programs.stop(self._process)
        self._process = self._started()

    def _started(self) -> Process:
        self._kubeconfig.unlink(missing_ok=True)
        process = self._programs.moorage(*self._command)
        until(lambda: self._kubeconfig.exists() or process.poll() is not None)
        assert process.poll() is None, self._programs.log(process)
        return process


@contextmanager
def own_cluster(directory: Path) -> Iterator[OwnCluster]:
    with programs_in(directory) as programs:
        cluster = OwnCluster(programs)
        cluster.nodes_come()
        yield cluster
