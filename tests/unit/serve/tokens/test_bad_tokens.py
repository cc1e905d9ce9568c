"""Tokens that must be refused are, with Kubernetes' texts, and any text is read without an exception."""

import base64
import random
from collections.abc import Callable

import pytest
from tests.unit.serve.tokens.account_tokens import (
    ACCOUNT,
    FIXED_TOKEN,
    KEY,
    NAMESPACE,
    Clock,
    bound_to,
    claims_of,
    make,
    signed_again,
    signed_with_the_public_key,
    started,
    token_of,
    with_header,
)

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.access.reviews import Reviewer
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.tokens.keys import SigningKey
from moorage.serve.tokens.requests import review_token
from moorage.serve.tokens.service_accounts import BadToken
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import delete

_OTHER_KEY = SigningKey.create()
_KEY_ID = KEY.public.key_id
_BAD_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"
_NO_KEYS = "invalid signature, no keys found"
_NOT_OURS = ""
_HOUR = 3600


def reviewer(api: Api) -> Reviewer:
    return Reviewer(ADMIN, api.now_text(), "", api.authorization, api.authenticator)


def review(api: Api, token: str, *audiences: str) -> str:
    """Return why a TokenReview refuses a token; "" for a token that is not even one of ours."""
    answer = review_token({"spec": {"token": token, "audiences": list(audiences)}}, reviewer(api))
    status = answer["status"]
    assert not status.get("authenticated"), status
    assert status["user"] == {}
    why = str(status["error"]).removeprefix("invalid bearer token").removeprefix("[invalid bearer token, ")
    return why.removesuffix("]") if status["error"].startswith("[") else why


Forgery = Callable[[str], str]

FORGERIES: dict[str, tuple[Forgery, str]] = {
    "alg none": (lambda token: with_header(token, {"alg": "none"}, b""), _BAD_SIGNATURE),
    "alg None with kid": (lambda token: with_header(token, {"alg": "None", "kid": _KEY_ID}, b""), _BAD_SIGNATURE),
    "alg none, old signature": (lambda token: with_header(token, {"alg": "none"}), _BAD_SIGNATURE),
    "HS256 with the public key": (signed_with_the_public_key, _BAD_SIGNATURE),
    "RS512 in the header": (lambda token: with_header(token, {"alg": "RS512", "kid": _KEY_ID}), _BAD_SIGNATURE),
    "no signature": (lambda token: token.rpartition(".")[0] + ".", _BAD_SIGNATURE),
    "truncated signature": (lambda token: token[:-8], _BAD_SIGNATURE),
    "another signature": (lambda token: token[:-8] + "AAAAAAAA", _BAD_SIGNATURE),
    "another key": (lambda token: signed_again(token, _OTHER_KEY), _NO_KEYS),
    "another key under this one's id": (
        lambda token: with_header(signed_again(token, _OTHER_KEY), {"alg": "RS256", "kid": KEY.public.key_id}),
        _BAD_SIGNATURE,
    ),
    "a key id that nobody has": (lambda token: with_header(token, {"alg": "RS256", "kid": "x"}), _NO_KEYS),
    "claims of another token": (
        lambda token: token.replace(token.split(".")[1], signed_again(token, sub="x").split(".")[1]),
        _BAD_SIGNATURE,
    ),
    "critical extension": (lambda token: with_header(token, {"alg": "RS256", "crit": ["b64"]}), _NOT_OURS),
    "another issuer": (lambda token: signed_again(token, iss="https://elsewhere"), _NOT_OURS),
    "no issuer": (lambda token: signed_again(token, iss=None), _NOT_OURS),
    "expired": (
        lambda token: signed_again(token, exp=claims_of(token)["iat"] - 61),
        "service account token has expired",
    ),
    "not yet valid": (
        lambda token: signed_again(token, nbf=claims_of(token)["iat"] + 61),
        "service account token is not valid yet",
    ),
    "issued in the future": (
        lambda token: signed_again(token, iat=claims_of(token)["iat"] + 61),
        "service account token is issued in the future",
    ),
    "another audience": (
        lambda token: signed_again(token, aud=["vault"]),
        'token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc"]',
    ),
    "no account": (
        lambda token: signed_again(token, KEY, **{"kubernetes.io": {"namespace": "tok"}}),
        'serviceaccounts "" not found',
    ),
    "wrong types": (
        lambda token: signed_again(token, KEY, **{"kubernetes.io": {"namespace": ["tok"]}}),
        "service account token claims could not be validated",
    ),
    "truncated claims": (lambda token: token[: len(token) // 2], _NOT_OURS),
    "empty": (lambda token: "..", _NOT_OURS),
    "JSON form": (lambda token: '{"payload":"' + token + '"}', _NOT_OURS),
    "padding": (lambda token: token + "==", _NOT_OURS),
    "huge": (lambda token: token + "A" * 70_000, _NOT_OURS),
    "deep claims": (lambda token: with_claims_text(token, '{"iss":' + "[" * 40_000), _NOT_OURS),
    "not ASCII": (lambda token: token + "é", _NOT_OURS),
}


def with_claims_text(token: str, text: str) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{base64.urlsafe_b64encode(text.encode()).rstrip(b'=').decode()}.{signature}"


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_token_is_refused(forgery: str) -> None:
    api = await started()
    make_forgery, why = FORGERIES[forgery]
    forged = make_forgery(await token_of(api))
    assert review(api, forged) == why
    with pytest.raises(ApiError, match="Unauthorized"):
        api.authenticator.authenticate(Request("GET", "/api/v1/pods", {"authorization": f"Bearer {forged}"}))


async def remove(api: Api, kind: str, name: str) -> None:
    row = KINDS["v1", kind]
    await delete(api, Ref(row, NAMESPACE if row.namespaced else "", name), DeleteOptions(gracePeriodSeconds=0))


@pytest.mark.parametrize(
    ("kind", "name", "recreated"),
    [
        ("Pod", "pod", "pod UID (<new>) does not match service account pod ref claim (<old>)"),
        ("Secret", "sec", "secret UID (<new>) does not match service account secret ref claim (<old>)"),
        ("Node", "node-1", "node UID (<new>) does not match service account node ref claim (<old>)"),
    ],
)
async def test_a_token_ends_at_once_with_the_object_it_is_bound_to(kind: str, name: str, recreated: str) -> None:
    api = await started()
    token = await token_of(api, boundObjectRef=bound_to(kind, name))
    assert api.authenticator.find(token) is not None
    assert api.authenticator.find(token) is not None, "remembered"
    await remove(api, kind, name)
    assert review(api, token) == "service account token has been invalidated"
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": ACCOUNT}
    document = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    await make(api, {**document, "spec": spec} if kind == "Pod" else document)
    old = claims_of(token)["kubernetes.io"][kind.lower()]["uid"]
    why = review(api, token)
    assert why.replace(old, "<old>").split("(")[2] == "<old>)"
    assert why.startswith(recreated.partition("(")[0])


async def test_a_token_ends_at_once_with_its_account() -> None:
    api = await started()
    token = await token_of(api)
    assert api.authenticator.find(token) is not None
    await remove(api, "ServiceAccount", ACCOUNT)
    assert review(api, token) == 'serviceaccounts "bot" not found'
    await make(api, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}})
    assert "does not match claim" in review(api, token)


