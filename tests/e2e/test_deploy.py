"""`deploy/` works: the commands of the systemd units, on machines that are addresses of this one; then a restore.

What docs/high-availability.md tells an administrator to do is done here: certificates, first start, kubeconfigs, backup
with etcdctl, restore, `moorage store check`.
"""

import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.deployment import ROOT, unit_command
from tests.etcd_process import BINARIES
from tests.processes import started

from moorage.cluster.kubeconfig_files import FILE_NAME as KUBECONFIG

MOORAGE = str(Path(sys.executable).with_name("moorage"))
#: Far longer than anything takes, on a machine that has a lot else to do.
PATIENCE = 120.0


class Machine:
    """A place for one of everything, with the files that are in /etc and /var of a real one."""

    def __init__(self, root: Path, number: int, addresses: list[str]) -> None:
        self.name, self.address, self.root = f"cp-{number + 1}", addresses[number], root / f"cp-{number + 1}"
        names = [f"cp-{other + 1}" for other in range(len(addresses))]
        pairs = list(zip(names, addresses, strict=True))
        self.environment = {
            "NODE_NAME": self.name,
            "NODE_IP": self.address,
            "MEMBERS": ",".join(f"{name}=https://{address}:2380" for name, address in pairs),
            "ENDPOINTS": ",".join(f"https://{address}:2379" for address in addresses),
            "CLUSTER_STATE": "new",
            "METRICS_ADDRESS": self.address,
            "APISERVER_ARGS": "--shutdown-delay-duration=1s",
            "SCHEDULER_ARGS": "",
            "CONTROLLER_MANAGER_ARGS": "",
        }
        self.etc, self.var = self.root / "etc" / "moorage", self.root / "var" / "lib" / "moorage"

    def command(self, unit: str) -> list[str]:
        """Return a unit's command with paths below this machine's own root."""
        words = unit_command(unit, self.environment)
        placed = [
            word.replace("=/etc/", f"={self.root}/etc/").replace("=/var/", f"={self.root}/var/") for word in words[1:]
        ]
        return [str(BINARIES / "etcd") if unit == "etcd" else MOORAGE, *placed]

    @contextmanager
    def running(self, unit: str) -> Iterator["subprocess.Popen[bytes]"]:
        with (self.root / f"{unit}.log").open("ab") as log, started(self.command(unit), stdout=log, stderr=log) as one:
            yield one

    def log(self, unit: str) -> str:
        return (self.root / f"{unit}.log").read_text(errors="replace")[-3000:]

    @property
    def kubeconfig(self) -> Path:
        return self.var / KUBECONFIG

    @property
    def etcdctl(self) -> list[str]:
        files = {"cacert": "ca.crt", "cert": "apiserver-etcd-client.crt", "key": "apiserver-etcd-client.key"}
        options = [f"--{name}={self.etc}/etcd/{file}" for name, file in files.items()]
        return [str(BINARIES / "etcdctl"), f"--endpoints=https://{self.address}:2379", *options]

    @property
    def etcd_options(self) -> list[str]:
        files = {"cafile": "ca.crt", "certfile": "apiserver-etcd-client.crt", "keyfile": "apiserver-etcd-client.key"}
        options = [f"--etcd-{name}={self.etc}/etcd/{file}" for name, file in files.items()]
        return [f"--etcd-servers={self.environment['ENDPOINTS']}", *options]


