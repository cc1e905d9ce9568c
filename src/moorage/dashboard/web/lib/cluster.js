/**
 * Holds the cluster as the server last told it, and tells views what changed, at most once per animation frame.
 *
 *   cluster.nodes      Map name → row of /api/state (with `pods`: Set of keys of the pods on it)
 *   cluster.pods       Map "ns/name" → {key, workload, node, phase, deadline}; workload "" and node "" where there is none;
 *                      deadline [due, because] of a pod that a taint evicts: see deadlineText
 *   cluster.workloads  Map workload → number of its pods
 *   cluster.happenings the last 2,000, newest last: [time, kind, subject, workload, detail]
 *   cluster.names      well-known names: {effects, deviceEffects, evicting, hostname, pools, deadlines}
 *   cluster.source, cluster.changes, cluster.seq, cluster.loaded, cluster.past (null, or the moment looked at)
 *   const stop = cluster.subscribe((change) => …)
 *     change = {all, source, nodes: Set of names (changed, new or gone), pods: Map key → node it was on before
 *               ("" not on any, undefined: new), happenings: [new ones]}; `all` means: everything may differ
 *   await cluster.ready          the first state is there
 *   cluster.show(state, "14:03:11") / cluster.resume()   look at a moment of the past / at now again
 *   cluster.step(delta, "14:03:12")   go on from there by a change, as the stream has them
 */
import { embedded, getJSON } from "./api.js";
import { clear, problem } from "./notice.js";

const HAPPENINGS = 2000;
const WAITS = [0.5, 1, 2, 4, 8, 10];
const subscribers = new Set();
let stream = null;
let attempts = 0;
let timer = 0;
let frame = 0;
let loading = null;
let change = freshChange();
let settle;

export const cluster = {
  nodes: new Map(),
  pods: new Map(),
  workloads: new Map(),
  happenings: [],
  source: { kind: "", name: "", context: "", connected: false, problem: "", time: 0 },
  changes: { allowed: false, dryRun: false },
  names: { effects: [], deviceEffects: [], evicting: "", hostname: "", pools: [], deadlines: { atOnce: "", now: "", in: "" } },
  seq: 0,
  loaded: false,
  past: null,
  streaming: false,
  ready: new Promise((resolve) => (settle = resolve)),

  subscribe(reader) {
    subscribers.add(reader);
    return () => subscribers.delete(reader);
  },

  /** Fetches the state again and follows changes from there. */
  reload() {
    loading ??= load().finally(() => (loading = null));
    return loading;
  },

  start() {
    if (embedded) {
      take(embedded.state ?? {});
      return Promise.resolve();
    }
    return cluster.reload();
  },

  show(state, label) {
    cluster.past = label;
    stream?.close();
    stream = null;
    clearTimeout(timer);
    take(state);
  },

  /** Applies a change, as the stream has them, to the moment of the past that is looked at. */
  step(delta, label) {
    if (cluster.past == null) return;
    cluster.past = label;
    apply(delta);
    tellSource();
  },

  resume() {
    if (cluster.past == null) return Promise.resolve();
    cluster.past = null;
    return cluster.reload();
  },
};

/** When a taint makes a pod leave its node, in the words of the commands; empty if it may stay. */
export function deadlineText(pod) {
  if (!pod?.deadline) return "";
  const [due, because] = pod.deadline;
  const now = cluster.source.kind !== "live" ? 0 : cluster.past == null ? Date.now() / 1000 : cluster.source.time;
  const left = Math.round(due - now);
  const { atOnce, now: leaves, in: later } = cluster.names.deadlines;
  const form = due < 0 ? atOnce : left > 0 ? later : leaves;
  return form.replace("{seconds}", left.toLocaleString("en-US")).replace("{because}", () => because);
}

async function load() {
  clearTimeout(timer);
  stream?.close();
  stream = null;
  try {
    const state = await getJSON("/api/state");
    if (cluster.past != null) return;
    take(state);
    attempts = 0;
    clear("state");
    follow();
  } catch (error) {
    cluster.streaming = false;
    tellSource();
    retry(error.message);
  }
}

function follow() {
  stream?.close();
  const mine = new EventSource(`/api/changes?after=${cluster.seq}`);
  stream = mine;
  mine.addEventListener("open", () => {
    attempts = 0;
    cluster.streaming = true;
    clear("state");
    tellSource();
  });
  mine.addEventListener("delta", (event) => apply(JSON.parse(event.data)));
  mine.addEventListener("source", (event) => {
    cluster.source = { ...cluster.source, ...JSON.parse(event.data) };
    tellSource();
  });
  mine.addEventListener("reload", () => cluster.reload());
  mine.addEventListener("error", () => {
    if (stream !== mine) return;
    mine.close();
    stream = null;
    cluster.streaming = false;
    tellSource();
    retry("");
  });
}

