"""Read the page's files once and serve them with a digest, so that a browser asks again but rarely loads again."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from moorage.dashboard.http.guard import SECURITY_HEADERS
from moorage.serve.http.messages import Request, Response

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}


class Asset(msgspec.Struct, frozen=True):
    """A file of the page."""

    body: bytes
    content_type: str
    digest: str


def read_assets() -> dict[str, Asset]:
    """Return all files of the page by their path below it, such as `lib/api.js`."""
    return dict(_below(files("moorage.dashboard").joinpath("web"), ""))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _below(entry, f"{prefix}{entry.name}/")
            continue
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None:
            body = entry.read_bytes()
            asset = Asset(body, content_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            found.append((f"{prefix}{entry.name}", asset))
    return found


def serve_asset(request: Request, asset: Asset) -> Response:
    headers = (*SECURITY_HEADERS, ("ETag", asset.digest), ("Cache-Control", "no-cache"))
    if request.headers.get("if-none-match") == asset.digest:
        return Response(304, b"", "", headers)
    return Response(200, asset.body, asset.content_type, headers)
