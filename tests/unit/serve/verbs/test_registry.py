"""A verb runs to its end in one step where nothing has to be waited for."""

import asyncio

import pytest

from moorage.model.api_error import ApiError, not_found
from moorage.model.kinds import KINDS
from moorage.serve.verbs.registry import at_once


async def test_a_verb_that_waits_is_an_error_in_a_simulation() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits, though nothing can happen meanwhile"):
        at_once(waits())


def test_a_verb_that_does_not_wait_returns_its_result_or_raises_its_refusal() -> None:
    async def answers(name: str) -> str:
        if not name:
            raise not_found(KINDS.POD, "web")
        return name

    assert at_once(answers("web")) == "web"
    with pytest.raises(ApiError, match='pods "web" not found'):
        at_once(answers(""))
