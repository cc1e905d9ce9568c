"""Tokens are issued as Kubernetes issues them, and are good until they expire."""

import base64
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.unit.serve.tokens.account_tokens import (
    ACCOUNT,
    KEY,
    NAMESPACE,
    Clock,
    bound_to,
    claims_of,
    started,
    token_of,
)

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.tokens.keys import (
    CONFIGURATION_PATH,
    KEYS_PATH,
    SigningKey,
    TokenKeyError,
    open_token_keys,
    read_verification_keys,
)
from moorage.serve.tokens.requests import request_token
from moorage.serve.tokens.service_accounts import BadToken, TokenKeys, TokenSettings
from moorage.telemetry.metrics import Metrics


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"expirationSeconds": 599},
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
            "may not specify a duration less than 10 minutes",
        ),
        (
            {"expirationSeconds": 2**32 + 1},
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: '
            "may not specify a duration larger than 2^32 seconds",
        ),
        ({"boundObjectRef": bound_to("Pod", "none")}, 'pods "none" not found'),
        ({"boundObjectRef": bound_to("Secret", "none")}, 'secrets "none" not found'),
        (
            {"boundObjectRef": bound_to("Pod", "pod", uid="1")},
            'Operation cannot be fulfilled on Pod "pod": the UID in the bound object reference (1) does not match the '
            "UID in record. The object might have been deleted and then recreated",
        ),
    ],
)
async def test_a_request_is_refused(spec: dict[str, object], message: str) -> None:
    api = await started()
    with pytest.raises(ApiError) as error:
        await token_of(api, **spec)
    assert error.value.message == message


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"name": "x"},
            'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "x": must match the '
            "service account name if specified",
        ),
        (
            {"namespace": "x"},
            'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.namespace: Invalid value: "x": must match '
            "the service account namespace if specified",
        ),
        ({"uid": "1"}, "the UID in the token request (1) does not match the UID of the service account"),
    ],
)
async def test_the_metadata_of_a_request_are_those_of_the_account(metadata: dict[str, str], message: str) -> None:
    api = await started()
    with pytest.raises(ApiError) as error:
        await request_token(api, NAMESPACE, ACCOUNT, {"metadata": metadata, "spec": {}})
    assert message in error.value.message


async def test_pods_tokens_are_extended_to_a_year_and_say_when_they_should_have_been_replaced() -> None:
    api = await started()
    claims = claims_of(await token_of(api, expirationSeconds=3607, boundObjectRef=bound_to("Pod", "pod")))
    assert claims["exp"] - claims["iat"] == 365 * 24 * 3600
    assert claims["kubernetes.io"]["warnafter"] - claims["iat"] == 3607
    assert claims["kubernetes.io"]["node"]["name"] == "node-1"
    other = claims_of(
        await token_of(api, audiences=["vault"], expirationSeconds=3607, boundObjectRef=bound_to("Pod", "pod"))
    )
    assert other["exp"] - other["iat"] == 3607
    assert "warnafter" not in other["kubernetes.io"]


async def test_an_expiration_is_shortened_with_a_warning() -> None:
    api = await started(settings=TokenSettings(max_seconds=7200))
    answer, warnings = await request_token(api, NAMESPACE, ACCOUNT, {"spec": {"expirationSeconds": 86400}})
    assert warnings == ["requested expiration of 86400 seconds shortened to 7200 seconds"]
    assert answer["spec"]["expirationSeconds"] == 7200


