"""Start a cluster with the clients that tests use: kubectl and the official Python client."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moorage.demo.cluster import Kubectl, NoKubectl, find_kubectl
from moorage.demo.story import KubectlResult
from moorage.library.cluster import Cluster as PlainCluster
from moorage.library.manifests import MoorageError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

__all__ = ["Cluster", "KubectlResult", "eventually"]

T = TypeVar("T")
_FIRST_PAUSE, _MAX_PAUSE = 0.01, 0.25


class Cluster(PlainCluster):
    """A `moorage.Cluster` for tests. Nothing that it starts or writes outlives it."""

    _api_client: ApiClient | None = None

    def kubectl(self, command: str, *, stdin: str = "", check: bool = True) -> KubectlResult:
        """Run the machine's kubectl on this cluster: `kubectl("get pods -A -o wide")`.

        The program is $KUBECTL or the one in the PATH; it sees no other kubeconfig. Raises MoorageError if there is
        none, or if it fails and `check` is true.
        """
        try:
            program = find_kubectl()
        except NoKubectl as error:
            raise MoorageError(f"kubectl cannot be run: {error}") from None
        home = self.kubeconfig.parent
        ran = Kubectl(program, self.kubeconfig, home, Path.cwd()).run(shlex.split(command), stdin)
        if check and ran.status != 0:
            raise MoorageError(f"kubectl {command} failed: {ran.err.strip() or ran.out.strip()}")
        return ran

    def api_client(self) -> ApiClient:
        """Return an ApiClient of the official Python client, closed with the cluster.

        Raises MoorageError if the package `kubernetes` is not installed.
        """
        try:
            from kubernetes import config
        except ImportError:
            raise MoorageError("the official client is not installed: pip install kubernetes") from None
        if self._api_client is None:
            self._api_client = config.new_client_from_config(str(self.kubeconfig))  # type: ignore[no-untyped-call]
        return self._api_client

    async def __aexit__(self, *reason: object) -> None:
        client, self._api_client = self._api_client, None
        if client is not None:
            client.close()  # type: ignore[no-untyped-call]
            client.rest_client.pool_manager.clear()
        await super().__aexit__(*reason)


def eventually(condition: Callable[[], T], *, seconds: float = 60.0) -> T:
    """Call `condition` until it returns something true and raises no AssertionError, and return that.

    Raises what it raised last, or AssertionError, after this many seconds.
    """
    deadline, pause = time.monotonic() + seconds, _FIRST_PAUSE
    while True:
        late = time.monotonic() > deadline
        try:
            if outcome := condition():
                return outcome
        except AssertionError:
            if late:
                raise
        if late:
            raise AssertionError(f"still not so after {seconds:g} seconds")
        time.sleep(pause)
        pause = min(pause * 1.5, _MAX_PAUSE)
