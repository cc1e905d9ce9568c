/**
 * Shows the answer to a what-if: numbers, the moments of evictions, and tables of who leaves, who waits and who is held.
 *
 *   const results = new Results({onpod: (departure) => …});
 *   results.element; results.first(part); results.last(part); results.none(); results.stale = true
 *
 * Everything has its place from the start: an answer changes texts and rows, never the layout.
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace, setText } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { dataTable } from "../../parts/data-table.js";
import { openDialog } from "../../parts/dialog.js";
import { evictionChart, whenText } from "./eviction-chart.js";

const NUMBERS = [
  ["evicted", "Evicted", "Pods that have to leave their node"],
  ["moved", "Move", "Evicted pods whose successor finds a node"],
  ["pending", "Pending", "Pods that would wait for a node"],
  ["preempted", "Preempted", "Pods that make room for others of higher priority"],
  ["placed", "Placed", "Pods that waited or are new, and get a node"],
  ["blocked", "Held", "Evictions that a PodDisruptionBudget refuses"],
  ["tolerated", "Stay", "Pods on these nodes that tolerate the change"],
];
const WAITING = "…";
const MOST_NOTES = 20;

export class Results {
  #numbers = {};
  #chart = evictionChart();
  #evicted = this.#table("Evicted pods", "No pod would be evicted", "17rem", [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "from", title: "From", cell: (row) => row.node, by: (row) => row.node, width: "9rem" },
    { id: "when", title: "When", cell: (row) => whenText(row.afterSeconds), by: (row) => row.afterSeconds, width: "7rem" },
    { id: "to", title: "To", cell: (row) => landing(row), by: (row) => landing(row), width: "9rem" },
    { id: "because", title: "Because", cell: (row) => row.because, by: (row) => row.because, width: "26rem" },
  ]);
  #pending = this.#table("Pods that would be pending", "No further pod would be pending", "11rem", [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "workload", title: "Workload", cell: (row) => row.workload, by: (row) => row.workload, width: "14rem" },
    { id: "message", title: "Why", cell: (row) => row.message, by: (row) => row.message, width: "36rem" },
  ]);
  #placed = this.#table("Pods that get a node", "No other pod gets a node", "11rem", [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "workload", title: "Workload", cell: (row) => row.workload, by: (row) => row.workload, width: "14rem" },
    { id: "node", title: "Node", cell: (row) => row.node, by: (row) => row.node, width: "12rem" },
  ]);
  #blocked = this.#table("Evictions that are held", "No budget holds an eviction", "7rem", [
    { id: "pod", title: "Pod", cell: (row) => row.pod, by: (row) => row.pod, width: "15rem" },
    { id: "message", title: "Why", cell: (row) => row.message, width: "36rem" },
  ]);

  #notes = h("ul", { class: "slider-notes" });

  constructor() {
    const numbers = NUMBERS.map(([name, title, what]) => {
      this.#numbers[name] = h("dd", { class: "number nums", dataset: { number: name } }, "0");
      return h("div", { class: "number-box", title: what }, h("dt", {}, title), this.#numbers[name]);
    });
    this.numbers = h("dl", { class: "numbers", "aria-label": "What would happen" }, numbers);
    this.tables = h(
      "div",
      { class: "slider-tables" },
      section("When pods would be evicted", this.#chart.element),
      section("Evicted", this.#evicted, "wide"),
      section("Pending", this.#pending, "wide"),
      section("Get a node", this.#placed),
      section("Held by disruption budgets", this.#blocked),
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
    this.#set({ evicted: evicted.length, tolerated: part.tolerated ?? null, moved: null, pending: null, preempted: null, placed: null, blocked: null });
    this.#chart.show(evicted);
    this.#evicted.rows = evicted;
  }

  /** The last part: everything. */
  last(part) {
    const evicted = part.evicted ?? [];
    const waiting = pendingRows(part);
    this.#set({
      evicted: evicted.length,
      moved: movedOf(evicted),
      pending: waiting.length,
      preempted: evicted.filter((one) => one.cause === "preempted").length,
      placed: (part.placed ?? []).length,
      blocked: (part.blocked ?? []).length,
    });
    this.#chart.show(evicted);
    this.#evicted.rows = evicted.map((one) => ({ ...one, known: true }));
    this.#pending.rows = waiting;
    this.#placed.rows = (part.placed ?? []).map((one) => ({ ...one, pod: podOf(one) }));
    this.#blocked.rows = part.blocked ?? [];
    this.#note(part);
  }

  none() {
    this.#set(Object.fromEntries(NUMBERS.map(([name]) => [name, 0])));
    this.#chart.show([]);
    for (const table of [this.#evicted, this.#pending, this.#placed, this.#blocked]) table.rows = [];
    this.#note({});
  }

  /** What the simulation has to say beside: what happens anyway, what kubectl would refuse, what was not simulated to its end. */
  #note(part) {
    const anyway = part.anyway?.length ? sentence(part) : "";
    const notes = [anyway, part.stopped, ...(part.notes ?? [])].filter(Boolean);
    const more = notes.length - MOST_NOTES;
    replace(
      this.#notes,
      notes.slice(0, MOST_NOTES).map((text) => h("li", { class: "wrap" }, text)),
      more > 0 ? h("li", {}, `and ${number(more)} more`) : null,
    );
  }

  #set(values) {
    for (const [name, value] of Object.entries(values)) {
      setText(this.#numbers[name], value === null ? WAITING : number(value));
      this.#numbers[name].parentElement.classList.toggle("some", Boolean(value));
    }
  }

  #table(label, none, height, columns) {
    return dataTable({ label, none, height, columns, rowKey: (row) => row.pod, onopen: showPod });
  }
}

/** The sentence that sums an answer up, as the command prints it, for screen readers. */
export function sentence(part) {
  return `${part.sentence}.`;
}

/** Pods that wait afterwards: successors of evicted ones, and others. */
export function pendingRows(part) {
  const successors = (part.evicted ?? [])
    .filter((one) => one.replacedBy && !one.newNode)
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
  return row.replacedBy ? "Pending" : "not replaced";
}

function section(title, content, more = "") {
  return h("section", { class: ["panel", "slider-section", more] }, h("h2", { class: "slider-title" }, title), content);
}

function showPod(row) {
  const facts = [
    ["Pod", row.pod],
    ["Workload", row.workload],
    ["From", row.node && nodeLink(row.node)],
    ["When", row.afterSeconds === undefined ? "" : whenText(row.afterSeconds)],
    ["Cause", row.cause],
    ["Because", row.because],
    ["Replaced by", row.replacedBy],
    ["To", row.newNode && nodeLink(row.newNode)],
    ["In the place of", row.after],
    ["Why", row.message],
    ["More", pendingLink(row)],
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

/** Only a pod that is pending now has a page that says why; a successor does not exist yet. */
function pendingLink(row) {
  if (cluster.pods.get(row.pod)?.phase !== "Pending") return null;
  return link(address.href("pending", { pod: row.pod }), "Why it is pending now");
}
