"""Read the templates of pools from files and from the cluster; instance types are not needed for their labels.

Kubernetes: NodePools of Karpenter; groups of a cloud as files.
"""

from collections.abc import Iterable
from io import BytesIO

import msgspec

from moorage.client.http_client import HttpClient
from moorage.lint.sources import Source, opened, reason_of
from moorage.model.api_error import ApiError
from moorage.model.schema.conversion import ConversionError
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents
from moorage.plan.input.live_pools import POOL_KINDS
from moorage.pools.mirror import PoolTemplate, template_in, templates_of_cloud
from moorage.pools.node_template import WrittenAt
from moorage.pools.reading import MAX_BYTES, is_pool_kind

_TEMPLATE_KINDS = ("NodePool", "NodeGroup")


def read_templates(sources: Iterable[Source]) -> tuple[list[PoolTemplate], list[str]]:
    """Return the templates in files, and a line for each file or object that cannot be read."""
    templates: list[PoolTemplate] = []
    problems: list[str] = []
    for source in sources:
        try:
            if source.problem:
                raise OSError(source.problem)
            found, complaints = _in_source(source)
        except OSError as error:
            problems.append(f"{source.name}: {source.problem or reason_of(error)}")
            continue
        templates += found
        problems += complaints
    return templates, problems


def _in_source(source: Source) -> tuple[list[PoolTemplate], list[str]]:
    with opened(source) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        return [], [f"{source.name}: the file has more than {MAX_BYTES // 2**20} MiB"]
    if content.lstrip()[:1] == b"{" and b'"AutoScalingGroups"' in content:
        try:
            return templates_of_cloud(msgspec.json.decode(content), WrittenAt(source.name, 0)), []
        except (msgspec.DecodeError, RecursionError) as error:
            return [], [f"{source.name}: not JSON: {error}"]
        except ConversionError as error:
            return [], [f"{source.name}: {problem.path}: {problem.reason}" for problem in error.problems]
    templates: list[PoolTemplate] = []
    problems: list[str] = []
    for document in read_documents(BytesIO(content), source.name):
        if isinstance(document, DecodeError):
            if source.explicit:
                problems.append(f"{document.source}:{document.line}: {document.reason}")
        elif is_pool_kind(document.raw) and document.raw["kind"] in _TEMPLATE_KINDS:
            place = WrittenAt(document.source, document.line)
            template = template_in(document.raw, place)
            if template is not None:
                templates.append(template)
            else:
                problems.append(f"{place}: {document.raw['kind']}: its fields are not of their types")
    return templates, problems


async def live_templates(client: HttpClient) -> list[PoolTemplate]:
    """Return the templates of the NodePools in a cluster; none if it has no such kind, or they may not be read."""
    kind = POOL_KINDS[0]
    try:
        listing = await client.list_all(kind)
    except ApiError:
        return []
    made = (template_in({**each.raw, "kind": kind.name}, WrittenAt("cluster", 0)) for each in listing.items)
    return [each for each in made if each is not None]
