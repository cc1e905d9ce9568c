"""kube-scheduler and kube-controller-manager run unmodified on Moorage's API server."""

from tests.interop import workloads
from tests.interop.binaries import CONTROLLER_MANAGER, KUBECTL, SCHEDULER, needs
from tests.interop.cluster_user import ClusterUser
from tests.interop.clusters import (
    NODES,
    QUICK_ELECTION,
    start_kube_controller_manager,
    start_kube_scheduler,
    start_kubelets,
)
from tests.interop.our_server import OurServer
from tests.interop.programs import Programs
from tests.interop.real_server import Pki

GATES = "TaintTolerationComparisonOperators=true"
REFUSALS = ("is forbidden", "could not find the requested resource", "no matches for kind", "Unauthorized")

TOLERATION = """\
apiVersion: v1
kind: Pod
metadata: {name: tolerant}
spec:
  nodeSelector: {kubernetes.io/hostname: node-1}
  tolerations: [{key: sla, operator: Gt, value: "900", effect: NoSchedule}]
  containers: [{name: main, image: x}]
"""


def start_keys(server: OurServer, programs: Programs) -> tuple[str, ...]:
    """Return the options of kube-controller-manager for tokens and certificates of the server's authority."""
    key = Pki(programs.directory / "keys").account_key
    return (
        f"--service-account-private-key-file={key}",
        f"--root-ca-file={server.ca}",
        f"--cluster-signing-cert-file={server.ca}",
        f"--cluster-signing-key-file={server.ca_key}",
    )


def refusals(log: str) -> list[str]:
    """Return the lines of a log about what its component may not do, or cannot find; full quotas are meant."""
    lines = [line for line in log.splitlines() if any(said in line for said in REFUSALS)]
    return [line for line in lines if "exceeded quota" not in line]


@needs(SCHEDULER, KUBECTL)
def test_kube_scheduler_schedules_preempts_and_binds_volumes(programs: Programs) -> None:
    server = OurServer(programs, f"--feature-gates={GATES}")
    election = (*QUICK_ELECTION, "--metrics-port=-1")
    programs.moorage("controller-manager", f"--kubeconfig={server.kubeconfig}", *election)
    start_kubelets(programs, server.kubeconfig)
    scheduler = start_kube_scheduler(programs, server.user("system:kube-scheduler"), f"--feature-gates={GATES}")
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.nodes_ready(NODES)
    workloads.deployments_roll_out_and_back(user)
    workloads.urgent_pods_preempt(user)
    workloads.volumes_bind_where_the_pod_goes(user)
    user("taint node node-1 sla=950:NoSchedule")
    user.apply(TOLERATION)
    user.wait("condition=Ready", "pod/tolerant")
    assert not refusals(programs.log(scheduler))


@needs(CONTROLLER_MANAGER, KUBECTL)
def test_kube_controller_manager_runs_all_controllers_with_their_own_accounts(programs: Programs) -> None:
    server = OurServer(programs)
    programs.moorage("scheduler", f"--kubeconfig={server.kubeconfig}", *QUICK_ELECTION, "--metrics-port=-1")
    start_kubelets(programs, server.kubeconfig)
    keys = start_keys(server, programs)
    manager = start_kube_controller_manager(programs, server.user("system:kube-controller-manager"), *keys)
    user = ClusterUser(server.kubeconfig, programs.directory / "home")
    user.nodes_ready(NODES)
    workloads.controllers_do_their_work(user)
    assert not refusals(programs.log(manager))
