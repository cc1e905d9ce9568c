"""Say what is wrong with a value of an SQLite file that has no checksum yet, and what a directory has beside a file."""

import msgspec

from moorage.model.go.quoting import go_quote

#: What a data directory has beside a store only: where it is, a store that is missing is missed, and not made.
SIBLINGS = ("pki/ca.crt",)


def stored_problem(key: str, value: bytes) -> str:
    """Return what is wrong with a value of an SQLite file: it is not JSON, or of another object than its key says."""
    try:
        metadata = msgspec.json.decode(value)["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return f"is not JSON: {error}"
    except (KeyError, TypeError, AttributeError):
        return "has no metadata"
    end = f"/{namespace}/{name}" if namespace else f"/{name}"
    return "" if key.endswith(end) else f"is the object {go_quote(end[1:])}, as its value says"
