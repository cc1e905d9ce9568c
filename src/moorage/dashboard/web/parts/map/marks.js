/** Marks nodes and pods that a search finds and pods of the chosen workload, and keeps the marks while they change. */
import { CHOSEN, FOUND, MOVING } from "./paint/painter.js";
import { matcher } from "./search.js";

export class Marks {
  nodes = new Uint8Array(0);
  pods = new Uint8Array(0);
  workload = "";
  #matcher = null;

  get searching() {
    return this.#matcher !== null;
  }

  search(text) {
    this.#matcher = matcher(text);
  }

  /** Marks everything again. */
  all(model) {
    this.#room(model);
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

  #pod(model, pod) {
    const one = model.pods[pod];
    if (!one) return;
    let mark = this.pods[pod] & MOVING;
    if (this.#matcher?.pod(one)) mark |= FOUND;
    if (this.workload && one.workload === this.workload) mark |= CHOSEN;
    this.pods[pod] = mark;
  }

  #node(model, node) {
    const row = model.rows[node];
    this.nodes[node] = 0;
    if (!row || !this.#matcher) return;
    let found = this.#matcher.node(row);
    if (!found) for (const pod of model.slots[node]) if (pod >= 0 && this.pods[pod] & FOUND) found = true;
    if (found) this.nodes[node] = FOUND;
  }

  #room(model) {
    if (this.nodes.length < model.rows.length) this.nodes = grown(this.nodes, model.rows.length);
    if (this.pods.length < model.pods.length) this.pods = grown(this.pods, model.pods.length);
  }
}

function grown(array, length) {
  const larger = new Uint8Array(Math.max(64, length * 2));
  larger.set(array);
  return larger;
}
