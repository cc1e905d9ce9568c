"""tokens.json: requests for tokens, reviews of tokens and of access, step by step.

The server has the namespace `tok` with the ServiceAccounts bot and other.
"""

import asyncio
import base64
import re
from typing import Any

import msgspec
from tests.conformance.checks.platform.comparison import difference, exactly, masked
from tests.conformance.checks.platform.server import (
    ADMIN,
    ADMIN_TOKEN,
    Answer,
    PlatformServer,
    built_in,
    collection_path,
)

from moorage.model.api_error import ApiError
from moorage.serve.cluster.bootstrap import reconcile_bootstrap_policy
from moorage.serve.http.messages import Request, render_refusal
from moorage.serve.pki.authentication import User

Raw = dict[str, Any]

_NAMESPACE = "tok"
_TIMES = ("exp", "iat", "nbf")
_BUILT_IN_BINDING = re.compile(
    r'RBAC: allowed by ClusterRoleBinding "system:[^"]*" of ClusterRole "system:[^"]*" to .*'
)
_WITH_ROLES = ("access-review", "rules-review", "self-review")


def check_tokens(case: Raw) -> str | None:
    return asyncio.run(_check_tokens(case))


async def _check_tokens(case: Raw) -> str | None:
    server = await PlatformServer.started(_NAMESPACE, "kube-system", "kube-public")
    if case["group"] in _WITH_ROLES:
        await reconcile_bootstrap_policy(server.api)
    for name in ("bot", "other"):
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": _NAMESPACE}}
        await server.post(account)
    for document in case["in"]["setup"]:
        made = await server.post(document)
        if made.code != 201:
            return f"setup: {made}"
    tokens: dict[int, str] = {}
    for number, (step, want) in enumerate(zip(case["in"]["steps"], case["out"]["steps"], strict=True)):
        got = await _take(server, step, tokens)
        if step["op"] == "tokenRequest" and got.code == 201:
            tokens[number] = got.document["status"]["token"]
            claimed = _recorded_token(tokens[number])
            if claimed != want["token"]:
                return f"step {number}: got claims {claimed}, want {want['token']}"
        if "object" in want:
            got, want = (
                got._replace(document=_any_binding(got.document)),
                {**want, "object": _any_binding(want["object"])},
            )
        found = difference(_recorded(got, tokens), want, same=_same_rules if want.get("unordered") else None)
        if found:
            return f"step {number} ({step['op']}): {found}"
    return None


async def _take(server: PlatformServer, step: Raw, tokens: dict[int, str]) -> Answer:
    """Make the request of a step, with the token that it names."""
    body: Raw = step.get("body", {})
    if step["op"] == "tokenRequest":
        path = collection_path("v1", "serviceaccounts", step["namespace"])
        return await server.ask("POST", f"{path}/{step['serviceAccount']}/token", msgspec.json.encode(body))
    if step["op"] == "delete":
        kind = built_in("v1", step["kind"])
        path = collection_path("v1", kind.plural, _NAMESPACE if kind.namespaced else "")
        return await server.ask("DELETE", f"{path}/{step['name']}", b'{"gracePeriodSeconds":0}')
    token = ADMIN_TOKEN if step.get("adminToken") else tokens.get(step.get("tokenFromStep", -1), "")
    if token:
        body = {**body, "spec": {**body["spec"], "token": token}}
    kind = built_in(body["apiVersion"], body["kind"])
    namespace = body.get("metadata", {}).get("namespace", _NAMESPACE) if kind.namespaced else ""
    path = collection_path(kind.api_version, kind.plural, namespace)
    user: User = ADMIN
    headers: dict[str, str] = {}
    if "bearerFromStep" in step:
        request = Request("POST", path, {"authorization": f"Bearer {tokens[step['bearerFromStep']]}"})
        try:
            user = server.api.authenticator.authenticate(request)
        except ApiError as error:
            refusal = render_refusal(error)
            return Answer(refusal.status, msgspec.json.decode(refusal.body), [])
    if "asUser" in step:
        headers = {"impersonate-user": step["asUser"], "impersonate-group": "\n".join(step.get("asGroups", ()))}
    return await server.ask("POST", path, msgspec.json.encode(body), user=user, headers=headers)


def _recorded(got: Answer, tokens: dict[int, str]) -> Answer:
    """Return an answer as the recording shows it: tokens, times and uids have names."""
    text = msgspec.json.encode(got.document).decode()
    for number, token in tokens.items():
        text = text.replace(token, f"<token of step {number}>")
    return Answer(got.code, msgspec.json.decode(masked(text.replace(ADMIN_TOKEN, "<admin token>"))), got.warnings)


def _any_binding(document: Any) -> Any:
    """Return a review whose reason names none of the built-in bindings: upstream lists bindings in random order."""
    if not isinstance(document, dict) or not isinstance(document.get("status"), dict):
        return document
    reason = document["status"].get("reason", "")
    if not _BUILT_IN_BINDING.fullmatch(reason):
        return document
    return {**document, "status": {**document["status"], "reason": "RBAC: allowed"}}


def _recorded_token(token: str) -> Raw:
    header, claims = (msgspec.json.decode(_base64(part)) for part in token.split(".")[:2])
    issued = claims["iat"]
    relative = {name: value - issued if name in _TIMES else value for name, value in claims.items()}
    if "warnafter" in relative["kubernetes.io"]:
        relative["kubernetes.io"]["warnafter"] -= issued
    shown = {"claims": relative, "header": {**header, "kid": "<kid>"}}
    document: Raw = msgspec.json.decode(masked(msgspec.json.encode(shown).decode()))
    return document


def _base64(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _same_rules(got: Raw, want: Raw) -> bool:
    return exactly(_with_sorted_rules(got), _with_sorted_rules(want))


def _with_sorted_rules(review: Raw) -> Raw:
    """Return a review of rules whose lists have an order."""
    status = dict(review["status"])
    for name in ("resourceRules", "nonResourceRules"):
        status[name] = sorted(status.get(name, ()), key=lambda rule: msgspec.json.encode(rule, order="sorted"))
    return {**review, "status": status}
