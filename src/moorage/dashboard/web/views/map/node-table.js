/** Shows the nodes of the map as a table: the same search and groups, and the column of what the map is coloured by. */
import { cluster } from "../../lib/cluster.js";
import { age, number, percent, seconds } from "../../lib/format.js";
import { chip, chips, taintChip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { grouper } from "../../parts/map/grouping.js";
import { countsOf, matcher } from "../../parts/map/search.js";
import { split } from "../../parts/map/scale.js";

export function nodeTable(onopen) {
  let extra = "";
  const element = dataTable({ label: "Nodes", columns: columns(""), sort: "name", rowKey: (row) => row.name, onopen, height: "100%", none: "No node matches" });
  return {
    element,
    /** Shows the nodes that are looked for, and returns what was understood. */
    fill(find, colouring, grouping) {
      const match = matcher(find, cluster.pods.values(), cluster.nodes.values());
      if (colouring !== extra) {
        extra = colouring;
        element.columns = columns(colouring);
      }
      element.groupOf = grouping === "none" ? null : grouper(grouping, [...cluster.nodes.values()]);
      element.rows = [...cluster.nodes.values()].filter((row) => !match || match.node(row) || hasPod(row, match));
      return match?.understood(countsOf(match)) ?? "";
    },
  };
}

function hasPod(row, match) {
  for (const key of row.pods) if (match.pod(cluster.pods.get(key))) return true;
  return false;
}

function columns(colouring) {
  const share = (id) => ({
    id,
    title: id,
    width: "6rem",
    end: true,
    by: (row) => part(row.resources?.[id]),
    cell: (row) => (row.resources?.[id]?.[1] > 0 ? percent(part(row.resources[id])) : "–"),
  });
  const list = [
    { id: "name", title: "Node", width: "14rem", by: (row) => row.name, cell: (row) => row.name },
    { id: "state", title: "State", width: "9rem", by: (row) => Number(row.ready) * 2 + Number(row.schedulable), cell: state },
    { id: "pods", title: "Pods", width: "5rem", end: true, by: (row) => row.pods.size, cell: (row) => number(row.pods.size) },
    share("cpu"),
    share("memory"),
  ];
  const more = column(colouring);
  if (more) list.push(more);
  list.push(
    { id: "version", title: "Version", width: "7rem", by: (row) => row.version ?? "", cell: (row) => row.version ?? "" },
    { id: "age", title: "Age", width: "5rem", end: true, by: (row) => -seconds(row.created) || 0, cell: (row) => age(row.created) },
    { id: "taints", title: "Taints", width: "26rem", cell: (row) => chips(row.taints.map(taintChip), "–") },
  );
  return list;
}

function column(colouring) {
  const [kind, name] = split(colouring);
  if (kind === "resource" && !["cpu", "memory", "pods"].includes(name)) return amounts(name, (row) => row.resources?.[name]);
  if (kind === "device") return amounts(name, (row) => row.devices?.[name]);
  if (kind === "label") return text(name, (row) => row.labels?.[name] ?? "");
  if (kind === "taint") return text(name, (row) => row.taints.find((one) => one.key === name)?.value ?? "");
  if (kind === "workload") return { ...text(name, (row) => podsOf(row, name)), end: true };
  return null;
}

function amounts(title, of) {
  return { id: "extra", title, width: "8rem", end: true, by: (row) => part(of(row)), cell: (row) => (of(row) ? `${number(of(row)[0])} of ${number(of(row)[1])}` : "–") };
}

function text(title, of) {
  return { id: "extra", title, width: "10rem", by: of, cell: (row) => String(of(row)) };
}

function podsOf(row, workload) {
  let found = 0;
  for (const key of row.pods) if (cluster.pods.get(key)?.workload === workload) found += 1;
  return found;
}

function part(pair) {
  return pair && pair[1] > 0 ? pair[0] / pair[1] : -1;
}

function state(row) {
  const list = [];
  if (!row.ready) list.push(chip("not ready", "bad"));
  if (!row.schedulable) list.push(chip("cordoned", "warn"));
  return chips(list.length ? list : [chip("ready", "good")]);
}
