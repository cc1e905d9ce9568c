/**
 * Holds the cluster as the server last told it, and tells views what changed, at most once per animation frame.
 *
 *   cluster.nodes      Map name → row of /api/state (with `pods`: Set of keys of the pods on it)
 *   cluster.pods       Map "ns/name" → {key, workload, node, phase, labels, deadline}; workload "" and node "" where there is none;
 *                      labels "app=web,tier=front"; deadline [due, because] of a pod that a taint evicts: see deadlineText
 *   cluster.workloads  Map workload → number of its pods
 *   cluster.happenings the last 2,000, newest last: [time, kind, subject, workload, detail]
 *   cluster.names      well-known names: {effects, deviceEffects, evicting, hostname, pools, zone, controlPlane, pressures, deadlines}
 *   cluster.source, cluster.changes, cluster.seq, cluster.loaded, cluster.past (null, or the moment looked at)
 *   cluster.changed    when something last changed, in seconds since 1970; 0 if nothing has since cluster.since
 *   cluster.progress   what the server does before there is anything to show: {phase, done, total}
 *   cluster.answers    whether what is shown is how the cluster is now (or was, in a saved page or a past moment)
 *   asOf()             "as of 14:03, before the connection was lost" where it does not answer; else ""
 *   const stop = cluster.subscribe((change) => …)
 *     change = {all, source, nodes: Set of names (changed, new or gone), pods: Map key → node it was on before
 *               ("" not on any, undefined: new), happenings: [new ones]}; `all` means: everything may differ
 *   await cluster.ready          the first state is there
 *   cluster.show(state, "14:03:11") / cluster.resume()   look at a moment of the past / at now again
 *   cluster.step(delta, "14:03:12")   go on from there by a change, as the stream has them
 */
import { embedded, getJSON } from "./api.js";
import { clockMinutes } from "./format.js";
import { clear, problem } from "./notice.js";
import { connect } from "./stream/connection.js";

const HAPPENINGS = 2000;
const RETRY_SECONDS = [1, 2, 4, 8, 10];
const PROGRESS_MILLISECONDS = 400;
const subscribers = new Set();
let attempts = 0;
let timer = 0;
let frame = 0;
let loading = null;
let lostAt = 0;
let change = freshChange();
let settle;

export const cluster = {
  nodes: new Map(),
  pods: new Map(),
  workloads: new Map(),
  happenings: [],
  source: { kind: "", name: "", context: "", connected: false, problem: "", time: 0 },
  changes: { allowed: false, dryRun: false },
  names: { effects: [], deviceEffects: [], evicting: "", hostname: "", pools: [], zone: "", controlPlane: "", pressures: {}, deadlines: { atOnce: "", now: "", in: "" } },
  command: "moorage dashboard",
  progress: null,
  seq: 0,
  changed: 0,
  since: 0,
  loaded: false,
  past: null,
  streaming: false,
  ready: new Promise((resolve) => (settle = resolve)),

  get answers() {
    if (embedded || cluster.past != null) return true;
    return cluster.loaded && cluster.streaming && cluster.source.connected;
  },

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
      if (!cluster.loaded) take(embedded.state ?? {});
      return Promise.resolve();
    }
    return cluster.reload();
  },

  /** Shows another moment of a saved page. */
  swap(state) {
    take({ ...embedded.state, ...state, source: { ...embedded.state.source, ...state?.source } });
  },

  show(state, label) {
    cluster.past = label;
    connection.rest();
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
  const now = cluster.source.elapsed ?? (cluster.source.kind !== "live" ? 0 : cluster.past == null ? Date.now() / 1000 : cluster.source.time);
  const left = Math.round(due - now);
  const { atOnce, now: leaves, in: later } = cluster.names.deadlines;
  const form = due < 0 ? atOnce : left > 0 ? later : leaves;
  return form.replace("{seconds}", left.toLocaleString("en-US")).replace("{because}", () => because);
}

/** How old what is shown is, where the cluster or the dashboard does not answer: "as of 14:03, before the connection was lost". */
export function asOf() {
  if (cluster.answers || !cluster.loaded) return "";
  const since = cluster.streaming ? cluster.source.time : lostAt;
  return `as of ${clockMinutes(since)}, before the connection was lost`;
}

const connection = connect({ hear, seq: () => cluster.seq });

