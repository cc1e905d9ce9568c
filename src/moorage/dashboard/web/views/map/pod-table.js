/**
 * Shows the pods of the map as a table: the same search, which also finds them by their node, and the column of what the
 * map is coloured by. A row opens the pod's panel.
 */
import { cluster, deadlineText } from "../../lib/cluster.js";
import { phaseChip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { grouper } from "../../parts/map/grouping.js";
import { split } from "../../parts/map/scale.js";
import { countsOf, matcher } from "../../parts/map/search.js";
import { openPod } from "../../parts/pod/link.js";

export function podTable() {
  let extra = null;
  const element = dataTable({ label: "Pods", columns: [], rowKey: (pod) => pod.key, onopen: (pod) => openPod(pod.key), height: "100%", none: "No pod matches" });
  return {
    element,
    /** Shows the pods that are looked for, in the groups of their nodes, and returns what was understood. */
    fill(find, colouring, grouping) {
      if (colouring !== extra) {
        extra = colouring;
        // The highest value of a taint first; as the cluster has them otherwise, since tens of thousands take long to sort.
        const isTaint = split(colouring)[0] === "taint";
        element.sort = isTaint ? "extra" : "";
        element.descending = isTaint;
        element.columns = columns(colouring);
      }
      const match = matcher(find, cluster.pods.values(), cluster.nodes.values());
      const nameOf = grouping === "none" ? null : grouper(grouping, [...cluster.nodes.values()]);
      const groupOf = (pod) => (cluster.nodes.has(pod.node) ? nameOf(cluster.nodes.get(pod.node)) : "not on a node");
      element.groupOf = nameOf && groupOf;
      element.rows = pods(match);
      return match?.understood(countsOf(match)) ?? "";
    },
  };
}

function pods(match) {
  if (!match) return [...cluster.pods.values()];
  const nodes = new Set();
  for (const row of cluster.nodes.values()) if (match.node(row)) nodes.add(row.name);
  return [...cluster.pods.values()].filter((pod) => nodes.has(pod.node) || match.pod(pod));
}

function columns(colouring) {
  const list = [
    { id: "pod", title: "Pod", width: "20rem", by: (pod) => pod.key, cell: (pod) => pod.key },
    { id: "node", title: "Node", width: "12rem", by: (pod) => pod.node, cell: (pod) => pod.node || "–" },
    { id: "workload", title: "Workload", width: "16rem", by: (pod) => pod.workload, cell: (pod) => pod.workload || "–" },
    { id: "phase", title: "Phase", width: "7rem", by: (pod) => pod.phase, cell: (pod) => phaseChip(pod.phase) },
    { id: "leaves", title: "Leaves", width: "22rem", by: (pod) => pod.deadline?.[0] ?? Infinity, cell: (pod) => deadlineText(pod) || "–" },
  ];
  const [kind, name] = split(colouring);
  const of = { taint: (row) => row.taints.find((taint) => taint.key === name)?.value, label: (row) => row.labels[name] }[kind];
  if (of) {
    const value = (pod) => (cluster.nodes.has(pod.node) ? (of(cluster.nodes.get(pod.node)) ?? "") : "");
    list.splice(2, 0, { id: "extra", title: name.slice(name.lastIndexOf("/") + 1), width: "14rem", by: value, cell: (pod) => value(pod) || "–" });
  }
  return list;
}
