/**
 * Keeps nodes and pods of the map by number, so that painting reads arrays and not maps.
 *
 * A pod has a slot on its node, which it keeps while others come and go: dots do not shuffle. The node number
 * TRAY stands for "not on a node". Numbers of nodes and pods that are gone are given to the next ones that come.
 */

export const TRAY = -1;
export const NOWHERE = -2;
/** Marks of nodes and pods: found by the search, of the chosen workload, on its way. */
export const FOUND = 1;
export const CHOSEN = 2;
export const MOVING = 4;
export const PHASES = ["Running", "Pending", "Succeeded", "Failed", "Terminating"];
const FEWEST_SLOTS = 16;
const MOST_SLOTS = 400;
/** This share of the nodes has no more pods than a well filled one. */
const TYPICAL = 0.9;

export class Model {
  rows = [];
  slots = [];
  numbers = new Map();
  tray = [];
  pods = [];
  podNumbers = new Map();
  podNode = new Int32Array(1024);
  podSlot = new Int32Array(1024);
  podPhase = new Uint8Array(1024);
  most = FEWEST_SLOTS;
  /** How many pods a well filled node has: tiles show dots in the same way, but for those with more. */
  typical = 1;
  #freeNodes = [];
  #freePods = [];
  #holes = new Map();

  load(cluster) {
    this.rows = [];
    this.slots = [];
    this.numbers.clear();
    this.tray = [];
    this.pods = [];
    this.podNumbers.clear();
    this.#freeNodes = [];
    this.#freePods = [];
    this.#holes.clear();
    this.most = FEWEST_SLOTS;
    for (const row of cluster.nodes.values()) this.#addNode(row);
    for (const pod of cluster.pods.values()) this.#addPod(pod);
  }

  /** Takes a change of `cluster`; returns {nodes: numbers to paint, moved: [pod, from node, from slot], relayout}. */
  update(change, cluster) {
    const nodes = new Set();
    const moved = [];
    let relayout = false;
    for (const name of change.nodes) {
      const row = cluster.nodes.get(name);
      const number = this.numbers.get(name);
      if (row && number !== undefined) {
        this.rows[number] = row;
        nodes.add(number);
      } else if (row) {
        this.#addNode(row);
        relayout = true;
        // Pods that were told before their node.
        for (const key of row.pods) this.#place(key, cluster.pods.get(key), nodes, []);
      } else if (number !== undefined) {
        this.#dropNode(name, number);
        relayout = true;
      }
    }
    for (const key of change.pods.keys()) this.#place(key, cluster.pods.get(key), nodes, moved);
    return { nodes, moved, relayout };
  }

  get side() {
    return Math.ceil(Math.sqrt(Math.min(this.most, MOST_SLOTS)));
  }

  /** Counts again what `typical` is; says whether it has changed. */
  measure() {
    const before = this.typical;
    const lengths = new Uint32Array(MOST_SLOTS + 1);
    for (const slots of this.slots) lengths[Math.min(slots.length, MOST_SLOTS)] += 1;
    let left = this.slots.length * (1 - TYPICAL);
    let pods = MOST_SLOTS;
    while (pods > 1 && left >= lengths[pods]) {
      left -= lengths[pods];
      pods -= 1;
    }
    this.typical = pods;
    return before !== pods;
  }

  /** How many pods are bound to nodes that are not on the map: gone, or not to be read. */
  get astray() {
    const { pods, podNode } = this;
    let astray = 0;
    for (let number = 0; number < pods.length; number += 1) if (podNode[number] === NOWHERE && pods[number]?.node) astray += 1;
    return astray;
  }

  #place(key, pod, nodes, moved) {
    const number = this.podNumbers.get(key);
    if (!pod) {
      if (number !== undefined) {
        nodes.add(this.podNode[number]);
        this.#dropPod(key, number);
      }
      return;
    }
    if (number === undefined) {
      const added = this.#addPod(pod);
      nodes.add(this.podNode[added]);
      return;
    }
    const to = this.#nodeOf(pod);
    const from = this.podNode[number];
    this.pods[number] = pod;
    this.podPhase[number] = phaseOf(pod.phase);
    if (to !== from) {
      const slot = this.podSlot[number];
      this.#leave(number);
      this.#enter(number, to);
      if (from !== NOWHERE && to !== NOWHERE) moved.push([number, from, slot]);
      nodes.add(from);
    }
    nodes.add(to);
  }

  #addNode(row) {
    const number = this.#freeNodes.pop() ?? this.rows.length;
    this.rows[number] = row;
    this.slots[number] = [];
    this.numbers.set(row.name, number);
  }

  #dropNode(name, number) {
    for (const pod of this.slots[number]) if (pod >= 0) this.podNode[pod] = NOWHERE;
    this.rows[number] = null;
    this.#holes.delete(this.slots[number]);
    this.slots[number] = [];
    this.numbers.delete(name);
    this.#freeNodes.push(number);
  }

  #addPod(pod) {
    const number = this.#freePods.length ? this.#freePods.pop() : this.pods.length;
    if (number >= this.podNode.length) this.#grow();
    if (number === this.pods.length) this.pods.push(pod);
    else this.pods[number] = pod;
    this.podNumbers.set(pod.key, number);
    this.podPhase[number] = phaseOf(pod.phase);
    this.#enter(number, this.#nodeOf(pod));
    return number;
  }

  #dropPod(key, number) {
    this.#leave(number);
    this.pods[number] = null;
    this.podNumbers.delete(key);
    this.#freePods.push(number);
  }

  #nodeOf(pod) {
    if (pod.node) return this.numbers.get(pod.node) ?? NOWHERE;
    return pod.phase === "Pending" || pod.phase === "Terminating" ? TRAY : NOWHERE;
  }

  #enter(number, node) {
    this.podNode[number] = node;
    if (node === NOWHERE) return;
    const slots = node === TRAY ? this.tray : this.slots[node];
    // Counted holes keep filling a long list from searching it each time.
    let slot = slots.length;
    if (this.#holes.get(slots)) {
      slot = slots.indexOf(-1);
      this.#holes.set(slots, this.#holes.get(slots) - 1);
      slots[slot] = number;
    } else slots.push(number);
    this.podSlot[number] = slot;
    if (node !== TRAY && slots.length > this.most) this.most = slots.length;
  }

  #leave(number) {
    const node = this.podNode[number];
    if (node === NOWHERE) return;
    const slots = node === TRAY ? this.tray : this.slots[node];
    slots[this.podSlot[number]] = -1;
    let holes = (this.#holes.get(slots) ?? 0) + 1;
    while (slots.length && slots.at(-1) === -1) {
      slots.pop();
      holes -= 1;
    }
    if (holes) this.#holes.set(slots, holes);
    else this.#holes.delete(slots);
    this.podNode[number] = NOWHERE;
  }

  #grow() {
    const size = this.podNode.length * 2;
    for (const name of ["podNode", "podSlot", "podPhase"]) {
      const larger = new this[name].constructor(size);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}

function phaseOf(phase) {
  return Math.max(0, PHASES.indexOf(phase));
}
