"""Accounts of pods, the volumes with their tokens, and the secrets that they allow."""

from typing import Any

import pytest

from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.plugins.service_account import TOKEN_PATH, ServiceAccount
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.core import ServiceAccount as Account

Raw = dict[str, Any]
_LIMITS = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
VOLUME = {
    "name": "kube-api-access-abcde",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
    },
}


def mount(name: str = "kube-api-access-abcde") -> Raw:
    return {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}


def plugin(*accounts: Raw, mounts_tokens: bool = True) -> ServiceAccount:
    world = ObjectsWorld()
    for account in accounts:
        metadata = {"name": "default", "namespace": "ns", **account.get("metadata", {})}
        world.put_view(KINDS.SERVICE_ACCOUNT, convert_view({**account, "metadata": metadata}, Account))
    return ServiceAccount(world, mounts_tokens=mounts_tokens, new_suffix=lambda: "abcde")


def admitted(spec: Raw, tested: ServiceAccount, **metadata: Any) -> Raw:
    pod: Raw = {"metadata": {"name": "p", "namespace": "ns", **metadata}, "spec": spec}
    tested.admit(KINDS.POD, pod, None)
    return pod["spec"]  # type: ignore[no-any-return]


def refusal(spec: Raw, tested: ServiceAccount, **metadata: Any) -> str:
    with pytest.raises(Forbidden) as caught:
        admitted(spec, tested, **metadata)
    return str(caught.value)


def test_every_container_mounts_the_token() -> None:
    spec = admitted({"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]}, plugin({}))
    assert spec["volumes"] == [VOLUME]
    mounts = [container["volumeMounts"] for group in ("initContainers", "containers") for container in spec[group]]
    assert mounts == [[mount()]] * 3
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")


def test_a_mount_at_the_same_path_and_a_volume_of_that_name_stay() -> None:
    own = {"name": "mine", "mountPath": TOKEN_PATH}
    spec = admitted({"containers": [{"name": "a", "volumeMounts": [own]}]}, plugin({}))
    assert (spec["containers"][0]["volumeMounts"], "volumes" in spec) == ([own], False)
    volume: Raw = {"name": "kube-api-access-mine", "emptyDir": {}}
    spec = admitted({"containers": [{"name": "a"}], "volumes": [volume]}, plugin({}))
    assert spec["volumes"] == [volume]
    assert spec["containers"][0]["volumeMounts"] == [mount("kube-api-access-mine")]


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounts"),
    [
        (None, None, True),
        (None, False, False),
        (None, True, True),
        (True, False, True),
        (False, True, False),
        (False, None, False),
    ],
)
def test_the_pods_wish_comes_before_the_accounts(of_pod: bool | None, of_account: bool | None, mounts: bool) -> None:
    spec: Raw = {"containers": [{"name": "a"}]}
    if of_pod is not None:
        spec["automountServiceAccountToken"] = of_pod
    account = {} if of_account is None else {"automountServiceAccountToken": of_account}
    assert ("volumes" in admitted(spec, plugin(account))) is mounts


def test_without_tokens_pods_stay_as_they_are() -> None:
    assert "volumes" not in admitted({"containers": [{"name": "a"}]}, plugin({}, mounts_tokens=False))


def test_a_missing_account_is_refused_but_for_the_default_one_that_is_to_come() -> None:
    assert refusal({"serviceAccountName": "x", "containers": []}, plugin({})) == (
        'error looking up service account ns/x: serviceaccount "x" not found'
    )
    assert admitted({"containers": [{"name": "a"}]}, plugin())["volumes"] == [VOLUME]
    assert admitted({"serviceAccountName": "x", "containers": []}, plugin(mounts_tokens=False))


def test_pull_secrets_come_from_the_account_unless_the_pod_has_some() -> None:
    account = plugin({"imagePullSecrets": [{"name": "s"}]})
    assert admitted({"containers": []}, account)["imagePullSecrets"] == [{"name": "s"}]
    own = [{"name": "own"}]
    assert admitted({"containers": [], "imagePullSecrets": own}, account)["imagePullSecrets"] == own


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "a mirror pod may not reference secrets"),
        ({"imagePullSecrets": [{"name": "s"}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
def test_mirror_pods(spec: Raw, why: str) -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    assert refusal({"containers": [{"name": "c"}], **spec}, plugin({}), **mirror) == why
    untouched = admitted({"containers": [{"name": "c"}]}, plugin({}), **mirror)
    assert untouched == {"containers": [{"name": "c"}]}


def _key(name: str) -> Raw:
    return {"name": "V", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}


_NOT_LISTED = "is not allowed because service account default does not reference that"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "x"}}]},
            f'volume with secret.secretName="x" {_NOT_LISTED} secret',
        ),
        (
            {"initContainers": [{"name": "i", "env": [_key("s"), _key("x")]}]},
            f'init container i with envVar V referencing secret.secretName="x" {_NOT_LISTED} secret',
        ),
        (
            {"containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "x"}}]}]},
            f'container c with envFrom referencing secret.secretName="x" {_NOT_LISTED} secret',
        ),
        (
            {"imagePullSecrets": [{"name": "p"}, {"name": "x"}]},
            f'imagePullSecrets[1].name="x" {_NOT_LISTED} imagePullSecret',
        ),
    ],
)
def test_an_account_may_limit_the_secrets_of_its_pods(spec: Raw, why: str) -> None:
    lists: Raw = {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}]}
    assert refusal({"containers": [], **spec}, plugin({**lists, "metadata": _LIMITS})) == why
    assert admitted({"containers": [], **spec}, plugin(lists))


def test_ephemeral_containers_are_limited_too() -> None:
    pod: Raw = {"metadata": {"namespace": "ns"}, "spec": {"ephemeralContainers": [{"name": "d", "env": [_key("x")]}]}}
    plugin({}).attach(pod)
    with pytest.raises(Forbidden) as caught:
        plugin({"metadata": _LIMITS}).attach(pod)
    assert str(caught.value) == (
        f'ephemeral container d with envVar V referencing secret.secretName="x" {_NOT_LISTED} secret'
    )
