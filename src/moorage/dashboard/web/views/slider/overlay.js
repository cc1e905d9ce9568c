/** Says what the map has to show of an answer: pods that leave, land or wait, those that leave anyway, and nodes whose value changes. */
import { ONLY_NODES, kindOf, nodesIn } from "./changes.js";

/** Returns what `setOverlay` of parts/node-map.js takes. */
export function overlayOf(part, changes, nodes) {
  const leaving = new Map();
  const landing = new Map();
  const pending = new Set();
  const departures = new Map((part.evicted ?? []).map((one) => [one.pod, one]));
  const successors = new Set();
  for (const one of departures.values()) if (one.replacedBy !== one.pod) successors.add(one.replacedBy);
  for (const one of departures.values()) {
    if (successors.has(one.pod)) continue;
    leaving.set(one.pod, one.afterSeconds ?? 0);
    // A successor is shown as the dot of the pod it replaces; it may be evicted in its turn.
    const last = lastOf(one, departures);
    if (last.newNode) landing.set(one.pod, last.newNode);
    else if (last.replacedBy) pending.add(one.pod);
  }
  for (const one of part.placed ?? []) landing.set(podKey(one), one.node);
  for (const one of part.pending ?? []) pending.add(podKey(one));
  const anyway = new Map((part.anyway ?? []).filter((one) => !leaving.has(one.pod)).map((one) => [one.pod, one.afterSeconds ?? 0]));
  const added = part.added ?? [];
  const framed = changedNodes(changes, nodes);
  for (const { name } of added) framed.set(name, { isNew: true });
  return { leaving, landing, pending, anyway, nodes: framed, added };
}

/**
 * Map node → {} for every node that changes, with `value` where that is what the map is coloured by: the taint or label
 * as it would be there; null where it would be gone.
 */
export function changedNodes(changes, nodes) {
  const changed = new Map();
  const colouring = colouringOf(changes);
  // As they are made: taints are removed after others were set.
  const ordered = [...changes].sort((a, b) => (kindOf(a) === "untaint") - (kindOf(b) === "untaint"));
  for (const change of ordered) {
    const kind = kindOf(change);
    const what = change[kind];
    if (ONLY_NODES.has(kind)) {
      const mark = kind === "remove" ? { isGone: true } : {};
      for (const { name } of nodesIn(what.nodes, nodes)) changed.set(name, { ...changed.get(name), ...mark });
    } else if (kind === "taint" || kind === "untaint" || kind === "label") {
      const isColour = colouring === `${kind === "label" ? "label" : "taint"}:${what.key}`;
      for (const row of nodesIn(what.nodes, nodes)) {
        const value = kind === "untaint" ? leftOf(what, row) : what.value;
        changed.set(row.name, { ...changed.get(row.name), ...(isColour ? { value } : {}) });
      }
    }
  }
  return changed;
}

/** The value that a key has on a node after a taint was removed: other effects may keep it. */
function leftOf({ key, effect }, row) {
  return row.taints.find((one) => one.key === key && effect && one.effect !== effect)?.value ?? null;
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

/** The departure after which nothing more happens to a pod's successors. */
function lastOf(departure, departures) {
  const seen = new Set();
  let last = departure;
  while (departures.has(last.replacedBy) && !seen.has(last.replacedBy)) {
    seen.add(last.replacedBy);
    last = departures.get(last.replacedBy);
  }
  return last;
}

function podKey(one) {
  return one.pod ?? `${one.namespace}/${one.name}`;
}
