"""`moorage attach controller`: its options, and the process that they make."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from moorage.attached.controller.process import AttachControllerProcess
from moorage.cli.main import moorage
from moorage.cli.options import ProcessMaker
from moorage.cluster.components import Process

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "c", "user": {"token": "secret"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
}
Call = Callable[..., AttachControllerProcess]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Return a function that calls the command, and returns the process that it would run."""
    path = tmp_path / "kubeconfig.yaml"
    path.write_text(yaml.safe_dump(KUBECONFIG))
    caught: list[AttachControllerProcess] = []

    def catch(maker: ProcessMaker, make: Callable[[Process], AttachControllerProcess]) -> None:
        async def build() -> None:
            caught.append(make(maker.make()))
            await caught[-1].client.close()

        asyncio.run(build())

    monkeypatch.setattr("moorage.cli.commands.attach.controller.run_component", catch)

    def call(*options: str) -> AttachControllerProcess:
        done = CliRunner().invoke(moorage, ["attach", "controller", "--kubeconfig", str(path), *options])
        assert done.exit_code == 0, done.output
        return caught[-1]

    return call


def test_the_lease_is_in_the_namespace_of_the_installation(made: Call) -> None:
    assert made().process.lease == ("moorage-system", "moorage-attach-controller")
    assert made().process.component == "moorage-attach-controller"
    assert made("--namespace", "here").process.lease == ("here", "moorage-attach-controller")
    elsewhere = made("--namespace", "here", "--leader-elect-resource-namespace", "there")
    assert elsewhere.process.lease == ("there", "moorage-attach-controller")
