"""Measure frames of the dashboard's map in Chromium: `python -m bench.dashboard_frames [--nodes N] [--pods N] …`.

A made-up cluster is served with a stream of moving pods. Reported: first paint, until the map is drawn, the time
between frames, how long the page's own work in each takes and the CPU time of the main thread (while pods move; while
the map is zoomed and panned too), and the size of the JavaScript heap after a collection, over time. Dots are coloured
by workload unless `--dots` says otherwise. With `--tabs`, other tabs are open meanwhile, and streams are counted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from bench.dashboard_cluster import serve_made_up_cluster

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
PATIENCE = 60.0
#: Runs before the page's own scripts: how long the callbacks of each frame take, and when frames come.
RECORDER = """
(() => {
  const ask = window.requestAnimationFrame.bind(window);
  const frames = (window.benchFrames = {times: [], work: [], on: false});
  let now = -1, spent = 0;
  window.requestAnimationFrame = (work) => ask((time) => {
    const start = performance.now();
    work(time);
    if (time !== now) spent = 0;
    now = time;
    spent += performance.now() - start;
  });
  const tick = (time) => {
    if (frames.on) {
      frames.times.push(time);
      frames.work.push(spent);
    }
    spent = 0;
    ask(tick);
  };
  ask(tick);
})();
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard_frames", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--moves", type=int, default=200, help="pods that move each second")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long frames are recorded")
    parser.add_argument("--heap-seconds", type=float, default=60.0, help="how long the heap is watched after that")
    parser.add_argument("--dots", default="workload", help="by what dots are coloured, as in the address of the map")
    parser.add_argument("--tabs", type=int, default=1, help="tabs of the same dashboard; the first is measured")
    parser.add_argument("--chromium", default=os.environ.get("CHROMIUM") or shutil.which("chromium"))
    options = parser.parse_args()
    with (
        serve_made_up_cluster(options.nodes, options.pods, options.moves) as (address, cluster),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=options.chromium, args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.add_init_script(RECORDER)
        page.goto(f"{address}#/map?dots={options.dots}")
        # Not wait_for_function: the page's policy forbids to evaluate text.
        end = time.monotonic() + PATIENCE
        while not page.evaluate("performance.getEntriesByName('moorage-map').length"):
            if time.monotonic() > end:
                sys.exit(f"the map was not drawn in {PATIENCE:.0f} s")
            page.wait_for_timeout(20)
        print(f"{options.nodes} nodes, {options.pods} pods, {options.moves} moves/s; load {os.getloadavg()[0]:.1f}")
        print(f"first contentful paint {_paint(page):.0f} ms; map drawn {_drawn(page):.0f} ms")
        for _ in range(options.tabs - 1):
            page.context.new_page().goto(f"{address}#/timeline")
        page.bring_to_front()
        page.wait_for_timeout(1000)
        print(f"{options.tabs} tabs, {cluster.streams} streams; {_words(page)}")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        _report("while pods move", *_record(page, session, options.seconds))
        _report("while pods move, zooming and panning", *_record(page, session, options.seconds, gestures=True))
        _watch_heap(page, session, options.heap_seconds)
        browser.close()
    return 0


def _words(page: Page) -> str:
    """Return what the page says at its start."""
    return " | ".join(page.locator(".start-line").all_inner_texts()).replace("\n", " ") or "no start line"


def _paint(page: Page) -> float:
    return float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))


def _drawn(page: Page) -> float:
    return float(page.evaluate("performance.getEntriesByName('moorage-map')[0].startTime"))


def _metrics(session: CDPSession) -> dict[str, float]:
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def _record(page: Page, session: CDPSession, seconds: float, gestures: bool = False) -> tuple[dict[str, Any], float]:
    before = _metrics(session)["ThreadTime"]
    page.evaluate("Object.assign(benchFrames, {times: [], work: [], on: true})")
    end = time.monotonic() + seconds
    if gestures:
        page.mouse.move(700, 450)
    step = 0
    while time.monotonic() < end:
        if gestures:
            step += 1
            page.mouse.wheel(0, -40 if step % 60 < 30 else 40)
        page.wait_for_timeout(16 if gestures else 200)
    frames: dict[str, Any] = page.evaluate("Object.assign(benchFrames, {on: false})")
    return frames, _metrics(session)["ThreadTime"] - before


def _report(what: str, frames: dict[str, Any], cpu: float) -> None:
    gaps = [after - before for before, after in zip(frames["times"], frames["times"][1:], strict=False)]
    quantiles, work = statistics.quantiles(gaps, n=100), statistics.quantiles(frames["work"], n=100)
    rate = 1000 * len(gaps) / sum(gaps)
    print(f"{what}: {rate:.1f} frames/s; between frames p50 {quantiles[49]:.1f} p95 {quantiles[94]:.1f} ms;", end=" ")
    print(f"work in a frame p50 {work[49]:.1f} p95 {work[94]:.1f} p99 {work[98]:.1f} ms;", end=" ")
    print(f"CPU of the main thread {1000 * cpu / len(gaps):.1f} ms a frame ({len(gaps)} frames)")


def _watch_heap(page: Page, session: CDPSession, seconds: float) -> None:
    start = time.monotonic()
    while True:
        session.send("HeapProfiler.collectGarbage")
        metrics = _metrics(session)
        heap, nodes = metrics["JSHeapUsedSize"] / 2**20, metrics["Nodes"]
        print(f"heap after {time.monotonic() - start:5.0f} s: {heap:.1f} MiB, {nodes:.0f} DOM nodes", flush=True)
        left = start + seconds - time.monotonic()
        if left <= 0:
            return
        page.wait_for_timeout(min(left, max(5.0, seconds / 10)) * 1000)


if __name__ == "__main__":
    sys.exit(main())
