/**
 * Gives pods the colours of their workload or namespace. The largest get one of eight colours, the others are neutral.
 *
 *   const dots = new DotColours();
 *   dots.by = "workload";            "workload", "namespace", "none"
 *   dots.all(model)                  colours everything again; says whether any pod has another colour now
 *   dots.some(model, keys)           colours pods that changed
 *   dots.codes                       Uint8Array by number of the pod: 0…7, NEUTRAL
 *   dots.entries, dots.rest          [{name, code, count}], {names, pods}: for the legend
 *
 * A name keeps its colour as long as it is among the largest, so that dots do not change colour while pods come and go.
 */

export const DOT_COLOURS = 8;
export const NEUTRAL = DOT_COLOURS;
export const DOTS_BY = [
  { value: "workload", text: "workload" },
  { value: "namespace", text: "namespace" },
  { value: "none", text: "nothing" },
];
const RANK_PAUSE = 2000;

export class DotColours {
  by = "workload";
  codes = new Uint8Array(0);
  entries = [];
  rest = { names: 0, pods: 0 };
  #colour = new Map();
  #ranked = "";
  #rankedAt = 0;

  all(model, now = performance.now()) {
    this.#room(model);
    this.#ranked = this.by;
    this.#rankedAt = now;
    this.#rank(model);
    let changed = false;
    for (let pod = 0; pod < model.pods.length; pod += 1) {
      const code = this.#code(model.pods[pod]);
      if (code !== this.codes[pod]) changed = true;
      this.codes[pod] = code;
    }
    return changed;
  }

  /** Ranks again where that is due: counting 50,000 pods takes a while. */
  later(model, now = performance.now()) {
    return this.#ranked !== this.by || now - this.#rankedAt > RANK_PAUSE ? this.all(model, now) : false;
  }

  some(model, keys) {
    this.#room(model);
    for (const key of keys) {
      const pod = model.podNumbers.get(key);
      if (pod !== undefined) this.codes[pod] = this.#code(model.pods[pod]);
    }
  }

  #nameOf(pod) {
    if (this.by === "workload") return pod.workload;
    return this.by === "namespace" ? namespaceOf(pod.key) : "";
  }

  #code(pod) {
    return pod ? (this.#colour.get(this.#nameOf(pod)) ?? NEUTRAL) : NEUTRAL;
  }

  #rank(model) {
    const counts = new Map();
    for (const pod of model.pods) {
      if (!pod) continue;
      const name = this.#nameOf(pod);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const alone = counts.get("") ?? 0;
    counts.delete("");
    const ranked = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    const largest = ranked.slice(0, DOT_COLOURS);
    const kept = new Map();
    for (const [name] of largest) if (this.#colour.has(name)) kept.set(name, this.#colour.get(name));
    const free = Array.from({ length: DOT_COLOURS }, (_, code) => code).filter((code) => ![...kept.values()].includes(code));
    for (const [name] of largest) if (!kept.has(name)) kept.set(name, free.shift());
    this.#colour = kept;
    this.entries = largest.map(([name, count]) => ({ name, count, code: kept.get(name) }));
    const others = ranked.slice(DOT_COLOURS);
    this.rest = { names: others.length, pods: others.reduce((sum, [, count]) => sum + count, 0), alone };
  }

  #room(model) {
    if (this.codes.length >= model.pods.length) return;
    const larger = new Uint8Array(Math.max(64, model.pods.length * 2)).fill(NEUTRAL);
    larger.set(this.codes);
    this.codes = larger;
  }
}

export function namespaceOf(key) {
  return key.slice(0, key.indexOf("/"));
}

/** "shop/web-1" → "web-1". */
export function podName(key) {
  return key.slice(key.indexOf("/") + 1);
}

/** The name of a pod's workload without its kind and namespace: "Deployment shop/web" → "web"; "" where it has none. */
export function shortWorkload({ workload }) {
  return workload.slice(workload.lastIndexOf("/") + 1);
}
