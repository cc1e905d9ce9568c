"""One flipped bit of a row is found by its checksum, wherever it is; two are not mended into something else."""

from random import Random

import pytest

from moorage.store.checksums import Row, row_checksum
from moorage.store.mending import mended_row

ROWS: tuple[Row, ...] = (
    (7, "/pods/default/web-0", 3, b'{"metadata":{"name":"web-0"}}'),
    (8, "/pods/default/web-0", 3, None),
    (2**40, "/namespaces/ä", 1, b"x" * 5_000),
    (9, "/pods/default/empty", 9, b""),
)


def _flipped(row: Row, field: int, random: Random) -> tuple[object, ...]:
    """Flip one bit of a field; the checksum is field 4."""
    fields: list[object] = [*row, row_checksum(*row)]
    value = fields[field]
    if isinstance(value, int):
        fields[field] = value ^ (1 << random.randrange(30))
    elif isinstance(value, str | bytes) and value:
        content = bytearray(value.encode() if isinstance(value, str) else value)
        content[random.randrange(len(content))] ^= 1 << random.randrange(7)
        fields[field] = bytes(content) if isinstance(value, bytes) else bytes(content).decode("utf-8", "ignore")
    return tuple(fields)


@pytest.mark.parametrize("field", range(5))
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_one_flipped_bit_is_mended(row: Row, field: int) -> None:
    random = Random(field)
    for _ in range(20):
        flipped = _flipped(row, field, random)
        if flipped[:4] == row and flipped[4] == row_checksum(*row):
            continue  # there is nothing to flip
        if isinstance(flipped[1], str) and len(flipped[1].encode()) != len(row[1].encode()):
            continue  # it is no text any more
        assert mended_row(flipped) == row


def test_more_damage_is_not_mended() -> None:
    random = Random(1)
    row = ROWS[2]
    assert row[3] is not None
    for _ in range(50):
        content = bytearray(row[3])
        for place in random.sample(range(len(content)), 3):
            content[place] ^= 1 << random.randrange(8)
        assert mended_row((*row[:3], bytes(content), row_checksum(*row))) is None
    assert mended_row((7, b"\xff", 3, b"", 4)) is None
    assert mended_row((7, "/a", "soon", b"", 4)) is None
    assert mended_row((7, "/a", 3, b"", None)) is None