async def test_a_remembered_token_expires() -> None:
    clock = Clock()
    api = await started(clock)
    token = await token_of(api, expirationSeconds=600)
    assert api.authenticator.find(token) is not None
    clock.now += 600 + 59
    assert api.authenticator.find(token) is not None, "clocks may differ by a minute"
    clock.now += 2
    assert review(api, token) == "service account token has expired"


async def test_a_pods_token_ends_a_minute_after_the_pod_should_have() -> None:
    clock = Clock()
    api = await started(clock)
    token = await token_of(api, boundObjectRef=bound_to("Pod", "pod"))
    await delete(api, Ref(KINDS.POD, NAMESPACE, "pod"), DeleteOptions(gracePeriodSeconds=30))
    assert api.authenticator.find(token) is not None, "it is being deleted"
    clock.now += 30 + 61
    assert review(api, token) == "service account token has been invalidated"


async def test_fixed_tokens_are_for_the_api_server_only() -> None:
    api = await started()
    assert review(api, FIXED_TOKEN, "vault") == _NOT_OURS
    assert review_token({"spec": {"token": FIXED_TOKEN}}, reviewer(api))["status"]["authenticated"]


async def test_any_text_is_read_without_an_exception() -> None:
    """Tokens with a few characters changed, removed, doubled or cut are refused, never accepted and never an error."""
    api = await started()
    token = await token_of(api)
    source = random.Random(7)
    letters = 'ABCxyz019-_.=+/ \n\x00{}[]"é'
    for _ in range(1500):
        text = list(token)
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(len(text))
            match source.randrange(4):
                case 0:
                    text[at] = source.choice(letters)
                case 1:
                    del text[at]
                case 2:
                    text[at:at] = text[at : at + source.randrange(40)]
                case _:
                    del text[at : at + source.randrange(len(text) // 2)]
            text = text or ["."]
        changed = "".join(text)
        try:
            found = api.authenticator.find(changed)
        except BadToken:
            continue
        assert found is None or _same_bits(changed, token), changed


def _same_bits(changed: str, token: str) -> bool:
    """Whether two tokens differ only in bits that base64 leaves over at the end of a part."""
    pairs = zip(changed.split("."), token.split("."), strict=False)
    return changed.count(".") == 2 and all(one[:-1] == other[:-1] for one, other in pairs)
