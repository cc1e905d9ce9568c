"""What differs between an answer and the recorded one, to the last annotation.

Names that were generated from "gen-" are `gen-<random>` in the recording, and annotations of authorization and of pod
security are left out.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.conformance.checks.platform.comparison import exactly, masked, recorded_form
from tests.conformance.checks.platform.server import Answer

Raw = dict[str, Any]

_TIME = "<time>"
_GENERATED = re.compile(r"\bgen-[a-z0-9]{5}\b")
_NOT_RECORDED = ("authorization.k8s.io/", "pod-security.kubernetes.io/")


def first_difference(steps: Iterable[Raw], got: Sequence[Answer], want: Sequence[Raw]) -> str | None:
    """Return what differs in the first answer that is not the recorded one."""
    for number, (step, answer, recorded) in enumerate(zip(steps, got, want, strict=True)):
        if step["op"] != "settle" and (reason := answer_difference(answer, recorded)):
            return f"step {number} ({step['op']} {step['resource']}): {reason}"
    return None


def answer_difference(answer: Answer, want: Raw) -> str | None:
    shown = shown_answer(answer, has_object="object" in want)
    wanted = {**want, **({"message": masked(want["message"])} if "message" in want else {})}
    if "causes" in want:
        wanted["causes"] = [{**cause, "message": masked(cause["message"])} for cause in want["causes"]]
    if "object" in shown:
        shown["object"] = _with_times(shown["object"], want.get("object"))
    if "warnings" in want:
        wanted["warnings"] = [_header_text(text) for text in want["warnings"]]
    if exactly(shown, wanted):
        return None
    names = dict.fromkeys(("code", *shown, *wanted))
    return "; ".join(
        f"{name} is {shown.get(name)!r}, want {wanted.get(name)!r}{_message(shown, name)}"
        for name in names
        if not exactly(shown.get(name), wanted.get(name))
    )


def _with_times(shown: Any, want: Any) -> Any:
    """Return a document with `<time>` for each time that the recording has left out."""
    if isinstance(shown, dict) and isinstance(want, dict):
        return {name: _with_times(value, want.get(name)) for name, value in shown.items()}
    if isinstance(shown, list) and isinstance(want, list) and len(shown) == len(want):
        return [_with_times(one, other) for one, other in zip(shown, want, strict=True)]
    return masked(shown) if want == _TIME and isinstance(shown, str) else shown


def _header_text(text: str) -> str:
    """Return a recorded warning as it was sent: the recording has a character for each byte of a header."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _message(shown: Raw, name: str) -> str:
    return f" ({shown['message']})" if name == "code" and "message" in shown else ""


def shown_answer(answer: Answer, *, has_object: bool) -> Raw:
    """Return what the recording shows of an answer."""
    document = answer.document
    shown: Raw = {"code": answer.code}
    if answer.code >= 400 and isinstance(document, dict):
        shown |= _refusal(document)
    elif answer.code >= 400:
        shown["text"] = document
    elif has_object:
        shown["object"] = without_random(recorded_form(document))
    if answer.warnings:
        shown["warnings"] = [masked(text) for text in answer.warnings]
    audit = {name: masked(text) for name, text in answer.audit.items() if not name.startswith(_NOT_RECORDED)}
    return {**shown, "audit": audit} if audit else shown


def _refusal(status: Raw) -> Raw:
    causes = [
        {name: masked(text) for name, text in cause.items() if text}
        for cause in (status.get("details") or {}).get("causes", ())
    ]
    shown = {"message": without_random(masked(status.get("message", ""))), "reason": status.get("reason")}
    return {name: value for name, value in {**shown, "causes": causes}.items() if value}


def without_random(value: Any) -> Any:
    """Return a document without names that were generated."""
    if isinstance(value, dict):
        return {name: without_random(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_random(one) for one in value]
    return _GENERATED.sub("gen-<random>", value) if isinstance(value, str) else value
