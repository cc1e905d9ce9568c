"""What a command came to, and whether that is what the story says.

In: a `Step` and what its command printed. Out: the outcomes that do not hold, in the story's words.
"""

from typing import NamedTuple

from moorage.demo.story import Step


class Ran(NamedTuple):
    """What one command came to."""

    status: int
    out: str
    err: str = ""

    @property
    def text(self) -> str:
        """All it printed, as a terminal shows it."""
        return self.out + self.err


def what_is_missing(step: Step, ran: Ran) -> list[str]:
    """The outcomes that do not hold; none if all is as it should be."""
    missing = []
    if step.fails and ran.status == 0:
        missing.append("fails, but it succeeded")
    if not step.fails and ran.status != 0:
        missing.append(f"succeeds, but its exit status is {ran.status}")
    lines = ran.text.splitlines()
    for sight in step.sights:
        seen = sum(1 for line in lines if sight.pattern.search(line))
        if seen != sight.times if sight.times is not None else not seen:
            missing.append(f"{sight}, but {seen or 'no'} line{'' if seen == 1 else 's'} did")
    return missing
