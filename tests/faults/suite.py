"""Run faults one after the other under load, in rounds; check each round's history; collect what is to be reported.

A round has a namespace of its own. At its end the cluster is whole again, clients read everything once more, and the
checkers look at what was recorded. Everything random comes from one seed.
"""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.check.cluster_rules import ClusterRules
from tests.faults.check.history import Operation, Version, Violation, write_history
from tests.faults.check.linearizable import check_histories
from tests.faults.check.revisions import check_revisions
from tests.faults.check.truth import check_truth
from tests.faults.check.watches import check_watcher
from tests.faults.kinds import Injected, Kind, possible_kinds
from tests.faults.load.probes import Prober, slowest_since
from tests.faults.load.recorder import Recorded, Recorder, read_file, read_json
from tests.faults.load.registers import Registers, state_of
from tests.faults.load.watchers import Watcher
from tests.faults.load.wire import Wire
from tests.faults.load.workloads import RULES, Workloads
from tests.faults.rig.cluster import Cluster, gateway
from tests.faults.rig.starvation import PatientClock, Threads

#: Seconds within which writes must work again after the loss of one process.
RECOVERY_SECONDS = 5.0
#: Seconds that a cluster may take to be whole again when nothing is done to it any more. All seconds that are promised
#: or waited for are those of `starvation`.
HEALING_SECONDS = 90.0
_REGISTER_CLIENTS, _WATCHERS = 6, 3
#: Rounds with violations after which a run ends.
_MOST_FILES = 10


class Size(NamedTuple):
    """How much: faults in all, and in a round; seconds between requests of a client."""

    faults: int
    round: int = 20
    pause: float = 0.1
    #: Seconds of quiet between faults.
    quiet: tuple[float, float] = (0.3, 1.5)
    #: Seconds within which writes must work again after the loss of one process; 0: it is only reported.
    promise: float = 0.0


class FaultRecord(NamedTuple):
    """One fault, as it is reported. `recovery`: seconds until writes worked; None: no promise is made for it.

    `slowest` is how long the slowest of all writes took, by API servers that were not hit themselves. `slowness` is how
    many times longer everything took until then because processes waited for a processor.
    """

    kind: str
    what: str
    at: float
    held: float
    recovery: float | None
    healing: float
    slowest: float
    slowness: float = 1.0

    @property
    def counted_recovery(self) -> float | None:
        """Seconds until writes worked, as the processes had them."""
        return None if self.recovery is None else self.recovery / self.slowness


