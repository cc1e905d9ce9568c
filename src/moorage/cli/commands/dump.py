"""Print a live cluster as YAML (`moorage dump`): what `plan`, `explain`, `lint` and `up --from` read.

Exit code: 0 if it is whole, 1 if kinds that a plan reads may not be listed, 2 if the cluster cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from moorage.cli.options import context_option, kubeconfig_option
from moorage.cli.shared import prepare_output, say

_INCOMPLETE, _CANNOT = 1, 2


@click.command("dump")
@kubeconfig_option
@context_option
@click.option("-n", "--namespace", "namespaces", multiple=True, help="Only objects of this namespace. Repeatable.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write to this new file.")
def command(kubeconfig: str, context: str, namespaces: tuple[str, ...], file: Path | None) -> int:
    """Print everything of a live cluster that plan, explain, lint and up --from read, as one YAML stream.

    Values of Secrets are left out, and so are managedFields. With -n, objects without a namespace are printed as well.
    Kinds that the server does not have are passed over; those that you may not list are named on standard error, and
    the exit code is 1 if a plan reads them.

    \b
    Try:
      moorage dump > cluster.yaml
      moorage dump --context production -n shop -o shop.yaml
      moorage dump | moorage plan -
    """
    import asyncio

    from moorage.client.http_client import HttpClient
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import load_access
    from moorage.client.kubeconfig.private_file import writing_private
    from moorage.client.protocol import Unreachable
    from moorage.cluster.transfer.dumping import Dump, DumpError
    from moorage.store.data_directory import write_problem

    if file is not None and file.exists():
        say(f"{file} exists already; it is left as it is: name another file")
        return _CANNOT
    prepare_output(is_text=False)
    gaps: list[str] = []

    async def run(write: Callable[[str], object]) -> None:
        client = HttpClient(load_access(kubeconfig, context=context), "dump")
        try:
            dump = Dump(client, namespaces)
            async for text in dump.documents():
                write(text)
            for remark in dump.remarks:
                say(remark)
            gaps.extend(dump.gaps)
        finally:
            await client.close()

    try:
        if file is None:
            asyncio.run(run(sys.stdout.write))
        else:
            with writing_private(file) as stream:
                asyncio.run(run(lambda text: stream.write(text.encode())))
    except Unreachable as error:
        say(f"the API server cannot be reached: {error}")
        return _CANNOT
    except (DumpError, KubeconfigError) as error:
        say(str(error))
        return _CANNOT
    except OSError as error:
        if file is None:
            raise
        say(f"{file} cannot be written: {write_problem(error)}")
        return _CANNOT
    for line in gaps:
        say(line)
    return _INCOMPLETE if gaps else 0
