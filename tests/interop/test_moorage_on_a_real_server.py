"""Our scheduler, controllers and kubelets run on a real kube-apiserver, each under the role that Moorage ships."""

import subprocess
import sys

from tests.interop import workloads
from tests.interop.binaries import API_SERVER, ETCD, KUBECTL, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import NODES, QUICK_ELECTION, start_kubelets
from tests.interop.programs import Programs
from tests.interop.real_server import RealServer
from tests.interop.test_real_components_on_moorage import refusals

pytestmark = needs(ETCD, API_SERVER, KUBECTL)

#: Names that Kubernetes gives no rights to.
SCHEDULER, CONTROLLER_MANAGER, KUBELET = "our-scheduler", "our-controller-manager", "our-kubelet"


def printed_roles() -> str:
    users = (f"--scheduler-user={SCHEDULER}", f"--controller-manager-user={CONTROLLER_MANAGER}")
    command = [sys.executable, "-m", "moorage", "roles", *users, f"--kubelet-user={KUBELET}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_our_components_run_workloads_under_their_own_roles(programs: Programs) -> None:
    server = RealServer(programs)
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.apply(printed_roles())
    election = (*QUICK_ELECTION, "--metrics-port=-1")
    started = [
        programs.moorage("scheduler", f"--kubeconfig={server.user(SCHEDULER)}", *election),
        programs.moorage("controller-manager", f"--kubeconfig={server.user(CONTROLLER_MANAGER)}", *election),
        start_kubelets(programs, server.user(KUBELET), "--devices=gpu.example.com=2"),
    ]
    user.nodes_ready(NODES)
    workloads.claims_are_allocated_and_prepared(user)
    workloads.pods_are_resized_in_place(user)
    workloads.controllers_do_their_work(user)
    workloads.urgent_pods_preempt(user)
    assert not [line for process in started for line in refusals(programs.log(process))]
