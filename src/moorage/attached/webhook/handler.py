"""ReviewAnswer the webhook's requests: reviews, health and metrics.

Reviews that may take long are answered in threads, so that others are answered meanwhile.
Kubernetes: the health paths of its components.
"""

from collections.abc import Callable, Collection, Iterable
from time import perf_counter
from typing import Any, Final

from moorage.attach.decisions import to_be_lowered, to_be_mirrored
from moorage.attach.formats import CEL, Raw
from moorage.attach.objects import pod_of
from moorage.attached import names
from moorage.attached.webhook.metrics import FAILED, UNREADABLE, WebhookMetrics
from moorage.attached.webhook.reviews import Decide, ReviewAnswer, answer_review, read_review
from moorage.model.api_error import ApiError, method_not_supported, unsupported_media_type
from moorage.model.types.extension.admission_reviews import AdmissionRequest
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.long_work import LongWork, is_large
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import Locals, Operation, operation

_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"
#: More than this takes longer than a slice of the event loop: comparisons meet each other, expressions are checked.
_MANY_TOLERATIONS, _LONG_EXPRESSIONS = 16, 256


def _review(local: Locals) -> Operation:
    return Operation(f"review to {local['webhook']}", {"bytes": len(local["request"].body)})


class WebhookHandler:
    """`native` returns the operators that the cluster knows now; `complaint` why it is not ready, empty if it is."""

    def __init__(
        self,
        metrics: Metrics,
        counts: WebhookMetrics,
        native: Callable[[], Collection[str]],
        complaint: Callable[[], str],
        *,
        refuses_new: bool = False,
    ) -> None:
        self.long_work = LongWork()
        self._metrics, self._counts, self._complaint = metrics, counts, complaint

        def lower(document: Raw, old: Raw | None, subresource: str, groups: Collection[str]) -> Raw:
            return to_be_lowered(document, old, native(), refuses_new=refuses_new)

        self._decisions: dict[str, tuple[str, Decide]] = {
            names.LOWER_PATH: ("lower", lower),
            names.MIRROR_PATH: ("mirror", to_be_mirrored),
        }

    async def __call__(self, request: Request) -> Response:
        """Raises ApiError."""
        found = self._decisions.get(request.path)
        if found is None:
            return self._about_itself(request)
        if request.method != "POST":
            raise method_not_supported()
        media_type = request.headers.get("content-type", _JSON).partition(";")[0].strip()
        if media_type != _JSON:
            raise unsupported_media_type(media_type, _JSON)
        return await self._answered(request, *found)

    @operation(_review)
    async def _answered(self, request: Request, webhook: str, decide: Decide) -> Response:
        began, result = perf_counter(), FAILED
        try:
            if is_large(request.body):
                answer = await self.long_work.run(_read_and_answer, request.body, decide)
            else:
                review = read_review(request.body)
                if _may_take_long(review):
                    answer = await self.long_work.run(answer_review, review, decide)
                else:
                    answer = answer_review(review, decide)
            result = answer.result
        except ApiError as error:
            result = UNREADABLE if error.code == 400 else FAILED
            raise
        finally:
            self._counts.answered(webhook, result, perf_counter() - began)
        return Response(200, answer.body)

    def _about_itself(self, request: Request) -> Response:
        if request.path not in ("/metrics", "/healthz", "/livez", "/readyz"):
            return Response(404, b"404 page not found\n", _TEXT)
        if request.method not in ("GET", "HEAD"):
            raise method_not_supported()
        if request.path == "/metrics":
            body, content_type = self._metrics.render(request.headers.get("accept", ""))
            return Response(200, body, content_type)
        if request.path == "/readyz" and (complaint := self._complaint()):
            return Response(500, f"[-]{complaint}\nreadyz check failed\n".encode(), _TEXT)
        return Response(200, b"ok", _TEXT)


def _read_and_answer(body: bytes, decide: Decide) -> ReviewAnswer:
    return answer_review(read_review(body), decide)


def _may_take_long(review: AdmissionRequest) -> bool:
    tolerations = _tolerations(review.object)
    if len(tolerations) > _MANY_TOLERATIONS:
        return True
    return sum(len(value) for value in _expressions(tolerations)) > _LONG_EXPRESSIONS


def _tolerations(document: Any) -> list[Any]:
    pod = pod_of(document) if isinstance(document, dict) else None
    spec = pod.get("spec") if pod else None
    found = spec.get("tolerations") if isinstance(spec, dict) else None
    return found if isinstance(found, list) else []


def _expressions(tolerations: Iterable[Any]) -> Iterable[str]:
    for toleration in tolerations:
        if isinstance(toleration, dict) and toleration.get("operator") == CEL:
            value = toleration.get("value")
            if isinstance(value, str):
                yield value
