"""rbac_escalation.json: a user with few rights writes roles and bindings."""

import asyncio
from typing import Any

from tests.conformance.checks.platform.comparison import difference
from tests.conformance.checks.platform.server import PlatformServer
from tests.conformance.checks.platform.steps import built_in_resource, take_step

from moorage.model.kinds import KINDS, view_of
from moorage.serve.access.bootstrap.policy import bootstrap_bindings, bootstrap_roles
from moorage.serve.pki.authentication import AUTHENTICATED, UNAUTHENTICATED, User

Raw = dict[str, Any]
NAMESPACE = "esc"
BOOTSTRAP_POLICY = [
    (KINDS[raw["apiVersion"], raw["kind"]], view_of(raw)) for raw in bootstrap_roles() + bootstrap_bindings()
]


def check_rbac_escalation(case: Raw) -> str | None:
    return asyncio.run(_check(case["in"], case["out"]))


async def _check(given: Raw, wanted: Raw) -> str | None:
    server = await PlatformServer.started("default", NAMESPACE)
    for kind, view in BOOTSTRAP_POLICY:
        server.api.roles.learn(kind, view)
    for document in given["setup"]:
        made = await server.post(document)
        if made.code >= 300:
            return f"setup: {made}"
    groups = given["groups"]
    if not {AUTHENTICATED, UNAUTHENTICATED} & set(groups):
        groups = [*groups, AUTHENTICATED]
    user = User(given["user"], groups=tuple(groups))
    for number, (step, want) in enumerate(zip(given["steps"], wanted["steps"], strict=True)):
        resource, version = built_in_resource(step["body"], NAMESPACE)
        answer = await take_step(server, step, resource, version, user)
        if found := difference(answer, want):
            return f"step {number} ({step['op']}): {found}"
        if step["op"] == "create" and answer.code == 201:
            await server.ask("DELETE", resource.path(version, answer.document["metadata"]["name"]))
    return None
