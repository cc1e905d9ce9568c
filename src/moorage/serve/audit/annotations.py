"""Collect the audit annotations of a request while it is answered.

The handler lets `Request.audit` collect those of what it answers, also where no audit log is written: who makes a
request in this process can read them there, and `collected` those of a verb. Without an audit log, the failures that
policies note for the audit are logged. Kubernetes: audit.AddAuditAnnotation.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.telemetry.logs import get_logger

_ANNOTATIONS: Final[ContextVar[dict[str, str] | None]] = ContextVar("_ANNOTATIONS", default=None)
_LOG = get_logger("apiserver")
_AUDIT, _MAX_MESSAGE = "Audit", 1024


def collect_into(annotations: dict[str, str]) -> None:
    """Let the annotations of what the current task answers from now on be put into `annotations`."""
    _ANNOTATIONS.set(annotations)


@contextmanager
def collected() -> Iterator[dict[str, str]]:
    """Collect the annotations of what is asked within, for example of a verb that is called without a request."""
    annotations: dict[str, str] = {}
    before = _ANNOTATIONS.set(annotations)
    try:
        yield annotations
    finally:
        _ANNOTATIONS.reset(before)


def annotate(annotations: Mapping[str, str]) -> None:
    """Note annotations of the request that is being answered. The first of a name stays."""
    known = _ANNOTATIONS.get()
    if known is None:
        return
    for name, text in annotations.items():
        if known.setdefault(name, text) != text:
            _LOG.warning("Failed to set an annotation for the audit: it has another value", name=name)


def log_failures(extended: ExtendedRequest) -> None:
    """Log what policies have noted for the audit, where no audit log is written."""
    request = extended.attributes
    for failure in extended.remarks.failures:
        if _AUDIT in failure.actions:
            _LOG.info(
                "Validation failed",
                policy=failure.source,
                binding=failure.binding,
                err=failure.message[:_MAX_MESSAGE],
                operation=request.operation,
                resource=request.resource.resource,
                object=f"{request.namespace}/{request.name}",
                user=request.user.name,
            )