def run(*command: str, env: Mapping[str, str] = os.environ) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=PATIENCE)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def is_ready(url: str) -> bool:
    context = ssl._create_unverified_context()  # only whether it answers
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_for(url: str, process: "subprocess.Popen[bytes]", machine: Machine, unit: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_ready(url):
        assert process.poll() is None and time.monotonic() < end, f"{machine.name} {unit}: {machine.log(unit)}"  # noqa: PT018
        time.sleep(0.2)


def machines_at(root: Path, count: int) -> list[Machine]:
    """Return machines with addresses of the loopback network that no other test has, so that ports are the usual."""
    net = f"127.{random.randrange(64, 250)}.{random.randrange(250)}"
    made = [Machine(root, number, [f"{net}.{other + 1}" for other in range(count)]) for number in range(count)]
    out = root / "certificates"
    run(str(ROOT / "deploy" / "etcd-certificates.sh"), str(out), *(f"{one.name}={one.address}" for one in made))
    for machine in made:
        machine.etc.mkdir(parents=True)
        (machine.root / "var" / "lib" / "etcd").mkdir(parents=True, mode=0o700)
        shutil.copytree(out / machine.name, machine.etc / "etcd")
    return made


def start_api_servers(machines: list[Machine], stack: ExitStack) -> list["subprocess.Popen[bytes]"]:
    """Start the first one, which makes the cluster's authority; copy that to the others, and start them."""
    servers = []
    for machine in machines:
        if machine is not machines[0] and not machine.var.exists():
            shutil.copytree(machines[0].var / "pki", machine.var / "pki")
        servers.append(stack.enter_context(machine.running("moorage-apiserver")))
        wait_for(f"https://{machine.address}:6443/readyz", servers[-1], machine, "moorage-apiserver")
    return servers


def start_components(machines: list[Machine], stack: ExitStack) -> None:
    for machine in machines:
        for name, port in (("scheduler", 10251), ("controller-manager", 10252)):
            user = f"system:kube-{name}"
            text = run(MOORAGE, "kubeconfig", "--data-dir", str(machine.var), "--user", user)
            (machine.etc / f"{name}.kubeconfig").write_text(text)
            process = stack.enter_context(machine.running(f"moorage-{name}"))
            wait_for(f"http://{machine.address}:{port}/readyz", process, machine, f"moorage-{name}")


def kubectl(machine: Machine, *arguments: str) -> str:
    program = os.environ.get("KUBECTL") or shutil.which("kubectl") or str(Path(sys.executable).with_name("kubectl"))
    return run(program, "--kubeconfig", str(machine.kubeconfig), *arguments)


@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_units_make_a_cluster_that_can_be_restored(tmp_path: Path, count: int) -> None:
    machines = machines_at(tmp_path, count)
    first, last = machines[0], machines[-1]
    with ExitStack() as stack:
        members = [stack.enter_context(machine.running("etcd")) for machine in machines]
        assert all(member.poll() is None for member in members)
        servers = start_api_servers(machines, stack)
        start_components(machines, stack)
        kubectl(first, "create", "deployment", "web", "--image=nginx", "--replicas=2")
        kubectl(last, "wait", "--for=jsonpath={.status.replicas}=2", "deployment/web", f"--timeout={PATIENCE:g}s")
        assert "all is well" in run(MOORAGE, "store", "check", *first.etcd_options)
        snapshot = str(tmp_path / "backup.db")
        run(*first.etcdctl, "snapshot", "save", snapshot)
        kubectl(last, "create", "configmap", "after-the-backup")
        servers[0].send_signal(signal.SIGTERM)
        assert servers[0].wait(PATIENCE) == 0
    state = json.loads(run(str(BINARIES / "etcdutl"), "snapshot", "status", snapshot, "-w", "json"))
    assert state["totalKey"] > 0
    for machine in machines:
        data = machine.root / "var" / "lib" / "etcd"
        shutil.move(data, data.with_name("etcd.before"))
        run(
            str(BINARIES / "etcdutl"),
            *("snapshot", "restore", snapshot, f"--data-dir={data}", f"--name={machine.name}"),
            f"--initial-cluster={machine.environment['MEMBERS']}",
            "--initial-cluster-token=moorage",
            f"--initial-advertise-peer-urls=https://{machine.address}:2380",
        )
    with ExitStack() as stack:
        for machine in machines:
            stack.enter_context(machine.running("etcd"))
        start_api_servers(machines, stack)
        assert "all is well" in run(MOORAGE, "store", "check", *first.etcd_options)
        maps = kubectl(last, "get", "configmaps", "-o", "name")
        assert "after-the-backup" not in maps
        assert "deployment.apps/web" in kubectl(last, "get", "deployments", "-o", "name")


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ([], "write an output directory and one NAME=ADDRESS for each machine"),
        (["cp-1"], "cp-1 is not NAME=ADDRESS"),
        (["cp-1=10.0.0.1", "cp-2=cp-2.example.com"], "cp-2=cp-2.example.com: the address is not an IP address"),
        (["cp-1=10.0.0.1", "cp-2=10.0.0.999"], "the certificate of cp-2 cannot be made"),
        (["a/b=10.0.0.1"], "a/b=10.0.0.1 is not NAME=ADDRESS"),
    ],
)
def test_machines_that_cannot_have_certificates_are_named(machines: list[str], said: str, tmp_path: Path) -> None:
    command = [str(ROOT / "deploy" / "etcd-certificates.sh"), str(tmp_path / "out"), *machines]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith(f"etcd-certificates.sh: {said}")
    assert not [file.name for file in tmp_path.rglob("*") if file.suffix in (".csr", ".ext")]
