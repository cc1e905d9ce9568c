"""The worked examples in the docstrings of the protocols run as they stand there."""

import ast
import textwrap
from contextlib import suppress
from types import ModuleType
from typing import Any

from tests.virtual_cluster import VirtualCluster

import moorage.client.protocol
import moorage.store.protocol
from moorage.client.protocol import EventType
from moorage.model.kinds import KINDS
from moorage.store.memory import MemoryStore
from moorage.store.protocol import RevisionMismatch


async def _run_example(module: ModuleType, names: dict[str, Any]) -> None:
    """Run the indented lines of a module's docstring."""
    lines = [line for line in (module.__doc__ or "").splitlines() if line.startswith("    ") or not line]
    text = textwrap.dedent("\n".join(lines)).strip()
    assert "await" in text
    code = compile(text, module.__name__, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, names)


async def test_the_example_of_the_store_protocol_runs() -> None:
    names = {"MemoryStore": MemoryStore, "RevisionMismatch": RevisionMismatch, "suppress": suppress}
    await _run_example(moorage.store.protocol, names)


async def test_the_example_of_the_client_protocol_runs() -> None:
    async with VirtualCluster.running(list) as cluster:
        names = {"client": cluster.client, "KINDS": KINDS, "EventType": EventType}
        await _run_example(moorage.client.protocol, names)