class Outcome:
    """What a run has found."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.faults: list[FaultRecord] = []
        self.violations: list[Violation] = []
        self.impossible: dict[str, str] = {}
        self.fates: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.odd_answers: list[str] = []
        #: Seconds that pods waited for their nodes.
        self.waits: list[float] = []
        self.files: list[Path] = []


class Suite:
    """One run against one cluster."""

    def __init__(
        self, cluster: Cluster, size: Size, seed: int, out: Path, outcome: Outcome, kinds: Sequence[str] = ()
    ) -> None:
        """Faults are of random kinds, or of the given ones, in turn."""
        self._in_turn = list(kinds)
        self.cluster, self.size, self.seed, self._out = cluster, size, seed, out
        self._random = random.Random(seed)
        self._clock = time.monotonic
        self.outcome = outcome
        self.kinds, self.outcome.impossible = possible_kinds(cluster.machine, has_etcd=bool(cluster.members))
        self._wires = [Wire(server.name, cluster.access(server.name)) for server in cluster.servers]
        self._rules = ClusterRules(RULES)
        self._versions: list[Version] = []
        self._prefix = ""
        self._recorder = Recorder([member.address for member in cluster.members], "/registry/", self._hear)
        self._file_revision = 0
        self._probers: list[Prober] = []
        self._lines: list[str] = []
        self._read_logs: Counter[str] = Counter()
        self._threads = Threads(lambda: [os.getpid(), *(child.pid for child in cluster.children if child.is_running)])

    def _patience(self) -> PatientClock:
        return PatientClock(self._threads.work, self._clock)

    def _hear(self, recorded: Recorded) -> None:
        revision, key, value, seen = recorded
        self.outcome.counts["changes in the store"] += 1
        if self._prefix and key.startswith(self._prefix):
            name = key.removeprefix("/registry/configmaps/")
            self._versions.append(Version(revision, name, None if value is None else state_of(read_json(value))))
        else:
            self._rules.hear(revision, key, value, seen)

    def _say(self, text: str) -> None:
        line = f"{self._clock():.3f} {text}"
        self._lines.append(line)
        print(time.strftime("%H:%M:%S"), text, flush=True)

    async def run(self) -> None:
        """Run all rounds."""
        workloads = Workloads(self._wires, self.cluster.shape.nodes, self.seed)
        recording = [self._recorder.run()] if self.cluster.members else []
        try:
            async with _beside(recording):
                await workloads.set_up()
                await self._make_namespace("probes")
                self._probers = [Prober(wire, "probes") for wire in self._wires]
                parts = [workloads.roll(), workloads.evict(), workloads.schedule(), workloads.bind()]
                async with _beside([*parts, *(prober.run() for prober in self._probers)]):
                    number = 0
                    while len(self.outcome.faults) < self.size.faults and not self._is_broken:
                        number += 1
                        await self._round(number, workloads)
        finally:
            for wire in self._wires:
                wire.close()
            self._count(workloads)

    @property
    def _is_broken(self) -> bool:
        """Whether it makes no sense to go on."""
        return len(self.outcome.files) >= _MOST_FILES or any(
            violation.rule == "no recovery" for violation in self.outcome.violations
        )

    def _count(self, workloads: Workloads) -> None:
        counts = self.outcome.counts
        counts["rollouts"], counts["pods evicted"] = workloads.rollouts, workloads.evicted
        counts["evictions refused"], counts["bindings"] = workloads.refused_evictions, workloads.bindings
        counts["pods scheduled"] = len(workloads.scheduled_after)
        self.outcome.waits = [waited for _, waited in workloads.scheduled_after]
        counts["leaders changed"] = sum(self._rules.handovers.values())

    async def _make_namespace(self, name: str) -> None:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        patience = self._patience()
        while (await self._wires[0].send("POST", "/api/v1/namespaces", document)).code not in (201, 409):
            if patience.tick() > HEALING_SECONDS:
                raise TimeoutError(f"namespace {name} cannot be made")
            await asyncio.sleep(0.2)

    async def _round(self, number: int, workloads: Workloads) -> None:
        """Inject some faults under load, let everything settle, and check."""
        namespace = f"round-{number}"
        self._versions, self._prefix = [], f"/registry/configmaps/{namespace}/"
        self._lines = []
        await self._make_namespace(namespace)
        seed = self._random.randrange(2**32)
        registers = Registers(namespace, self._wires, seed)
        watchers = [Watcher(f"w{one}", namespace, self._wires, seed + one) for one in range(_WATCHERS)]
        async with _beside([watcher.run() for watcher in watchers]):
            clients = [registers.run_client(one, self.size.pause) for one in range(_REGISTER_CLIENTS)]
            async with _beside(clients):
                for _ in range(min(self.size.round, self.size.faults - len(self.outcome.faults))):
                    await asyncio.sleep(self._random.uniform(*self.size.quiet))
                    await self._fault()
                await asyncio.sleep(1.0)
            await registers.settle()
            bindings, workloads.acknowledged = workloads.acknowledged, {}
            await self._catch_up(watchers)
        self.outcome.violations += self._rules.check_bindings(bindings)
        await self._check(number, registers, watchers, workloads)

    # Faults.

    async def _fault(self) -> None:
        kind = self._next_kind()
        hold = self._random.uniform(*kind.hold)
        at = self._clock()
        injected = await kind.inject(self.cluster, self._random)
        began = self._clock()
        self._say(f"{kind.name}: {injected.what}, {hold:.1f} s")
        recovery: float | None = None
        patience = self._patience()
        promised = kind.recovers and len(injected.spared_servers) < len(self.cluster.servers)
        try:
            if promised:
                # Wait for writes while the fault lasts; it lasts longer than planned if they do not work before.
                recovery = await self._recovered(began, injected, max(hold, RECOVERY_SECONDS + 3.0), patience)
            slowness = patience.slowness
            await asyncio.sleep(max(0.0, hold - (self._clock() - began)))
        finally:
            await injected.undo()
        ended = self._clock()
        healing = await self._healed(kind, injected)
        left = [prober for prober in self._probers if prober.wire.name not in injected.spared_servers]
        slowest = max((slowest_since(prober.probes, began) for prober in left), default=0.0)
        fault = FaultRecord(kind.name, injected.what, at, ended - began, recovery, healing, slowest, slowness)
        self.outcome.faults.append(fault)
        if promised:
            said = "did not work" if recovery is None else f"worked after {recovery:.2f} s"
            if slowness > 1.0:
                said += f" on a machine {slowness:.1f} times slower than a quiet one"
            self._say(f"  writes {said}, the slowest took {slowest:.2f} s; whole after {healing:.2f} s")
            counted = fault.counted_recovery
            if self.size.promise and (counted is None or counted > self.size.promise):
                self.outcome.violations.append(
                    Violation("slow recovery", f"{kind.name} ({injected.what}): writes {said}")
                )

    def _next_kind(self) -> Kind:
        if self._in_turn:
            wanted = self._in_turn[len(self.outcome.faults) % len(self._in_turn)]
            fitting = [kind for kind in self.kinds if kind.name == wanted]
            if fitting:
                return fitting[0]
        return self._random.choices(self.kinds, [kind.weight for kind in self.kinds])[0]

    async def _recovered(self, began: float, injected: Injected, most: float, patience: PatientClock) -> float | None:
        """Wait until writes work by all API servers that the fault did not hit; return after how many seconds."""
        probers = [prober for prober in self._probers if prober.wire.name not in injected.spared_servers]
        while True:
            spent = patience.tick()
            moments = [prober.works_since(began) for prober in probers]
            if None not in moments:
                return max(moment - began for moment in moments if moment is not None)
            if spent > most:
                return None
            await asyncio.sleep(0.05)

    async def _healed(self, kind: Kind, injected: Injected) -> float:
        """Wait until every process runs and writes work everywhere; return how long it took."""
        began, patience = self._clock(), self._patience()
        while patience.tick() < HEALING_SECONDS:
            running = all(child.is_running for child in self.cluster.children)
            running = running and all(prober.works_since(began) is not None for prober in self._probers)
            if running and await asyncio.to_thread(self.cluster.are_members_healthy):
                return self._clock() - began
            await asyncio.sleep(0.1)
        down = [child.name for child in self.cluster.children if not child.is_running]
        failing = [prober.wire.name for prober in self._probers if prober.works_since(began) is None]
        text = (
            f"{kind.name} ({injected.what}): not whole after {patience.wall:.0f} s, {HEALING_SECONDS:.0f} s as its "
            f"processes had them; down: {down or 'none'}; no writes by: {failing or 'none'}"
        )
        self.outcome.violations.append(Violation("no recovery", text))
        return patience.wall

    # Checking.

    async def _catch_up(self, watchers: Sequence[Watcher]) -> None:
        """Wait until the recorder and the watchers have seen the last write of the round."""
        patience = self._patience()
        if self.cluster.members:
            newest = await self._newest_revision()
            while self._recorder.revision < newest and patience.tick() < HEALING_SECONDS:
                await asyncio.sleep(0.05)
        else:
            await self._read_file()
        last = self._versions[-1].revision if self._versions else 0
        while any(watcher.reached < last for watcher in watchers) and patience.tick() < HEALING_SECONDS:
            await asyncio.sleep(0.05)

    async def _newest_revision(self) -> int:
        newest, patience = 0, self._patience()
        while not newest:
            if patience.tick() > HEALING_SECONDS:
                raise TimeoutError("etcd does not tell its revision")
            for member in self.cluster.members:
                found = await asyncio.to_thread(gateway, member.url, "kv/range", {"key": "AA=="})
                if found:
                    newest = max(newest, int(found["header"]["revision"]))
        return newest

    async def _read_file(self) -> None:
        """Kill the API server, and read the history in its file before it is started again."""
        server = self.cluster.servers[0]
        server.child.kill()
        try:
            for recorded in await asyncio.to_thread(read_file, server.data, self._file_revision):
                self._file_revision = recorded.revision
                self._hear(recorded)
        finally:
            server.child.start()

    async def _check(
        self, number: int, registers: Registers, watchers: Sequence[Watcher], workloads: Workloads
    ) -> None:
        operations, versions = registers.operations, list(self._versions)
        found, undecided = await asyncio.to_thread(check_histories, operations)
        found += check_revisions(operations)
        found += check_truth(operations, [one for one in versions if one.key.partition("/")[2].startswith("r-")])
        last = versions[-1].revision if versions else 0
        for watcher in watchers:
            found += check_watcher(watcher.name, watcher.parts, versions, last)
        found += self._rules.violations + workloads.violations
        found += self._traces()
        self._rules.violations, workloads.violations = [], []
        self.outcome.violations += found
        self.outcome.odd_answers += registers.odd_answers
        self.outcome.fates.update(f"{one.action.value} {one.fate.value}" for one in operations)
        counts = self.outcome.counts
        counts["operations"] += len(operations)
        counts["objects"] += len({one.key for one in operations})
        counts["undecided histories"] += undecided
        counts["watch events"] += sum(len(part.events) for watcher in watchers for part in watcher.parts)
        counts["watches moved"] += sum(watcher.moves for watcher in watchers)
        counts["lists after 410"] += sum(len(watcher.parts) - 1 for watcher in watchers)
        self._say(
            f"round {number}: {len(operations)} operations, {len(versions)} changes, {undecided} undecided, "
            f"{len(found)} violations"
        )
        if found:
            self._write(number, operations, versions, watchers)

    def _traces(self) -> list[Violation]:
        """Return tracebacks in logs since the last round: no fault is an excuse for one."""
        found = []
        for child in self.cluster.children:
            text = child.log.read_text(errors="replace")
            text, self._read_logs[child.name] = text[self._read_logs[child.name] :], len(text)
            if not child.name.startswith("etcd") and "Traceback" in text:
                where = text.index("Traceback")
                found.append(Violation("traceback", f"{child.name}: {text[max(0, where - 300) : where + 2500]}"))
        return found

    def _write(
        self, number: int, operations: Sequence[Operation], versions: Sequence[Version], watchers: Sequence[Watcher]
    ) -> None:
        facts: dict[str, Any] = {"seed": self.seed, "round": number, "violations": self.outcome.violations}
        lines = [*self._lines, "", "# changes in the store", *map(str, versions)]
        for watcher in watchers:
            lines += ["", f"# watcher {watcher.name}"]
            for part in watcher.parts:
                lines += [f"listed at {part.revision}: {dict(part.listed)}", *map(str, part.events)]
        path = self._out / f"seed-{self.seed}-round-{number}.txt"
        write_history(path, facts, operations, lines)
        self.outcome.files.append(path)


@asynccontextmanager
async def _beside(parts: Sequence[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run parts beside the block; one that fails ends the block with its error."""
    block = asyncio.current_task()
    assert block is not None
    tasks = [asyncio.create_task(part) for part in parts]
    errors: list[BaseException] = []

    def ended(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            errors.append(error)
            block.cancel()

    for task in tasks:
        task.add_done_callback(ended)
    try:
        yield
    except asyncio.CancelledError:
        if errors:
            raise errors[0] from None
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
