"""The benchmark of values that change, in small: what is kept is as much after an hour as after a quarter of one."""

from unittest.mock import patch

import pytest
from bench import changing_values
from bench.changing_values import ChangingCluster

from moorage.columns.codes import Codes


def entries(minutes: int) -> dict[str, int]:
    changing = ChangingCluster(40, 20, shapes_to_spare=10)
    most: dict[str, int] = {}
    for minute in range(minutes):
        result = changing.minute()
        assert result.bound > 0
        if minute >= minutes - 5:
            most = {name: max(count, most.get(name, 0)) for name, count in result.entries.items()}
    return most


def test_as_much_is_kept_after_an_hour_as_after_a_quarter_of_one() -> None:
    quarter, hour = entries(15), entries(60)
    assert {name: count for name, count in hour.items() if count > 1.2 * quarter[name] + 2} == {}
    assert hour["taint lists"] <= 42
    assert hour["shapes"] <= 2 * 80 + 10 + 20


def test_values_that_are_kept_are_noticed() -> None:
    with patch.object(Codes, "give_back", lambda codes, code: None):
        assert entries(10)["taint lists"] > 350


def test_the_command_prints_the_first_minutes_beside_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--nodes", "10", "--minutes", "2", "--pods", "5", "--warm-up", "0"]
    assert changing_values.main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["first", "1", "min", "last", "1", "min", "ratio"]
    assert [line.split("  ")[0] for line in printed[1:3]] == ["CPU s a minute", "MiB at the end"]
