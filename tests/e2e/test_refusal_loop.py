"""A gate that is off in the kubelet: `up`, `watch` and the metric name the workload whose pods are refused for ever."""

import subprocess
import sys
import time
from pathlib import Path

from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import moorage_up

GATE = "TaintTolerationComparisonOperators"
WHY = f"; the feature gate {GATE} is off in the kubelet"
MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: spot}
spec: {taints: [{key: fp, value: "3", effect: NoExecute}]}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, capacity: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{key: fp, operator: Lt, value: "5"}]
      containers: [{name: c, image: nginx}]
"""
PATIENCE = 120


def test_a_skewed_gate_is_named_as_the_cause_of_the_loop(tmp_path: Path) -> None:
    manifests = tmp_path / "web.yaml"
    manifests.write_text(MANIFESTS, encoding="utf-8")
    gates = (f"--feature-gates={GATE}=true", f"--kubelet-feature-gates={GATE}=false")
    with moorage_up(tmp_path, *gates, "--nodes", "0", "--load", str(manifests)) as cluster:
        command = [sys.executable, "-m", "moorage", "watch", "--plain", "--kubeconfig", str(cluster.kubeconfig)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout is not None
            try:
                loop = next(line for line in watch.stdout if "  loop  " in line)
            finally:
                watch.terminate()
        assert "Deployment default/web makes pods again and again that are refused by their kubelet" in loop
        assert loop.rstrip().endswith(WHY)
        until = time.monotonic() + PATIENCE
        while "again and again" not in (log := (cluster.home / "moorage.log").read_text()):
            assert time.monotonic() < until
            time.sleep(0.1)
        (line,) = (line for line in log.splitlines() if "again and again" in line)
        assert line.startswith("E")
        assert "Deployment default/web" in line
        assert WHY in line
        metrics = Kubectl(cluster.kubeconfig, tmp_path)("get --raw /metrics").out
        assert 'kubelet_pods_rejected_again_total{reason="TaintToleration"}' in metrics
