/** Lists the pools of autoscalers: their nodes, what these cost, and how much the pools may still grow. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { empty } from "../../parts/states.js";

const MOST = 6;

export function poolsPanel({ pools, others, problems, cost, unpriced, nodes }) {
  if (!pools.length) return empty("No pools are known", "NodePools, NodeGroups and instance types among the files, or in the cluster, appear here.");
  const known = nodes > unpriced ? [`${cost.toPrecision(4)}/h for ${count(nodes - unpriced, "node")}`] : [];
  const total = [...known, ...(unpriced ? [`${count(unpriced, "node")} without a known price`] : [])].join("; ");
  return [
    h("div", { class: "panel-head" }, h("h2", {}, "Pools"), h("span", { class: "muted nums" }, total)),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Pools of autoscalers" },
      h(
        "table",
        { class: "pool-table" },
        h("thead", {}, h("tr", {}, ["Pool", "Taints", "Nodes", "In use", "May grow by", "Cost/h", "Cheapest node", "Which"].map((text, at) => h("th", { scope: "col", class: at > 1 && at < 6 && "end" }, text)))),
        h("tbody", {}, pools.map(row)),
      ),
    ),
    others.length > 0 && h("p", { class: "padded" }, `${count(others.length, "node")} of no pool: `, links(others)),
    problems.length > 0 && h("ul", { class: "padded" }, problems.map((text) => h("li", { class: "wrap" }, text))),
  ];
}

function row(pool) {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, pool.name, h("span", { class: "pool-kind" }, pool.kind)),
    h("td", { class: "wrap" }, pool.taints.join(", ") || "none"),
    [pool.number, pool.inUse].map((value) => h("td", { class: "end nums" }, number(value))),
    h("td", { class: "end nums" }, pool.more === null ? "no bound" : number(pool.more)),
    h("td", { class: "end nums" }, pool.number > pool.unpriced ? pool.cost.toPrecision(4) : "–"),
    h("td", { class: "wrap" }, pool.cheapest ? `${pool.cheapest.name}, ${pool.cheapest.price}/h` : "no price is known"),
    h("td", { class: "wrap" }, links(pool.nodes)),
  );
}

function links(names) {
  const shown = names.slice(0, MOST).flatMap((name, at) => [at > 0 && ", ", h("a", { href: address.href("map", { node: name }) }, name)]);
  return [...shown, names.length > MOST && ` and ${number(names.length - MOST)} more`];
}
