/** Shows what is known of the rule itself: expressions with their cost, other forms of it, and the gates it needs. */
import { h } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { codeBlock } from "../../parts/code-block.js";

/** Beyond this a cost is no estimate any more: some size is unknown. */
const BOUNDLESS = 1e12;

export function expressionFacts(list) {
  return h(
    "ul",
    { class: "expressions" },
    list.map((one) =>
      h(
        "li",
        { class: "expression" },
        list.length > 1 ? h("code", { class: "cut", title: one.expression }, `tolerations[${one.index}]: ${one.expression}`) : null,
        one.compiles ? cost(one) : h("p", { class: "bad wrap" }, `does not compile: ${one.problem}`),
      ),
    ),
  );
}

function cost({ cost: [least, most], limit, exceeds, type, variables, bytes, maxBytes }) {
  // Costs of ordinary expressions are tiny beside the limit: the bar's length is that of the number.
  const share = Math.min(1, Math.log10(most + 1) / Math.log10(limit + 1));
  const words = most > BOUNDLESS ? "no bound: the size of a text is unknown" : `at most ${number(most)}`;
  return h(
    "div",
    { class: "cost" },
    h(
      "p",
      { class: "row" },
      chip(`type ${type}`, type === "bool" || type === "dyn" || type === "any" ? "good" : "bad"),
      ...variables.map(({ name, type: of }) => h("code", { class: "muted" }, `${name}: ${of}`)),
      h("span", { class: "muted small" }, `${number(bytes)} of ${number(maxBytes)} bytes`),
    ),
    h(
      "div",
      { class: ["cost-bar", exceeds ? "over" : ""], role: "img", "aria-label": `Estimated cost ${words}, the limit is ${number(limit)}` },
      h("span", { class: "cost-fill", style: { width: `${share * 100}%` } }),
    ),
    h(
      "p",
      { class: "row small" },
      h("span", { class: exceeds ? "bad" : "" }, `Estimated cost: ${words}, at least ${number(least)}`),
      h("span", { class: "muted" }, `limit ${number(limit)} (logarithmic)`),
      exceeds ? chip("over the limit: refused", "bad") : null,
    ),
  );
}

export function forms(list, onuse) {
  return h(
    "div",
    { class: "stack" },
    list.map((rule, index) =>
      h(
        "section",
        { class: "form-rule" },
        h("h3", { class: "wrap" }, rule.title),
        h("div", { class: "form-cards" }, merged(rule.forms).map((form) => formCard(form, index + 1, onuse && list.length === 1 ? onuse : null))),
      ),
    ),
  );
}

/** Forms that do not exist for the same reason are one. */
function merged(list) {
  const byReason = new Map();
  return list.filter((form) => {
    const first = form.exists ? null : byReason.get(form.whyNot);
    if (first) first.titles.push(form.title);
    else if (!form.exists) byReason.set(form.whyNot, Object.assign(form, { titles: [form.title] }));
    return !first;
  });
}

function formCard(form, place, onuse) {
  const head = h("h4", {}, (form.titles ?? [form.title]).join("; "));
  if (!form.exists) {
    return h("div", { class: "form-card none" }, head, h("p", {}, chip("no such form", "")), h("p", { class: "muted wrap" }, form.whyNot));
  }
  const can = onuse && !form.current;
  return h(
    "div",
    { class: ["form-card", form.current ? "current" : ""], dataset: { form: form.form } },
    head,
    h("p", { class: "row" }, formChips(form)),
    codeBlock(form.yaml, { label: `Rule ${place} as ${form.form}` }),
    h("p", { class: "muted wrap small" }, form.gates.length ? `Needs ${form.gates.join(", ")}.` : "Needs no feature gate."),
    form.differs ? h("p", { class: "muted wrap small" }, form.differs) : null,
    form.agreement ? agreement(form.agreement) : null,
    can ? h("button", { class: "button small", type: "button", onclick: () => onuse(form.yaml) }, "Try this form") : null,
  );
}

function formChips(form) {
  if (form.current) return chip("as written", "info");
  if (form.agreement.differs) return chip(`differs for ${count(form.agreement.differs, "value")} here`, "bad");
  return form.exact ? chip("exactly the same", "good") : chip("the same here, not everywhere", "warn");
}

function agreement({ ofCluster, madeUp, differ, differs, madeUpDiffer, madeUpDiffers }) {
  const tried = `Tried on ${count(ofCluster, "value")} of these nodes and ${number(madeUp)} made-up ones`;
  const examples = [...differ, ...madeUpDiffer].slice(0, 3);
  return h(
    "div",
    { class: "small" },
    h("p", { class: "muted" }, differs + madeUpDiffers ? `${tried}: ${number(differs)} and ${number(madeUpDiffers)} differ.` : `${tried}: all agree.`),
    examples.length
      ? h(
          "ul",
          {},
          examples.map(({ taint, before, after }) =>
            h("li", { class: "wrap" }, h("code", {}, taint), `: ${before ? "matches" : "does not match"} as written, ${after ? "matches" : "does not match"} in this form`),
          ),
        )
      : null,
  );
}

export function gates(rows, overrides, onchange) {
  if (!rows.length) return h("p", { class: "muted" }, "None: every Kubernetes release has what this rule uses.");
  return h("div", { class: "stack" }, rows.map((gate) => gateRow(gate, overrides, onchange)));
}

function gateRow(gate, overrides, onchange) {
  const overridden = Object.hasOwn(overrides, gate.name);
  const state = overridden ? `${gate.on ? "on" : "off"}, tried` : gate.on ? "on" : "off";
  const toggle = h("input", { type: "checkbox", checked: gate.on, onchange: (event) => onchange(gate.name, event.target.checked) });
  return h(
    "section",
    { class: "gate", "aria-label": gate.name },
    h(
      "div",
      { class: "row" },
      h("h3", { class: "wrap" }, gate.name),
      chip(overridden ? state : `${state} in this cluster`, gate.on ? "good" : "bad"),
      h("label", { class: "row" }, toggle, "as if it were on"),
      overridden ? h("button", { class: "button small quiet", type: "button", onclick: () => onchange(gate.name, null) }, "as the cluster has it") : null,
    ),
    h("p", { class: "muted" }, `${gate.feature}. ${sentence(gate.since)} Needed by ${gate.neededBy.join(", ")}.`),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": `${gate.name} in the components` },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ["Component", "State", "Where it is off"].map((title) => h("th", { scope: "col" }, title)))),
        h(
          "tbody",
          {},
          gate.components.map(({ component, on, whenOff }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, component),
              h("td", {}, chip(on ? "on" : "off", on ? "good" : "bad")),
              h("td", { class: "wrap" }, component === "kube-apiserver" && whenOff ? h("code", {}, whenOff) : whenOff || "–"),
            ),
          ),
        ),
      ),
    ),
  );
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}
