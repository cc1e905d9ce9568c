/** Shows one node in full: every plugin's answer, also of those that agree, with what it compared; its score and rank. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";

const ANSWERS = {
  yes: ["✓", "yes", "yes"],
  no: ["✕", "no", "no"],
  "nothing to check": ["–", "nothing to check", "idle"],
};

export function nodeInFull(explanation) {
  const { column } = explanation;
  const { node, ...rest } = address.params;
  return h(
    "section",
    { class: "node-in-full panel padded stack", "aria-label": `Node ${column.node}` },
    h(
      "div",
      { class: "row" },
      h("h3", { class: "wrap" }, `Node ${column.node}`),
      column.fits ? chip("fits", "good") : chip("does not fit", "bad"),
      column.rank ? h("span", { class: "muted" }, `score ${number(column.total)}, rank ${number(column.rank)} of ${number(explanation.feasible)}`) : null,
      h("span", { class: "grow" }),
      h("a", { class: "button small quiet", href: address.href("map", { node: column.node }) }, "On the map"),
      h("a", { class: "button small", href: address.href("pending", rest) }, "All nodes"),
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `Plugins for ${column.node}` },
      h(
        "table",
        { class: "column" },
        h("caption", {}, `${count(column.plugins.length, "plugin")} in the order in which they run`),
        h("thead", {}, h("tr", {}, ["Plugin", "Lets it pass", "What was compared"].map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, column.plugins.map((cell) => row(cell, column, explanation.weights))),
      ),
    ),
  );
}

function row(cell, column, weights) {
  const [sign, word, kind] = ANSWERS[cell.answer] ?? ["", cell.answer, ""];
  const score = column.scores?.[cell.plugin];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, cell.plugin),
    h("td", { class: kind }, h("span", { "aria-hidden": "true" }, `${sign} `), word),
    h(
      "td",
      { class: "wrap" },
      cell.reasons.map((reason) => h("p", {}, reason)),
      cell.details.map((detail) => h("p", { class: "mono" }, detail)),
      score ? h("p", { class: "muted" }, `scores ${number(score / weights[cell.plugin])} × ${weights[cell.plugin]} = ${number(score)}`) : null,
    ),
  );
}
