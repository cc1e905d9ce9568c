"""Answer what is below `/api`: state, changes, history, questions, actions, and pages of one node or pod."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from moorage.dashboard.actions import ActionError, act
from moorage.dashboard.gates import gates_document
from moorage.dashboard.http.application import JSON_HEADERS, Answer, Routes, as_json, body_of, json_lines
from moorage.dashboard.http.coalescing import Coalescer
from moorage.dashboard.http.sessions import session_in
from moorage.dashboard.questions import QUESTIONS
from moorage.dashboard.source import ClusterSource, DashboardSettings
from moorage.dashboard.state.board import Board, state_document
from moorage.dashboard.state.history import NotKept
from moorage.dashboard.state.page_names import page_names
from moorage.dashboard.state.readings import readings
from moorage.model.api_error import bad_request, failure
from moorage.serve.http.messages import Request, Response, Stream
from moorage.watch.session import CannotWatch

_MAX_STEPS = 50


class StateRoutes:
    """What there is and was: the snapshot, the stream of changes, moments of the past, one node, one pod."""

    def __init__(self, source: ClusterSource, settings: DashboardSettings) -> None:
        self._source, self._wanted_gates = source, settings.feature_gates
        live = settings.kubeconfig is not None
        allowed = {"allowed": live and settings.allow_changes, "dryRun": live}
        self._extra = {"changes": allowed, "names": page_names(), "command": settings.command}

    def add_to(self, routes: Routes) -> None:
        routes.add("GET", "/api/state", self._state)
        routes.add("GET", "/api/changes", self._changes)
        routes.add("GET", "/api/history", self._history)
        routes.add("GET", "/api/history/*", self._moment)
        routes.add("GET", "/api/history/*/steps", self._steps)
        routes.add("GET", "/api/earlier", self._earlier)
        routes.add("GET", "/api/gates", self._gates)
        routes.add("GET", "/api/node/*", self._node)
        routes.add("GET", "/api/pod/*/*", self._pod)
        routes.add("POST", "/api/readings", self._readings)

    @property
    def _board(self) -> Board:
        return self._source.board

    async def _state(self, request: Request, _: tuple[str, ...]) -> Answer:
        return Response(200, self._board.snapshot(self._extra), "application/json", JSON_HEADERS)

    async def _changes(self, request: Request, _: tuple[str, ...]) -> Answer:
        after = _number(request.headers.get("last-event-id") or request.query.get("after", "0"), "after")
        return Stream(self._board.follow(after), "text/event-stream", JSON_HEADERS)

    async def _history(self, request: Request, _: tuple[str, ...]) -> Answer:
        return as_json(self._board.history.document())

    async def _moment(self, request: Request, values: tuple[str, ...]) -> Answer:
        board, seq = self._board, _number(values[0], "moment")
        try:
            go_back, when = board.history.going_back(seq, board.rows), board.history.time_of(seq)
        except NotKept as error:
            raise failure(404, "NotFound", str(error)) from None
        extra = {"source": msgspec.structs.replace(board.source, time=when), **self._extra}
        # Of a large cluster with a long history this takes a while: others must not wait for it.
        return await asyncio.to_thread(lambda: as_json({**state_document(go_back(), seq, []), **extra}))

    async def _steps(self, request: Request, values: tuple[str, ...]) -> Answer:
        """Answer with the changes after a moment, or with `back` those that led to it, the last one first.

        Each has rows before and after it, so that a page can go both ways.
        """
        history, seq = self._board.history, _number(values[0], "moment")
        try:
            back = "back" in request.query
            steps = history.steps_back(upto=seq, most=_MAX_STEPS) if back else history.steps(after=seq, most=_MAX_STEPS)
        except NotKept as error:
            raise failure(404, "NotFound", str(error)) from None
        return as_json({"steps": steps})

    async def _earlier(self, request: Request, _: tuple[str, ...]) -> Answer:
        return as_json(await self._source.earlier())

    async def _gates(self, request: Request, _: tuple[str, ...]) -> Answer:
        live = await self._source.gates()
        return as_json(gates_document(live, self._wanted_gates, await self._source.keps()))

    async def _node(self, request: Request, values: tuple[str, ...]) -> Answer:
        document = await self._source.node(values[0])
        if document is None:
            raise failure(404, "NotFound", f"there is no node {values[0]!r}")
        return as_json(document)

    async def _pod(self, request: Request, values: tuple[str, ...]) -> Answer:
        key = "/".join(values)
        document = await self._source.pod(key)
        if document is None:
            raise failure(404, "NotFound", f"there is no pod {key!r}")
        return as_json(document)

    async def _readings(self, request: Request, _: tuple[str, ...]) -> Answer:
        texts = body_of(request).get("texts")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise bad_request("texts: must be a list of texts")
        return as_json(readings(texts))


class AskRoute:
    """Questions to the simulator. The last part says which state of the cluster it was asked of."""

    def __init__(self, source: ClusterSource, coalescer: Coalescer, port: int) -> None:
        self._source, self._coalescer, self._port = source, coalescer, port

    def add_to(self, routes: Routes) -> None:
        routes.add("POST", "/api/ask/*", self._ask)

    async def _ask(self, request: Request, values: tuple[str, ...]) -> Answer:
        question = values[0]
        if question not in QUESTIONS:
            raise failure(404, "NotFound", f"there is no question {question!r}; there are {', '.join(QUESTIONS)}")
        arguments = body_of(request)
        return json_lines(self._parts(question, arguments, session_in(request.headers.get("cookie", ""), self._port)))

    async def _parts(self, question: str, arguments: dict[str, Any], session: str) -> AsyncIterator[dict[str, Any]]:
        await self._source.refresh()
        generation = self._source.simulator.generation
        about = {"asked": {"seq": generation.seq, "time": generation.made}}
        parts = self._coalescer.ask(question, arguments, session=session)
        try:
            async for part in parts:
                yield {**part, **about} if part.get("done") else part
        finally:
            await parts.aclose()


class ActRoute:
    """Actions: try or make a change, or ask for the rights to."""

    def __init__(self, source: ClusterSource) -> None:
        self._source = source

    def add_to(self, routes: Routes) -> None:
        routes.add("POST", "/api/act/*", self._act)

    async def _act(self, request: Request, values: tuple[str, ...]) -> Answer:
        body = body_of(request)
        try:
            return as_json(await act(values[0], body, await self._source.actions()))
        except ActionError as error:
            return as_json({"error": error.message}, error.code)
        except CannotWatch as error:
            return as_json({"error": str(error)}, 503)


def _number(text: str, name: str) -> int:
    """Raises ApiError."""
    if not text.isdecimal() or len(text) > 15:
        raise bad_request(f"{name}: {text!r} is not a number")
    return int(text)
