/** Builds the fields that say on which nodes a change is made: one, a pool, those that have the taint, or all. */
import { cluster } from "../../lib/cluster.js";
import { freshId, h } from "../../lib/dom.js";
import { count, natural } from "../../lib/format.js";
import { combobox } from "../../parts/combobox.js";
import { nodesIn } from "./changes.js";

/** Returns a group of fields; `onscope` gets the new scope. */
export function scopeFields({ kind, what, nodes, onscope }) {
  const form = formOf(what.nodes);
  const id = freshId("scope");
  const forms = [
    ["one", "One node"],
    ["label", "A pool, by label"],
    ...(kind === "label" || !what.key ? [] : [["taint", "Nodes that have the taint"]]),
    ["all", "All nodes"],
  ];
  const options = forms.map(([value, text]) => h("option", { value, selected: value === form }, `${text}${hint(value, what, nodes)}`));
  const choose = (event) => onscope(first(event.target.value, what, nodes));
  return h(
    "div",
    { class: "scope" },
    h("div", { class: "field", dataset: { part: "scope" } }, h("label", { for: id }, "Where"), h("select", { id, class: "select", onchange: choose }, options)),
    form === "one" ? nodeField(what.nodes, nodes, onscope) : null,
    form === "label" ? labelFields(what.nodes.label, nodes, onscope) : null,
  );
}

function formOf(scope) {
  if (scope === "all") return "all";
  if (Array.isArray(scope)) return "one";
  return scope?.taint ? "taint" : "label";
}

function hint(form, what, nodes) {
  if (form === "all") return ` (${nodes.size})`;
  if (form === "taint") return ` (${nodesIn({ taint: what.key }, nodes).length})`;
  return "";
}

/** The scope to begin with when its form is chosen: that of the node at hand, where there is one. */
function first(form, what, nodes) {
  if (form === "all") return "all";
  if (form === "taint") return { taint: what.key };
  const now = nodesIn(what.nodes, nodes)[0] ?? nodes.values().next().value;
  if (form === "one") return [now?.name ?? ""];
  const key = labelKeys(nodes).find((one) => now && Object.hasOwn(now.labels, one.key))?.key ?? "";
  return { label: { key, value: now?.labels[key] ?? "" } };
}

function nodeField(names, nodes, onscope) {
  const known = [...nodes.keys()].sort(natural).map((name) => ({ value: name, text: name }));
  const several = names.length > 1 ? [{ value: names.join(" "), text: `${names.length} nodes` }] : [];
  const box = combobox({ label: "Node", options: [...several, ...known], value: names.join(" "), onchange: (name) => onscope(name.split(" ")) });
  box.dataset.part = "node";
  return box;
}

function labelFields(label, nodes, onscope) {
  const all = labelKeys(nodes);
  const valuesOf = (key) => all.find((one) => one.key === key)?.values ?? new Map();
  const keys = all.map((one) => ({ value: one.key, text: one.key, hint: count(one.values.size, "value") }));
  const choices = [...valuesOf(label.key)].sort((a, b) => natural(a[0], b[0])).map(([value, number]) => ({ value, text: value || "(empty)", hint: count(number, "node") }));
  const onkey = (key) => onscope({ label: { key, value: [...valuesOf(key).keys()].sort(natural)[0] ?? "" } });
  const keyBox = combobox({ label: "Label", options: keys, value: label.key, onchange: onkey });
  const valueBox = combobox({ label: "is", options: choices, value: label.value, onchange: (value) => onscope({ label: { key: label.key, value } }) });
  keyBox.dataset.part = "scope-key";
  valueBox.dataset.part = "scope-value";
  return [keyBox, valueBox];
}

/** Label keys that make pools: those named so first, then those with few values; a hostname makes no pool. */
function labelKeys(nodes) {
  const found = new Map();
  for (const row of nodes.values()) {
    for (const [key, value] of Object.entries(row.labels)) {
      if (key === cluster.names.hostname) continue;
      const values = found.get(key) ?? new Map();
      values.set(value, (values.get(value) ?? 0) + 1);
      found.set(key, values);
    }
  }
  const rank = (key) => (/(?:^|\/|-)(?:pool|nodepool|nodegroup)(?:-name)?$/.test(key) ? 0 : cluster.names.pools.includes(key) ? 1 : 2);
  return [...found]
    .map(([key, values]) => ({ key, values }))
    .sort((a, b) => rank(a.key) - rank(b.key) || a.values.size - b.values.size || natural(a.key, b.key));
}