/** Tries again, each time a little later: first only the stream, then the whole state. */
function retry(reason) {
  const seconds = WAITS[Math.min(attempts, WAITS.length - 1)];
  attempts += 1;
  if (reason || attempts > 1) {
    const text = reason || "The connection to the dashboard's server was lost.";
    problem("state", `${text} Trying again every few seconds.`, { stay: true });
  }
  clearTimeout(timer);
  timer = setTimeout(() => (attempts > 1 || !cluster.loaded ? cluster.reload() : follow()), seconds * 1000);
}

function take(state) {
  cluster.nodes.clear();
  cluster.pods.clear();
  cluster.workloads.clear();
  for (const row of state.nodes ?? []) cluster.nodes.set(row.name, { ...row, pods: new Set() });
  const pods = state.pods ?? { workloads: [], nodes: [], rows: [] };
  // By index, not by name: of 50,000 pods each look-up counts before the first paint.
  const places = pods.nodes.map((name) => cluster.nodes.get(name)?.pods);
  const counts = new Uint32Array(pods.workloads.length);
  for (const [key, workload, node, phase, deadline] of pods.rows) {
    cluster.pods.set(key, { key, workload: pods.workloads[workload] ?? "", node: pods.nodes[node] ?? "", phase, deadline });
    places[node]?.add(key);
    if (workload >= 0) counts[workload] += 1;
  }
  pods.workloads.forEach((name, at) => counts[at] && cluster.workloads.set(name, counts[at]));
  cluster.happenings = (state.happenings ?? []).slice(-HAPPENINGS);
  cluster.source = { ...cluster.source, ...state.source };
  cluster.changes = { ...cluster.changes, ...state.changes };
  cluster.names = { ...cluster.names, ...state.names };
  cluster.seq = state.seq ?? 0;
  cluster.loaded = true;
  change.all = true;
  settle();
  notify();
}

function apply(delta) {
  for (const row of delta.nodes ?? []) {
    const before = cluster.nodes.get(row.name);
    cluster.nodes.set(row.name, { ...row, pods: before?.pods ?? podsOn(row.name) });
    change.nodes.add(row.name);
  }
  for (const name of delta.nodesGone ?? []) {
    cluster.nodes.delete(name);
    change.nodes.add(name);
  }
  for (const [key, workload, node, phase, deadline] of delta.pods ?? []) {
    remember(key);
    dropPod(key);
    putPod(key, workload ?? "", node ?? "", phase, deadline ?? undefined);
  }
  for (const key of delta.podsGone ?? []) {
    remember(key);
    dropPod(key);
  }
  if (delta.happenings?.length) {
    change.happenings.push(...delta.happenings);
    if (change.happenings.length > HAPPENINGS) change.happenings = change.happenings.slice(-HAPPENINGS);
    cluster.happenings.push(...delta.happenings);
    if (cluster.happenings.length > HAPPENINGS * 1.5) cluster.happenings = cluster.happenings.slice(-HAPPENINGS);
  }
  cluster.seq = delta.seq ?? cluster.seq;
  if (delta.time) cluster.source.time = delta.time;
  notify();
}

function remember(key) {
  if (!change.pods.has(key)) change.pods.set(key, cluster.pods.get(key)?.node);
}

function putPod(key, workload, node, phase, deadline) {
  cluster.pods.set(key, { key, workload, node, phase, deadline });
  if (node) cluster.nodes.get(node)?.pods.add(key);
  if (workload) cluster.workloads.set(workload, (cluster.workloads.get(workload) ?? 0) + 1);
}

function dropPod(key) {
  const pod = cluster.pods.get(key);
  if (!pod) return;
  cluster.pods.delete(key);
  cluster.nodes.get(pod.node)?.pods.delete(key);
  const rest = (cluster.workloads.get(pod.workload) ?? 0) - 1;
  if (rest > 0) cluster.workloads.set(pod.workload, rest);
  else cluster.workloads.delete(pod.workload);
}

/** A node that came back: its pods may have been told before it. */
function podsOn(name) {
  const keys = new Set();
  for (const pod of cluster.pods.values()) if (pod.node === name) keys.add(pod.key);
  return keys;
}

function tellSource() {
  change.source = true;
  notify();
}

function notify() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    const told = change;
    change = freshChange();
    for (const subscriber of [...subscribers]) {
      try {
        subscriber(told);
      } catch (error) {
        // One view's mistake must not keep the others from hearing.
        console.error(error);
      }
    }
  });
}

function freshChange() {
  return { all: false, source: false, nodes: new Set(), pods: new Map(), happenings: [] };
}