async def test_several_issuers_and_audiences() -> None:
    settings = TokenSettings(issuers=("https://new", "https://old"), audiences=("api",))
    before = await started(settings=TokenSettings(issuers=("https://old",), audiences=("api",)))
    api = await started(settings=settings)
    old = await token_of(before)
    assert claims_of(await token_of(api))["iss"] == "https://new"
    assert claims_of(old)["aud"] == ["api"]
    with pytest.raises(BadToken, match="service account UID"):  # its account is that of the other cluster
        api.authenticator.find(old)


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda curve: curve.name)
async def test_elliptic_keys_sign_too(curve: ec.EllipticCurve) -> None:
    key = SigningKey(ec.generate_private_key(curve))
    api = await started(keys=TokenKeys(key))
    token = await token_of(api)
    assert api.authenticator.find(token) is not None
    head = msgspec.json.decode(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    assert head["alg"] == {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}[curve.name]
    with pytest.raises(BadToken):
        api.authenticator.find(token[:-3] + "AAA")


async def test_tokens_of_a_rotated_key_stay_valid_while_it_is_listed() -> None:
    clock, old = Clock(), SigningKey(ec.generate_private_key(ec.SECP256R1()))
    api = await started(clock, keys=TokenKeys(old))
    token = await token_of(api)
    api.tokens.keys = TokenKeys(KEY, read_verification_keys(old.public_pem))
    api.tokens._remembered.clear()
    assert api.authenticator.find(token) is not None
    assert len(api.tokens.keys.public) == 2
    api.tokens.keys = TokenKeys(KEY)
    api.tokens._remembered.clear()
    with pytest.raises(BadToken, match="no keys found"):
        api.authenticator.find(token)


async def test_no_key_is_made_for_a_token_that_cannot_be_ours() -> None:
    made = []

    def create() -> SigningKey:
        made.append(KEY)
        return KEY

    token = await token_of(await started())
    api = await started(keys=TokenKeys(create=create))
    with pytest.raises(BadToken, match="no keys found"):
        api.authenticator.find(token)
    assert not made
    assert api.authenticator.find(await token_of(api)) is not None
    assert made == [KEY]


async def test_remembered_tokens_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.serve.tokens.service_accounts._MAX_REMEMBERED", 3)
    api = await started(keys=TokenKeys(SigningKey(ec.generate_private_key(ec.SECP256R1()))))
    tokens = [await token_of(api) for _ in range(8)]
    for token in tokens:
        assert api.authenticator.find(token) is not None
    assert len(api.tokens._remembered) == 3


async def test_keys_are_published() -> None:
    api = await started()
    paths = WebPaths((), Metrics().render, tokens=api.tokens)
    paths.url = "https://127.0.0.1:6443"
    configuration = paths.answer(Request("GET", CONFIGURATION_PATH))
    assert isinstance(configuration, Response)
    assert msgspec.json.decode(configuration.body) == {
        "issuer": "https://kubernetes.default.svc",
        "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }
    keys = paths.answer(Request("GET", KEYS_PATH))
    assert isinstance(keys, Response)
    assert keys.content_type == "application/jwk-set+json"
    (key,) = msgspec.json.decode(keys.body)["keys"]
    assert {name: key[name] for name in ("use", "kty", "kid", "alg", "e")} == {
        "use": "sig",
        "kty": "RSA",
        "kid": KEY.public.key_id,
        "alg": "RS256",
        "e": "AQAB",
    }


async def test_an_issuer_without_https_publishes_no_keys() -> None:
    api = await started(settings=TokenSettings(issuers=("internal",)))
    with pytest.raises(ApiError, match="could not find"):
        WebPaths((), Metrics().render, tokens=api.tokens).answer(Request("GET", KEYS_PATH))


def test_the_key_is_kept_in_the_directory(tmp_path: Path) -> None:
    first = open_token_keys(tmp_path, None, ())
    assert not (tmp_path / "sa.key").exists(), "until it is needed"
    assert first.signing is first.signing
    again = open_token_keys(tmp_path, None, (tmp_path / "sa.pub",))
    assert [key.key_id for key in again.public] == [first.signing.public.key_id]
    assert (tmp_path / "sa.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "sa.key").write_text("no key")
    with pytest.raises(TokenKeyError, match=r"sa\.key: data does not contain a valid RSA or ECDSA private key"):
        open_token_keys(tmp_path, None, ())
