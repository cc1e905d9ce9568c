"""Run the live scheduler: informers in, the scheduling cycle, calls to the API server out.

One task works in slices of about two milliseconds and sleeps until something arrives or a pod's backoff is over.
Kubernetes: Scheduler.Run, ScheduleOne and the queue's flushing goroutines. Differs: one task instead of many.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from moorage.client.informer import Informer
from moorage.client.protocol import Client, Object
from moorage.columns.cluster import Cluster
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.gates import NOMINATED_NODE_NAME_FOR_EXPECTATION, GateSet
from moorage.model.kinds import KINDS
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration
from moorage.schedule.config.plugin_args import DynamicResourcesArgs, VolumeBindingArgs
from moorage.schedule.config.third_party import PluginError
from moorage.schedule.cycle import Bind
from moorage.schedule.live.binder import Binder, Recorder, Reporter
from moorage.schedule.live.claim_binder import ClaimBinder
from moorage.schedule.live.feed import Feed, SurroundingsFeed, watched_kinds
from moorage.schedule.live.metrics import ClaimMetrics, SchedulerMetrics
from moorage.schedule.live.pod_feed import SHAPES_TO_SPARE, Assumptions, PodFeed
from moorage.schedule.live.unreadable_values import UnreadableReports
from moorage.schedule.live.volume_binder import DEFAULT_TIMEOUT_SECONDS, VolumeBinder
from moorage.schedule.plugins.devices.sliced_searches import SlicedSearches
from moorage.schedule.plugins.spread_domains import DefaultSelectors
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import operation

SLICE_SECONDS = 0.002
_LOG = get_logger("scheduler")


class LiveScheduler:
    """The scheduler of one process. `clock` is monotonic, and `sleep` sleeps by it; `seed` decides ties.

    `shapes_to_spare` is how many shapes of deleted pods may be kept, and as many again as there are in use;
    `evaluations` evaluates expensive expressions.
    """

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        gates: GateSet,
        configuration: Configuration = DEFAULT_CONFIGURATION,
        metrics: Metrics | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        seed: int = 0,
        shapes_to_spare: int = SHAPES_TO_SPARE,
        evaluations: Evaluations | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self._wakened = asyncio.Event()
        selectors = DefaultSelectors()
        self._sliced = sliced = SlicedSearches(self._wakened.set)
        self.scheduler = configuration.make_scheduler(Cluster(seed, gates), gates, selectors, evaluations, sliced)
        self.scheduler.wake = self._wakened.set
        self.assumptions = Assumptions()
        self.pods = PodFeed(self.scheduler, self.assumptions, shapes_to_spare)
        surroundings = SurroundingsFeed(self.scheduler, selectors)
        kinds = watched_kinds(gates)
        self.feed = Feed(self.pods, surroundings, kinds, self._wakened.set)
        volumes = VolumeBinder(
            client, self.scheduler.cluster, surroundings, self.assumptions, gates, _timeouts(configuration)
        )
        metrics = metrics or Metrics()
        self._metrics = SchedulerMetrics(metrics, self.scheduler, self.assumptions)
        self._unreadable = UnreadableReports(self.scheduler, metrics, recorder, clock)
        self.informers = [Informer(client, kind, self.feed.handler(kind)) for kind in kinds]
        watched_pods = next(informer for informer in self.informers if informer.kind is KINDS.POD)
        claims = ClaimBinder(
            client,
            self.scheduler.cluster.devices,
            self.assumptions,
            gates,
            _device_timeouts(configuration),
            self._newest_claim,
            sleep,
            metrics=ClaimMetrics(metrics),
        )
        surroundings.resource_claims_changed = claims.look_again
        self.binder = Binder(
            client,
            self.scheduler,
            self.pods,
            self.assumptions,
            volumes,
            claims,
            Reporter(recorder, watched_pods.cache.get),
            self._metrics,
            clock,
            sleep,
            self._wakened.set,
            nominates=gates.enabled(NOMINATED_NODE_NAME_FOR_EXPECTATION),
        )

    def _newest_claim(self, key: str) -> Object | None:
        claims = next((informer for informer in self.informers if informer.kind is KINDS.RESOURCE_CLAIM), None)
        return claims.cache.get(key) if claims is not None else None

    async def run(self) -> None:
        """Watch and schedule until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self.informers:
                    group.create_task(informer.run())
                for informer in self.informers:
                    await informer.synced()
                await self._take_in_everything()
                _LOG.debug(1, "Caches are synced")
                await self.schedule()
        finally:
            await self.binder.close()

    @operation("scheduling")
    async def _take_in_everything(self) -> None:
        """Process all that was listed before anything is decided, so that no node seems free."""
        while self.feed:
            self.feed.take(self._clock, self._clock() + SLICE_SECONDS)
            await asyncio.sleep(0)

    @property
    def has_synced(self) -> bool:
        return all(informer.has_synced for informer in self.informers)

    @operation("scheduling")
    async def schedule(self) -> None:
        """Work through what arrives until cancelled."""
        while True:
            self._wakened.clear()
            has_more = self.work(self._clock() + SLICE_SECONDS)
            if self._sliced.work(SLICE_SECONDS) or has_more:
                await asyncio.sleep(0)  # there is more to do; the others first
            else:
                await self._rest()

    def work(self, until: float) -> bool:
        """Process what arrived, then schedule, until the time is up; return whether there is more to do."""
        clock, feed, scheduler = self._clock, self.feed, self.scheduler
        if feed:
            feed.take(clock, until)
            self.pods.tidy()
        began = clock()
        while True:
            try:
                action = scheduler.step(began)
            except Exception as error:
                # A mistake of ours or of another package's plugin: other pods are scheduled all the same.
                tried = ", ".join(pod.key for pod in scheduler.attempt_failed(began))
                if isinstance(error, PluginError):
                    _LOG.error("Error scheduling pod; retrying", pod=tried, err=str(error))
                else:
                    _LOG.exception("Error scheduling pod; retrying", pod=tried)
                return True
            if action is None:
                self._unreadable.write()
                return bool(feed)
            now = clock()
            self._unreadable.look(action.record, action.pod.scheduler)
            if isinstance(action, Bind):
                self._metrics.bind_chosen(action, now - began)
            else:
                self._metrics.no_node(action, now - began)
            self.binder.carry_out(action, began)
            began = clock()
            if began >= until:
                return True

    async def _rest(self) -> None:
        """Wait until something arrives, or until the queue's next timer."""
        seconds = min(self.scheduler.queue.next_time(), self._unreadable.next_time()) - self._clock()
        if seconds == float("inf"):
            await self._wakened.wait()
            return
        timer = asyncio.ensure_future(self._sleep(max(seconds, 0.0)))
        arrival = asyncio.ensure_future(self._wakened.wait())
        try:
            await asyncio.wait((timer, arrival), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            arrival.cancel()


def _timeouts(configuration: Configuration) -> dict[str, float]:
    """Return how long each profile waits for volumes, by its name."""
    timeouts = {}
    for profile in configuration.profiles:
        args = profile.args.get("VolumeBinding")
        given = args.bindTimeoutSeconds if isinstance(args, VolumeBindingArgs) else None
        timeouts[profile.name] = DEFAULT_TIMEOUT_SECONDS if given is None else float(given)
    return timeouts


def _device_timeouts(configuration: Configuration) -> dict[str, float]:
    """Return how long each profile waits for devices, by its name."""
    given = {profile.name: profile.args.get("DynamicResources") for profile in configuration.profiles}
    return {name: args.binding_seconds for name, args in given.items() if isinstance(args, DynamicResourcesArgs)}
