"""Tell the plan: what `moorage plan --output json` prints."""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import Base, Part
from moorage.plan.report.plain import plain


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    yield {**plain(base.plan), "done": True}
