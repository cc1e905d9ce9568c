"""Where a cluster's kubeconfig goes: where the user says, else beside the data, else to a directory that is removed.

In: options. Out: the file, written last, so that whoever sees it can use the cluster.
"""

import shutil
import tempfile
from pathlib import Path

from moorage.cluster.api_server import CannotStart
from moorage.serve.pki.kubeconfig_file import write_kubeconfig


class KubeconfigPlace:
    """`path` is known once it is written."""

    def __init__(self, wanted: Path | None, data_dir: Path | None) -> None:
        self.path = wanted or Path()
        self._wanted, self._data_dir = wanted, data_dir
        self._temporary: Path | None = None

    def write(self, text: str) -> None:
        """Raises CannotStart."""
        if self._wanted is None:
            directory = self._data_dir
            if directory is None:
                directory = self._temporary = Path(tempfile.mkdtemp(prefix="moorage-"))
            self.path = directory / "kubeconfig"
        try:
            write_kubeconfig(self.path, text)
        except OSError as error:
            raise CannotStart(f"cannot write {self.path}: {error.strerror}") from None

    def clear(self) -> None:
        """What nobody asked for goes with the cluster."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
