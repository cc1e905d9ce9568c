"""Leaders hand over in both directions, on both API servers: nothing is made twice, nothing is made anew."""

import pytest
from tests.e2e.component_processes import until
from tests.interop.binaries import ALL, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import (
    NODES,
    QUICK_ELECTION,
    start_kube_controller_manager,
    start_kube_scheduler,
    start_kubelets,
)
from tests.interop.everyday_commands import DAEMON_SET, DEPLOYMENT, STATEFUL_SET
from tests.interop.our_server import OurServer
from tests.interop.programs import Process, Programs
from tests.interop.real_server import RealServer
from tests.interop.test_real_components_on_moorage import start_keys

pytestmark = needs(*ALL)

OURS = (*QUICK_ELECTION, "--metrics-port=-1")


@pytest.fixture(params=["kube-apiserver", "moorage"])
def server(request: pytest.FixtureRequest, programs: Programs) -> RealServer | OurServer:
    return RealServer(programs) if request.param == "kube-apiserver" else OurServer(programs)


def test_controllers_hand_over(programs: Programs, server: RealServer | OurServer) -> None:
    programs.moorage("scheduler", f"--kubeconfig={server.kubeconfig}", *OURS)
    start_kubelets(programs, server.kubeconfig)
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.nodes_ready(NODES)
    manager = start_real_manager(programs, server)
    for manifest in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET):
        user.apply(manifest)
    for what in ("deployment/web", "statefulset/db", "daemonset/agent"):
        user.rolled_out(what)
    before = made_by_controllers(user)
    for number, is_ours in enumerate((True, False)):
        programs.stop(manager)
        manager = start_our_manager(programs, server) if is_ours else start_real_manager(programs, server)
        user(f"scale deployment web --replicas={4 + number}")
        user.rolled_out("deployment/web")
        user(f"annotate daemonset agent seen={number} --overwrite")
        seen = user.get("daemonset agent")["metadata"]["generation"]
        user.wait(f"jsonpath='{{.status.observedGeneration}}'={seen}", "daemonset/agent")
        after = made_by_controllers(user)
        assert before <= after, "something was made anew"
        assert {kind for kind, _ in after - before} <= {"Pod"}, "a revision or a ReplicaSet was made twice"
        before = after


def test_schedulers_hand_over(programs: Programs, server: RealServer | OurServer) -> None:
    start_our_manager(programs, server)
    start_kubelets(programs, server.kubeconfig)
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.nodes_ready(NODES)
    leader = start_kube_scheduler(programs, server.user("system:kube-scheduler"))
    until(lambda: holder(user))
    waiting = programs.moorage("scheduler", f"--kubeconfig={server.kubeconfig}", *OURS)
    first = holder(user)
    until(lambda: user.run("get serviceaccount default").status == 0)
    user("run one --image=x --restart=Never")
    user.wait("condition=Ready", "pod/one")
    programs.stop(leader)
    user("run two --image=x --restart=Never")
    user.wait("condition=Ready", "pod/two")
    second = holder(user)
    assert second != first
    start_kube_scheduler(programs, server.user("system:kube-scheduler"))
    programs.stop(waiting)
    user("run three --image=x --restart=Never")
    user.wait("condition=Ready", "pod/three")
    assert holder(user) not in (first, second)


def start_our_manager(programs: Programs, server: RealServer | OurServer) -> Process:
    return programs.moorage("controller-manager", f"--kubeconfig={server.kubeconfig}", *OURS)


def start_real_manager(programs: Programs, server: RealServer | OurServer) -> Process:
    kubeconfig = server.user("system:kube-controller-manager")
    if isinstance(server, OurServer):
        return start_kube_controller_manager(programs, kubeconfig, *start_keys(server, programs))
    keys = (f"--service-account-private-key-file={server.pki.account_key}", f"--root-ca-file={server.pki.ca}")
    return start_kube_controller_manager(programs, kubeconfig, *keys)


def made_by_controllers(user: ClusterUser) -> set[tuple[str, str]]:
    found = user.items("replicasets,controllerrevisions,pods")
    return {(one["kind"], one["metadata"]["uid"]) for one in found}


def holder(user: ClusterUser) -> str:
    lease = user.run("get lease kube-scheduler -n kube-system -o jsonpath='{.spec.holderIdentity}'")
    return lease.out
