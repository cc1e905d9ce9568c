"""Pod manifests to measure with: many that differ in names, labels and values, as YAML text or decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: worker-{number}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: worker
    app.kubernetes.io/instance: worker-{number}
spec:
  tolerations:
  - key: node.kubernetes.io/sla
    operator: Gt
    value: "{threshold}"
    effect: NoSchedule
  containers:
  - name: worker
    image: example.com/worker:{number}
    ports:
    - containerPort: 8080
    resources:
      requests:
        cpu: {cpu}m
        memory: 128Mi
      limits:
        memory: 256Mi
"""


def pod_text(number: int) -> str:
    return _POD.format(number=number, team=number % 20, threshold=700 + number % 250, cpu=100 + number % 900)


def pod_document(number: int) -> dict[str, Any]:
    document = yaml.load(pod_text(number), Loader=yaml.CSafeLoader)
    assert isinstance(document, dict)
    return document


def write_files(folder: Path, count: int) -> Path:
    """`count` files of one pod each."""
    folder.mkdir()
    for number in range(count):
        (folder / f"pod-{number:06}.yaml").write_text(pod_text(number), encoding="utf-8")
    return folder


def write_one_file(path: Path, count: int) -> Path:
    """One file of `count` documents."""
    path.write_text("---\n".join(map(pod_text, range(count))), encoding="utf-8")
    return path
