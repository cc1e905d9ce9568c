"""Play the KEPs' user stories on a cluster of their own: `moorage demo`.

Exit code: 0 if every outcome holds, 1 if one does not, 2 if the story cannot be played.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from moorage.demo.cluster import StoryCluster
    from moorage.demo.story import OnShelf

_DID_NOT_HOLD, _CANNOT_PLAY = 1, 2


@click.command("demo")
@click.argument("wanted", metavar="[STORY]", default="")
@click.option(
    "--pause/--no-pause",
    "pauses",
    default=None,
    help="Wait for Enter before each command.  [default: on a terminal]",
)
@click.option("--keep", "keeps", is_flag=True, help="Leave the cluster running at the end.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port; 0 for any free one.",
)
@click.option("--no-color", "--no-colour", "plain", is_flag=True, help="Print without colours, as NO_COLOR does.")
def command(wanted: str, pauses: bool | None, keeps: bool, port: int, plain: bool) -> int:
    """Play a user story of a KEP on a cluster of its own: run its commands, and check the outcome of each.

    Without a STORY the stories are listed. A STORY is a name, or a folder with a story.md. Commands are run by the
    kubectl in $KUBECTL or in the PATH, which reaches no other cluster; a story may start programs of its folder.

    \b
    Try:
      moorage demo
      moorage demo spot-nodes-by-sla
      moorage demo inference-eviction-on-sla-drop --no-pause --keep
    """
    from moorage.cli.shared import say
    from moorage.demo.cluster import NoCluster, NoKubectl
    from moorage.demo.story import NoSuchStory, StoryError, default_shelf, find_story

    try:
        shelf = default_shelf()
        if not wanted:
            _list(shelf)
            return 0
        if pauses is None:
            pauses = sys.stdin.isatty() and sys.stdout.isatty()
        return _play(find_story(shelf, wanted), pauses, keeps, port, plain)
    except (NoSuchStory, StoryError, NoCluster, NoKubectl) as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_PLAY) from None


def _list(shelf: Path) -> None:
    from moorage.demo.story import all_stories

    stories = [shelved.story for shelved in all_stories(shelf)]
    names = max((len(story.name) for story in stories), default=0)
    titles = max((len(story.title) for story in stories), default=0)
    for story in stories:
        click.echo(f"{story.name:{names}}  {story.title:{titles}}  {story.document}".rstrip())


def _play(shelved: OnShelf, pauses: bool, keeps: bool, port: int, plain: bool) -> int:
    from moorage.cli.shared import coloured
    from moorage.demo.cluster import Kubectl, find_kubectl, story_cluster
    from moorage.demo.play import Screen, play
    from moorage.demo.programs import StoryPrograms

    screen = Screen(click.echo, coloured=not plain and coloured("auto"))
    program = find_kubectl()
    screen.opening(shelved.story, str(shelved.folder), program)
    held = False
    with story_cluster(shelved.story.gates, port, keeps=lambda: keeps) as cluster:
        where = (program, cluster.kubeconfig, cluster.directory, shelved.folder)
        with StoryPrograms(*where) as programs:
            pause = _pause if pauses else None
            kubectl = Kubectl(*where)
            held = play(shelved.story, kubectl.run, programs.start, screen, cluster.check_alive, pause)
            if held:
                screen.ending(shelved.story)
            if keeps:
                click.echo(_how_to_talk_to(cluster, programs.let_go()))
    return 0 if held else _DID_NOT_HOLD


def _pause() -> None:
    """Wait for Enter; at the end of the input go on without pauses."""
    try:
        input("Enter runs it, Ctrl-C ends the story ")
    except EOFError:
        click.echo()


def _how_to_talk_to(cluster: StoryCluster, programs: list[int]) -> str:
    processes = " ".join(map(str, (cluster.pid, *programs)))
    return (
        "\nThe cluster goes on, and nothing of it is kept when it ends.\n\n"
        f"  export KUBECONFIG={shlex.quote(str(cluster.kubeconfig))}\n"
        "  kubectl get pods -A -o wide\n\n"
        f"kill {processes} stops it; {cluster.directory} can be removed then."
    )
