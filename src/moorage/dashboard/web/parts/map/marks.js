/** Marks nodes and pods that a search finds and pods of the chosen workload, and keeps the marks while they change. */
import { CHOSEN, FOUND, MOVING } from "./model.js";
import { matcher } from "./search.js";

/** Marks of nodes, besides FOUND: found by themselves, or because of a pod. */
const ITSELF = 8;
const BY_POD = 16;

export class Marks {
  nodes = new Uint8Array(0);
  pods = new Uint8Array(0);
  workload = "";
  /** Whether the search means pods: then others on the same node are dimmed. */
  pointsAtPods = false;
  #text = "";
  #matcher = null;

  get searching() {
    return this.#matcher !== null;
  }

  search(text) {
    this.#text = text;
  }

  /** Marks everything again. */
  all(model) {
    this.#room(model);
    this.#matcher = this.#text.trim() ? matcher(this.#text, present(model.pods), present(model.rows)) : null;
    this.pointsAtPods = false;
    for (let pod = 0; pod < model.pods.length; pod += 1) this.#pod(model, pod);
    for (let node = 0; node < model.rows.length; node += 1) this.#node(model, node);
  }

  /** Marks pods and nodes that changed. */
  some(model, keys, nodes) {
    this.#room(model);
    for (const key of keys) {
      const pod = model.podNumbers.get(key);
      if (pod !== undefined) this.#pod(model, pod);
    }
    if (!this.#matcher) return;
    for (const node of nodes) if (node >= 0) this.#node(model, node);
  }

  /** Returns [nodes, pods] that the search finds. */
  counts(model) {
    let nodes = 0;
    let pods = 0;
    for (let node = 0; node < model.rows.length; node += 1) if (this.nodes[node] & FOUND && model.rows[node]) nodes += 1;
    for (let pod = 0; pod < model.pods.length; pod += 1) if (this.pods[pod] & FOUND && model.pods[pod]) pods += 1;
    return [nodes, pods];
  }

  /** Says what was looked for, and how many nodes and pods there are of it. */
  understood(model) {
    if (!this.#matcher) return "";
    const counts = { own: 0, pods: this.counts(model)[1], on: 0 };
    for (let node = 0; node < model.rows.length; node += 1) {
      if (!model.rows[node]) continue;
      if (this.nodes[node] & ITSELF) counts.own += 1;
      if (this.nodes[node] & BY_POD) counts.on += 1;
    }
    return this.#matcher.understood(counts);
  }

  #pod(model, pod) {
    const one = model.pods[pod];
    if (!one) return;
    let mark = this.pods[pod] & MOVING;
    if (this.#matcher?.pod(one)) {
      mark |= FOUND;
      this.pointsAtPods = true;
    }
    if (this.workload && one.workload === this.workload) mark |= CHOSEN;
    this.pods[pod] = mark;
  }

  #node(model, node) {
    const row = model.rows[node];
    this.nodes[node] = 0;
    if (!row || !this.#matcher) return;
    let mark = this.#matcher.node(row) ? FOUND | ITSELF : 0;
    if (model.slots[node].some((pod) => pod >= 0 && this.pods[pod] & FOUND)) mark |= FOUND | BY_POD;
    this.nodes[node] = mark;
  }

  #room(model) {
    if (this.nodes.length < model.rows.length) this.nodes = grown(this.nodes, model.rows.length);
    if (this.pods.length < model.pods.length) this.pods = grown(this.pods, model.pods.length);
  }
}

function present(list) {
  return list.filter((one) => one !== null);
}

function grown(array, length) {
  const larger = new Uint8Array(Math.max(64, length * 2));
  larger.set(array);
  return larger;
}
