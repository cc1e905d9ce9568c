"""Whole clusters for comparisons: all of Moorage, and all of Kubernetes but the kubelets, which are simulated.

Either has three nodes, node-1 to node-3, of 8 CPUs and 32Gi.
"""

from pathlib import Path

from tests.e2e.component_processes import until
from tests.interop.binaries import CONTROLLER_MANAGER, SCHEDULER, program
from tests.interop.programs import Process, Programs
from tests.interop.real_server import RealServer

NODES = 3
#: Whoever leads is replaced soon after it has gone, and leads on while a busy machine keeps it waiting for seconds.
QUICK_ELECTION = (
    "--leader-elect-lease-duration=15s",
    "--leader-elect-renew-deadline=12s",
    "--leader-elect-retry-period=500ms",
)

#: The only one of its kind leads at once, and while the API server is away; a busy machine keeps kubelets waiting.
_ALONE = "--leader-elect=false"
_PATIENT = "--node-monitor-grace-period=5m"


def start_kube_scheduler(programs: Programs, kubeconfig: Path, *options: str) -> Process:
    """Start the real scheduler. It serves nothing."""
    access = (f"--kubeconfig={kubeconfig}", "--secure-port=0")
    return programs.start(program(SCHEDULER), *access, *QUICK_ELECTION, *options)


def start_kube_controller_manager(programs: Programs, kubeconfig: Path, *options: str) -> Process:
    """Start the real controller manager with all its controllers, each with a service account of its own."""
    return programs.start(
        program(CONTROLLER_MANAGER),
        f"--kubeconfig={kubeconfig}",
        "--secure-port=0",
        "--controllers=*",
        "--use-service-account-credentials",
        *QUICK_ELECTION,
        *options,
    )


def start_kubelets(programs: Programs, kubeconfig: Path, *options: str, nodes: int = NODES) -> Process:
    own = (f"--kubeconfig={kubeconfig}", "--metrics-port=-1", f"--nodes={nodes}")
    return programs.moorage("kubelet", *own, *options)


def start_kubernetes(programs: Programs, *options: str, nodes: int = NODES) -> RealServer:
    """Start etcd, kube-apiserver with these options, kube-scheduler, kube-controller-manager and simulated kubelets."""
    server = RealServer(programs, *options)
    pki = server.pki
    keys = (
        f"--service-account-private-key-file={pki.account_key}",
        f"--root-ca-file={pki.ca}",
        f"--cluster-signing-cert-file={pki.ca}",
        f"--cluster-signing-key-file={pki.ca_key}",
    )
    start_kube_controller_manager(programs, server.user("system:kube-controller-manager"), *keys, _PATIENT, _ALONE)
    start_kube_scheduler(programs, server.user("system:kube-scheduler"), _ALONE)
    start_kubelets(programs, server.kubeconfig, nodes=nodes)
    return server


def start_moorage(programs: Programs, *options: str, name: str = "moorage") -> Path:
    """Start `moorage up`; returns the administrator's kubeconfig, which has this name."""
    kubeconfig = programs.directory / f"{name}.kubeconfig"
    process = programs.moorage(
        "up", "--ephemeral", "--port=0", f"--nodes={NODES}", f"--write-kubeconfig={kubeconfig}", "-v0", *options
    )
    until(lambda: kubeconfig.exists() or process.poll() is not None)
    assert process.poll() is None, programs.log(process)
    return kubeconfig
