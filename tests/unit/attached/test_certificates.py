"""The controller of certificates against our API server, in virtual time: first start, repair, replacement."""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cryptography import x509
from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import time_of_day

from moorage.attached import names
from moorage.attached.certificates.configurations import CERT_MANAGER
from moorage.attached.certificates.pairs import LIFETIME_DAYS, complaint_about_trust, make_pair
from moorage.attached.certificates.secret import held_in
from moorage.attached.controller.certificates import CertificatesController
from moorage.attached.controller.registry import CONTROLLERS, AttachedContext
from moorage.client.protocol import PatchType
from moorage.model.kinds import KINDS

Raw = dict[str, Any]
CONFIGURATION = KINDS.MUTATING_WEBHOOK_CONFIGURATION
DAY = 86_400


def configuration(name: str = names.LOWERING, service: str = names.WEBHOOK, **annotations: str) -> Raw:
    webhook = {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"service": {"namespace": names.NAMESPACE, "name": service, "path": names.LOWER_PATH}},
        "rules": [],
    }
    return {"metadata": {"name": name, "annotations": annotations}, "webhooks": [webhook]}


@asynccontextmanager
async def installed(*configurations: Raw) -> AsyncIterator[VirtualCluster]:
    context = AttachedContext(controller_context())
    async with VirtualCluster.running(lambda: [CertificatesController(context)]) as cluster:
        await cluster.client.create(KINDS.NAMESPACE, {"metadata": {"name": names.NAMESPACE}})
        for each in configurations:
            await cluster.client.create(CONFIGURATION, each)
        await cluster.settle()
        yield cluster


async def secret_of(cluster: VirtualCluster) -> Raw:
    return (await cluster.client.get(KINDS.SECRET, names.CERTIFICATES, names.NAMESPACE)).raw


async def bundle_of(cluster: VirtualCluster, name: str = names.LOWERING) -> str:
    webhook = (await cluster.client.get(CONFIGURATION, name)).raw["webhooks"][0]
    return str(webhook["clientConfig"].get("caBundle", ""))


async def write_bundle(cluster: VirtualCluster, bundle: str | None) -> None:
    patch = {"webhooks": [{"name": names.LOWERING, "clientConfig": {"caBundle": bundle}}]}
    await cluster.client.patch(CONFIGURATION, names.LOWERING, "", patch)


async def test_the_first_start_makes_a_secret_that_configurations_trust() -> None:
    async with installed(configuration(), configuration(names.MIRRORING)) as cluster:
        secret = await secret_of(cluster)
        assert (secret["type"], sorted(secret["data"])) == ("kubernetes.io/tls", ["ca.crt", "tls.crt", "tls.key"])
        assert await bundle_of(cluster) == await bundle_of(cluster, names.MIRRORING) == secret["data"]["ca.crt"]
        held = held_in(secret)
        assert held.served is not None
        assert complaint_about_trust(held.served.certificate, held.authorities, names.NAMESPACE, time_of_day()) == ""


async def test_a_trust_that_something_resets_is_repaired_at_once() -> None:
    async with installed(configuration()) as cluster:
        right = await bundle_of(cluster)
        for wrong in (None, base64.b64encode(make_pair("elsewhere", time_of_day()).authority).decode()):
            await write_bundle(cluster, wrong)
            assert await bundle_of(cluster) == (wrong or "")
            await cluster.settle(2)
            assert await bundle_of(cluster) == right


async def test_a_secret_that_is_gone_or_broken_is_made_again() -> None:
    async with installed(configuration()) as cluster:
        first = await secret_of(cluster)
        await cluster.client.delete(KINDS.SECRET, names.CERTIFICATES, names.NAMESPACE)
        await cluster.settle(400)
        second = await secret_of(cluster)
        assert second["data"]["tls.crt"] != first["data"]["tls.crt"]
        assert await bundle_of(cluster) == second["data"]["ca.crt"]
        broken = {"data": {"ca.crt": first["data"]["ca.crt"]}}
        await cluster.client.patch(
            KINDS.SECRET, names.CERTIFICATES, names.NAMESPACE, broken, patch_type=PatchType.MERGE
        )
        await cluster.settle(400)
        third = await secret_of(cluster)
        assert third["data"]["tls.crt"] != second["data"]["tls.crt"]
        assert await bundle_of(cluster) == third["data"]["ca.crt"]
        assert cluster.reasons(names.CERTIFICATES) == ["CertificateReplaced"]


async def test_a_certificate_is_replaced_after_its_authority_is_known(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with installed(configuration()) as cluster:
        first = await secret_of(cluster)
        await cluster.stop()  # two months in steps of five minutes would take long
        await asyncio.sleep(LIFETIME_DAYS * DAY * 2 / 3)
        await cluster.start()
        await cluster.settle(60)
        waiting = await secret_of(cluster)
        assert waiting["data"]["tls.crt"] == first["data"]["tls.crt"]
        assert "next.crt" in waiting["data"]
        assert await bundle_of(cluster) == waiting["data"]["ca.crt"]
        await cluster.settle(1200)
        replaced = await secret_of(cluster)
        assert replaced["data"]["tls.crt"] == waiting["data"]["next.crt"]
        assert replaced["data"]["ca.crt"] == waiting["data"]["ca.crt"]
        assert "next.crt" not in replaced["data"]
        assert len(x509.load_pem_x509_certificates(base64.b64decode(replaced["data"]["ca.crt"]))) == 2
        key = base64.b64decode(replaced["data"]["tls.key"]).decode()
        assert "PRIVATE KEY" in key
        for text in (caplog.text, str(cluster.events), repr(held_in(waiting))):
            assert "PRIVATE KEY" not in text
            assert replaced["data"]["tls.key"] not in text


async def test_what_cert_manager_or_another_installation_trusts_is_left_alone() -> None:
    injected = configuration(**{CERT_MANAGER: "moorage-system/x"})
    async with installed(injected, configuration("other.example.com"), configuration(names.MIRRORING, "other")) as c:
        assert await c.all(KINDS.SECRET, names.NAMESPACE) == []
        assert await bundle_of(c) == await bundle_of(c, "other.example.com") == ""


def test_the_controllers_of_attach_keep_certificates() -> None:
    (row,) = (each for each in CONTROLLERS if each.name == "certificates")
    assert row.make(AttachedContext(controller_context())).name == row.name
