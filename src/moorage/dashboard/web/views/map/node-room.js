/**
 * Shows what would still fit on a node: how many more pods of each workload, the largest pod, and who does not fit.
 *
 *   const room = new NodeRoom("node-1"); room.element; room.refresh(); room.close()
 *
 * It is asked of the simulated cluster, again when the node has changed, at most every few seconds.
 */
import { answerable, ask, isAbort } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count, number, quantity } from "../../lib/format.js";

const AGAIN = 5000;
const MOST = 12;

export class NodeRoom {
  #name;
  #asking = null;
  #timer = 0;
  #about = "";

  constructor(name) {
    this.#name = name;
    this.element = h("div", { class: "stack node-room" }, h("p", { class: "muted" }, "Asking the simulated cluster…"));
    this.isHere = answerable("room", { node: name });
    if (this.isHere) this.#ask();
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#asking?.abort();
  }

  /** Asks again where pods, taints or the state of the node are others. */
  refresh() {
    if (!this.isHere || this.#about === this.#facts()) return;
    this.#timer ||= setTimeout(() => this.#ask(), AGAIN);
  }

  #facts() {
    const row = cluster.nodes.get(this.#name);
    return JSON.stringify(row && [row.taints, row.labels, row.schedulable, row.ready, row.resources]);
  }

  async #ask() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (cluster.past != null || (cluster.loaded && !cluster.nodes.has(this.#name))) return;
    this.#about = this.#facts();
    this.#asking?.abort();
    this.#asking = new AbortController();
    try {
      const parts = await ask("room", { node: this.#name }, { signal: this.#asking.signal });
      replace(this.element, room(parts.at(-1), (cluster.nodes.get(this.#name)?.taints ?? []).length > 0));
    } catch (error) {
      if (!isAbort(error)) replace(this.element, h("p", { class: "muted wrap" }, error.message));
    }
  }
}

function room({ largest, whyNone, workloads, leftOut }, isTainted) {
  const fits = workloads.filter((one) => one.more > 0);
  const unknown = workloads.filter((one) => one.more === null);
  const refused = workloads.filter((one) => one.more === 0);
  return [
    h("p", { class: "wrap" }, largest ? ["Largest pod: ", h("strong", {}, `${quantity("cpu", largest.cpu)} cpu, ${quantity("memory", largest.memory)}`), h("span", { class: "muted" }, ` (${isTainted ? "if it tolerates the taints; " : ""}at most ${count(largest.pods, "more pod")})`)] : ["No further pod: ", whyNone]),
    fits.length ? list(fits.map((one) => [h("strong", {}, `${number(one.more)}${one.isCapped ? " or more" : ""}`), ` more of ${one.workload}`, one.why ? h("div", { class: "muted small wrap" }, `then: ${one.why}`) : null])) : refused.length && largest && !unknown.length ? h("p", {}, "No further pod of this cluster's workloads would fit.") : null,
    unknown.length ? list(unknown.map((one) => [`${one.workload}: cannot be told`, h("div", { class: "muted small wrap" }, one.why)])) : null,
    refused.length ? h("details", {}, h("summary", {}, `${count(refused.length, "workload")} would not fit`), list(refused.map((one) => [one.workload, h("div", { class: "muted small wrap" }, `not here because ${one.why}`)]))) : null,
    leftOut ? h("p", { class: "muted" }, `${count(leftOut, "workload")} more were not tried`) : null,
  ];
}

/** A list of which the first are there at once. */
function list(rows) {
  const items = rows.map((row) => h("li", { class: "wrap" }, row));
  const first = h("ul", { class: "plain" }, items.slice(0, MOST));
  if (items.length <= MOST) return first;
  return [first, h("details", {}, h("summary", {}, `${number(items.length - MOST)} more`), h("ul", { class: "plain" }, items.slice(MOST)))];
}
