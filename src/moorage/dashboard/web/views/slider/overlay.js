/** Says what the map has to show of an answer: pods that leave, pods that land, and nodes whose value changes. */
import { kindOf, nodesIn } from "./changes.js";

/** {leaving: Map pod → node, landing: Map pod → node, nodes: Map node → text} */
export function overlayOf(part, changes, nodes) {
  const leaving = new Map();
  const landing = new Map();
  for (const one of part.evicted ?? []) {
    leaving.set(one.pod, one.node);
    if (one.newNode) landing.set(one.replacedBy, one.newNode);
  }
  for (const one of part.placed ?? []) landing.set(one.pod ?? `${one.namespace}/${one.name}`, one.node);
  return { leaving, landing, nodes: changedNodes(changes, nodes) };
}

export function changedNodes(changes, nodes) {
  const changed = new Map();
  const note = (name, text) => changed.set(name, changed.has(name) ? `${changed.get(name)}, ${text}` : text);
  for (const change of changes) {
    const kind = kindOf(change);
    const what = change[kind];
    if (kind === "taint") for (const row of nodesIn(what.nodes, nodes)) note(row.name, taintChange(row, what));
    else if (kind === "label") for (const row of nodesIn(what.nodes, nodes)) note(row.name, labelChange(row, what));
    else if (kind === "untaint") for (const row of nodesIn(what.nodes, nodes)) note(row.name, `without ${what.key}`);
    else if (kind === "cordon" || kind === "drain" || kind === "remove") note(what, { cordon: "cordoned", drain: "drained", remove: "removed" }[kind]);
  }
  return changed;
}

function taintChange(row, { key, value, effect }) {
  const old = row.taints.find((one) => one.key === key && one.effect === effect);
  return old && old.value !== value ? `${key} ${old.value || "(empty)"} → ${value || "(empty)"}` : `${key}=${value}:${effect}`;
}

function labelChange(row, { key, value }) {
  const old = row.labels[key];
  return old !== undefined && old !== value ? `${key} ${old} → ${value}` : `${key}=${value}`;
}
