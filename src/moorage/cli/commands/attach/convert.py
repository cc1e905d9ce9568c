"""Lower and raise manifests (`moorage attach convert`).

Exit code: 0 if it is done, 1 if an object cannot be lowered or raised, 2 if input cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.cli.commands.attach.documents import form_option, print_documents
from moorage.cli.options import allow_empty_option
from moorage.cli.shared import piped_input, say

if TYPE_CHECKING:
    from moorage.attach.conversion import Complaint, Converted

_REFUSED, _UNREADABLE = 1, 2


@click.command("convert")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@click.option("--raise", "raises", is_flag=True, help="Write the original tolerations and node affinity again.")
@form_option
@allow_empty_option
def convert_manifests(paths: tuple[str, ...], raises: bool, form: str, allows_empty: bool) -> int:
    """Write manifests so that every Kubernetes places their pods as they mean, or as they were before.

    Tolerations with Lt, Gt, Semver operators and CEL, and Semver operators in node affinity, become tolerations with
    Exists and node affinity on labels that mirror taints. All other objects are printed as they are, in their order.
    Nothing is printed if an object cannot be converted.

    \b
    Try:
      moorage attach convert deployment.yaml > lowered.yaml
      kustomize build overlay | moorage attach convert - | kubectl apply -f -
      moorage attach convert --raise lowered.yaml
    """
    from moorage.attach.conversion import Converted
    from moorage.lint.input_contents import ALLOW_EMPTY

    results = _converted(paths or piped_input("attach convert"), raises=raises)
    complaints = [each for each in results if not isinstance(each, Converted)]
    converted = [each for each in results if isinstance(each, Converted)]
    for complaint in complaints:
        say(str(complaint))
    if complaints:
        return _REFUSED if all(each.is_refusal for each in complaints) else _UNREADABLE
    if not converted and not allows_empty:
        say(f"input without a Kubernetes object is an error; {ALLOW_EMPTY}")
        return _UNREADABLE
    print_documents([each.document for each in converted], form)
    for each in converted:
        if each.match_labels:
            say(_needs_answers(each))
    return 0


def _converted(paths: tuple[str, ...], *, raises: bool) -> list[Converted | Complaint]:
    from moorage.attach.conversion import Complaint, convert
    from moorage.attach.objects import lowered, raised
    from moorage.lint.sources import opened, reason_of, sources_of
    from moorage.model.text.decode_error import Problem

    results: list[Converted | Complaint] = []
    for source in sources_of(paths):
        try:
            if source.problem:
                raise OSError(source.problem)
            with opened(source) as stream:
                for each in convert(stream, source.name, raised if raises else lowered):
                    if isinstance(each, Complaint) and each.problem is Problem.NO_KIND and not source.explicit:
                        say(f"{each} (left out)")
                    else:
                        results.append(each)
        except OSError as error:
            results.append(Complaint(source.name, source.problem or reason_of(error), Problem.UNREADABLE))
    return results


def _needs_answers(converted: Converted) -> str:
    document = converted.document
    name = (document.get("metadata") or {}).get("name", "")
    labels = ", ".join(converted.match_labels)
    return f"{document['kind']} {name}: its pods wait for nodes with {labels}, which the controller of attach writes"
