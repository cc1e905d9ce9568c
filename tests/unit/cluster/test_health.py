"""The health checks of an API server: upstream's names, and what each says."""

import pytest

from moorage.cluster.health import Phase, health_checks
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.web_paths import WebPaths
from moorage.store.memory import MemoryStore

#: The checks that Kubernetes' own test of /livez and /healthz demands (test/e2e/apimachinery/health_handlers.go).
DEMANDED = [
    "ping",
    "log",
    "etcd",
    "autoregister-completion",
    *(
        f"poststarthook/{hook}"
        for hook in (
            "start-apiserver-admission-initializer",
            "generic-apiserver-start-informers",
            "start-apiextensions-informers",
            "start-apiextensions-controllers",
            "crd-informer-synced",
            "bootstrap-controller",
            "start-system-namespaces-controller",
            "start-service-ip-repair-controllers",
            "scheduling/bootstrap-system-priority-classes",
            "start-cluster-authentication-info-controller",
            "start-kube-aggregator-informers",
            "apiservice-registration-controller",
            "apiservice-status-local-available-controller",
            "apiservice-status-remote-available-controller",
            "kube-apiserver-autoregistration",
            "apiservice-openapi-controller",
            "storage-readiness",
        )
    ),
]
OF_READINESS = ["etcd-readiness", "informer-sync", "shutdown"]


def ask(phase: Phase, path: str) -> Response:
    paths = WebPaths(health_checks(MemoryStore(), phase), lambda accept: (b"", "text/plain"))
    answer = paths.answer(Request("GET", path))
    assert isinstance(answer, Response)
    return answer


@pytest.mark.parametrize("root", ["livez", "healthz", "readyz"])
def test_a_server_that_has_started_is_well_under_every_name(root: str) -> None:
    phase = Phase()
    phase.has_started = True
    lines = ask(phase, f"/{root}?verbose").body.decode().splitlines()
    demanded = [*DEMANDED, *(OF_READINESS if root == "readyz" else ())]
    assert {f"[+]{name} ok" for name in demanded} <= set(lines)
    assert lines[-1] == f"{root} check passed"
    assert ("[+]shutdown ok" in lines) is (root == "readyz")


def test_hooks_are_not_finished_until_the_own_objects_are_made() -> None:
    answer = ask(Phase(), "/readyz")
    assert answer.status == 500
    assert b"[-]poststarthook/rbac/bootstrap-roles failed: not finished" in answer.body
    assert b"[+]poststarthook/crd-informer-synced ok" in answer.body
    assert ask(Phase(), "/readyz/ping").status == 200
    assert ask(Phase(), "/readyz/poststarthook/rbac/bootstrap-roles").status == 500


def test_a_server_that_stops_lives_and_is_not_ready() -> None:
    phase = Phase()
    phase.has_started = phase.is_stopping = True
    assert ask(phase, "/livez").status == 200
    assert b"[-]shutdown failed: process is shutting down" in ask(phase, "/readyz").body
