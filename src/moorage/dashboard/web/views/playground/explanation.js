/** Draws how policies decide about an object: explained(explanation, left, select) → elements; `select` shows a line. */
import { h } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";

const PARTS = ["conditions", "variables", "validations", "messages", "annotations"];

export function explained(explanation, left, select) {
  const { decision, message, warnings, audit, policies } = explanation;
  return [
    h("p", { class: "wrap" }, chip(decision, decision === "allow" ? "good" : "bad"), message ? ` ${message}` : ""),
    warnings.map((text) => h("p", { class: "wrap" }, chip("warning", "warn"), ` ${text}`)),
    Object.entries(audit).map(([name, text]) => h("p", { class: "wrap" }, chip("audit", "info"), ` ${name}: ${text}`)),
    policies.length ? null : h("p", { class: "muted" }, "No policy sees the object: the API server refuses it first."),
    policies.map((one) => policy(one, select)),
    left ? h("p", { class: "muted" }, `${count(left, "more policy", "more policies")} decided, too, and ${left > 1 ? "are" : "is"} not explained.`) : null,
  ];
}

function policy(one, select) {
  const name = `${one.kind} ${one.policy}`;
  return h(
    "section",
    { class: "explained-policy stack", "aria-label": name },
    h("h3", { class: "wrap" }, name, h("span", { class: "muted" }, one.isBound ? `, binding ${one.binding}` : ", which is bound by nothing here")),
    one.standing ? h("p", { class: "wrap muted" }, one.standing) : null,
    one.failures.map((failure) => h("p", { class: "wrap" }, chip(failure.actions.join(", "), failure.actions.includes("Deny") ? "bad" : "warn"), ` ${failure.message}`)),
    one.params.map((params) => parameter(params, select)),
  );
}

function parameter(params, select) {
  const { param, mutations } = params;
  const metadata = param?.metadata ?? {};
  return h(
    "div",
    { class: "stack" },
    param ? h("p", { class: "muted wrap" }, `parameter ${param.kind} ${[metadata.namespace, metadata.name].filter(Boolean).join("/")}`) : null,
    PARTS.flatMap((name) => params[name] ?? []).map((one) => expression(one, select)),
    (mutations ?? []).map((one) => mutation(one, select)),
  );
}

function mutation({ variables, expression: made, patch, problem }, select) {
  return h(
    "div",
    { class: "stack" },
    variables.map((one) => expression(one, select)),
    expression(made, select),
    problem ? h("p", { class: "wrap bad" }, `makes no patch: ${problem}`) : null,
    !problem && !patch.length ? h("p", { class: "muted" }, "changes nothing") : null,
    patch.length ? h("ul", { class: "patch" }, patch.map((operation) => h("li", {}, h("code", { class: "wrap" }, JSON.stringify(operation))))) : null,
  );
}

function expression(one, select) {
  const failed = one.problem ?? one.error;
  const isFalse = one.value === "false";
  const jump = one.line ? h("button", { class: "button small quiet", type: "button", onclick: () => select(one) }, `line ${one.line}`) : null;
  return h(
    "details",
    { class: "explained-expression", open: Boolean(failed) || isFalse },
    h("summary", {}, h("span", { class: "wrap" }, one.name ? `${one.name} ` : `${one.field} `), "→ ", h("code", { class: ["wrap", failed || isFalse ? "bad" : ""] }, failed ? `error: ${failed}` : one.value)),
    h("ul", { class: "cel-parts" }, one.parts ? part(one.parts) : h("li", {}, h("code", { class: "wrap" }, one.expression))),
    one.isCut ? h("p", { class: "muted small" }, "More parts are not shown.") : null,
    jump,
  );
}

function part(one) {
  const text = h("code", { class: "wrap" }, one.expression);
  if (one.skipped) return h("li", {}, text, h("span", { class: "muted" }, " not evaluated"));
  const below = [...(one.parts ?? []).map(part), ...(one.iterations ?? []).map((each) => iteration(each, one.passes))];
  return h(
    "li",
    {},
    text,
    " → ",
    h("code", { class: ["wrap", one.error ? "bad" : "cel-value"] }, one.error ? `error: ${one.error}` : one.value),
    below.length ? h("ul", { class: "cel-parts" }, below) : null,
  );
}

function iteration({ number, variables, parts }, passes) {
  const words = Object.entries(variables).map(([name, text]) => `${name} = ${text}`);
  return h("li", {}, h("span", { class: "muted wrap" }, `${number} of ${passes}: ${words.join(", ")}`), parts?.length ? h("ul", { class: "cel-parts" }, parts.map(part)) : null);
}
