/**
 * Groups nodes by zone, pool, a label or a taint key, and lists the groupings that a cluster has.
 *
 * A grouping is text: "none", "zone", "pool", "label:KEY", "taint:KEY", "version".
 */
import { count, natural } from "../../lib/format.js";

const ZONES = ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"];
const POOLS = [
  ...["cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "kubernetes.azure.com/agentpool"],
  ...["karpenter.sh/nodepool", "node.kubernetes.io/instance-type"],
];
const POOL = /(?:^|[/.-])(?:node-?)?(?:pool|group)$/i;
const MOST_GROUPS = 120;
const MOST_KEYS = 400;

/** Returns the label keys of all nodes, with the number of nodes that have each and of different values. */
export function labelKeys(rows) {
  const found = new Map();
  for (const row of rows) {
    for (const key in row.labels) {
      let one = found.get(key);
      if (!one) {
        if (found.size >= MOST_KEYS) continue;
        found.set(key, (one = { key, nodes: 0, values: new Set() }));
      }
      one.nodes += 1;
      one.values.add(row.labels[key]);
    }
  }
  return [...found.values()].sort((a, b) => natural(a.key, b.key));
}

export function taintKeys(rows) {
  const found = new Map();
  for (const row of rows) for (const { key } of row.taints ?? []) found.set(key, (found.get(key) ?? 0) + 1);
  return [...found].map(([key, nodes]) => ({ key, nodes })).sort((a, b) => natural(a.key, b.key));
}

export function zoneKey(labels) {
  return ZONES.find((key) => labels.some((one) => one.key === key)) ?? "";
}

export function poolKey(labels) {
  const known = POOLS.find((key) => labels.some((one) => one.key === key));
  const named = labels.find((one) => POOL.test(one.key));
  return named?.key ?? known ?? "";
}

export function groupingOptions(rows) {
  const labels = labelKeys(rows);
  const options = [{ value: "none", text: "nothing", group: "Group" }];
  if (zoneKey(labels)) options.push({ value: "zone", text: "zone", hint: zoneKey(labels), group: "Group" });
  if (poolKey(labels)) options.push({ value: "pool", text: "pool", hint: poolKey(labels), group: "Group" });
  options.push({ value: "version", text: "kubelet version", group: "Group" });
  for (const { key, nodes } of taintKeys(rows)) options.push({ value: `taint:${key}`, text: key, hint: `${nodes} nodes`, group: "By taint" });
  for (const { key, values } of labels) options.push({ value: `label:${key}`, text: key, hint: `${values.size} values`, group: "By label" });
  return options;
}

/** Returns a function from a row to the name of its group. */
export function grouper(grouping, rows) {
  if (grouping === "version") return (row) => row.version || "unknown version";
  if (grouping.startsWith("taint:")) {
    const wanted = grouping.slice(6);
    return (row) => {
      const one = row.taints?.find((taint) => taint.key === wanted);
      return one ? `${wanted}${one.value ? `=${one.value}` : ""}` : `without ${wanted}`;
    };
  }
  const key = groupingKey(grouping, rows);
  if (!key) return () => "all nodes";
  return (row) => row.labels?.[key] ?? `without ${key}`;
}

/** The label that a grouping goes by; "" where it goes by something else. */
export function groupingKey(grouping, rows) {
  if (grouping.startsWith("label:")) return grouping.slice(6);
  if (grouping === "zone") return zoneKey(labelKeys(rows));
  return grouping === "pool" ? poolKey(labelKeys(rows)) : "";
}

/**
 * Returns [{name, members}] in natural order, members by name. Past 120 groups the smallest ones go together.
 * `nameOf` is what `grouper` returns; `order` has the numbers of the rows that are there, sorted by name.
 */
export function groups(nameOf, rows, order) {
  const found = new Map();
  for (const number of order) {
    const name = nameOf(rows[number]);
    const group = found.get(name);
    if (group) group.push(number);
    else found.set(name, [number]);
  }
  let list = [...found].map(([name, members]) => ({ name, members }));
  if (list.length > MOST_GROUPS) {
    list.sort((a, b) => b.members.length - a.members.length);
    const rest = list.splice(MOST_GROUPS - 1);
    list.sort((a, b) => natural(a.name, b.name));
    list.push({ name: count(rest.length, "other group"), members: rest.flatMap((one) => one.members) });
    return list;
  }
  list = list.sort((a, b) => natural(a.name, b.name));
  return list;
}
