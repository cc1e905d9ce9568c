"""Options that several commands have, said once. Next: `lint`, `plan`, `explain`."""

import click

gates_option = click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="NAME=BOOL,...",
    help="Switch feature gates on or off in all components; AllAlpha=true for all. Repeatable.",
)
config_option = click.option(
    "--config",
    metavar="FILE",
    help="A KubeSchedulerConfiguration: profiles, plugins, weights and arguments of the scheduler.",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Decides between nodes that are equally good."
)
all_option = click.option("--all", "everything", is_flag=True, help="Print long lists in full.")
colour_option = click.option(
    "--color",
    "--colour",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in text; auto: on a terminal, unless NO_COLOR is set.",
)
