"""Cron schedules: is it one, and if not, why not?

In: the text of a schedule. Out: None, or what github.com/robfig/cron says about it. Kubernetes: cron.ParseStandard:
five fields (minute, hour, day of month, month, day of week) or a descriptor such as `@daily` or `@every 1h30m`. Next:
`cron_job`.
"""

import re

from moorage.model.go_text import go_quote

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

#: (lowest, highest, names and their numbers) of each field
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_is_duration = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)\Z").match


class _ScheduleError(ValueError):
    """What is wrong with one field."""


def schedule_error(schedule: str) -> str | None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = schedule.partition(" ")
        if not space:
            return f"invalid schedule format: {zone}"
        schedule = rest.strip()
    if schedule.startswith("@"):
        return _descriptor_error(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for text, (lowest, highest, names) in zip(fields, _FIELDS, strict=True):
            for expression in filter(None, text.split(",")):
                _check(expression, lowest, highest, names)
    except _ScheduleError as error:
        return str(error)
    return None


def _descriptor_error(text: str) -> str | None:
    if text in _DESCRIPTORS:
        return None
    if text.startswith("@every "):
        duration = text.removeprefix("@every ")
        if _is_duration(duration):
            return None
        return f"failed to parse duration {text}: time: invalid duration {go_quote(duration)}"
    return f"unrecognized descriptor: {text}"


def _check(expression: str, lowest: int, highest: int, names: dict[str, int]) -> None:
    """Check one of `*`, `5`, `1-5`, `*/15`, `1-30/5`, `mon-fri`."""
    range_and_step = expression.split("/")
    bounds = range_and_step[0].split("-")
    if bounds[0] in ("*", "?"):
        start, end = lowest, highest
    else:
        start = end = _number(bounds[0], names)
        if len(bounds) == 2:
            end = _number(bounds[1], names)
        elif len(bounds) > 2:
            raise _ScheduleError(f"too many hyphens: {expression}")
    step = 1
    if len(range_and_step) == 2:
        step = _number(range_and_step[1], {})
        if len(bounds) == 1:
            end = highest
    elif len(range_and_step) > 2:
        raise _ScheduleError(f"too many slashes: {expression}")
    if start < lowest:
        raise _ScheduleError(f"beginning of range ({start}) below minimum ({lowest}): {expression}")
    if end > highest:
        raise _ScheduleError(f"end of range ({end}) above maximum ({highest}): {expression}")
    if start > end:
        raise _ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _ScheduleError(f"step of range should be a positive number: {expression}")


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    sign = text[:1] in ("+", "-")
    digits = text[1:] if sign else text
    if not (digits.isascii() and digits.isdigit()):
        detail = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise _ScheduleError(f"failed to parse int from {text}: {detail}")
    value = int(digits[:19])
    if text.startswith("-") and value:
        raise _ScheduleError(f"negative number (-{value}) not allowed: {text}")
    return value
