"""Read tables of fields and the types that have them."""


def type_rows(text: str) -> dict[str, tuple[str, ...]]:
    """Read rows of fields and the types that have them; a row goes on where the next line is indented."""
    rows = (row.partition(": ") for row in text.strip().replace("\n  ", " ").splitlines())
    return {type_name: tuple(fields.split()) for fields, _, types in rows for type_name in types.split()}
