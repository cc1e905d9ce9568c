/**
 * Writes the changes of a what-if: as the question takes them, as a sentence, and into the address.
 *
 * A change is an object with one name: {taint: {nodes, key, value, effect}}, {untaint: {nodes, key, effect}},
 * {label: {nodes, key, value}} with null for a label that goes, {deviceTaint: {driver, pool, device, key, value,
 * effect}}, {cordon | drain | remove: {nodes}}, {evict: "namespace/pod"}, {scale: {workload, replicas}}, {addNodes:
 * {count, like}}, {apply: manifests}. `nodes` is a list of names, {label: {key, value}} or "all"; in the page and its address also {taint:
 * key}, the nodes that have such a taint, which `asked` turns into names. An address may have a node's name for {nodes}.
 */

export const KINDS = {
  taint: "Taint",
  label: "Label",
  deviceTaint: "Device taint",
  untaint: "Remove a taint",
  cordon: "Cordon nodes",
  drain: "Drain nodes",
  remove: "Remove nodes",
  evict: "Evict a pod",
  scale: "Scale a workload",
  addNodes: "Add nodes",
  apply: "Apply manifests",
};
/** Changes that have nothing but nodes. */
export const ONLY_NODES = new Set(["cordon", "drain", "remove"]);
/** More changes than these are not read from an address. */
export const MOST = 50;
/** Longer addresses are neither written nor read: they do not survive a chat or a mail. */
const LONGEST = 60_000;

export function kindOf(change) {
  return Object.keys(change)[0] ?? "";
}

/** Says what is missing before a change can be asked about; "" where nothing is. */
export function missing(change) {
  const kind = kindOf(change);
  const what = change[kind];
  if (kind === "apply") return what.trim() ? "" : "Paste a manifest.";
  if (kind === "evict") return what ? "" : "Choose a pod.";
  if (kind === "scale") return what.workload ? "" : "Choose a workload.";
  if (kind === "addNodes") return what.like ? "" : "Choose the node that they are like.";
  if (kind === "deviceTaint") {
    if (!what.key) return "Choose a key.";
    return what.driver ? "" : "Choose a driver.";
  }
  if (!what.key && !ONLY_NODES.has(kind)) return "Choose a key.";
  if (Array.isArray(what.nodes)) return what.nodes[0] ? "" : "Choose a node.";
  if (what.nodes?.label) return what.nodes.label.key ? "" : "Choose a label.";
  return what.nodes ? "" : "Choose nodes.";
}

/** A change in the words of an engineer. */
export function describe(change) {
  const kind = kindOf(change);
  const what = change[kind];
  switch (kind) {
    case "taint":
      return `taint ${scopeText(what.nodes)} with ${taintText(what)}`;
    case "untaint":
      return `remove taint ${what.key}${what.effect ? `:${what.effect}` : ""} from ${scopeText(what.nodes)}`;
    case "label":
      if (what.value === null) return `remove label ${what.key} from ${scopeText(what.nodes)}`;
      return `label ${scopeText(what.nodes)} with ${what.key}=${what.value}`;
    case "deviceTaint":
      return `taint ${deviceText(what)} with ${taintText(what)}`;
    case "scale":
      return `scale ${what.workload} to ${what.replicas}`;
    case "addNodes":
      return `add ${what.count} ${what.count === 1 ? "node" : "nodes"} like ${what.like}`;
    case "apply":
      return "apply manifests";
    case "evict":
      return `evict pod ${what}`;
    default:
      return `${kind} ${scopeText(what.nodes)}`;
  }
}

export function scopeText(nodes) {
  if (nodes === "all") return "all nodes";
  if (Array.isArray(nodes)) return nodes.length === 1 ? `node ${nodes[0]}` : `${nodes.length} nodes`;
  if (nodes?.taint) return `nodes with taint ${nodes.taint}`;
  if (nodes?.label) return `nodes with ${nodes.label.key}=${nodes.label.value}`;
  return "no node";
}

export function deviceText({ driver, pool, device }) {
  if (device) return `device ${driver}/${pool}/${device}`;
  if (pool) return `devices of pool ${driver}/${pool}`;
  return `all devices of ${driver}`;
}

function taintText({ key, value, effect }) {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}

/** The nodes that a scope names, as rows of the cluster. */
export function nodesIn(scope, nodes) {
  if (scope === "all") return [...nodes.values()];
  if (Array.isArray(scope)) return scope.map((name) => nodes.get(name)).filter(Boolean);
  if (scope?.taint) return [...nodes.values()].filter((row) => row.taints.some((one) => one.key === scope.taint));
  if (scope?.label) return [...nodes.values()].filter((row) => row.labels[scope.label.key] === scope.label.value);
  return [];
}

/** A change as the question and the action take it. */
export function asked(change, nodes) {
  const kind = kindOf(change);
  const what = change[kind];
  return what?.nodes?.taint ? { [kind]: { ...what, nodes: nodesIn(what.nodes, nodes).map((row) => row.name) } } : change;
}

/** Writes changes for the address: JSON in the alphabet that addresses may have; null where that would be too long. */
export function encode(changes) {
  const bytes = new TextEncoder().encode(JSON.stringify(changes));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  const encoded = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return encoded.length > LONGEST ? null : encoded;
}

/** Reads them again; null where the text is not what `encode` writes. */
export function decode(text) {
  if (!text || text.length > LONGEST) return null;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const read = JSON.parse(new TextDecoder().decode(bytes));
    return Array.isArray(read) && read.length <= MOST && read.every(isChange) ? read.map(withScope) : null;
  } catch {
    return null;
  }
}

/** A node's name alone, as in `{drain: "node-1"}`, becomes a scope. */
function withScope(change) {
  const kind = kindOf(change);
  return ONLY_NODES.has(kind) && typeof change[kind] === "string" ? { [kind]: { nodes: [change[kind]] } } : change;
}

function isChange(one) {
  if (!one || typeof one !== "object" || Object.keys(one).length !== 1) return false;
  const kind = kindOf(one);
  const what = one[kind];
  if (!Object.hasOwn(KINDS, kind)) return false;
  if (kind === "apply" || kind === "evict") return typeof what === "string";
  if (ONLY_NODES.has(kind)) return typeof what === "string" || isScope(what?.nodes);
  if (!what || typeof what !== "object") return false;
  if (kind === "scale") return typeof what.workload === "string" && Number.isInteger(what.replicas);
  if (kind === "addNodes") return typeof what.like === "string" && Number.isInteger(what.count);
  const value = kind === "label" && what.value === null ? undefined : what.value;
  const texts = [what.key, ...[value, what.effect, what.pool, what.device].filter((one) => one !== undefined)];
  return texts.every((one) => typeof one === "string") && (kind === "deviceTaint" ? typeof what.driver === "string" : isScope(what.nodes));
}

function isScope(nodes) {
  if (nodes === "all") return true;
  if (Array.isArray(nodes)) return nodes.every((name) => typeof name === "string");
  if (typeof nodes?.taint === "string") return true;
  return typeof nodes?.label?.key === "string" && typeof nodes.label.value === "string";
}
