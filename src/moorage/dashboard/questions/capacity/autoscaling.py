"""Let an autoscaler with the pools of the input work in a fork of the cluster: nodes that come and go, and why not."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.autoscale.options import read_options
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.autoscaling.attached import Autoscaling, attach
from moorage.plan.autoscaling.report import Scaling, scaling_of
from moorage.plan.pools.reading import pools_of
from moorage.plan.report.autoscaling import buffer_line, pool_line, reasons_of, step_groups, summary_line
from moorage.pools.node_template import Scaler

DEFAULT_SECONDS, MAX_SECONDS = 1800, 24 * 3600
#: Rows of one kind that are told.
MAX_ROWS = 200


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: what an autoscaler does in the first `seconds`, and whose pools there are."""
    pools = pools_of(base.planner.inventory)
    scalers = [one for one in Scaler if any(pool.scaler is one for pool in pools.pools)]
    if not scalers:
        yield {"part": "autoscaling", "autoscalers": [], "done": True}
        return
    name, seconds = arguments.get("autoscaler") or scalers[0].value, arguments.get("seconds", DEFAULT_SECONDS)
    if name not in [one.value for one in scalers]:
        raise BadQuestion(f"autoscaler must be one of {', '.join(scalers)}")
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds <= MAX_SECONDS:
        raise BadQuestion(f"seconds must be a number from 1 to {MAX_SECONDS}")
    scaler = Scaler(name)
    own = tuple(pool for pool in pools.pools if pool.scaler is scaler)
    autoscaling = Autoscaling(scaler, own, read_options(scaler), tuple(pools.buffers), pools.templates)
    simulation = base.simulation
    attached = attach(simulation, autoscaling)
    simulation.run_until(simulation.clock.start + seconds)
    yield {
        "part": "autoscaling",
        "autoscalers": [one.value for one in scalers],
        "autoscaler": name,
        "stopped": simulation.stopped,
        **_told(scaling_of(simulation, attached)),
        "done": True,
    }


def _told(scaling: Scaling) -> dict[str, Any]:
    steps = step_groups(scaling)
    helpless = [
        {"pods": group.pods[:MAX_ROWS], "pools": pools, "reason": reason, "event": "" if at else group.message}
        for group in scaling.not_helped
        for at, (pools, reason) in enumerate(reasons_of(group))
    ]
    return {
        "summary": summary_line(scaling),
        "steps": [
            {
                "seconds": one.first.seconds,
                "did": one.first.did.value,
                "what": one.what,
                "why": one.why,
                "nodes": one.nodes[:MAX_ROWS],
            }
            for one in steps[:MAX_ROWS]
        ],
        "stepsLeftOut": max(len(steps) - MAX_ROWS, 0),
        "pools": [{"name": one.name, "text": pool_line(one)} for one in scaling.pools],
        "buffers": [{"name": one.name, "text": buffer_line(one)} for one in scaling.buffers[:MAX_ROWS]],
        "notHelped": helpless[:MAX_ROWS],
        "rates": msgspec.to_builtins(scaling.rates[-1]),
    }
