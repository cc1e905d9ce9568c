/**
 * Gathers what happened, oldest first: what `moorage watch` tells of a live cluster, or the story of a simulation.
 *
 *   const feed = new EntryFeed(); feed.start(() => changed()); feed.entries; feed.problem; feed.stop()
 *
 * An entry is {id, time, kind, subject, workload, detail, actor, nodes, namespace, earlier}. `virtual` says that times
 * are seconds since the beginning of a simulation. Moments of the past do not change what is listed.
 *
 * `earlier` is true for what happened before the dashboard looked, which Events and timestamps say; feed.before has
 * {until, problem, leftOut} of it, null until it is read.
 */
import { answerable, ask, embedded, getJSON, isAbort, NOT_HERE } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";

export const MOST = 5000;

/** What can happen: how it is called, its sign, its shape in a lane, and whether it is good or bad news. */
export const KINDS = {
  pending: { title: "Pending", sign: "!", shape: "triangle", tone: "warn" },
  placed: { title: "Placed", sign: "●", shape: "disc", tone: "good" },
  moved: { title: "Moved", sign: "→", shape: "diamond", tone: "info" },
  leaving: { title: "Leaving", sign: "◷", shape: "ring", tone: "warn" },
  evicted: { title: "Evicted", sign: "✕", shape: "cross", tone: "bad" },
  loop: { title: "Again and again", sign: "↻", shape: "cross", tone: "bad" },
  preempted: { title: "Preempted", sign: "⌃", shape: "cross", tone: "bad" },
  deleted: { title: "Deleted", sign: "−", shape: "ring", tone: "" },
  failed: { title: "Failed", sign: "✕", shape: "square", tone: "bad" },
  completed: { title: "Completed", sign: "✓", shape: "ring", tone: "good" },
  node: { title: "Node", sign: "▣", shape: "bar", tone: "info" },
  control: { title: "Controller", sign: "⚙", shape: "dot", tone: "" },
  server: { title: "API server", sign: "▲", shape: "bar", tone: "warn" },
};
const BY = [
  [/ by taint /, "taint-eviction-controller"],
  [/ by a NoExecute taint/, "taint-eviction-controller"],
  [/ by a taint of its device/, "device-taint-eviction-controller"],
  [/ by the eviction API/, "eviction API"],
  [/ by the kubelet/, "kubelet"],
  [/ by pod garbage collection/, "pod-garbage-collector"],
];
const ACTORS = { pending: "scheduler", placed: "scheduler", moved: "scheduler", preempted: "scheduler", failed: "kubelet", completed: "kubelet" };
const CONTROLLERS = { Deployment: "deployment-controller", ReplicaSet: "replicaset-controller", StatefulSet: "statefulset-controller", DaemonSet: "daemonset-controller", Job: "job-controller", CronJob: "cronjob-controller", Pod: "resourceclaim-controller" };
const CHANGED_BY_USERS = /^(was (scaled|created|deleted|paused|suspended)|has another|goes on)/;
let lastId = 0;

export class EntryFeed {
  entries = [];
  virtual = false;
  loading = true;
  problem = "";
  leftOut = 0;
  before = null;
  #live = [];
  #earlier = [];
  #stop = null;
  #tell = () => {};
  #asking = null;
  #name = null;
  #seq = -1;

  start(tell) {
    this.#tell = tell;
    this.#stop = cluster.subscribe((change) => this.#changed(change));
    if (cluster.loaded) this.#begin();
  }

  stop() {
    this.#stop?.();
    this.#asking?.abort();
  }

  retry() {
    this.#seq = -1;
    this.#begin();
  }

  #changed(change) {
    if (cluster.past != null) return;
    if (change.all) this.#begin();
    else if (!this.virtual && change.happenings.length) this.#add(change.happenings);
    else if (this.virtual && cluster.seq !== this.#seq) this.#askStory();
  }

