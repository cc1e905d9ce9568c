"""Questions are answered by forked processes, whatever becomes of these."""

import asyncio
import json
import logging
import os
import signal
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.dashboard.simulator.conftest import CLUSTER, ROOT, Make, answer_of

from moorage.cli.commands.plan import command as plan_command
from moorage.dashboard.simulator.client import Simulator
from moorage.dashboard.simulator.spec import InputSpec

pytestmark = pytest.mark.real_time
ALL = "AllAlpha=true,AllBeta=true"


async def pid_gone(pid: int) -> None:
    """Wait until there is no such process."""
    while True:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        await asyncio.sleep(0.01)


async def holder(simulator: Simulator) -> int:
    (part,) = await answer_of(simulator, "settled-settings")
    pid: int = part["pid"]
    return pid


@pytest.mark.parametrize("example", ["cluster", "spot-protection", "gpu-driver-drain", "plugin"])
async def test_the_plan_is_that_of_the_command(simulators: Make, example: str) -> None:
    paths = [str(path) for path in (ROOT / "examples" / example).glob("*.yaml")]
    printed = CliRunner().invoke(plan_command, [*paths, "--feature-gates", ALL, "-o", "json"], standalone_mode=False)
    spec = InputSpec(files=paths, feature_gates=CLUSTER.feature_gates)
    async with simulators(spec) as simulator:
        (part,) = await answer_of(simulator, "plan")
    assert part.pop("done") is True
    assert part == json.loads(printed.stdout)
    assert part["summary"]["nodes"] + part["summary"]["rejectedObjects"] > 0


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
async def test_a_question_spoils_its_own_copy_only(simulators: Make, loop: str) -> None:
    async with simulators() as simulator:
        first, second = await asyncio.gather(answer_of(simulator, "spoil"), answer_of(simulator, "spoil"))
        assert first == second == await answer_of(simulator, "spoil") == [{"nodes": 8, "done": True}]
        assert simulator.generation.seq == CLUSTER.seq
        assert not simulator.generation.problem


async def test_many_questions_wait_for_their_turn(simulators: Make) -> None:
    async with simulators(at_once=2) as simulator:
        answers = await asyncio.gather(*(answer_of(simulator, "much", parts=3, size=100_000) for _ in range(8)))
    assert [[part.get("number") for part in parts] for parts in answers] == [[0, 1, 2, None]] * 8


async def test_a_child_that_dies_costs_its_answer_only(simulators: Make) -> None:
    async with simulators() as simulator:
        begun, error = await answer_of(simulator, "die")
        assert begun == {"begun": True}
        assert error["error"].startswith("the process that computed the answer was killed (signal 9)")
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_an_unexpected_error_is_one_line_and_its_traceback_is_logged(
    simulators: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "moorage"):
        async with simulators() as simulator:
            parts = await answer_of(simulator, "fail")
    assert parts == [{"error": "unexpected error: KeyError: 'a bug\\nwith two lines'", "done": True}]
    (record,) = caplog.records
    assert "odd_questions.py" in record.__dict__["fields"]["traceback"]


async def test_an_answer_may_not_take_all_memory(simulators: Make) -> None:
    async with simulators(memory=1 << 30) as simulator:
        assert await answer_of(simulator, "devour") == [
            {"error": "there is not enough memory for the answer", "done": True}
        ]


async def test_an_answer_has_its_time(simulators: Make) -> None:
    async with simulators() as simulator:
        for seconds in (0.3, 3.0, 30.0, 300.0):  # on a busy machine it may take a while until the answer begins
            *begun, error = [part async for part in simulator.ask("hang", {}, seconds=seconds)]
            assert error == {"error": f"took longer than {seconds:g} s", "done": True}
            if begun:
                break
        await pid_gone(begun[0]["pid"])


async def test_closing_an_answer_ends_its_process(simulators: Make) -> None:
    async with simulators(at_once=1) as simulator:
        async with aclosing(simulator.ask("hang", {})) as parts:
            begun = await anext(parts)
        await pid_gone(begun["pid"])
        assert len(await answer_of(simulator, "spoil")) == 1  # its turn is free again


async def test_a_cancelled_task_ends_its_process(simulators: Make) -> None:
    async with simulators(at_once=1) as simulator:
        heard: asyncio.Queue[int] = asyncio.Queue()

        async def listen() -> None:
            async for part in simulator.ask("hang", {}):
                heard.put_nowait(part["pid"])

        task = asyncio.create_task(listen())
        pid = await heard.get()
        task.cancel()
        await pid_gone(pid)
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_the_cluster_is_loaded_again_when_its_process_dies(simulators: Make) -> None:
    async with simulators() as simulator:
        before = await holder(simulator)
        os.kill(before, signal.SIGKILL)
        assert await holder(simulator) != before
        assert simulator.generation.number == 2


