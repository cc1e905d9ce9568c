"""A real kube-apiserver and ours answer the same requests of nodes on drawn clusters in the same words.

The requests are those of the law of node identities; the nodes have certificates at the real server, and are
impersonated at ours.
"""

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conformance.checks.platform.comparison import masked
from tests.interop.binaries import API_SERVER, ETCD, needs
from tests.interop.programs import Programs
from tests.interop.real_server import RealServer
from tests.laws.certificate_clients import CertificateClients
from tests.laws.random_node_worlds import NAMESPACES, NODES, Change, change, first_objects
from tests.laws.test_node_identity_laws import Ask, in_process, lists, look, reads, user_of, writes

pytestmark = needs(ETCD, API_SERVER)

STEPS = 8
#: Until the real server's authorizer and plugins, which read from caches, know of a change.
_SETTLING_SECONDS = 0.5


async def _answers(ask: Ask, node: str, seed: str) -> list[tuple[str, int, str]]:
    """Return what is asked as a node, with the code and the text of each answer."""
    world = await look(ask)
    answers = []
    requests = [*reads(world, node), *lists(world, node), *writes(world, node, Random(seed))]
    for asked, _ in requests:
        code, document = await ask(user_of(node), asked)
        answers.append((f"{asked.method} {asked.path}", code, _text(code, document)))
    return answers


def _text(code: int, document: Any) -> str:
    return masked(document["message"]) if code == 403 else ""


@pytest.mark.real_time(loop="uvloop")
async def test_nodes_get_the_same_answers_from_both_servers(programs: Programs, tmp_path: Path) -> None:
    left_out = "ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition"  # which need controllers
    plugins = ("--enable-admission-plugins=NodeRestriction", f"--disable-admission-plugins={left_out}")
    server = await asyncio.to_thread(RealServer, programs, *plugins)
    real, ours = CertificateClients(server.url, server.pki.authority, tmp_path), await in_process()
    try:
        for name in NAMESPACES:
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await real.ask("", Change("POST", "/api/v1/namespaces", namespace))
        random = Random(20)
        changes = [*first_objects(), *(change(random) for _ in range(20))]
        for step in range(STEPS):
            for asked in changes:
                assert (await real.ask("", asked))[0] == (await ours("", asked))[0], asked
            await asyncio.sleep(_SETTLING_SECONDS)
            for node in NODES:
                expected = await _answers(real.ask, node, f"{step}-{node}")
                answered = await _answers(ours, node, f"{step}-{node}")
                assert answered == expected
            changes = [change(random) for _ in range(6)]
    finally:
        real.close()
