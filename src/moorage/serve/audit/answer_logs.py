"""Let several logs know of each request that comes over HTTP: that of requests, and the audit."""

from moorage.serve.http.messages import AnswerLog, Request, Response, Stream


class AnswerLogs:
    """Several logs in the place of one. A request is timed if one of them is enabled."""

    def __init__(self, *logs: AnswerLog) -> None:
        self._logs = logs

    def enabled(self) -> bool:
        return any(log.enabled() for log in self._logs)

    def identify(self, request: Request, answer: Response | Stream) -> Response | Stream:
        for log in self._logs:
            answer = log.identify(request, answer)
        return answer

    def answered(self, request: Request, answer: Response | Stream, seconds: float) -> None:
        for log in self._logs:
            if log.enabled():
                log.answered(request, answer, seconds)
