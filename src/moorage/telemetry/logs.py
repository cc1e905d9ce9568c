"""Write structured log messages through the standard `logging` module, as klog's text or as JSON.

`get_logger("scheduler").info("Bound", pod="default/web-0", node="n1")` goes to the logger `moorage.scheduler`; the
record has the keys and values as `record.fields`. Verbosity n (`-v`) is the level INFO - n. As a library this installs
a NullHandler only; the commands call `configure`, which writes to standard error:
`I1116 04:33:22.123456    4242 binder.py:123] "Bound" component="scheduler" pod="default/web-0" node="n1"`.
Kubernetes: klog and component-base/logs, whose JSON has the same names.
"""

import logging
import sys
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

if TYPE_CHECKING:
    import asyncio

_INFO = logging.INFO
_ROOT = logging.getLogger("moorage")
_ROOT.addHandler(logging.NullHandler())


def configure(
    *,
    verbosity: int | None = 0,
    log_format: str = "text",
    stream: TextIO | None = None,
    clock: Callable[[], float] | None = None,
) -> None:
    """Write the messages of the process: `-v` and `--logging-format`. Without a stream, to standard error as it is.

    Without a verbosity, only warnings and errors are written, and after `fall_silent` only errors.
    """
    if log_format not in ("text", "json"):
        raise ValueError(f"unknown log format {log_format!r}: expected text or json")
    for handler in [known for known in _ROOT.handlers if isinstance(known, _StreamHandler)]:
        _ROOT.removeHandler(handler)
    handler = _StreamHandler(stream)
    handler.setFormatter((JsonFormatter if log_format == "json" else KlogFormatter)(clock))
    _ROOT.addHandler(handler)
    _ROOT.setLevel(logging.WARNING if verbosity is None else max(1, logging.INFO - verbosity))


def fall_silent() -> None:
    """Log nothing but errors from now on, unless a verbosity was asked for."""
    if _ROOT.level == logging.WARNING:
        _ROOT.setLevel(logging.ERROR)


class ComponentLogger:
    """One component's logger. `debug(n, …)` logs if the verbosity is at least n."""

    __slots__ = ("_is_enabled", "_logger")

    def __init__(self, component: str) -> None:
        self._logger = logging.getLogger(f"moorage.{component}")
        self._is_enabled = self._logger.isEnabledFor

    def enabled(self, level: int) -> bool:
        """Return whether `debug` at this level logs anything: ask before computing what to log."""
        return self._is_enabled(_INFO - level)

    def debug(self, level: int, message: str, /, **fields: Any) -> None:
        if self._is_enabled(_INFO - level):
            self._logger.log(_INFO - level, message, extra={"fields": fields}, stacklevel=2)

    def info(self, message: str, /, **fields: Any) -> None:
        self._logger.info(message, extra={"fields": fields}, stacklevel=2)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._logger.warning(message, extra={"fields": fields}, stacklevel=2)

    def error(self, message: str, /, **fields: Any) -> None:
        self._logger.error(message, extra={"fields": fields}, stacklevel=2)

    def exception(self, message: str, /, **fields: Any) -> None:
        """Log an error with the traceback of the exception that is being handled."""
        self._logger.error(message, exc_info=True, extra={"fields": fields}, stacklevel=2)


def get_logger(component: str) -> ComponentLogger:
    return ComponentLogger(component)


def log_loop_error(loop: "asyncio.AbstractEventLoop", context: dict[str, Any]) -> None:
    """Log an exception that nothing awaits: for `loop.set_exception_handler`."""
    error = context.get("exception")
    exc_info = error if isinstance(error, BaseException) else None
    logging.getLogger("moorage.loop").error(str(context.get("message", "")), exc_info=exc_info, extra={"fields": {}})


class _StreamHandler(logging.Handler):
    """Writes to a stream, by default standard error as it is at the time; ignores streams that are closed."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        stream = self._stream or sys.stderr
        try:
            stream.write(self.format(record))
            stream.flush()
        except (OSError, ValueError):
            return  # a reader that has gone must not stop the component


class _Formatter(logging.Formatter):
    """What both formats share. `clock` replaces the time of the records."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        super().__init__()
        self._clock = clock

    def _time(self, record: logging.LogRecord) -> float:
        return record.created if self._clock is None else self._clock()

    @staticmethod
    def _fields(record: logging.LogRecord) -> dict[str, Any]:
        fields: dict[str, Any] = getattr(record, "fields", {})
        if not record.exc_info:
            return fields
        error = record.exc_info[1]
        return {**fields, "err": repr(error), "stacktrace": "".join(traceback.format_exception(error))}

    @staticmethod
    def _component(record: logging.LogRecord) -> str:
        return record.name.removeprefix("moorage.")


class KlogFormatter(_Formatter):
    """Kubernetes' text format: a line, and indented lines for a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        now, fields = self._time(record), self._fields(record)
        severity = "I" if record.levelno <= logging.INFO else "W" if record.levelno == logging.WARNING else "E"
        at = time.strftime("%m%d %H:%M:%S", time.localtime(now))
        head = f"{severity}{at}.{int(now % 1 * 1_000_000):06d} {record.process or 0:7d}"
        pairs = "".join(f" {name}={_quote(value)}" for name, value in fields.items() if name != "stacktrace")
        more = "".join(f"\n\t{line}" for line in str(fields.get("stacktrace", "")).splitlines())
        message, component = _quote(record.getMessage()), _quote(self._component(record))
        return f"{head} {record.filename}:{record.lineno}] {message} component={component}{pairs}{more}\n"


class JsonFormatter(_Formatter):
    """Kubernetes' JSON format: one object per line."""

    def format(self, record: logging.LogRecord) -> str:
        message, fields = record.getMessage(), self._fields(record)
        entry: dict[str, Any] = {
            "ts": round(self._time(record) * 1000, 3),
            "caller": f"{record.filename}:{record.lineno}",
            "msg": message,
        }
        if record.levelno <= logging.WARNING:
            entry["v"] = max(0, logging.INFO - record.levelno)
        if record.levelno == logging.WARNING:
            entry["severity"] = "warning"
        entry["component"] = self._component(record)
        try:
            return msgspec.json.encode(entry | fields, enc_hook=str).decode() + "\n"
        except (TypeError, ValueError, OverflowError, RecursionError):  # values that JSON cannot hold
            plain = {name: _encodable(repr(value)) for name, value in fields.items()}
            return msgspec.json.encode(entry | plain | {"msg": _encodable(message)}).decode() + "\n"


def _quote(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return str(value) if not isinstance(value, bool) else str(value).lower()
    return msgspec.json.encode(_encodable(value if isinstance(value, str) else str(value))).decode()


def _encodable(text: str) -> str:
    """Replace lone surrogates, which a client can send in JSON, by question marks."""
    return text.encode("utf-8", "replace").decode()
