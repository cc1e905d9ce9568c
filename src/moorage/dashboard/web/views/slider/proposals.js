/** Proposes changes to begin with: the key that pods compare, on a node that has it, with the value that it has. */
import { cluster } from "../../lib/cluster.js";
import { natural } from "../../lib/format.js";
import { keysOf } from "./scales.js";

/** A change of a kind that leaves everything as it is, as far as there is one. */
export function propose(kind, nodes, facts) {
  const first = [...nodes.keys()].sort(natural)[0] ?? "";
  switch (kind) {
    case "cordon":
    case "drain":
    case "remove":
      return { [kind]: { nodes: [first] } };
    case "evict":
      return { evict: "" };
    case "apply":
      return { apply: "" };
    case "addNodes":
      return { addNodes: { count: 1, like: first } };
    case "scale": {
      const one = facts?.workloads?.[0];
      return { scale: one ? { workload: workloadName(one), replicas: one.replicas } : { workload: "", replicas: 1 } };
    }
    case "deviceTaint":
      return { deviceTaint: proposeDevice(facts) };
    case "label":
      return { label: onNode("label", keysOf("label", facts)[0]?.key ?? "", nodes, first) };
    case "untaint": {
      const key = keysOf("untaint", facts)[0]?.key ?? "";
      return { untaint: { nodes: key ? { taint: key } : [first], key, effect: "" } };
    }
    default:
      return { taint: onNode("taint", keysOf("taint", facts)[0]?.key ?? "", nodes, first) };
  }
}

/** What a change of a taint or label becomes with another key: the first node that has it, and its value there. */
export function onNode(kind, key, nodes, otherwise, scope = null) {
  const holds = (row) => (kind === "label" ? Object.hasOwn(row.labels, key) : row.taints.some((one) => one.key === key));
  const rows = [...nodes.values()].filter(holds).sort((a, b) => natural(a.name, b.name));
  const row = Array.isArray(scope) ? (rows.find((one) => scope.includes(one.name)) ?? rows[0]) : rows[0];
  const where = scope ?? [row?.name ?? otherwise];
  if (kind === "label") return { nodes: where, key, value: row?.labels[key] ?? "" };
  const taint = row?.taints.find((one) => one.key === key);
  return { nodes: where, key, value: taint?.value ?? "", effect: taint?.effect ?? cluster.names.evicting };
}

export function workloadName({ kind, namespace, name }) {
  return `${kind.toLowerCase()}/${namespace}/${name}`;
}

function proposeDevice(facts) {
  const tainted = facts?.devicesTainted?.[0];
  const driver = facts?.devices?.[0]?.driver ?? "";
  const key = tainted?.key ?? Object.keys(facts?.deviceTaints ?? {})[0] ?? "";
  return { driver, pool: "", device: "", key, value: tainted?.value ?? "", effect: tainted?.effect ?? cluster.names.evicting };
}