  /** Takes the whole list. Entries that the server has forgotten meanwhile stay. */
  #begin() {
    if (cluster.past != null) return;
    const { kind, name } = cluster.source;
    this.virtual = kind === "files";
    if (name !== this.#name) Object.assign(this, { entries: [], before: null });
    if (name !== this.#name) this.#live = this.#earlier = [];
    this.#name = name;
    if (this.virtual) {
      this.#askStory();
      return;
    }
    const last = this.#live.at(-1)?.time ?? -Infinity;
    const known = new Set(this.#live.slice(-1000).map(same));
    const news = cluster.happenings.filter((one) => one[0] > last || (one[0] === last && !known.has(same(entry(one)))));
    this.#add(this.#live.length ? news : cluster.happenings);
    this.#readEarlier();
  }

  #add(happenings) {
    this.#live = this.#live.concat(happenings.map(entry)).slice(-MOST);
    this.#gather();
  }

  #gather() {
    this.loading = !embedded && !this.before && !this.#live.length;
    this.entries = this.#earlier.concat(this.#live);
    this.#tell();
  }

  /** Reads once what happened before the dashboard looked. A saved page has the story only. */
  async #readEarlier() {
    if (embedded || this.before || this.#asking) return;
    const name = this.#name;
    this.#asking = new AbortController();
    try {
      const { until, entries, leftOut, problem } = await getJSON("/api/earlier", { signal: this.#asking.signal });
      if (name !== this.#name) return;
      this.before = { until, leftOut, problem };
      this.#earlier = entries.map((one) => ({ ...entry(one), earlier: true }));
    } catch (error) {
      if (isAbort(error)) return;
      this.before = { until: 0, leftOut: 0, problem: `What happened earlier was not read: ${error.message}` };
    } finally {
      this.#asking = null;
    }
    this.#gather();
  }

  async #askStory() {
    if (this.#seq === cluster.seq) return;
    this.#seq = cluster.seq;
    this.#asking?.abort();
    if (!answerable("story", {})) {
      Object.assign(this, { loading: false, problem: NOT_HERE });
      this.#tell();
      return;
    }
    this.#asking = new AbortController();
    try {
      const parts = await ask("story", {}, { signal: this.#asking.signal });
      const told = parts.flatMap((part) => part.entries ?? []);
      this.leftOut = (parts.at(-1).leftOut ?? 0) + Math.max(0, told.length - MOST);
      this.entries = told.slice(0, MOST).map((one, index) => ({ ...entry(one), number: index + 1 }));
      this.problem = "";
    } catch (error) {
      if (isAbort(error)) return;
      this.problem = error.message;
    }
    this.loading = false;
    this.#tell();
  }
}

function same(one) {
  return `${one.time} ${one.kind} ${one.subject} ${one.detail}`;
}

function entry([time, kind, subject, workload, detail, actor]) {
  lastId += 1;
  return { id: lastId, time, kind, subject, workload, detail, actor: actor || actorOf(kind, subject, detail), nodes: nodesOf(kind, subject, detail), namespace: namespaceOf(kind, subject) };
}

function actorOf(kind, subject, detail) {
  if (kind === "evicted" || kind === "deleted") return BY.find(([pattern]) => pattern.test(detail))?.[1] ?? "";
  if (kind === "control") return CHANGED_BY_USERS.test(detail) ? "" : (CONTROLLERS[subject.split(" ", 1)[0]] ?? "");
  return ACTORS[kind] ?? "";
}

function nodesOf(kind, subject, detail) {
  if (kind === "node") return [subject];
  const on = /^(?:on|from) ([^\s,:]+)(?: to ([^\s,]+))?/.exec(detail);
  return on && kind !== "control" && kind !== "pending" ? on.slice(1).filter(Boolean) : [];
}

function namespaceOf(kind, subject) {
  if (kind === "node" || kind === "server") return "";
  const name = subject.slice(subject.indexOf(" ") + 1);
  return name.includes("/") ? name.slice(0, name.indexOf("/")) : "";
}
