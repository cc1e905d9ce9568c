"""A user of a cluster in these tests: kubectl, and waiting for what it shows."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.component_processes import until
from tests.e2e.kubectl import Kubectl

Raw = dict[str, Any]


class ClusterUser(Kubectl):
    """kubectl with some words of its own. Objects are JSON documents."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str = "default") -> None:
        home.mkdir(exist_ok=True)
        super().__init__(kubeconfig, home, namespace)

    def get(self, what: str) -> Raw:
        found: Raw = json.loads(self(f"get {what} -o json").out)
        return found

    def items(self, what: str) -> list[Raw]:
        listed: list[Raw] = self.get(what)["items"]
        return listed

    def apply(self, manifest: str) -> None:
        self("apply -f -", manifest)

    def wait(self, condition: str, what: str) -> None:
        self(f"wait --for={condition} {what} --timeout=200s")

    def rolled_out(self, what: str) -> None:
        self(f"rollout status {what} --timeout=200s")

    def nodes_ready(self, number: int) -> None:
        until(lambda: self.run("get nodes --no-headers").out.count(" Ready ") == number)

    def gone(self, what: str) -> None:
        """Wait until nothing of that is left."""
        until(lambda: not self.run(f"get {what} --ignore-not-found --no-headers").out.strip())
