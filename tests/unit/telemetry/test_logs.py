import asyncio
import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from moorage.telemetry.logs import ComponentLogger, configure, get_logger, log_loop_error

pytestmark = pytest.mark.real_time

LOG = get_logger("scheduler")


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    root = logging.getLogger("moorage")
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def said(log_format: str, verbosity: int = 0) -> io.StringIO:
    stream = io.StringIO()
    configure(verbosity=verbosity, log_format=log_format, stream=stream, clock=lambda: 1_700_000_000.25)
    return stream


def test_text_is_as_klog_writes_it() -> None:
    stream = said("text")
    LOG.info("Bound", pod="default/web-0", node="n1", tries=2, first=True, score=0.5, gone=None)
    line = stream.getvalue()
    assert re.fullmatch(
        r'I\d{4} \d\d:\d\d:\d\d\.250000 +\d+ test_logs\.py:\d+\] "Bound" component="scheduler" '
        r'pod="default/web-0" node="n1" tries=2 first=true score=0.5 gone=None\n',
        line,
    )


def test_log_values_cannot_forge_lines() -> None:
    stream = said("text")
    LOG.error('a\nE1116 "forged"', key="x\ny", value=["a\nb"])
    assert stream.getvalue().count("\n") == 1
    assert r'"a\nE1116 \"forged\""' in stream.getvalue()


def test_json_has_a_line_for_each_message() -> None:
    stream = said("json", verbosity=4)
    LOG.info("Bound", pod="default/web-0", odd=ComponentLogger)
    LOG.debug(4, "Considered", nodes=3)
    LOG.warning("Late")
    LOG.error("Failed", err="why")
    first, second, third, fourth = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first == {
        "ts": 1_700_000_000_250.0,
        "caller": first["caller"],
        "msg": "Bound",
        "v": 0,
        "component": "scheduler",
        "pod": "default/web-0",
        "odd": str(ComponentLogger),
    }
    assert first["caller"].startswith("test_logs.py:")
    assert (second["v"], second["nodes"]) == (4, 3)
    assert third["severity"] == "warning"
    assert (fourth["err"], "v" in fourth) == ("why", False)


def test_levels_above_the_verbosity_say_nothing() -> None:
    stream = said("text", verbosity=2)
    LOG.debug(3, "unheard")
    LOG.debug(2, "heard")
    assert (LOG.enabled(2), LOG.enabled(3)) == (True, False)
    assert "unheard" not in stream.getvalue()
    assert '"heard"' in stream.getvalue()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_an_exception_comes_with_its_traceback(log_format: str) -> None:
    stream = said(log_format)
    try:
        raise KeyError("lost")
    except KeyError:
        LOG.exception("Failed", pod="p")
    assert "Traceback (most recent call last)" in stream.getvalue()
    assert "KeyError('lost')" in stream.getvalue()
    assert all(line.startswith(("E", "\t", "{")) for line in stream.getvalue().splitlines())


async def test_what_nobody_awaits_is_logged() -> None:
    stream = said("text")
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_loop_error)
    loop.call_soon(lambda: 1 // 0)
    loop.call_exception_handler({"message": "odd"})
    await asyncio.sleep(0)
    odd, failed = stream.getvalue().splitlines()[:2]
    assert '"odd" component="loop"' in odd
    assert "ZeroDivisionError" in failed
    assert "Traceback" in stream.getvalue()


def test_logging_to_a_closed_stream_does_not_fail() -> None:
    stream = said("text")
    stream.close()
    LOG.info("to nobody")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nothing_is_too_odd_to_be_logged(log_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("moorage"), "propagate", False)  # pytest's own report could not hold it
    stream = said(log_format)
    LOG.info("half \ud800", half="\ud800", large=2**200, keys={(1, 2): object()}, infinite=float("inf"))
    assert stream.getvalue().count("\n") == 1
    assert "half ?" in stream.getvalue()


def test_other_loggers_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(logging.getLogger().handlers)
    configure()
    LOG.info("on standard error")
    assert logging.getLogger().handlers == before
    assert '"on standard error"' in capsys.readouterr().err


def test_only_two_formats_are_known() -> None:
    with pytest.raises(ValueError, match="unknown log format 'xml': expected text or json"):
        configure(log_format="xml")


def test_standard_error_is_looked_up_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    configure()
    later = io.StringIO()
    monkeypatch.setattr(sys, "stderr", later)
    LOG.warning("here")
    assert later.getvalue().startswith("W")


def test_an_embedding_program_captures_messages(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "moorage"):
        LOG.debug(2, "Considered", nodes=3)
        LOG.info("Bound", name="web-0", msg="kept apart from what the record says itself")
        try:
            raise KeyError("lost")
        except KeyError:
            LOG.exception("Failed")
    considered, bound, failed = caplog.records
    assert (considered.name, considered.levelno, considered.getMessage()) == ("moorage.scheduler", 18, "Considered")
    assert considered.__dict__["fields"] == {"nodes": 3}
    assert (bound.filename, bound.__dict__["fields"]["name"]) == ("test_logs.py", "web-0")
    assert failed.exc_info is not None
    assert isinstance(failed.exc_info[1], KeyError)


def test_the_library_logs_nothing_by_default() -> None:
    program = (
        "import logging; from moorage.telemetry.logs import get_logger\n"
        "get_logger('client').error('unheard')\n"
        "assert [type(one) for one in logging.getLogger('moorage').handlers] == [logging.NullHandler]\n"
        "assert not logging.getLogger().handlers and logging.getLogger('moorage').level == logging.NOTSET\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_an_embedding_program_silences_one_component() -> None:
    stream = said("text", verbosity=4)
    logger = logging.getLogger("moorage.scheduler")
    try:
        logger.setLevel(logging.ERROR)
        LOG.warning("unheard")
        get_logger("client").warning("heard")
    finally:
        logger.setLevel(logging.NOTSET)
    assert stream.getvalue().count("\n") == 1
    assert '"heard"' in stream.getvalue()
