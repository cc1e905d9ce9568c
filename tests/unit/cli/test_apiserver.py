"""Whether deletions wait for a garbage collector is said when the API server is started."""

import asyncio

import pytest
from click.testing import CliRunner

from moorage.cli.api_server import ApiServerSettings, start_api_server
from moorage.cli.apiserver import command
from moorage.client.in_process import InProcessClient
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS

_MAP = KINDS["v1", "ConfigMap"]


@pytest.mark.parametrize("collects", [True, False])
def test_a_deletion_in_the_foreground_waits_only_if_somebody_ends_it(collects: bool) -> None:
    async def main() -> list[str]:
        server = await start_api_server(ApiServerSettings(default_gates(), None, collects_garbage=collects))
        try:
            client = InProcessClient(server.api)
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
