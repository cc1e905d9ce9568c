"""Convert the objects of a stream of manifests, in their order, and place each complaint at its line.

Kubernetes: kubectl reads manifests so. Differs: items of a List become documents of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from moorage.attach.formats import Raw
from moorage.attach.objects import pod_of
from moorage.attach.questions import asked_labels
from moorage.attach.refusals import Refused, Unreadable
from moorage.model.schema.conversion import TypeProblem
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document, read_documents


class Converted:
    """An object as it is now. `match_labels` are those on which its placement depends."""

    def __init__(self, document: Raw) -> None:
        self.document = document
        pod = pod_of(document)
        spec = None if pod is None else pod.get("spec")
        self.match_labels = sorted(asked_labels(spec)) if isinstance(spec, dict) else []


class Complaint:
    """Why an object is not converted. `is_refusal`: it can be read, but not be lowered or raised."""

    def __init__(self, place: str, reason: str, problem: Problem | None = None) -> None:
        self.place = place
        self.reason = reason
        self.problem = problem

    @property
    def is_refusal(self) -> bool:
        return self.problem is None

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def convert(stream: BinaryIO, source: str, change: Callable[[Raw], Raw]) -> Iterator[Converted | Complaint]:
    """Yield what becomes of each object of a stream by `lowered` or `raised`."""
    for document in read_documents(stream, source):
        if isinstance(document, DecodeError):
            place = f"{document.source}:{document.line}:{document.column}"
            yield Complaint(place, document.reason, document.problem)
            continue
        try:
            yield Converted(change(document.raw))
        except Refused as refused:
            yield from (Complaint(_place(document, error.path), str(error)) for error in refused.errors)
        except Unreadable as unreadable:
            yield from _of_types(document, unreadable.problems)


def _of_types(document: Document, problems: Sequence[TypeProblem]) -> Iterator[Complaint]:
    for problem in problems:
        yield Complaint(_place(document, problem.path), problem.reason, Problem.TYPE)


def _place(document: Document, path: str) -> str:
    line, column = document.location(path)
    return f"{document.source}:{line}:{column}"
