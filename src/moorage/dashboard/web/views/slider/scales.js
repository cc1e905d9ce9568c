/**
 * Finds what a value can be moved over: the keys of the cluster, and the scale of one key.
 *
 *   keysOf("taint", facts)        → [{key, on, pods, compared}], in the order of the answer
 *   scaleOf("taint", key, facts)  → {form: "number" | "version" | "text", stops, ticks, turns, now, values, …}
 *   await placed("taint", key, value)   the same with `value`: {text, stop, holds, unreadable}
 *
 * `facts` is the answer to the question `thresholds`. Numbers and versions are read there and nowhere here: a value is
 * a text and, where it is one of the stops, their index.
 */
import { ask } from "../../lib/api.js";

const NAMES = { taint: "taints", untaint: "taints", label: "labels", deviceTaint: "deviceTaints" };
const NOTHING = { form: "text", stops: [], ticks: [], turns: [], now: [], values: [], moreValues: 0, suggestions: [] };

export function keysOf(kind, facts) {
  const rows = Object.entries(facts?.[NAMES[kind]] ?? {}).map(([key, { on, pods, compared }]) => ({ key, on, pods, compared }));
  return kind === "untaint" ? rows.filter((one) => one.on > 0) : rows;
}

export function scaleOf(kind, key, facts) {
  const scales = facts?.[NAMES[kind]] ?? {};
  return Object.hasOwn(scales, key) ? scales[key] : NOTHING;
}

/** Asks for the scale with one more value on it. */
export async function placed(kind, key, value, signal) {
  return (await ask("thresholds", { kind, key, value }, { signal })).at(-1);
}

/** Whether a threshold holds at a stop. */
export function holdsAt(tick, stop) {
  return tick.holds.some(([from, until]) => stop >= from && stop < until);
}

/** Asks for the next value above (1) or below (-1) at which the answer is another one: {value, last, complete}. */
export async function nextValue(changes, at, direction, signal) {
  return (await ask("next-value", { changes, at, direction }, { signal })).at(-1);
}