async function load() {
  clearTimeout(timer);
  try {
    if (!cluster.loaded) await started();
    const state = await getJSON("/api/state");
    if (cluster.past != null) return;
    take(state);
    attempts = 0;
    regained();
    connection.look();
  } catch (error) {
    attempts += 1;
    cluster.progress = null;
    lost(error.status, error.message);
    timer = setTimeout(cluster.reload, RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] * 1000);
  }
}

/** Waits until the server has read the cluster, and says how far it is. */
async function started() {
  for (;;) {
    const { ready, progress } = await getJSON("/api/status");
    if (attempts) clear("state");
    cluster.progress = ready ? { phase: "Loading the cluster", done: 0, total: 0 } : progress;
    tellSource();
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, PROGRESS_MILLISECONDS));
  }
}

function hear({ kind, seq, data, attempts: failures, status }) {
  if (kind === "open") regained();
  else if (kind === "lost") lost(status, "", failures);
  else if (kind === "reload") cluster.reload();
  else if (kind === "source") {
    cluster.source = { ...cluster.source, ...JSON.parse(data) };
    tellSource();
  } else if (kind === "delta" && seq > cluster.seq) apply(JSON.parse(data));
}

function regained() {
  cluster.streaming = true;
  clear("state");
  tellSource();
}

/** Says that the dashboard's server does not answer, unless it was only a moment. */
function lost(status, text, failures = attempts + 1) {
  if (cluster.streaming || !lostAt) lostAt = Date.now() / 1000;
  cluster.streaming = false;
  tellSource();
  if (failures < 2) return;
  const options = { stay: true };
  let words = text || `The dashboard answers with an error (${status}). Its terminal says more.`;
  if (status === 401) words = "The dashboard was restarted. Open the new address that it has printed in its terminal.";
  else if (!status) {
    words = "The dashboard does not answer. The page tries again every few seconds. If it was stopped, start it again:";
    options.command = cluster.command;
  }
  problem("state", words, options);
}

function take(state) {
  cluster.nodes.clear();
  cluster.pods.clear();
  cluster.workloads.clear();
  for (const row of state.nodes ?? []) cluster.nodes.set(row.name, { ...row, pods: new Set() });
  const pods = state.pods ?? { workloads: [], nodes: [], labels: [], rows: [] };
  // By index, not by name: of 50,000 pods each look-up counts before the first paint.
  const places = pods.nodes.map((name) => cluster.nodes.get(name)?.pods);
  const counts = new Uint32Array(pods.workloads.length);
  for (const [key, workload, node, phase, labels, deadline] of pods.rows) {
    cluster.pods.set(key, { key, workload: pods.workloads[workload] ?? "", node: pods.nodes[node] ?? "", phase, labels: pods.labels?.[labels] ?? "", deadline });
    places[node]?.add(key);
    if (workload >= 0) counts[workload] += 1;
  }
  pods.workloads.forEach((name, at) => counts[at] && cluster.workloads.set(name, counts[at]));
  cluster.happenings = (state.happenings ?? []).slice(-HAPPENINGS);
  cluster.source = { ...cluster.source, ...state.source };
  cluster.changes = { ...cluster.changes, ...state.changes };
  cluster.command = state.command || cluster.command;
  cluster.changed = state.changed ?? 0;
  cluster.since = state.since ?? 0;
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
  for (const [key, workload, node, phase, deadline, labels] of delta.pods ?? []) {
    remember(key);
    const before = dropPod(key);
    // Labels that did not change are not told again.
    putPod({ key, workload: workload ?? "", node: node ?? "", phase, labels: labels ?? before?.labels ?? "", deadline: deadline ?? undefined });
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
  if (delta.time) cluster.changed = cluster.source.time = delta.time;
  notify();
}

function remember(key) {
  if (!change.pods.has(key)) change.pods.set(key, cluster.pods.get(key)?.node);
}

function putPod(pod) {
  const { key, workload, node } = pod;
  cluster.pods.set(key, pod);
  if (node) cluster.nodes.get(node)?.pods.add(key);
  if (workload) cluster.workloads.set(workload, (cluster.workloads.get(workload) ?? 0) + 1);
}

function dropPod(key) {
  const pod = cluster.pods.get(key);
  if (!pod) return undefined;
  cluster.pods.delete(key);
  cluster.nodes.get(pod.node)?.pods.delete(key);
  const rest = (cluster.workloads.get(pod.workload) ?? 0) - 1;
  if (rest > 0) cluster.workloads.set(pod.workload, rest);
  else cluster.workloads.delete(pod.workload);
  return pod;
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
