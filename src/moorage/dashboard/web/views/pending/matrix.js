/**
 * Shows nodes × filter plugins: who lets the pod pass, who refuses it, in which words and by which inequality.
 *
 * Nodes of which all plugins say the same share a row, and rows that differ by values only are one until they are
 * opened; those that the fewest reasons keep the pod from come first. A refusal opens its sentence and inequality by
 * hover, focus or tap; a node's name opens that node in full.
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { freshId, h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { empty } from "../../parts/states.js";
import { nodesAreUnread } from "../../parts/unread.js";
import { canExplain } from "./asking.js";
import { nodeInFull } from "./column.js";
import { Explainer } from "./explainer.js";
import { families } from "./families.js";

const STEP = 50;
/** Up to this many nodes are named; of more, their number and two examples, as in `moorage explain`. */
const NAMES = 6;
const EXAMPLES = 2;
const DETAILS = 12;

export function matrix(told) {
  const { matrix: found, explanation } = told;
  const unread = nodesAreUnread(cluster.source);
  if (!found.rows.length && unread) return empty("Nodes cannot be read", unread);
  if (!found.rows.length) return empty(explanation.nodes ? "No plugin looks at nodes for this pod" : "There are no nodes");
  return new Matrix(told).element;
}

class Matrix {
  #told;
  #all = false;
  #apart = false;
  #opened = new Set();
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
    const apart = h("input", { type: "checkbox", id: `${id}-apart`, onchange: () => this.#tellApart(apart.checked) });
    const hasFamilies = told.matrix.families?.some((one) => one.rows > 1);
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
        hasFamilies && h("div", { class: "row matrix-all" }, apart, h("label", { for: `${id}-apart` }, "A row for each value")),
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

  #tellApart(apart) {
    this.#apart = apart;
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
    announce(`${number(Math.min(this.#most, this.#lines().length))} rows are shown`);
  }

  #rows() {
    const { rows } = this.#told.matrix;
    return this.#filter ? rows.filter((row) => row.nodes.some((name) => name.toLowerCase().includes(this.#filter))) : rows;
  }

