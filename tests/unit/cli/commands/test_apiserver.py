"""What an API server is told when it is started: whether deletions wait for a collector, where to keep its things."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage.cli.commands.up import apiserver as command
from moorage.cluster.api_server import ApiServerSettings, start_api_server
from moorage.cluster.cannot_start import CannotStart
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.loopback import LoopbackClient

_MAP = KINDS["v1", "ConfigMap"]


@pytest.mark.parametrize("collects", [True, False])
def test_a_deletion_in_the_foreground_waits_only_if_somebody_ends_it(collects: bool) -> None:
    async def main() -> list[str]:
        server = await start_api_server(ApiServerSettings(default_gates(), None, collects_garbage=collects))
        try:
            client = LoopbackClient(server.api)
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
            await client.create(_MAP, document, "default")
            await client.delete(_MAP, "one", "default", propagation="Foreground")
            return [item.name for item in (await client.list_all(_MAP, "default")).items]
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
