/**
 * Draws the matrix of gates and components. Each value is a shape, a word and a colour.
 *
 * `rows` are shown; `rest` are folded under a line that says how many they are, unless it `isOpen`.
 */
import { h } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { chip } from "../../parts/chips.js";

const SHORT = { "kube-apiserver": "API", "kube-scheduler": "SCH", "kube-controller-manager": "CM", kubelet: "KLT" };
const VALUES = new Map([
  [true, ["on", "on"]],
  [false, ["off", "off"]],
  [null, ["unknown", "?"]],
  [undefined, ["none", "–"]],
]);
const MEANINGS = { on: "on", off: "off", unknown: "not known: the component does not tell", none: "does not read this gate" };

export function matrix({ gates, rows, rest, isOpen, onfold, differ, chosen, totals, note, href }) {
  const components = gates.components;
  const skews = skewed(gates.skews);
  const draw = (gate) =>
    row(gate, components, { chosen: gate.name === chosen, differs: differ.has(gate.name), skew: skews.get(gate.name), total: totals?.[gate.name], href, asked: Boolean(totals) });
  const wide = (...content) => h("tr", {}, h("td", { colspan: components.length + 3 }, content));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gates by component" },
    h(
      "table",
      { class: "gate-table" },
      h("caption", { class: "visually-hidden" }, "Feature gates and what each component has them set to"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Gate"),
          h("th", { scope: "col", class: "gate-stage" }, "Stage"),
          components.map((name) => h("th", { scope: "col", class: "gate-head", title: name }, componentName(name))),
          h("th", { scope: "col", class: "end gate-use" }, "Used by"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map(draw),
        note ? wide(h("span", { class: "muted" }, note)) : null,
        rest.length ? wide(foldButton(rest.length, rows.length, isOpen, onfold)) : null,
        isOpen ? rest.map(draw) : null,
      ),
    ),
    legend(isOpen ? [...rows, ...rest] : rows, components),
    others(gates.others, components),
  );
}

function foldButton(number, others, isOpen, onfold) {
  const text = others ? `${count(number, "more gate")}, not used in this cluster` : `${count(number, "gate")}, not used in this cluster`;
  return h("button", { class: "button small gate-fold", type: "button", "aria-expanded": String(isOpen), onclick: onfold }, icon(isOpen ? "down" : "right", { size: 12 }), text);
}

/** The full name; on narrow screens an abbreviation is seen, which the legend explains, and the full name is read out. */
function componentName(name) {
  const short = SHORT[name];
  if (!short) return name;
  return [h("span", { class: "gate-long" }, name), h("span", { class: "gate-short", "aria-hidden": "true" }, short)];
}

export function valueCell(value, { skew = false } = {}) {
  const [name, word] = VALUES.get(value) ?? VALUES.get(undefined);
  return h(
    "span",
    { class: ["gate-value", name, skew ? "skew" : ""], title: MEANINGS[name] },
    h("span", { class: "gate-shape", "aria-hidden": "true" }),
    h("span", { "aria-hidden": name === "none" || name === "unknown" ? "true" : null }, word),
    name === "none" || name === "unknown" ? h("span", { class: "visually-hidden" }, MEANINGS[name]) : null,
  );
}

/** The name with places to break at, before each capital that follows a small letter. */
export function breakable(name) {
  return name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, index) => (index ? [h("wbr", {}), part] : [part]));
}

function row(gate, components, { chosen, differs, skew, total, href, asked }) {
  return h(
    "tr",
    { class: [chosen ? "chosen" : "", differs ? "differs" : ""] },
    h(
      "th",
      { scope: "row" },
      h("a", { class: "gate-name", href: href(gate.name), dataset: { gate: gate.name }, "aria-current": chosen ? "true" : null }, breakable(gate.name)),
      differs ? [" ", chip("differs", "warn")] : null,
      h("span", { class: "gate-feature" }, gate.feature),
      asked && total?.objects ? h("span", { class: "gate-use-below nums" }, use(total, asked)) : null,
    ),
    h("td", { class: "gate-stage" }, gate.stage.toLowerCase()),
    components.map((name) => h("td", { title: name }, valueCell(gate.values[name], { skew: skew?.off.has(name) }))),
    h("td", { class: "end nums gate-use" }, use(total, asked)),
  );
}

function use(total, asked) {
  if (!asked) return h("span", { class: "muted" }, "…");
  if (!total?.objects) return h("span", { class: "muted" }, "none");
  return [count(total.objects, "object"), total.affected ? h("span", { class: "gate-affected" }, `${total.affected} would notice`) : null];
}

function skewed(skews) {
  const found = new Map();
  for (const skew of skews) for (const name of skew.gates) found.set(name, { off: new Set(skew.off) });
  return found;
}

function legend(rows, components) {
  const values = new Set(rows.flatMap((gate) => Object.values(gate.values)));
  return h(
    "p",
    { class: "gate-legend muted" },
    h("span", {}, valueCell(true), " has the feature"),
    h("span", {}, valueCell(false), " refuses or ignores it"),
    values.has(null) ? h("span", {}, valueCell(null), " does not tell") : null,
    h("span", {}, valueCell(undefined), " does not read the gate"),
    components.filter((name) => SHORT[name]).map((name) => h("span", { class: "gate-short" }, h("strong", {}, SHORT[name]), ` ${name}`)),
  );
}

function others(list, components) {
  if (!list.length) return null;
  return h(
    "details",
    { class: "gate-others" },
    h("summary", {}, `${count(list.length, "other gate")} that the components tell, which Moorage does not read`),
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Gate"), components.map((name) => h("th", { scope: "col", class: "gate-head", title: name }, componentName(name))))),
      h("tbody", {}, list.map((gate) => h("tr", {}, h("th", { scope: "row" }, gate.name), components.map((name) => h("td", {}, valueCell(gate.values[name])))))),
    ),
  );
}
