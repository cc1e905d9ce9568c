/**
 * Shows nodes × filter plugins: who lets the pod pass, who refuses it, in which words and by which inequality.
 *
 * Nodes of which all plugins say the same share a row; those that the fewest reasons keep the pod from come first. A
 * refusal opens its sentence and inequality by hover, focus or tap; a node's name opens that node in full.
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { freshId, h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { empty } from "../../parts/states.js";
import { canExplain } from "./asking.js";
import { nodeInFull } from "./column.js";
import { Explainer } from "./explainer.js";

const STEP = 50;
const NAMES = 3;

export function matrix(told) {
  const { matrix: found, explanation } = told;
  if (!found.rows.length) return empty(explanation.nodes ? "No plugin looks at nodes for this pod" : "There are no nodes");
  return new Matrix(told).element;
}

class Matrix {
  #told;
  #all = false;
  #filter = "";
  #most = STEP;
  #explainer = new Explainer();
  #table = h("table", { class: "matrix" });
  #more = h("button", { class: "button small", type: "button", onclick: () => this.#showMore() });
  #hint = h("p", { class: "muted", role: "status" });

  constructor(told) {
    this.#told = told;
    const id = freshId("matrix");
    const every = h("input", { type: "checkbox", id: `${id}-all`, onchange: () => this.#toggle(every.checked) });
    const filter = h("input", {
      class: "input",
      type: "search",
      id: `${id}-node`,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => this.#narrow(filter.value),
      onkeydown: (event) => event.key === "Enter" && this.#open(filter.value.trim()),
    });
    this.element = h(
      "div",
      { class: "stack" },
      told.explanation.column && nodeInFull(told.explanation),
      h(
        "div",
        { class: "toolbar" },
        h("div", { class: "field" }, h("label", { for: `${id}-node` }, "Filter by node"), filter),
        h("div", { class: "row matrix-all" }, every, h("label", { for: `${id}-all` }, "Also plugins with nothing to check")),
      ),
      this.#hint,
      h("div", { class: "matrix-scroll", tabindex: "0", role: "region", "aria-label": "Nodes and plugins" }, this.#table),
      this.#more,
      this.#explainer.element,
    );
    this.#draw();
  }

  #toggle(all) {
    this.#all = all;
    this.#draw();
  }

  #narrow(text) {
    this.#filter = text.trim().toLowerCase();
    this.#most = STEP;
    this.#draw();
  }

  #open(name) {
    const known = this.#told.matrix.rows.some((row) => row.nodes.includes(name)) || cluster.nodes.has(name);
    if (known) address.go("pending", { ...address.params, node: name });
  }

  #showMore() {
    this.#most += STEP;
    this.#draw();
    announce(`${number(Math.min(this.#most, this.#rows().length))} rows are shown`);
  }

  #rows() {
    const { rows } = this.#told.matrix;
    return this.#filter ? rows.filter((row) => row.nodes.some((name) => name.toLowerCase().includes(this.#filter))) : rows;
  }

  #draw() {
    this.#explainer.close();
    const { plugins, leftOutRows, leftOutNodes } = this.#told.matrix;
    const columns = plugins.filter((plugin) => this.#all || plugin.checks);
    const rows = this.#rows();
    const shown = rows.slice(0, this.#most);
    const nodes = rows.reduce((sum, row) => sum + row.count, 0);
    replace(
      this.#table,
      h("caption", {}, `${count(this.#told.explanation.nodes, "node")}, ${count(plugins.length, "filter plugin")} in the order in which they run`),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", class: "matrix-nodes" }, "Nodes"),
          columns.map((plugin) => h("th", { scope: "col", class: plugin.checks ? "" : "idle" }, breakable(plugin.name))),
        ),
      ),
      h("tbody", {}, shown.map((row) => this.#row(row, columns))),
    );
    const left = rows.length - shown.length;
    this.#more.hidden = left === 0;
    replace(this.#more, `Show ${number(Math.min(STEP, left))} more of ${count(left, "row")}`);
    const beyond = leftOutRows ? ` ${count(leftOutNodes, "node")} in ${count(leftOutRows, "further row")} are left out.` : "";
    replace(this.#hint, this.#filter ? `${count(rows.length, "row")} with ${count(nodes, "node")} match.${beyond}` : beyond.trim());
  }

  #row(row, columns) {
    return h(
      "tr",
      { class: row.fits ? "fits" : row.distance === 1 ? "near" : "" },
      h("th", { scope: "row", class: "matrix-nodes" }, this.#names(row), h("span", { class: "matrix-distance" }, distance(row))),
      columns.map((plugin) => this.#cell(row, plugin)),
    );
  }

  #names(row) {
    const wanted = this.#filter ? row.nodes.filter((name) => name.toLowerCase().includes(this.#filter)) : row.nodes;
    const total = this.#filter ? wanted.length : row.count;
    const list = h("span", { class: "matrix-names" }, wanted.slice(0, NAMES).map((name) => this.#name(name)));
    if (total > NAMES) {
      const rest = h(
        "button",
        {
          class: "button small quiet",
          type: "button",
          onclick: () => {
            replace(list, wanted.map((name) => this.#name(name)), total > wanted.length && h("span", { class: "muted" }, `${number(total - wanted.length)} more`));
            list.querySelectorAll(".matrix-name")[NAMES]?.focus();
          },
        },
        `and ${number(total - NAMES)} more`,
      );
      list.append(rest);
    }
    return list;
  }

  #name(name) {
    const { pod } = this.#told.explanation;
    if (!canExplain(address.params.pod ?? pod, name)) return h("span", { class: "matrix-name" }, name);
    const href = address.href("pending", { ...address.params, node: name });
    return h("a", { class: "matrix-name", href, title: `Every plugin's answer for ${name}` }, name);
  }

  #cell(row, plugin) {
    const cell = row.cells[plugin.name];
    if (!cell) {
      const [sign, word] = plugin.checks ? ["✓", "lets it pass"] : ["–", "has nothing to check"];
      return h(
        "td",
        { class: plugin.checks ? "yes" : "idle" },
        h("span", { "aria-hidden": "true", title: `${plugin.name} ${word}` }, sign),
        h("span", { class: "visually-hidden" }, word),
      );
    }
    const [inequality, ...others] = cell.details;
    const button = h(
      "button",
      { class: "cell-no", type: "button", "aria-expanded": "false" },
      h("span", { class: "cell-sign", "aria-hidden": "true" }, "✕"),
      h(
        "span",
        { class: "cell-text" },
        h("span", { class: "visually-hidden" }, "refuses: "),
        h("span", { class: "cell-reason" }, briefly(cell.reasons.join("; ") || "refused")),
        inequality && h("span", { class: "cell-inequality mono" }, inequality, others.length > 0 && ` (and ${number(others.length)} more)`),
      ),
    );
    this.#explainer.attach(button, () => ({ title: plugin.name, nodes: row, ...cell }));
    return h("td", { class: "no" }, button);
  }
}

function distance(row) {
  if (row.fits) return "fits";
  return row.distance === 1 ? "one reason away" : `${number(row.distance)} reasons away`;
}

/** Leaves out what all sentences begin with. */
function briefly(text) {
  return text.replace(/^node\(s\) /, "");
}

/** A plugin's name that may be broken before each of its words. */
function breakable(name) {
  return name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((word, index) => (index ? [h("wbr", {}), word] : [word]));
}
