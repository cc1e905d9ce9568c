/**
 * Asks the server what rows do not tell: gates of the components, the nearest tipping points, budgets that allow nothing.
 *
 *   const asking = new Asking(() => evaluate());  asking.answers;  asking.changed();  asking.stop()
 *
 * Each is asked again after the cluster has changed, and rests for many times as long as its answer took, so that a large
 * cluster is not simulated all the time for a line of text. A hidden page asks nothing.
 */
import { ask, getJSON, isAbort } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";

const SOURCES = {
  gates: { get: (signal) => getJSON("/api/gates", { signal }), least: 60_000 },
  tips: { get: async (signal) => (await ask("tipping", {}, { signal })).at(-1), least: 5_000 },
  budgets: { get: async (signal) => (await ask("budgets", {}, { signal })).at(-1), least: 5_000 },
};
const REST = 20;

export class Asking {
  #onanswer;
  #stop = new AbortController();
  #states = Object.fromEntries(Object.keys(SOURCES).map((name) => [name, { seq: -1, due: 0, timer: 0, isAsked: false }]));
  answers = {};

  constructor(onanswer) {
    this.#onanswer = onanswer;
    document.addEventListener("visibilitychange", () => this.changed(), { signal: this.#stop.signal });
  }

  stop() {
    this.#stop.abort();
    for (const state of Object.values(this.#states)) clearTimeout(state.timer);
  }

  /** The cluster may have changed: asks as soon as each question has rested. */
  changed() {
    if (document.hidden || this.#stop.signal.aborted) return;
    for (const [name, state] of Object.entries(this.#states)) {
      if (state.isAsked || state.timer || (state.seq === cluster.seq && name !== "gates")) continue;
      state.timer = setTimeout(() => this.#ask(name, state), Math.max(0, state.due - performance.now()));
    }
  }

  /** Nothing that was answered holds any more, as after the connection was lost. */
  forget() {
    this.answers = {};
    for (const state of Object.values(this.#states)) state.seq = -1;
  }

  async #ask(name, state) {
    state.timer = 0;
    state.isAsked = true;
    state.seq = cluster.seq;
    const began = performance.now();
    const { get, least } = SOURCES[name];
    // What cannot be answered is not said; the views that are about it say why.
    let answer;
    try {
      answer = await get(this.#stop.signal);
    } catch (error) {
      if (isAbort(error)) return;
    }
    // Asked before the connection was lost, it may be of another cluster.
    this.answers[name] = state.seq < 0 ? undefined : answer;
    state.isAsked = false;
    state.due = performance.now() + Math.max(least, REST * (performance.now() - began));
    this.#onanswer();
    if (state.seq !== cluster.seq) this.changed();
  }
}
