"""Who writes an object also owns what Kubernetes makes of it in conversion: recorded from v1.36.4."""

from typing import Any

import msgspec
from tests.conformance.checks.platform.server import PlatformServer

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def owned_after_create(path: str, document: dict[str, Any]) -> Any:
    server = await PlatformServer.started("default")
    answer = await server.ask("POST", path, msgspec.json.encode(document))
    assert answer.code == 201, answer
    (entry,) = answer.document["metadata"]["managedFields"]
    return entry["fieldsV1"]


async def test_texts_of_secrets_are_owned_as_data() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"user": "x"}}
    owned = await owned_after_create("/api/v1/namespaces/default/secrets", secret)
    assert owned == {"f:data": {".": {}, "f:user": {}}, "f:type": {}}


async def test_the_counter_of_templates_of_a_daemon_set_is_owned() -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    daemon_set = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a"}, "spec": spec}
    owned = await owned_after_create("/apis/apps/v1/namespaces/default/daemonsets", daemon_set)
    assert owned["f:metadata"] == {"f:annotations": {".": {}, "f:deprecated.daemonset.template.generation": {}}}