  /** What is to be shown: rows, and families of them with whether they are open. */
  #lines() {
    const rows = this.#rows();
    if (this.#apart) return rows.map((row) => ({ row }));
    return families(this.#told.matrix, rows).flatMap((family) => {
      if (family.rows.length === 1) return [{ row: family.rows[0] }];
      const open = this.#opened.has(family.id);
      return [{ family, open }, ...(open ? family.rows.map((row) => ({ row, member: true })) : [])];
    });
  }

  #draw() {
    this.#explainer.close();
    const { plugins, leftOutRows, leftOutNodes } = this.#told.matrix;
    const columns = plugins.filter((plugin) => this.#all || plugin.checks);
    const rows = this.#rows();
    const lines = this.#lines();
    const shown = lines.slice(0, this.#most);
    const refusing = new Set(rows.flatMap((row) => Object.keys(row.cells)));
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
          columns.map((plugin) => h("th", { scope: "col", class: `${refusing.has(plugin.name) ? "refuses" : "agrees"}${plugin.checks ? "" : " idle"}` }, breakable(plugin.name))),
        ),
      ),
      h("tbody", {}, shown.map((line) => (line.family ? this.#family(line, columns) : this.#row(line, columns)))),
    );
    const left = lines.length - shown.length;
    this.#more.hidden = left === 0;
    replace(this.#more, `Show ${number(Math.min(STEP, left))} more of ${count(left, "row")}`);
    const beyond = leftOutRows ? ` ${count(leftOutNodes, "node")} in ${count(leftOutRows, "further row")} are left out.` : "";
    replace(this.#hint, this.#filter ? `${count(rows.length, "row")} with ${count(nodes, "node")} match.${beyond}` : beyond.trim());
  }

  #row({ row, member }, columns) {
    const state = row.fits ? "fits" : row.distance === 1 ? "near" : "";
    return h(
      "tr",
      { class: member ? `${state} member` : state },
      h("th", { scope: "row", class: "matrix-nodes" }, this.#names(row), h("span", { class: "matrix-distance" }, distance(row.distance, row.distance))),
      columns.map((plugin) => this.#cell(row, plugin)),
    );
  }

  #family({ family, open }, columns) {
    const button = h(
      "button",
      { class: "button small quiet matrix-open", type: "button", "aria-expanded": String(open), dataset: { family: family.id }, onclick: () => this.#openFamily(family.id, !open) },
      `${number(family.total)} variants`,
    );
    return h(
      "tr",
      { class: family.nearest === 1 ? "near" : "" },
      h("th", { scope: "row", class: "matrix-nodes" }, this.#names(family), h("span", { class: "matrix-distance" }, distance(family.nearest, family.furthest)), button),
      columns.map((plugin) => this.#cell(family, plugin)),
    );
  }

  #openFamily(id, open) {
    if (open) this.#opened.add(id);
    else this.#opened.delete(id);
    this.#draw();
    this.#table.querySelector(`.matrix-open[data-family="${id}"]`)?.focus();
  }

  #names(row) {
    const wanted = this.#filter ? row.nodes.filter((name) => name.toLowerCase().includes(this.#filter)) : row.nodes;
    const total = this.#filter ? wanted.length : row.count;
    const few = total <= NAMES;
    const named = wanted.slice(0, few ? NAMES : EXAMPLES).map((name) => this.#name(name));
    const list = h("span", { class: "matrix-names" }, few ? null : h("span", { class: "muted" }, `${count(total, "node")}, such as`), named);
    if (!few) {
      const rest = h(
        "button",
        {
          class: "button small quiet",
          type: "button",
          "aria-label": `list ${count(total, "node")}`,
          onclick: () => {
            replace(list, wanted.map((name) => this.#name(name)), total > wanted.length && h("span", { class: "muted" }, `${number(wanted.length)} of ${count(total, "node")}`));
            list.querySelectorAll(".matrix-name")[EXAMPLES]?.focus();
          },
        },
        "list them",
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
        { class: plugin.checks ? "yes" : "idle", dataset: { plugin: plugin.name } },
        h("span", { "aria-hidden": "true", title: `${plugin.name} ${word}` }, sign),
        h("span", { class: "visually-hidden" }, word),
      );
    }
    const [inequality, ...others] = cell.details;
    const more = [others.length > 0 && `and ${number(others.length)} more`, cell.ways > 1 && `${count(cell.ways - 1, "other value")} elsewhere`].filter(Boolean).join("; ");
    const button = h(
      "button",
      { class: "cell-no", type: "button", "aria-expanded": "false" },
      h("span", { class: "cell-sign", "aria-hidden": "true" }, "✕"),
      h(
        "span",
        { class: "cell-text" },
        h("span", { class: "visually-hidden" }, "refuses: "),
        h("span", { class: "cell-reason" }, briefly(cell.reasons.join("; ") || "refused")),
        inequality && h("span", { class: "cell-inequality mono" }, inequality),
        more && h("span", { class: "cell-more" }, more),
      ),
    );
    this.#explainer.attach(button, () => ({ title: plugin.name, nodes: row, ...cell, details: row.rows ? everyDetail(row, plugin.name) : cell.details }));
    return h("td", { class: "no", dataset: { plugin: plugin.name } }, button);
  }
}

function distance(nearest, furthest) {
  if (furthest === 0) return "fits";
  if (furthest === 1) return "one reason away";
  return nearest === furthest ? `${number(nearest)} reasons away` : `${number(nearest)} to ${number(furthest)} reasons away`;
}

/** What a plugin compared on the nodes of a family: each thing once, with the number of nodes; the nearest first. */
function everyDetail(family, plugin) {
  const nodes = new Map();
  for (const row of family.rows) for (const detail of row.cells[plugin].details) nodes.set(detail, (nodes.get(detail) ?? 0) + row.count);
  const shown = [...nodes].slice(0, DETAILS).map(([detail, on]) => `${detail}: ${count(on, "node")}`);
  return nodes.size > DETAILS ? [...shown, `and ${number(nodes.size - DETAILS)} more`] : shown;
}

/** Leaves out what all sentences begin with. */
function briefly(text) {
  return text.replace(/^node\(s\) /, "");
}

/** A plugin's name that may be broken before each of its words. */
function breakable(name) {
  return name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((word, index) => (index ? [h("wbr", {}), word] : [word]));
}
