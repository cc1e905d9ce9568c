"""Everyday kubectl commands come to the same on Moorage as on Kubernetes: same status, same words."""

import difflib

from tests.interop.binaries import ALL, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import NODES, start_kubernetes, start_moorage
from tests.interop.everyday_commands import COMMANDS, Typed, masked
from tests.interop.programs import Programs

pytestmark = needs(*ALL)

#: Commands whose output differs, and why that is meant.
EXPLAINED = {
    "api-versions": "older versions of resource.k8s.io are served",
    "get boats -o name": "a kind that is gone is answered with a Status, not with plain text",
    "explain deployment.spec.replicas": "descriptions are in our own words",
    "describe pod picky": "pods get no token volume; kube-scheduler says that there are no claims to deallocate",
}


def outcomes(user: ClusterUser) -> list[tuple[int, str]]:
    found = []
    for typed in COMMANDS:
        waits = typed.command.startswith(("wait ", "rollout status"))
        ran = user.run(typed.command + (" --timeout=200s" if waits else ""), typed.stdin)
        found.append((ran.status, masked(ran.out + ran.err) if typed.has_same_words and not waits else ""))
    return found


def test_everyday_commands_come_to_the_same(programs: Programs) -> None:
    users = [
        ClusterUser(start_kubernetes(programs).kubeconfig, programs.directory / "kubernetes"),
        ClusterUser(start_moorage(programs), programs.directory / "moorage"),
    ]
    for user in users:
        user.nodes_ready(NODES)
    theirs, ours = map(outcomes, users)
    different = [
        difference(typed, *pair)
        for typed, *pair in zip(COMMANDS, theirs, ours, strict=True)
        if pair[0] != pair[1] and typed.command not in EXPLAINED
    ]
    assert not different, "\n\n".join(different)


def difference(typed: Typed, theirs: tuple[int, str], ours: tuple[int, str]) -> str:
    lines = difflib.unified_diff(
        theirs[1].splitlines(), ours[1].splitlines(), "Kubernetes", "Moorage", lineterm="", n=1
    )
    return "\n".join([f"$ kubectl {typed.command}  (exit {theirs[0]} and {ours[0]})", *lines])
