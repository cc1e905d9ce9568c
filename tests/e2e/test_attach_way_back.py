"""An installation of attach beside a real cluster: `attach status` finds it whole, and `attach uninstall` leads it out.

The Deployments of the installation run nothing in pods of simulated nodes: webhook and controller are processes here.
"""

import base64
import json
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.component_processes import until
from tests.e2e.kubectl import Kubectl, Ran
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.processes import started

Raw = dict[str, Any]
NAMESPACE = "moorage-system"
SECRET = "moorage-attach-certificates"
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: batch}
spec:
  replicas: 2
  selector: {matchLabels: {app: batch}}
  template:
    metadata: {labels: {app: batch}}
    spec:
      containers: [{name: main, image: "batch:1"}]
      tolerations:
      - {key: spot, operator: %s, value: "%s", effect: NoSchedule}
"""


class Attached:
    """The cluster, and the commands of attach."""

    def __init__(self, cluster: Cluster, port: int, directory: Path) -> None:
        self.cluster, self.port, self.directory = cluster, port, directory
        self.kubectl = Kubectl(cluster.kubeconfig, cluster.home, "")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "moorage", "attach", *arguments, "--kubeconfig", str(self.cluster.kubeconfig)]

    def run(self, *arguments: str) -> Ran:
        ran = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False)
        assert "Traceback" not in ran.stderr, ran.stderr
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def install(self) -> None:
        printed = self.run("install", "--image", "registry.example.com/moorage:1")
        assert printed.status == 0, printed.err
        self.kubectl("apply -f -", printed.out)

    def take_certificate(self) -> Path:
        """Write the files that a pod would have mounted."""
        folder = self.directory / "tls"
        folder.mkdir(exist_ok=True)
        there = f"get secret {SECRET} --namespace {NAMESPACE} -o json"
        until(lambda: self.kubectl.run(there).status == 0)
        for name, content in json.loads(self.kubectl(there).out)["data"].items():
            (folder / name).write_bytes(base64.b64decode(content))
        return folder

    def webhook(self, *options: str) -> list[str]:
        folder = str(self.take_certificate())
        return self.command("webhook", "--cert-dir", folder, "--port", str(self.port), *options)

    def is_listening(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def next_commands(self) -> tuple[int, list[str]]:
        """Return the stage, and the commands of the next step."""
        found = json.loads(self.run("uninstall", "-o", "json").out)
        return found["stage"], found["commands"]

    def carry_out(self, commands: list[str]) -> None:
        for command in commands:
            program, *arguments = shlex.split(command)
            assert program == "kubectl"
            self.kubectl(shlex.join(arguments))


@pytest.fixture(scope="module")
def attached(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attached]:
    directory = tmp_path_factory.mktemp("attached")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    service = f"{NAMESPACE}/moorage-attach-webhook=https://127.0.0.1:{port}"
    with moorage_up(directory, "--nodes", "3", "--webhook-service", service) as cluster:
        yield Attached(cluster, port, directory)


def test_from_install_to_nothing_left(attached: Attached) -> None:
    kubectl = attached.kubectl
    nothing = attached.run("status")
    assert nothing.status == 1
    assert "nothing of moorage attach is there" in nothing.out
    assert attached.run("uninstall").status == 0

    attached.install()
    controller = attached.command("controller", "--metrics-port", "0")
    with started(controller, stderr=subprocess.DEVNULL) as controlling:
        with started(attached.webhook(), stderr=subprocess.DEVNULL):
            until(attached.is_listening)
            kubectl("label node --all moorage.dev/mirrored=v1 --overwrite")
            kubectl("taint node node-1 spot=960:NoSchedule")
            kubectl("taint node node-2 spot=10:NoSchedule")
            kubectl("apply -f -", DEPLOYMENT % ("Gt", "950"))
            kubectl("rollout status deployment batch --timeout=60s")
            until(lambda: attached.run("status").status == 0)
            status = json.loads(attached.run("status", "-o", "json").out)
            assert status["level"] == "ok", status
            (part,) = [each for each in status["sections"] if each["name"] == "lowered"]
            assert {each["kind"] for each in part["objects"]} == {"Deployment", "ReplicaSet", "Pod"}
            stage, commands = attached.next_commands()
            assert stage == 1
            attached.carry_out(commands)
        with started(attached.webhook("--new-comparisons", "refuse"), stderr=subprocess.DEVNULL):
            until(attached.is_listening)
            refused = kubectl.fails("apply -f -", (DEPLOYMENT % ("Gt", "950")).replace("name: batch}", "name: more}"))
            assert "moorage attach is going to be uninstalled" in refused
            kubectl("rollout restart deployment batch")
            assert attached.next_commands() == (2, [])
            blocked = attached.run("uninstall")
            assert blocked.status == 1
            assert "spot > 950 (NoSchedule): Equal 960, as nodes have now" in blocked.out
            kubectl("apply -f -", DEPLOYMENT % ("Equal", "960"))
            kubectl("rollout status deployment batch --timeout=60s")
            until(lambda: attached.run("uninstall").status == 0)
            stages = []
            while True:
                stage, commands = attached.next_commands()
                if not commands:
                    break
                stages.append(stage)
                assert len(stages) < 10, stages
                attached.carry_out(commands)
                if stage == 4:  # its Deployment is gone, and so are its pods
                    controlling.terminate()
                    controlling.wait()
            assert [each for each in stages if each != 2] == [3, 4, 5, 6]
            assert attached.next_commands()[0] == 0
    assert "moorage.dev/mirrored" not in kubectl("get nodes -o json").out
    assert kubectl("get deployment batch -o jsonpath={.status.readyReplicas}").out == "2"
