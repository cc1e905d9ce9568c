"""Pods of one template are admitted as if each were the first, whoever makes them, wherever and whenever."""

import asyncio
from typing import Any

import pytest

from moorage.admit.raw import copy_document
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import cached_view
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore

TEMPLATE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


class Second:
    """A clock that somebody else moves."""

    now = 1767323045.0

    def __call__(self) -> float:
        return self.now


def new_api(second: Second) -> Api:
    """With two namespaces."""
    api = Api(MemoryStore(), gates_from({}), clock=second, new_uid=lambda: "u", new_suffix=lambda: "abcde")

    async def begin() -> None:
        await api.start()
        await bootstrap(api, 443)
        other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        await create(api, KINDS.NAMESPACE, "", other, WriteOptions("tester"))

    asyncio.run(begin())
    return api


def pod(namespace: str, **metadata: Any) -> dict[str, Any]:
    made = copy_document(TEMPLATE)
    made["metadata"] |= {"namespace": namespace, **metadata}
    return made


@pytest.mark.parametrize(
    ("namespace", "metadata", "manager", "seconds"),
    [
        ("default", {"name": "b"}, "kubectl", 0),
        ("default", {"generateName": "web-"}, "kubectl", 0),
        ("other", {"name": "b"}, "kubectl", 0),
        ("default", {"name": "b"}, "somebody-else", 0),
        ("default", {"name": "b"}, "kubectl", 1),
        ("default", {"name": "b", "labels": {"app": "db"}}, "kubectl", 0),
    ],
)
def test_a_pod_that_is_like_another_is_its_own(
    namespace: str, metadata: dict[str, Any], manager: str, seconds: int
) -> None:
    second = Second()
    experienced, new = new_api(second), new_api(second)
    for name in ("a1", "a2"):
        experienced.admit_new(KINDS.POD, pod("default", name=name), "default", "kubectl")
    second.now += seconds
    made, expected = (
        api.admit_new(KINDS.POD, pod(namespace, **metadata), namespace, manager)[0] for api in (experienced, new)
    )
    assert made.object == expected.object
    assert cached_view(KINDS.POD, made.view) == cached_view(KINDS.POD, expected.view)
