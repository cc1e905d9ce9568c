/** Says what the map has to show of an answer: pods that leave, land or wait, and nodes whose value changes. */
import { kindOf, nodesIn } from "./changes.js";

/** Returns what `setOverlay` of parts/node-map.js takes. */
export function overlayOf(part, changes, nodes) {
  const leaving = new Map();
  const landing = new Map();
  const pending = new Set();
  for (const one of part.evicted ?? []) {
    leaving.set(one.pod, one.afterSeconds ?? 0);
    // A successor is shown as the dot of the pod it replaces.
    if (one.newNode) landing.set(one.pod, one.newNode);
    else if (one.replacedBy) pending.add(one.pod);
  }
  for (const one of part.placed ?? []) landing.set(podKey(one), one.node);
  for (const one of part.pending ?? []) pending.add(podKey(one));
  return { leaving, landing, pending, nodes: changedNodes(changes, nodes) };
}

/** Map node → {value}: what a taint or label would be there; null where it would be gone. */
export function changedNodes(changes, nodes) {
  const changed = new Map();
  for (const change of changes) {
    const kind = kindOf(change);
    const what = change[kind];
    if (kind === "taint" || kind === "label") for (const row of nodesIn(what.nodes, nodes)) changed.set(row.name, { value: what.value });
    else if (kind === "untaint") for (const row of nodesIn(what.nodes, nodes)) changed.set(row.name, { value: null });
    else if ((kind === "cordon" || kind === "drain" || kind === "remove") && !changed.has(what)) changed.set(what, {});
  }
  return changed;
}

/** By what the map is coloured: the value that is moved first, else how full nodes are. */
export function colouringOf(changes) {
  for (const change of changes) {
    const kind = kindOf(change);
    const { key, driver } = change[kind];
    if ((kind === "taint" || kind === "untaint") && key) return `taint:${key}`;
    if (kind === "label" && key) return `label:${key}`;
    if (kind === "deviceTaint" && driver) return `device:${driver}`;
  }
  return "resource:cpu";
}

function podKey(one) {
  return one.pod ?? `${one.namespace}/${one.name}`;
}
