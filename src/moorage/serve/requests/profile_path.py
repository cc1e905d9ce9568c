"""Answer `/debug/pprof/profile` with a CPU profile of the process.

`?seconds=N` (30, at most 300) and `?format=speedscope` for JSON; one profile at a time. Kubernetes: routes.Profiling.
"""

import asyncio
from collections.abc import AsyncIterator

from moorage.model.api_error import ApiError, bad_request, failure, no_such_path
from moorage.serve.http.messages import Request, Response, Stream
from moorage.telemetry.profiling import Busy, CpuProfile, Profiler, to_pprof, to_speedscope

PREFIX = "/debug/pprof"
_PATH = "/debug/pprof/profile"
_DEFAULT_SECONDS, _MAX_SECONDS = 30.0, 300.0
_INDEX = b"/debug/pprof/\n\nprofile: CPU profile; seconds=N and format=pprof or format=speedscope are parameters\n"
_PROFILER = Profiler()


def answer_profile(request: Request, profiler: Profiler = _PROFILER) -> Response | Stream:
    """Begin a profile; the answer's body comes when it is done. Raises ApiError."""
    path = request.path.rstrip("/")
    if path == PREFIX:
        return Response(200, _INDEX, "text/plain; charset=utf-8")
    if path != _PATH:
        raise no_such_path()
    seconds, form = _seconds(request.query.get("seconds")), request.query.get("format") or "pprof"
    if form not in ("pprof", "speedscope"):
        raise bad_request(f"format {form!r} is unknown: write pprof or speedscope")
    try:
        taken = profiler.start(seconds)
    except Busy:
        raise _in_use() from None
    if form == "speedscope":
        return Stream(_body(taken, is_json=True), "application/json")
    named = ("Content-Disposition", 'attachment; filename="profile"')
    return Stream(_body(taken, is_json=False), "application/octet-stream", (named,))


def _seconds(text: str) -> float:
    try:
        seconds = float(text or _DEFAULT_SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= _MAX_SECONDS:
        raise bad_request(f"seconds must be a number above 0 and not above {_MAX_SECONDS:.0f}")
    return seconds


def _in_use() -> ApiError:
    why = "Could not enable CPU profiling: cpu profiling already in use; wait until the other profile is done"
    return failure(409, "Conflict", why)


async def _body(taken: "asyncio.Future[CpuProfile]", *, is_json: bool) -> AsyncIterator[bytes]:
    try:
        profile = await taken
        yield await asyncio.to_thread(to_speedscope if is_json else to_pprof, profile)
    finally:
        taken.cancel()
