"""What an API server is told when it is started: whether deletions wait for a collector, where to keep its things."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric import ec

from moorage.cli.commands.processes.apiserver import apiserver as command
from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings, start_api_server
from moorage.cluster.cannot_start import CannotStart
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.tokens.keys import SigningKey


@pytest.mark.parametrize("collects", [True, False])
def test_a_deletion_in_the_foreground_waits_only_if_somebody_ends_it(collects: bool) -> None:
    async def main() -> list[str]:
        server = await start_api_server(ApiServerSettings(default_gates(), None, collects_garbage=collects))
        try:
            client = LoopbackClient(server.api)
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
            await client.create(KINDS.CONFIG_MAP, document, "default")
            await client.delete(KINDS.CONFIG_MAP, "one", "default", propagation="Foreground")
            return [item.name for item in (await client.list_all(KINDS.CONFIG_MAP, "default")).items]
        finally:
            await server.stop()

    assert asyncio.run(main()) == (["one"] if collects else [])


def test_the_option_is_a_value_as_that_of_kubernetes_is() -> None:
    said = CliRunner().invoke(command, ["--enable-garbage-collector=perhaps"])
    assert said.exit_code == 2
    assert "'perhaps' is not a valid boolean" in said.output
    assert "--enable-garbage-collector" in CliRunner().invoke(command, ["--help"]).output


def test_certificates_that_cannot_be_kept_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "pki").write_text("")
    with pytest.raises(CannotStart) as caught:
        asyncio.run(start_api_server(ApiServerSettings(default_gates(), tmp_path)))
    assert str(caught.value) == f"certificates cannot be made: {tmp_path}/pki/ca.crt: Not a directory"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--service-account-issuer=a", "--service-account-issuer=a"], "must not be empty nor given twice"),
        (["--service-account-max-token-expiration=59m"], "must be between 1 hour and 2^32 seconds"),
        (["--service-account-signing-key-file=absent.key"], "does not exist"),
        (["--authorization-mode=Webhook", "--ephemeral"], "Webhook"),
        (["--etcd-servers=10.0.0.1:2379"], "is no URL such as https://10.0.0.1:2379"),
        (["--etcd-cafile=ca.crt"], "The options of etcd need --etcd-servers."),
        (["--etcd-prefix=/other"], "The options of etcd need --etcd-servers."),
        (["--etcd-servers="], "names no server"),
        (["--etcd-servers", ","], "names no server"),
        (["--etcd-servers=http://root:secret@a:1"], "the URL of a has a user: say it with --etcd-username"),
        (["--etcd-compaction-interval=often"], 'invalid duration "often"'),
        (["--storage-backend=etcd2"], "'etcd2' is not possible, 'etcd3' is"),
        (["--storage-media-type=application/vnd.kubernetes.protobuf"], "'application/json' is: the only form"),
        (["--watch-cache=false"], "'false' is not possible, 'true' is: every API server has all objects in memory"),
        (["--etcd-servers-overrides=/events#http://a:1"], "--etcd-servers-overrides of kube-apiserver is not possible"),
        (["--encryption-provider-config=e.yaml"], "objects are kept as plain JSON"),
        (["--advertise-address=localhost"], "'localhost' is not an IP address"),
        (["--event-ttl=0s"], "must be at least one second"),
        ([f"--tls-cert-file={__file__}"], "belong together"),
        (
            [f"--tls-cert-file={__file__}", f"--tls-private-key-file={__file__}", f"--client-ca-file={__file__}"],
            "is not a certificate in PEM",
        ),
        (["--ephemeral", f"--client-ca-file={__file__}"], "has no certificates in PEM"),
    ],
)
def test_options_of_tokens_and_authorization_that_are_wrong_are_named(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    result = CliRunner().invoke(command, options)
    assert result.exit_code in (1, 2)
    assert said in result.output


def test_storage_flags_match_kube_apiserver(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[ApiServerSettings] = []
    monkeypatch.setattr(
        "moorage.cluster.event_loop.run_until_signal", lambda make, *others: told.append(make().settings)
    )
    options = ["--etcd-servers=http://a:1,http://b:2", "--etcd-prefix=registry", "--storage-backend=etcd3"]
    options += ["--storage-media-type=application/json", "--watch-cache=true", "--etcd-compaction-interval=90s"]
    result = CliRunner().invoke(command, [*options, "--lease-reuse-duration-seconds=7", "--ephemeral", "--port=0"])
    assert result.exit_code == 0, result.output
    etcd = told[0].etcd
    assert etcd is not None
    assert (etcd.servers, etcd.compaction_seconds, etcd.lease_reuse_seconds) == (("http://a:1", "http://b:2"), 90, 7)


def test_tokens_are_signed_as_the_options_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = tmp_path / "sa.key"
    made = SigningKey(ec.generate_private_key(ec.SECP256R1()))
    key.write_bytes(made.private_pem)
    told: list[ApiServerSettings] = []

    def run(make: Callable[[], ApiServerProcess], *others: object) -> None:
        told.append(make().settings)

    monkeypatch.setattr("moorage.cluster.event_loop.run_until_signal", run)
    options = [f"--service-account-signing-key-file={key}", "--service-account-issuer=https://new.example"]
    options += ["--service-account-issuer=https://old.example", "--api-audiences=a,b", "--ephemeral", "--port=0"]
    result = CliRunner().invoke(command, [*options, f"--service-account-key-file={key}"])
    assert result.exit_code == 0, result.output
    (settings,) = told
    assert settings.tokens.issuers == ("https://new.example", "https://old.example")
    assert settings.tokens.api_audiences == ("a", "b")

    async def main() -> list[str]:
        server = await start_api_server(settings)
        try:
            return [public.key_id for public in server.api.tokens.keys.public]
        finally:
            await server.stop()

    assert asyncio.run(main()) == [made.public.key_id]
