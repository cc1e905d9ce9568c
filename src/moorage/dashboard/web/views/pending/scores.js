/** Shows the scores of the nodes that fit: bars made of each plugin's points times its weight, and the same as a table. */
import { h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { stacked } from "../../parts/bar.js";
import { empty } from "../../parts/states.js";
import { shownNodes } from "./names.js";

const STEP = 20;

export function scores({ explanation }) {
  const { scores: rows, weights } = explanation;
  if (!rows.length) return empty("No node fits, so that none was scored", "Scores choose between nodes that every filter lets pass.");
  const plugins = Object.keys(weights).filter((name) => rows.some((row) => row.scores[name]));
  const colours = Object.fromEntries(plugins.map((name, index) => [name, `var(--category-${index % 8})`]));
  const shown = h("div", { class: "stack" });
  let table = false;
  const toggle = h("button", { class: "button small", type: "button", "aria-pressed": "false", onclick: flip }, "As a table");
  draw();
  return h(
    "div",
    { class: "stack scores" },
    h("div", { class: "row" }, h("p", { class: "muted grow" }, lead(explanation)), toggle),
    shown,
  );

  function flip() {
    table = !table;
    toggle.setAttribute("aria-pressed", String(table));
    draw();
  }

  function draw() {
    replace(shown, table ? asTable(rows, plugins, weights) : asBars(rows, plugins, weights, colours));
  }
}

function lead(explanation) {
  const best = explanation.scores[0];
  const ties = explanation.tied > 1 ? `; ${count(explanation.tied, "node")} tie, between which fewer pods and then the seed decide` : "";
  return `${count(explanation.feasible, "node")} fit; the highest score is ${number(best.total)}${ties}.`;
}

function asBars(rows, plugins, weights, colours) {
  const max = Math.max(...rows.map((row) => row.total), 1);
  return [
    h(
      "ul",
      { class: "score-legend", "aria-label": "Plugins and their weights" },
      plugins.map((name) =>
        h("li", {}, h("span", { class: "score-colour", style: { background: colours[name] }, "aria-hidden": "true" }), `${name} ×${weights[name]}`),
      ),
    ),
    inSteps(rows, (part) =>
      part.map((row) =>
        stacked({
          label: shownNodes(row.nodes, row.nodes.length, 1),
          max,
          text: number(row.total),
          parts: plugins
            .filter((name) => row.scores[name])
            .map((name) => ({ name: `${name} ${row.scores[name] / weights[name]} × ${weights[name]} =`, value: row.scores[name], colour: colours[name] })),
        }),
      ),
    ),
  ];
}

function asTable(rows, plugins, weights) {
  const body = h("tbody", {});
  const table = h(
    "table",
    {},
    h("caption", {}, "Scores times weight of the nodes that fit"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Nodes"),
        h("th", { scope: "col", class: "end" }, "Total"),
        plugins.map((name) => h("th", { scope: "col", class: "end" }, `${name} ×${weights[name]}`)),
      ),
    ),
    body,
  );
  const more = inSteps(rows, (part) => {
    body.append(
      ...part.map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row", class: "wrap" }, shownNodes(row.nodes)),
          h("td", { class: "end nums" }, number(row.total)),
          plugins.map((name) => h("td", { class: "end nums" }, number(row.scores[name] ?? 0))),
        ),
      ),
    );
    return [];
  });
  return h("div", { class: "stack" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" }, table), more);
}

/** Shows some rows, and more of them on demand. */
export function inSteps(rows, render, step = STEP) {
  const box = h("div", { class: "in-steps" });
  let shown = 0;
  const button = h("button", { class: "button small", type: "button", onclick: () => more(true) });
  more(false);
  return h("div", { class: "stack" }, box, button);

  function more(asked) {
    const part = render(rows.slice(shown, shown + step));
    shown = Math.min(rows.length, shown + step);
    box.append(...part);
    const left = rows.length - shown;
    button.hidden = left === 0;
    replace(button, `Show ${number(Math.min(step, left))} more of ${number(left)}`);
    if (asked && part.length) part[0].querySelector?.("a, button, [tabindex]")?.focus();
  }
}
