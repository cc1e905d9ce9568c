/** Draws the matrix of gates and components. Each value is a shape, a word and a colour. */
import { h } from "../../lib/dom.js";
import { count } from "../../lib/format.js";

const SHORT = { "kube-apiserver": "API", "kube-scheduler": "SCH", "kube-controller-manager": "CM", kubelet: "KLT" };
const VALUES = new Map([
  [true, ["on", "on"]],
  [false, ["off", "off"]],
  [null, ["unknown", "?"]],
  [undefined, ["none", "–"]],
]);
const MEANINGS = { on: "on", off: "off", unknown: "not known: the component does not tell", none: "does not read this gate" };

export function matrix({ gates, rows, chosen, totals, href }) {
  const components = gates.components;
  const skews = skewed(gates.skews);
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
          components.map((name) => h("th", { scope: "col", class: "gate-head" }, componentName(name))),
          h("th", { scope: "col", class: "end" }, "Used by"),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((gate) => row(gate, components, { chosen: gate.name === chosen, skew: skews.get(gate.name), total: totals?.[gate.name], href, asked: Boolean(totals) })),
        rows.length ? null : h("tr", {}, h("td", { colspan: components.length + 3, class: "muted" }, "No gate matches")),
      ),
    ),
    legend(rows),
    others(gates.others, components),
  );
}

/** The full name on wide screens, an abbreviation on narrow ones. */
export function componentName(name) {
  const short = SHORT[name];
  if (!short) return h("span", { class: "gate-long" }, name);
  return [h("span", { class: "gate-long" }, name.replace("kube-", "")), h("abbr", { class: "gate-short", title: name }, short)];
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

function row(gate, components, { chosen, skew, total, href, asked }) {
  return h(
    "tr",
    { class: chosen ? "chosen" : "" },
    h(
      "th",
      { scope: "row" },
      h("a", { class: "gate-name", href: href(gate.name), dataset: { gate: gate.name }, "aria-current": chosen ? "true" : null }, breakable(gate.name)),
      h("span", { class: "gate-feature" }, gate.feature),
    ),
    h("td", { class: "gate-stage" }, gate.stage.toLowerCase()),
    components.map((name) => h("td", {}, valueCell(gate.values[name], { skew: skew?.off.has(name) }))),
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

function legend(rows) {
  const values = new Set(rows.flatMap((gate) => Object.values(gate.values)));
  return h(
    "p",
    { class: "gate-legend muted" },
    h("span", {}, valueCell(true), " has the feature"),
    h("span", {}, valueCell(false), " refuses or ignores it"),
    values.has(null) ? h("span", {}, valueCell(null), " does not tell") : null,
    h("span", {}, valueCell(undefined), " does not read the gate"),
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
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Gate"), components.map((name) => h("th", { scope: "col", class: "gate-head" }, componentName(name))))),
      h("tbody", {}, list.map((gate) => h("tr", {}, h("th", { scope: "row" }, gate.name), components.map((name) => h("td", {}, valueCell(gate.values[name])))))),
    ),
  );
}
