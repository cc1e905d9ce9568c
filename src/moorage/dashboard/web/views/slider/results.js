/**
 * Shows what a change does: numbers that are not zero, the moments of evictions, and tables of who leaves, who waits and
 * who is held. What happens without the change, too, has a table of its own and is in no number.
 *
 *   const results = new Results({onpod: (departure) => …});
 *   results.element; results.first(part); results.last(part); results.none(); results.stale = true
 *
 * Tables grow with their rows and do not shrink again: while a value is dragged, nothing jumps to and fro.
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { dataTable } from "../../parts/data-table.js";
import { openDialog } from "../../parts/dialog.js";
import { openPod } from "../../parts/pod/link.js";
import { evictionChart, whenText } from "./eviction-chart.js";

const NUMBERS = [
  ["evicted", "Evicted", "Pods that have to leave their node"],
  ["moved", "Move", "Evicted pods whose successor finds a node"],
  ["pending", "Pending", "Pods that would wait for a node"],
  ["preempted", "Preempted", "Pods that make room for others of higher priority"],
  ["failed", "Fail", "Pods that the kubelet of their node refuses"],
  ["placed", "Placed", "Pods that waited or are new, and get a node"],
  ["blocked", "Held", "Evictions that a PodDisruptionBudget refuses"],
  ["retimed", "Other time", "Pods that leave anyway, at another time or for another reason"],
];
const WAITING = "…";
const MOST_NOTES = 20;

export class Results {
  #chart = evictionChart();
  #evicted = this.#table("Evicted pods", "No pod would be evicted", 8, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "from", title: "From", cell: (row) => row.node, by: (row) => row.node, width: "9rem" },
    { id: "when", title: "When", cell: (row) => whenText(row.afterSeconds), by: (row) => row.afterSeconds, width: "7rem" },
    { id: "to", title: "To", cell: (row) => landing(row), by: (row) => landing(row), width: "9rem" },
    { id: "because", title: "Because", cell: (row) => row.because, by: (row) => row.because, width: "26rem" },
  ]);
  #pending = this.#table("Pods that would be pending", "No further pod would be pending", 5, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "workload", title: "Workload", cell: (row) => row.workload, by: (row) => row.workload, width: "14rem" },
    { id: "message", title: "Why", cell: (row) => row.message, by: (row) => row.message, width: "36rem" },
  ]);
  #placed = this.#table("Pods that get a node", "No other pod gets a node", 5, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "workload", title: "Workload", cell: (row) => row.workload, by: (row) => row.workload, width: "14rem" },
    { id: "node", title: "Node", cell: (row) => row.node, by: (row) => row.node, width: "12rem" },
  ]);
  #blocked = this.#table("Evictions that are held", "No budget holds an eviction", 3, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "message", title: "Why", cell: (row) => row.message, width: "36rem" },
  ]);

  #anyway = this.#table("What happens anyway", "Nothing happens without the change", 4, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "what", title: "What", cell: anywayText, by: anywayText, width: "14rem" },
    { id: "node", title: "Node", cell: (row) => [row.node, row.newNode].filter(Boolean).join(" → "), by: (row) => row.node ?? "", width: "12rem" },
    { id: "because", title: "Because", cell: (row) => row.because ?? "", by: (row) => row.because ?? "", width: "26rem" },
  ]);

  #failed = this.#table("Pods that fail", "No pod fails", 3, [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "node", title: "Node", cell: (row) => row.lastNode || row.node, by: (row) => row.lastNode || row.node, width: "12rem" },
    { id: "message", title: "Why", cell: (row) => row.message || row.reason, by: (row) => row.message || row.reason, width: "36rem" },
  ]);

  #notes = h("ul", { class: "slider-notes" });

  /** Rare: without a place of its own while no pod fails. */
  #fails;

  constructor() {
    this.numbers = h("dl", { class: "numbers", "aria-label": "What the change does" });
    this.tables = h(
      "div",
      { class: "slider-tables" },
      section("When pods would be evicted", this.#chart.element, "wide"),
      section("Evicted", this.#evicted, "wide"),
      section("Pending", this.#pending, "wide"),
      section("Get a node", this.#placed),
      section("Held by disruption budgets", this.#blocked),
      section("Happens anyway", this.#anyway, "wide anyway"),
      (this.#fails = section("Fail", this.#failed, "wide")),
      this.#notes,
    );
    this.none();
  }

  /** Dims what is shown: it is the answer to a question before. */
  set stale(stale) {
    this.numbers.classList.toggle("stale", stale);
    this.tables.classList.toggle("stale", stale);
  }

  /** The first part: who has to leave. Where they go is not known yet. */
  first(part) {
    const evicted = part.evicted ?? [];
    this.#set({ evicted: evicted.length });
    this.#chart.show(evicted);
    this.#evicted.rows = evicted;
    this.#anyway.rows = (part.anyway ?? []).map((one) => ({ ...one, what: "leaves" }));
  }

  /** The last part: everything. */
  last(part) {
    const evicted = part.evicted ?? [];
    const waiting = pendingRows(part);
    this.#set({
      evicted: evicted.filter((one) => !one.without).length,
      retimed: evicted.filter((one) => one.without).length,
      moved: movedOf(evicted.filter((one) => !one.without)),
      pending: waiting.length,
      preempted: evicted.filter((one) => one.cause === "preempted").length,
      placed: (part.placed ?? []).length,
      blocked: (part.blocked ?? []).length,
      failed: (part.failed ?? []).length,
    });
    this.#chart.show(evicted);
    this.#evicted.rows = evicted.map((one) => ({ ...one, known: true }));
    this.#pending.rows = waiting;
    this.#placed.rows = (part.placed ?? []).map((one) => ({ ...one, pod: podOf(one) }));
    this.#blocked.rows = part.blocked ?? [];
    this.#anyway.rows = part.happensAnyway ?? [];
    this.#fail(part.failed ?? []);
    this.#note(part);
  }

  none() {
    this.#set({});
    this.#chart.show([]);
    for (const table of [this.#evicted, this.#pending, this.#placed, this.#blocked, this.#anyway]) table.rows = [];
    this.#fail([]);
    this.#note({});
  }

  #fail(lines) {
    this.#fails.hidden = !lines.length;
    this.#failed.rows = lines.map((one) => ({ ...one, pod: podOf(one) }));
  }

  /** What the simulation has to say beside: what kubectl would refuse, what was not simulated to its end. */
  #note(part) {
    const notes = [part.stopped, ...(part.notes ?? [])].filter(Boolean);
    const more = notes.length - MOST_NOTES;
    replace(
      this.#notes,
      notes.slice(0, MOST_NOTES).map((text) => h("li", { class: "wrap" }, text)),
      more > 0 ? h("li", {}, `and ${number(more)} more`) : null,
    );
  }

  /** Shows the numbers that are not zero. Their line has its height without any, so that nothing below moves. */
  #set(values) {
    const boxes = NUMBERS.filter(([name]) => values[name]).map(([name, title, what]) =>
      h("div", { class: "number-box", title: what }, h("dt", {}, title), h("dd", { class: "number nums", dataset: { number: name } }, number(values[name]))),
    );
    replace(this.numbers, boxes);
  }

  #table(label, none, most, columns) {
    return dataTable({ label, none, most, keeps: true, columns, rowKey: (row) => `${row.pod} ${row.afterSeconds ?? ""} ${row.what ?? ""}`, onopen: open });
  }
}

/** The sentence that sums an answer up, as the command prints it, for screen readers. */
export function sentence(part) {
  return `${part.sentence}.`;
}

/** Pods that wait because of the change: successors of evicted ones, and others. One that would wait anyway is none. */
export function pendingRows(part) {
  const caused = new Set((part.differences ?? []).filter((one) => one.becomes.toLowerCase().endsWith("pending")).map((one) => one.newPod));
  const successors = (part.evicted ?? [])
    .filter((one) => one.replacedBy && !one.newNode && (!one.without || caused.has(one.replacedBy)))
    .map((one) => ({ pod: one.replacedBy, workload: one.workload, message: one.message, after: one.pod }));
  return [...successors, ...(part.pending ?? []).map((one) => ({ ...one, pod: podOf(one) }))];
}

/** Evicted pods whose successor finds a node and keeps it. */
function movedOf(evicted) {
  const left = new Set(evicted.map((one) => one.pod));
  return evicted.filter((one) => one.newNode && (one.replacedBy === one.pod || !left.has(one.replacedBy))).length;
}

function podOf(one) {
  return one.pod ?? `${one.namespace}/${one.name}`;
}

function landing(row) {
  if (!row.known) return WAITING;
  if (row.newNode) return row.newNode;
  return row.replacedBy ? "waits for a node" : "not replaced";
}

function section(title, content, more = "") {
  return h("section", { class: ["panel", "slider-section", more] }, h("h2", { class: "slider-title" }, title), content);
}

function anywayText(row) {
  if (row.what === "waits") return "waits for a node";
  return row.what === "lands" ? "gets a node" : `leaves ${whenText(row.afterSeconds)}`;
}

/** Opens the panel of a pod that exists; of one that does not exist yet, what the answer says of it. */
function open(row) {
  if (cluster.pods.has(row.pod)) openPod(row.pod);
  else showPod(row);
}

function showPod(row) {
  const facts = [
    ["Pod", `${row.pod} (does not exist yet)`],
    ["Workload", row.workload],
    ["From", row.node && nodeLink(row.node)],
    ["When", row.afterSeconds === undefined ? "" : whenText(row.afterSeconds)],
    ["Cause", row.cause],
    ["Because", row.because],
    ["Replaced by", row.replacedBy],
    ["To", row.newNode && nodeLink(row.newNode)],
    ["In the place of", row.after],
    ["Why", row.message],
  ].filter(([, value]) => value);
  const list = h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  return openDialog({ title: row.pod, body: [list] });
}

function nodeLink(name) {
  return cluster.nodes.has(name) ? link(address.href("map", { node: name }), name) : name;
}

/** A link in a dialog, which closes when it is followed. */
function link(href, text) {
  return h("a", { href, onclick: (event) => event.currentTarget.closest("dialog")?.close() }, text);
}
