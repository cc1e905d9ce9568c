"""Stand for a Go value that is not of a JSON type, as messages of Go print it."""

import msgspec


class ForeignValue(msgspec.Struct, frozen=True):
    """`text` is Go's `%v`, `go_type` its `%T`, `syntax` its `%#v`; `json` is what takes its place in a document."""

    text: str
    go_type: str
    syntax: str
    json: object

    def __str__(self) -> str:
        return self.text


NULL_VALUE = ForeignValue("NULL_VALUE", "structpb.NullValue", "0", None)
