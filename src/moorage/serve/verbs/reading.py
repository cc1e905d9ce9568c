"""Read one object, or a page of objects at one revision.

Kubernetes: the get and list handlers, etcd3's GetList and its continue tokens.
"""

import base64
import binascii
from typing import NamedTuple

import msgspec

from moorage.model.api_error import ApiError, bad_request, expired, not_found
from moorage.model.kinds import Kind, Ref
from moorage.serve.requests.long_work import in_slices, next_turn
from moorage.serve.requests.options import EXACT, ListOptions
from moorage.serve.resources.objects import key_of, prefix_of
from moorage.serve.resources.selector_parameters import Selection, compile_selection
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.registry import Registry, as_read
from moorage.store.protocol import Compacted, FutureRevision, Listing, Stored

_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."
#: Objects looked at in one go while searching for the few that a selector wants.
_SEARCHED_AT_ONCE = 500


class Page(NamedTuple):
    """Objects at `revision`; `continues` is the token for the other `remaining` ones."""

    items: list[Stored]
    revision: int
    continues: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct, frozen=True, rename={"version": "v", "revision": "rv", "after": "start"}):
    """Where a list continues. Revision -1 is the newest."""

    version: str
    revision: int
    after: str


async def get(api: Registry, ref: Ref, revision: int | None = None) -> Stored:
    """Read an object: the newest, or one that is not older than a revision. Raises ApiError."""
    kind, namespace, name = ref
    if revision or api.store.is_shared:
        await known(api, revision)
    stored = await api.store.get(key_of(kind, namespace, name))
    if stored is None:
        raise not_found(kind, name)
    return await as_read(api, kind, stored)


async def list_page(api: Api, kind: Kind, namespace: str, options: ListOptions) -> Page:
    """List objects. Raises ApiError: 400 for invalid selectors and tokens, 410 for compacted revisions."""
    selection = compile_selection(kind, options.labels, options.fields)
    prefix = prefix_of(kind, namespace)
    revision, after = _where(prefix, options)
    await known(api, (revision or None) if options.continues else options.resource_version)
    if options.limit or options.continues:
        api.pages.note(api.store.revision, api.clock())
        if options.continues and revision and api.pages.has_expired(revision):
            raise _expired_token(prefix, after)
    if selection.name and selection.is_only_name and namespace and not after:
        stored = await api.store.get(key_of(kind, namespace, selection.name))
        return Page([await as_read(api, kind, stored)] if stored is not None else [], api.store.revision)
    try:
        if selection.is_everything:
            if not options.limit:
                await next_turn()  # for all objects of a kind it takes some milliseconds
            listing = await api.store.list(prefix, revision=revision, limit=options.limit, after=after)
            items = list(await api.in_version(kind, listing.items)) if kind.is_converted else listing.items
            return _page(prefix, listing, items, listing.remaining, options, counted=True)
        return await _search(api, kind, prefix, revision, after, selection, options)
    except Compacted as gone:
        if options.continues:
            raise _expired_token(prefix, after) from gone
        raise expired(_TOO_OLD) from None
    except FutureRevision as future:
        raise too_large_revision(future.asked, future.current) from None


async def _search(
    api: Api, kind: Kind, prefix: str, revision: int, after: str, selection: Selection, options: ListOptions
) -> Page:
    found: list[Stored] = []
    while True:
        step = _SEARCHED_AT_ONCE if options.limit else 0
        await next_turn()
        listing = await api.store.list(prefix, revision=revision, limit=step, after=after)
        revision = listing.revision
        items = await api.in_version(kind, listing.items) if kind.is_converted else listing.items
        async for number, stored in in_slices(items):
            if selection.wants_stored(kind, stored):
                found.append(stored)
                if len(found) == options.limit:
                    rest = len(listing.items) - number - 1 + listing.remaining
                    return _page(prefix, listing, found, rest, options, counted=False)
        if not listing.remaining:
            return Page(found, revision)
        after = listing.items[-1].key


def _page(
    prefix: str, listing: Listing, items: list[Stored], remaining: int, options: ListOptions, *, counted: bool
) -> Page:
    if not remaining or not options.limit:
        return Page(items, listing.revision)
    token = _encode_token(listing.revision, items[-1].key.removeprefix(prefix))
    return Page(items, listing.revision, token, remaining if counted else None)


def _where(prefix: str, options: ListOptions) -> tuple[int, str]:
    if options.continues:
        token = _decode_token(options.continues)
        return max(0, token.revision), prefix + token.after
    exact = options.match == EXACT or (options.limit and not options.match and options.resource_version)
    return (options.resource_version or 0) if exact else 0, ""


async def known(api: Registry, asked: int | None) -> None:
    """Wait until all that a request may have seen is in memory: one revision, anything for 0, everything for None.

    Raises ApiError if the store does not have the revision. Kubernetes: ConsistentListFromCache.
    """
    if asked is None:
        await api.catch_up()
    elif asked > api.store.revision:
        try:
            await api.store.reach(asked)
        except FutureRevision as future:
            raise too_large_revision(future.asked, future.current) from None


def too_large_revision(asked: int, current: int) -> ApiError:
    """The error for a revision that this store never had. Upstream answers 504, on which clients wait for ever."""
    error = expired(f"Too large resource version: {asked}, current: {current}")
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    error.status["details"] = {"causes": [cause], "retryAfterSeconds": 1}
    return error


def _encode_token(revision: int, after: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(_Token("meta.k8s.io/v1", revision, after))).decode().rstrip("=")


def _decode_token(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        token = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        raise _bad_token("") from None
    if token.version != "meta.k8s.io/v1":
        raise _bad_token(f": server does not recognize this encoded version {token.version}")
    if not token.revision:
        raise _bad_token(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not token.after:
        raise _bad_token(": encoded start key empty (version meta.k8s.io/v1)")
    if "\0" in token.after:
        raise _bad_token(f": {token.after}")
    return token


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid{why}")


def _expired_token(prefix: str, after: str) -> ApiError:
    """410, with a token that continues at the newest revision."""
    error = expired(_CONTINUE_EXPIRED)
    error.status["metadata"] = {"continue": _encode_token(-1, after.removeprefix(prefix))}
    return error
