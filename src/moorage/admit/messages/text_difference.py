"""Write the difference of two texts as `diff -u` does, with bounded work and of bounded length.

What both begin and end with is left out first, in one pass; only then are the lines between them compared, at most some
hundred of each, because comparing all lines with all others takes minutes for a pod with thousands of variables.
Kubernetes: cmp.Diff, which gives up in a similar way. Differs: a long difference ends with how much was left out.
"""

from collections.abc import Sequence

_CONTEXT = 3
_MAX_LINES = 400
_MAX_CHARACTERS = 20_000


def unified_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the hunks, each line with its end; empty if the texts are equal."""
    from difflib import SequenceMatcher  # few updates need it

    begin = _equal_lines(before, after)
    if begin == len(before) == len(after):
        return ""
    end = min(_equal_lines(before[::-1], after[::-1]), len(before) - begin, len(after) - begin)
    begin, end = max(0, begin - _CONTEXT), max(0, end - _CONTEXT)
    old, new = before[begin : len(before) - end], after[begin : len(after) - end]
    left_out = max(0, len(old) - _MAX_LINES) + max(0, len(new) - _MAX_LINES)
    old, new = old[:_MAX_LINES], new[:_MAX_LINES]
    lines: list[str] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        lines.append(f"@@ -{_range(begin, first[1], last[2])} +{_range(begin, first[3], last[4])} @@")
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[old_start:old_end]]
                continue
            lines += [f"-{line}" for line in old[old_start:old_end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
    return _cut(lines, left_out)


def _equal_lines(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many lines both begin with."""
    count = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        count += 1
    return count


def _range(offset: int, start: int, stop: int) -> str:
    """Return lines as `diff -u` writes them: the first, counted from one, and how many, unless it is one."""
    length = stop - start
    first = offset + start + (length > 0)
    return str(first) if length == 1 else f"{first},{length}"


def _cut(lines: list[str], left_out: int) -> str:
    shown: list[str] = []
    room = _MAX_CHARACTERS
    for number, line in enumerate(lines):
        if len(line) > room:
            shown.append(f"{line[:room]}… ({len(line) - room} more characters)")
            left_out += len(lines) - number - 1
            break
        shown.append(line)
        room -= len(line)
    if left_out:
        shown.append(f"… ({left_out} more lines)")
    return "\n".join(shown) + "\n"
