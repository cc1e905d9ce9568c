"""An operator written with kopf, as its users write them: it looks after ConfigMaps and labels pods.

In: ConfigMaps with the label `cared-for`, pods with the label `tracked`. Out: an annotation with what was seen last, an
event for every change, a ConfigMap `memory-of-NAME` that is owned by the first and, when that is deleted, a finalizer
that is held until a ConfigMap `farewell-to-NAME` is written. Run by `test_kopf` with `kopf run`.
"""

from typing import Any

import kopf
import kubernetes

client: Any = kubernetes.client
config: Any = kubernetes.config


@kopf.on.startup()
def prepare(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.persistence.finalizer = "caretaker.example.com/finalizer"
    settings.posting.level = 0


@kopf.on.create("v1", "configmaps", labels={"cared-for": "yes"})
def remember(body: kopf.Body, name: str, namespace: str | None, **_: Any) -> dict[str, str]:
    memory = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"memory-of-{name}"}, "data": {}}
    kopf.append_owner_reference(memory, owner=body)  # unlike adopt, which would also copy the label
    client.CoreV1Api().create_namespaced_config_map(namespace, memory)
    kopf.event(body, type="Normal", reason="Remembered", message=f"{name} is remembered")
    return {"remembered": name}


@kopf.on.update("v1", "configmaps", labels={"cared-for": "yes"}, field="data")
def notice(old: Any, new: Any, patch: kopf.Patch, body: kopf.Body, **_: Any) -> None:
    patch.metadata.annotations["caretaker.example.com/changed"] = f"{_text(old)} to {_text(new)}"
    kopf.event(body, type="Normal", reason="Noticed", message=f"{_text(old)} became {_text(new)}")


@kopf.on.delete("v1", "configmaps", labels={"cared-for": "yes"})
def say_farewell(name: str, namespace: str | None, **_: Any) -> None:
    farewell = {"metadata": {"name": f"farewell-to-{name}"}}
    client.CoreV1Api().create_namespaced_config_map(namespace, farewell)


@kopf.on.event("v1", "pods", labels={"tracked": "yes"})
def label_by_phase(status: Any, labels: Any, patch: kopf.Patch, type: str | None, **_: Any) -> None:  # noqa: A002
    phase = status.get("phase")
    if type != "DELETED" and phase and labels.get("phase") != phase:
        patch.metadata.labels["phase"] = phase


@kopf.on.resume("v1", "configmaps", labels={"cared-for": "yes"})
def welcome_back(patch: kopf.Patch, **_: Any) -> None:
    patch.metadata.annotations["caretaker.example.com/resumed"] = "yes"


def _text(data: Any) -> str:
    return ",".join(f"{key}:{value}" for key, value in sorted((data or {}).items())) or "nothing"
