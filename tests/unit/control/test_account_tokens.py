"""Secrets for tokens of service accounts are filled, and deleted with the account."""

import base64
from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.account_tokens import NAME, TOKEN_TYPE, UID, AccountTokenController
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def secret(name: str, account: str, **annotations: str) -> Raw:
    metadata = {"name": name, "namespace": "default", "annotations": {NAME: account, **annotations}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TOKEN_TYPE}


def account(name: str) -> Raw:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, "secrets": [{"name": "token"}]}


def sign(namespace: str, account: str, uid: str, secret: str) -> str:
    return f"{namespace} {account} {secret}"


async def test_a_secret_is_filled_and_goes_with_its_account() -> None:
    context = controller_context()._replace(root_authority="CA", sign_token=sign)
    async with VirtualCluster.running(lambda: [AccountTokenController(context)]) as cluster:
        made = await cluster.client.create(KINDS.SERVICE_ACCOUNT, account("robot"))
        await cluster.client.create(KINDS.SECRET, secret("token", "robot"))
        await cluster.client.create(KINDS.SECRET, secret("lost", "nobody"))
        await cluster.client.create(KINDS.SECRET, secret("stale", "robot", **{UID: "another"}))
        await cluster.settle(1)
        (filled,) = await cluster.all(KINDS.SECRET, "default")
        data = {name: base64.b64decode(value).decode() for name, value in filled.raw["data"].items()}
        assert data == {"ca.crt": "CA", "namespace": "default", "token": "default robot token"}
        assert filled.view.metadata.annotations[UID] == made.uid
        await cluster.client.delete(KINDS.SERVICE_ACCOUNT, "robot", "default")
        await cluster.settle(1)
        assert not await cluster.all(KINDS.SECRET, "default")


async def test_a_deleted_secret_is_taken_out_of_the_list() -> None:
    context = controller_context()._replace(sign_token=sign)
    async with VirtualCluster.running(lambda: [AccountTokenController(context)]) as cluster:
        await cluster.client.create(KINDS.SERVICE_ACCOUNT, account("robot"))
        await cluster.client.create(KINDS.SECRET, secret("token", "robot"))
        await cluster.settle(1)
        await cluster.client.delete(KINDS.SECRET, "token", "default")
        await cluster.settle(1)
        assert not (await cluster.client.get(KINDS.SERVICE_ACCOUNT, "robot", "default")).raw.get("secrets")
