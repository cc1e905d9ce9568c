"""`moorage up --ha`: a cluster of several processes, of which any may be killed, used with the real kubectl."""

import os
import shutil
import signal
from collections import Counter
from pathlib import Path

from tests.e2e.component_processes import until
from tests.e2e.ha_processes import children_of, directory_of, is_running, leader
from tests.e2e.kubectl import Kubectl
from tests.e2e.up_process import UpProcess

QUICK = ("--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=500ms")
TOKENS = "--enable-admission-plugins=ServiceAccount"
ALL = {"etcd": 3, "apiserver": 3, "scheduler": 3, "controller-manager": 3, "kubelet": 1}


def persistently(kubectl: Kubectl, arguments: str) -> None:
    """Run a command that may be tried again: a request that was under way when a server died is not answered."""
    until(lambda: kubectl.run(arguments).status == 0)


def test_a_deployment_rolls_out_while_one_process_after_the_other_is_killed(tmp_path: Path) -> None:
    with UpProcess(tmp_path, "--ha", "3", "--nodes", "3", "--ephemeral", *QUICK) as up:
        kubectl = Kubectl(up.kubeconfig, tmp_path)
        children = children_of(up.pid)
        assert Counter(child.kind for child in children) == ALL
        directory = directory_of(children)
        try:
            kubectl("create deployment web --image=nginx:1 --replicas=3")
            kubectl("rollout status deployment/web --timeout=120s")
            assert len(kubectl("get endpoints kubernetes -o jsonpath='{.subsets[*].ports[*].port}'").out.split()) == 3
            for number, kind in enumerate(("apiserver", "etcd", "scheduler", "controller-manager"), 2):
                victim = next(child.pid for child in children_of(up.pid) if child.kind == kind)
                if kind in ("scheduler", "controller-manager"):
                    victim = until(lambda kind=kind: leader(directory, kind))  # type: ignore[misc]
                os.kill(victim, signal.SIGKILL)
                persistently(kubectl, f"set image deployment/web nginx=nginx:{number}")
                persistently(kubectl, "rollout status deployment/web --timeout=120s")
                until(lambda: Counter(child.kind for child in children_of(up.pid)) == ALL)
            persistently(kubectl, "scale deployment/web --replicas=6")
            persistently(kubectl, "rollout status deployment/web --timeout=120s")
            pods = kubectl("get pods -l app=web -o jsonpath='{.items[*].spec.containers[0].image}'").out.split()
            assert pods == ["nginx:5"] * 6
            for log in (directory / "logs").glob("*.log"):
                assert "Traceback" not in log.read_text(), log.read_text()
        except BaseException:
            shutil.copytree(directory / "logs", tmp_path / "logs")
            raise
        children = children_of(up.pid)
        assert up.terminate() == 0
        assert [child for child in children if is_running(child.pid)] == []
        assert not directory.exists()
        restarts = [line for line in up.complaints if "has ended and is started again" in line]
        assert len([line for line in restarts if "killed by SIGKILL" in line]) == 4, up.output


def test_a_kept_cluster_is_there_again_and_nothing_outlives_its_supervisor(tmp_path: Path) -> None:
    kept = ("--data-dir", str(tmp_path / "data"))
    with UpProcess(tmp_path, "--ha", "1", "--nodes", "1", *kept, *QUICK, TOKENS) as up:
        kubectl = Kubectl(up.kubeconfig, tmp_path)
        kubectl("create configmap one --from-literal=a=b")
        children = children_of(up.pid)
        assert Counter(child.kind for child in children) == dict.fromkeys(ALL, 1)
        up.kill()
        until(lambda: not any(is_running(child.pid) for child in children))
    with UpProcess(tmp_path, *kept) as up:
        kubectl = Kubectl(up.kubeconfig, tmp_path)
        assert kubectl("get configmap one -o jsonpath='{.data.a}'").out.strip("'") == "b"
        kubectl("run with-token --image=nginx")
        volumes = kubectl("get pod with-token -o jsonpath='{.spec.volumes[*].name}'").out.strip("'")
        assert volumes.startswith("kube-api-access-"), "the option is remembered, and every API server is given it"
        assert Counter(child.kind for child in children_of(up.pid)) == dict.fromkeys(ALL, 1)
        assert up.terminate() == 0
