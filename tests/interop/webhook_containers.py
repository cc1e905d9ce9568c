"""Run beside a cluster what the containers of e2e.test's webhooks would run, since simulated nodes run none.

A spec makes a Secret with a certificate, a Deployment whose container serves with it, and a Service. The program of the
container is started here, and the Service is annotated with its address, as users of `moorage up` do for a webhook on
their host.
"""

import base64
import subprocess
import time
from typing import Any

from tests.e2e.component_processes import free_port
from tests.interop.binaries import AGNHOST, program
from tests.interop.cluster_user import ClusterUser
from tests.interop.programs import Process, Programs

from moorage.model.well_known.annotations import WEBHOOK_URL

Raw = dict[str, Any]
_SECONDS_BETWEEN_LOOKS = 0.2


class WebhookContainers:
    """The programs that serve for Services whose Deployment has a certificate in a Secret."""

    def __init__(self, programs: Programs, user: ClusterUser) -> None:
        self._programs, self._user = programs, user
        self._served: dict[str, Process] = {}

    def run_beside(self, specs: "subprocess.Popen[bytes]") -> None:
        """Start programs as they are needed, and stop them when they are not, until the specs have ended."""
        while specs.poll() is None:
            services = {each["metadata"]["uid"]: each for each in self._user.items("services -A -l test")}
            for uid in services.keys() - self._served.keys():
                self._served[uid] = self._serve(services[uid]["metadata"])
            for uid in self._served.keys() - services.keys():
                self._programs.stop(self._served.pop(uid))
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _serve(self, service: Raw) -> Process:
        namespace = service["namespace"]
        [deployment] = self._user.items(f"deployments -n {namespace}")
        pod = deployment["spec"]["template"]["spec"]
        secret = self._user.get(f"secret {pod['volumes'][0]['secret']['secretName']} -n {namespace}")
        folder = self._programs.directory / f"webhook-{service['uid']}"
        folder.mkdir()
        for name, content in secret["data"].items():
            (folder / name).write_bytes(base64.b64decode(content))
        port = free_port()
        process = self._programs.start(
            program(AGNHOST),
            pod["containers"][0]["args"][0],
            f"--tls-cert-file={folder / 'tls.crt'}",
            f"--tls-private-key-file={folder / 'tls.key'}",
            f"--port={port}",
        )
        url = f"{WEBHOOK_URL}=https://127.0.0.1:{port}"
        self._user(f"annotate service {service['name']} {url} -n {namespace}")
        return process
