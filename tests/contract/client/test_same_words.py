"""What is refused is refused in the same words, whichever way it was asked."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.client.transports import TRANSPORTS, config_map, pod, running_server, take

from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

Attempt = Callable[[Client], Awaitable[Any]]

_NO_CONTAINERS: dict[str, Any] = {**pod("bad"), "spec": {"containers": []}}
_WRONG_TYPE: dict[str, Any] = {**pod("bad"), "spec": {"containers": "none"}}

REFUSED: dict[str, Attempt] = {
    "no such object": lambda c: c.get(KINDS.POD, "nobody", "default"),
    "no such namespace": lambda c: c.create(KINDS.CONFIG_MAP, config_map("x", "nowhere")),
    "exists already": lambda c: c.create(KINDS.POD, pod("there")),
    "no name": lambda c: c.create(KINDS.POD, {**pod(""), "metadata": {}}, "default"),
    "a name that is none": lambda c: c.create(KINDS.POD, pod("Not_A_Name")),
    "another kind": lambda c: c.create(KINDS.POD, config_map("x")),
    "another version": lambda c: c.create(
        KINDS.DEPLOYMENT, {**pod("x"), "kind": "Deployment", "apiVersion": "apps/v2"}
    ),
    "metadata that is none": lambda c: c.create(KINDS.POD, {**pod("x"), "metadata": []}, "default"),
    "another namespace": lambda c: c.create(KINDS.POD, pod("x"), "kube-system"),
    "a revision on what is new": lambda c: c.create(
        KINDS.CONFIG_MAP, {"metadata": {"name": "x", "resourceVersion": "1"}}, "default"
    ),
    "invalid": lambda c: c.create(KINDS.POD, _NO_CONTAINERS),
    "a wrong type": lambda c: c.create(KINDS.POD, _WRONG_TYPE),
    "update nothing": lambda c: c.update(KINDS.POD, pod("nobody")),
    "update stale": lambda c: c.update(
        KINDS.CONFIG_MAP, {"metadata": {"name": "there", "namespace": "default", "resourceVersion": "1"}}
    ),
    "update without a revision": lambda c: c.update(
        KINDS.POD_DISRUPTION_BUDGET, {"metadata": {"name": "there", "namespace": "default"}}
    ),
    "an immutable field": lambda c: c.patch(KINDS.POD, "there", "default", {"spec": {"nodeName": "n1"}}),
    "patch nothing": lambda c: c.patch(KINDS.POD, "nobody", "default", {}),
    "a test that fails": lambda c: c.patch(
        KINDS.POD, "there", "default", [{"op": "test", "path": "/kind", "value": "x"}], patch_type=PatchType.JSON
    ),
    "a JSON patch that is none": lambda c: c.patch(KINDS.POD, "there", "default", {}, patch_type=PatchType.JSON),
    "a merge patch that is none": lambda c: c.patch(KINDS.POD, "there", "default", [], patch_type=PatchType.MERGE),
    "a patch of the name": lambda c: c.patch(KINDS.POD, "there", "default", {"metadata": {"name": "x"}}),
    "an apply of another kind": lambda c: c.patch(
        KINDS.POD, "there", "default", config_map("x"), patch_type=PatchType.APPLY
    ),
    "no such subresource": lambda c: c.patch(KINDS.CONFIG_MAP, "there", "default", {}, subresource="status"),
    "a subresource of the moon": lambda c: c.update(KINDS.POD, pod("there"), subresource="moon"),
    "delete nothing": lambda c: c.delete(KINDS.POD, "nobody", "default"),
    "delete another": lambda c: c.delete(KINDS.POD, "there", "default", uid="another"),
    "delete oddly": lambda c: c.delete(KINDS.POD, "there", "default", propagation="Sideways"),
    "bind nothing": lambda c: c.bind("default", "nobody", "", "n1"),
    "bind to nothing": lambda c: c.bind("default", "there", "", ""),
    "evict nothing": lambda c: c.evict("default", "nobody"),
    "a selector that is none": lambda c: c.list_all(KINDS.POD, labels="a in"),
    "a field that nobody selects": lambda c: c.list_all(KINDS.POD, fields="spec.color=red"),
    "a watch by a field that nobody selects": lambda c: take(c, KINDS.POD, 1, 1, fields="spec.color=red"),
    "a watch from the future": lambda c: take(c, KINDS.POD, 99999, 1),
    "an empty name": lambda c: c.get(KINDS.POD, "", "default"),
    "an empty namespace": lambda c: c.get(KINDS.POD, "there"),
    "nowhere to create": lambda c: c.create(KINDS.POD, {"metadata": {"name": "x"}}),
    "a name that is a path": lambda c: c.delete(KINDS.POD, "../nodes", "default"),
}


async def _refusal(client: Client, attempt: Attempt) -> Any:
    try:
        await attempt(client)
    except ApiError as error:
        return error.status
    except Unreachable as error:
        return error
    return "not refused"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every attempt's answer by every transport, on one server."""
    directory: Path = tmp_path_factory.mktemp("kubeconfig")

    async def main() -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {name: {} for name in REFUSED}
        async with running_server() as server:
            clients = {name: connect(server, directory) for name, connect in TRANSPORTS.items()}
            first = next(iter(clients.values()))
            await first.create(KINDS.POD, pod("there"))
            await first.create(KINDS.CONFIG_MAP, config_map("there"))
            await first.create(
                KINDS.POD_DISRUPTION_BUDGET, {"metadata": {"name": "there", "namespace": "default"}, "spec": {}}
            )
            for name, attempt in REFUSED.items():
                for transport, client in clients.items():
                    found[name][transport] = await _refusal(client, attempt)
            for client in clients.values():
                await client.close()
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("name", REFUSED)
def test_every_transport_is_refused_in_the_same_words(name: str, answers: dict[str, dict[str, Any]]) -> None:
    first, *others = answers[name].values()
    assert isinstance(first, dict), first
    assert 400 <= first["code"] < 500
    assert others == [first] * len(others)
