"""An API server without a wire with a service account, pods, a Secret and a node, and forged tokens for it."""

import base64
import hashlib
import hmac
from typing import Any

import msgspec

from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.options import WriteOptions
from moorage.serve.tokens.claims import sign_token
from moorage.serve.tokens.keys import SigningKey
from moorage.serve.tokens.requests import request_token
from moorage.serve.tokens.service_accounts import TokenKeys, TokenSettings
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore

Raw = dict[str, Any]

KEY = SigningKey.create()
FIXED_TOKEN = "fixed"
NAMESPACE, ACCOUNT = "tok", "bot"
_OBJECTS: list[Raw] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sec"}},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": ACCOUNT, "nodeName": "node-1"},
    },
]


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def started(
    clock: Clock | None = None, settings: TokenSettings | None = None, keys: TokenKeys | None = None
) -> Api:
    api = Api(
        MemoryStore(),
        default_gates(),
        clock=clock or Clock(),
        fixed_tokens={FIXED_TOKEN: ADMIN},
        token_settings=settings,
        token_keys=keys or TokenKeys(KEY),
    )
    await api.start()
    for document in _OBJECTS:
        await make(api, document)
    return api


async def make(api: Api, document: Raw) -> None:
    kind = KINDS[document["apiVersion"], document["kind"]]
    copy = msgspec.json.decode(msgspec.json.encode(document))
    await create(api, kind, NAMESPACE if kind.namespaced else "", copy, WriteOptions("test"))


async def token_of(api: Api, **spec: Any) -> str:
    """Return a token of the account, as a client asks for it."""
    document = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": spec}
    answer, _ = await request_token(api, NAMESPACE, ACCOUNT, document)
    return str(answer["status"]["token"])


def bound_to(kind: str, name: str, **more: str) -> Raw:
    return {"apiVersion": "v1", "kind": kind, "name": name, **more}


def claims_of(token: str) -> Raw:
    payload = token.split(".")[1]
    return dict(msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))))


def signed_again(token: str, key: SigningKey = KEY, /, **changes: Any) -> str:
    """Return a token with other claims, signed by a key."""
    changed = {name: value for name, value in {**claims_of(token), **changes}.items() if value is not None}
    return sign_token(changed, key)


def with_header(token: str, header: Raw, signature: bytes | None = None) -> str:
    """Return a token with another header and the old signature, or this one."""
    _, payload, old = token.split(".")
    head = _text(msgspec.json.encode(header))
    return f"{head}.{payload}.{old if signature is None else _text(signature)}"


def signed_with_the_public_key(token: str) -> str:
    """Return a token whose header says HS256, with the public key as the shared secret."""
    forged = with_header(token, {"alg": "HS256", "kid": KEY.public.key_id}, b"")
    signed = forged.rpartition(".")[0]
    return f"{signed}.{_text(hmac.digest(KEY.public_pem, signed.encode(), hashlib.sha256))}"


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