async def test_a_question_that_kills_the_cluster_is_tried_twice_and_no_more(simulators: Make) -> None:
    async with simulators() as simulator:
        assert await answer_of(simulator, "kill-holder") == [
            {"error": "the process with the simulated cluster died, again and again", "done": True}
        ]
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_a_new_zygote_is_started_when_it_dies(simulators: Make) -> None:
    async with simulators() as simulator:
        before = simulator.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        assert len(await answer_of(simulator, "spoil")) == 1
        await simulator.load(numbered(9))
        assert simulator.generation.seq == 9
        assert simulator.pid != before
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_everything_dies_at_once(simulators: Make) -> None:
    async with simulators() as simulator:
        assert simulator.pid is not None
        os.killpg(simulator.pid, signal.SIGKILL)
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_the_old_generation_answers_until_the_new_one_is_ready(simulators: Make) -> None:
    async with simulators() as simulator:
        old = await holder(simulator)
        async with aclosing(simulator.ask("hang", {})) as parts:
            begun = await anext(parts)
            loading = asyncio.create_task(simulator.load(numbered(8)))
            await asyncio.sleep(0)
            assert await holder(simulator) == old
            assert simulator.generation.seq == CLUSTER.seq
            assert simulator.generation.loading
            await loading
            assert simulator.generation.seq == 8
            assert await holder(simulator) != old
            os.kill(begun["pid"], 0)  # a question goes on with the cluster that it was asked of
        await pid_gone(begun["pid"])
        await pid_gone(old)


async def test_of_many_loads_the_newest_counts(simulators: Make) -> None:
    async with simulators() as simulator:
        await asyncio.gather(*(simulator.load(numbered(number)) for number in range(20, 30)))
        assert simulator.generation.seq == 29
        assert simulator.generation.number <= 4  # most were never made


async def test_questions_wait_for_the_first_generation(simulators: Make) -> None:
    async with simulators(None) as simulator:
        assert await answer_of(simulator, "plan") == [{"error": "no cluster is loaded", "done": True}]
        loading = asyncio.create_task(simulator.load(CLUSTER))
        await asyncio.sleep(0)
        assert await answer_of(simulator, "spoil") == [{"nodes": 8, "done": True}]
        await loading


async def test_a_file_with_errors_is_noted_and_the_rest_is_loaded(simulators: Make, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "node.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    async with simulators(InputSpec(files=[str(tmp_path)])) as simulator:
        (part,) = await answer_of(simulator, "plan")
        assert not simulator.generation.problem
    assert part["summary"]["nodes"] == part["summary"]["unreadable"] == 1
    assert any("bad.yaml" in note["file"] for note in part["notes"])


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (InputSpec(files=["absent.yaml"]), "nothing could be read: absent.yaml: No such file or directory"),
        (InputSpec(files=["-"], stdin=""), "there are no nodes, pods or workloads in <stdin>"),
        (InputSpec(files=["-"], stdin="a: ["), "nothing could be read: <stdin>:1"),
        (InputSpec(feature_gates={"Nope": True}), "unrecognized feature gate: Nope"),
        (InputSpec(configuration="a: 1", configuration_name="s.yaml"), "s.yaml:1: neither 'apiVersion' nor 'kind'"),
    ],
)
async def test_what_cannot_be_loaded_is_a_problem(simulators: Make, spec: InputSpec, problem: str) -> None:
    async with simulators(spec) as simulator:
        assert simulator.generation.problem.startswith(problem)
        await simulator.load(CLUSTER)
        assert not simulator.generation.problem
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_an_empty_directory_is_a_problem(simulators: Make, tmp_path: Path) -> None:
    async with simulators(InputSpec(files=[str(tmp_path)])) as simulator:
        assert simulator.generation.problem == f"no *.yaml, *.yml or *.json files in {tmp_path}"


async def test_a_bad_input_leaves_the_old_cluster(simulators: Make) -> None:
    async with simulators() as simulator:
        await simulator.load(InputSpec(feature_gates={"Nope": True}, seq=99))
        assert simulator.generation.problem.startswith("unrecognized feature gate: Nope")
        assert simulator.generation.seq == CLUSTER.seq
        assert len(await answer_of(simulator, "spoil")) == 1


async def test_unknown_questions_are_refused(simulators: Make) -> None:
    async with simulators() as simulator:
        (part,) = await answer_of(simulator, "nonsense")
        assert part["error"].startswith("there is no question 'nonsense'; there are ")


async def test_no_process_is_left_behind(simulators: Make) -> None:
    async with simulators() as simulator:
        pids = [simulator.pid, await holder(simulator), (await answer_of(simulator, "settings"))[0]["pid"]]
        assert len(set(pids)) == 3
        parts = simulator.ask("hang", {})
        pids.append((await anext(parts))["pid"])
    for pid in pids:
        assert pid is not None
        await pid_gone(pid)
    assert [part async for part in parts] == [{"error": "the simulator has ended", "done": True}]


def numbered(seq: int) -> InputSpec:
    return InputSpec(files=CLUSTER.files, feature_gates=CLUSTER.feature_gates, seq=seq)


async def test_a_dead_process_is_not_asked_a_second_time(simulators: Make) -> None:
    """The end of a process may be noticed by a failed command before it is heard on the channel."""
    async with simulators() as simulator:
        before = await holder(simulator)
        os.kill(before, signal.SIGKILL)
        while Path(f"/proc/{before}/stat").exists() and "Z" not in Path(f"/proc/{before}/stat").read_text("ascii"):
            time.sleep(0.01)  # the event loop hears nothing meanwhile
        assert await holder(simulator) != before
