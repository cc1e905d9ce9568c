"""An operator written with kopf for a kind of its own: boats, whose definition the test creates.

In: boats. Out: a ConfigMap `berth-of-NAME` that the boat owns, the berth in the boat's status, and a ConfigMap
`log-of-NAME` written when it is deleted, which a finalizer waits for. Run by `test_custom_operators` with `kopf run`.
"""

from typing import Any

import kopf
import kubernetes

client: Any = kubernetes.client
config: Any = kubernetes.config

BOATS = ("harbour.test", "v1", "boats")


@kopf.on.startup()
def prepare(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.persistence.finalizer = "harbour.test/finalizer"
    settings.posting.level = 0


@kopf.on.create(*BOATS)
def moor(body: kopf.Body, spec: kopf.Spec, name: str, namespace: str | None, patch: kopf.Patch, **_: Any) -> None:
    berth = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"berth-of-{name}"}, "data": {}}
    kopf.adopt(berth, owner=body)
    client.CoreV1Api().create_namespaced_config_map(namespace, berth)
    patch.status["berth"] = f"pier-{spec['length']}"


@kopf.on.update(*BOATS, field="spec.length")
def move(new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["berth"] = f"pier-{new}"


@kopf.on.delete(*BOATS)
def sail(name: str, namespace: str | None, **_: Any) -> None:
    log = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"log-of-{name}"}, "data": {}}
    client.CoreV1Api().create_namespaced_config_map(namespace, log)
