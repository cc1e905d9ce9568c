/** Lists the points of a curve: the cluster as it is, then each value with the range that it stands for. */
import { h } from "../../lib/dom.js";
import { number } from "../../lib/format.js";

const MOST = 3;

export function curveTable({ axis, before, points }) {
  const head = [axis.unit, "stands for", "on nodes", "Pending", "evicted", "nodes in use", ...(axis.priced ? ["cost/h"] : []), "who waits"];
  const row = (point) => {
    const isBefore = point === before;
    const worse = point.waiting > before.waiting || point.evicted > 0;
    return h(
      "tr",
      { class: [worse && "worse", point.isNow && "now"] },
      h("th", { scope: "row" }, isBefore ? point.range : point.value || "(empty)", point.isNow && !isBefore && h("span", { class: "muted" }, " (now)")),
      h("td", { dataset: { title: head[1] } }, isBefore ? "" : point.range),
      [point.placed, point.waiting, point.evicted, point.nodes].map((value, at) => h("td", { class: "end nums", dataset: { title: head[2 + at] } }, number(value))),
      axis.priced && h("td", { class: "end nums", dataset: { title: "cost/h" } }, point.costText),
      h("td", { class: "wrap", dataset: { title: head.at(-1) } }, point.refused || waiting(point.pending)),
    );
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Points of the curve" },
    h("table", { class: "curve-table stacks" }, h("thead", {}, h("tr", {}, head.map((text, at) => h("th", { scope: "col", class: at > 1 && at < head.length - 1 && "end" }, text)))), h("tbody", {}, [before, ...points].map(row))),
  );
}

function waiting(pending) {
  const rows = Object.entries(pending).sort((one, other) => other[1] - one[1]);
  const more = rows.length > MOST ? [`${rows.length - MOST} more`] : [];
  return [...rows.slice(0, MOST).map(([name, pods]) => `${name} ${number(pods)}`), ...more].join(", ");
}
