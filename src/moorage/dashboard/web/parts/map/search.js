/**
 * Finds nodes and pods by words: name, labels (key=value), taints, version, workload, phase. All words must be found on
 * the same node or pod.
 */
import { taint } from "../../lib/format.js";

export function matcher(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  return {
    node: (row) => all(words, nodeText(row)),
    pod: (pod) => all(words, `${pod.key} ${pod.workload} ${pod.phase}`.toLowerCase()),
  };
}

function all(words, text) {
  for (const word of words) if (!text.includes(word)) return false;
  return true;
}

const texts = new WeakMap();

function nodeText(row) {
  let text = texts.get(row);
  if (text === undefined) {
    const labels = Object.entries(row.labels ?? {}).map(([key, value]) => `${key}=${value}`);
    const states = [row.ready ? "" : "notready", row.schedulable ? "" : "cordoned unschedulable"];
    text = [row.name, row.version, ...states, ...labels, ...(row.taints ?? []).map(taint)].join("\n").toLowerCase();
    texts.set(row, text);
  }
  return text;
}
