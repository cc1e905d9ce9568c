"""A `moorage apiserver`, with kubeconfigs of any user."""

import datetime
from pathlib import Path

from tests.e2e.component_processes import free_port, until
from tests.interop.programs import Programs
from tests.interop.real_server import write_kubeconfig

from moorage.serve.pki.certificates import Authority, Issued


class OurServer:
    """Moorage's API server, which keeps its data. `kubeconfig` is the administrator's."""

    def __init__(self, programs: Programs, *options: str) -> None:
        self._data = programs.directory / "data"
        self.kubeconfig = programs.directory / "admin.kubeconfig"
        port = free_port()
        self.url = f"https://127.0.0.1:{port}"
        where = (f"--data-dir={self._data}", f"--port={port}", f"--write-kubeconfig={self.kubeconfig}")
        process = programs.moorage("apiserver", *where, *options)
        until(lambda: self.kubeconfig.exists() or process.poll() is not None)
        assert process.poll() is None, programs.log(process)

    @property
    def ca(self) -> Path:
        return self._data / "pki" / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self._data / "pki" / "ca.key"

    def user(self, name: str, *groups: str) -> Path:
        """Write the kubeconfig of a user, who is known by a certificate of the cluster's authority."""
        authority = Authority(
            Issued(self.ca.read_bytes(), self.ca_key.read_bytes()), datetime.datetime.now(datetime.UTC)
        )
        issued = authority.issue_client(name, groups)
        path = self._data / f"{name.replace(':', '-')}"
        certificate, key = path.with_suffix(".crt"), path.with_suffix(".key")
        certificate.write_bytes(issued.certificate)
        key.write_bytes(issued.key)
        return write_kubeconfig(path.with_suffix(".kubeconfig"), self.url, self.ca, certificate, key)
