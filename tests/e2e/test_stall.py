"""Hostile and heavy loads against a real `moorage up`, small: everything is answered, and nothing is lost."""

import asyncio

import pytest
from bench.stall.__main__ import drive

pytestmark = [pytest.mark.slow, pytest.mark.real_time]

#: Loads, and some of their answers: what is refused, and what is done.
ANSWERS: dict[str, dict[str, int]] = {
    "large JSON bodies": {"empty containers 413": 2, "deep 400": 2, "env 201": 1, "config map 201": 1},
    "protobuf bombs": {"protobuf containers 400": 1},
    "gzip bomb": {"400": 1},
    "patches and apply": {"patch of 10,001 operations 413": 1, "patch of copies 422": 1, "apply 20,000 keys 200": 7},
    "50,000 creates": {"201": 1_000},
    "10 tables": {},
}


def test_every_load_is_answered_and_every_probe_too() -> None:
    outcomes = asyncio.run(drive(list(ANSWERS), 0.02))
    assert [outcome.name for outcome in outcomes] == list(ANSWERS)
    for outcome in outcomes:
        assert outcome.failed == 0, outcome
        for answer, count in ANSWERS[outcome.name].items():
            assert outcome.answers.get(answer) == count, outcome
