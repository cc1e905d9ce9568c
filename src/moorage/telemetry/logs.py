"""Messages for operators, with their facts as keys and values: klog's text or a line of JSON, on standard error.

In: `get_logger("scheduler").info("Bound", pod="default/web-0", node="n1")`. Out: one line,
`I1116 04:33:22.123456    4242 binder.py:123] "Bound" component="scheduler" pod="default/web-0" node="n1"`. What `-v`
does not ask for costs a comparison; Python's own logging is left alone, and libraries log as they please. Kubernetes:
klog and component-base/logs, whose JSON has the same names.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

if TYPE_CHECKING:
    import asyncio


class _Settings:
    """How all loggers of the process write: set once, at start, by whoever runs the component."""

    __slots__ = ("clock", "json", "pid", "stream", "verbosity")

    def __init__(self) -> None:
        self.verbosity = 0
        self.json = False
        self.stream: TextIO | None = None
        self.clock: Callable[[], float] = time.time
        self.pid = os.getpid()


_settings = _Settings()


def configure(
    *,
    verbosity: int = 0,
    log_format: str = "text",
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.time,
) -> None:
    """Decide for the process: `-v` and `--log-format`. Without a stream, standard error as it is at the time."""
    if log_format not in ("text", "json"):
        raise ValueError(f"unknown log format {log_format!r}: expected text or json")
    _settings.verbosity = verbosity
    _settings.json = log_format == "json"
    _settings.stream = stream
    _settings.clock = clock
    _settings.pid = os.getpid()


class Logger:
    """One component's voice. `debug(level, …)` speaks when `-v` is at least that level."""

    __slots__ = ("component",)

    def __init__(self, component: str) -> None:
        self.component = component

    def enabled(self, level: int) -> bool:
        """Whether `debug` at this level says anything: ask before computing what it should say."""
        return level <= _settings.verbosity

    def debug(self, level: int, message: str, /, **kind: Any) -> None:
        if level <= _settings.verbosity:
            self._write("I", level, message, kind)

    def info(self, message: str, /, **kind: Any) -> None:
        self._write("I", 0, message, kind)

    def warning(self, message: str, /, **kind: Any) -> None:
        self._write("W", 0, message, kind)

    def error(self, message: str, /, **kind: Any) -> None:
        self._write("E", 0, message, kind)

    def exception(self, message: str, /, **kind: Any) -> None:
        """An error with the traceback of the exception that is being handled: the log is the only place for those."""
        kind["err"] = repr(sys.exc_info()[1])
        kind["stacktrace"] = traceback.format_exc()
        self._write("E", 0, message, kind)

    def _write(self, severity: str, level: int, message: str, kind: dict[str, Any]) -> None:
        frame = sys._getframe(2)
        where = f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        render = _render_json if _settings.json else _render_text
        line = render(severity, level, where, self.component, message, kind)
        stream = _settings.stream or sys.stderr
        try:
            stream.write(line)
            stream.flush()
        except (OSError, ValueError):
            return  # nobody listens any more; that must not stop the component


def log_loop_error(loop: "asyncio.AbstractEventLoop", context: dict[str, Any]) -> None:
    """For `loop.set_exception_handler`: what nobody awaits is logged in our format, not printed by asyncio."""
    error = context.get("exception")
    kind: dict[str, Any] = {}
    if isinstance(error, BaseException):
        kind["err"] = repr(error)
        kind["stacktrace"] = "".join(traceback.format_exception(error))
    get_logger("loop").error(str(context.get("message", "")), **kind)


def get_logger(component: str) -> Logger:
    return Logger(component)


def _render_text(severity: str, level: int, where: str, component: str, message: str, kind: dict[str, Any]) -> str:
    now = _settings.clock()
    at = time.strftime("%m%d %H:%M:%S", time.localtime(now))
    micros = int(now % 1 * 1_000_000)
    said = "".join(f" {name}={_quote(value)}" for name, value in kind.items() if name != "stacktrace")
    trace = kind.get("stacktrace", "")
    more = "".join(f"\n\t{line}" for line in str(trace).splitlines())
    head = f"{severity}{at}.{micros:06d} {_settings.pid:7d} {where}]"
    return f"{head} {_quote(message)} component={_quote(component)}{said}{more}\n"


def _render_json(severity: str, level: int, where: str, component: str, message: str, kind: dict[str, Any]) -> str:
    entry: dict[str, Any] = {"ts": round(_settings.clock() * 1000, 3), "caller": where, "msg": message}
    if severity in "IW":
        entry["v"] = level
    if severity == "W":
        entry["severity"] = "warning"
    entry["component"] = component
    try:
        return msgspec.json.encode(entry | kind, enc_hook=str).decode() + "\n"
    except (TypeError, ValueError, OverflowError, RecursionError):  # what JSON cannot hold is still worth a message
        plain = {name: _encodable(repr(value)) for name, value in kind.items()}
        return msgspec.json.encode(entry | plain | {"msg": _encodable(message)}).decode() + "\n"


def _quote(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float):
        return str(value) if not isinstance(value, bool) else str(value).lower()
    return msgspec.json.encode(_encodable(value if isinstance(value, str) else str(value))).decode()


def _encodable(text: str) -> str:
    """Half a character, which a client can send in JSON, is a question mark."""
    return text.encode("utf-8", "replace").decode()
