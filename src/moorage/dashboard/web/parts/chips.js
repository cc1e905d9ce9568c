/**
 * Makes small boxes for taints, labels and states: text carries the meaning, colour and sign only repeat it.
 *
 *   chip("3 pending", "warn")   kinds: "", "good", "warn", "bad", "info"
 *   taintChip({key, value, effect}), labelChip("zone", "a"), phaseChip("Running"), chips([…])
 */
import { h } from "../lib/dom.js";
import { taint } from "../lib/format.js";

const SIGNS = { good: "✓", warn: "!", bad: "✕", info: "i" };
const PHASES = { Running: "good", Pending: "warn", Failed: "bad", Terminating: "info", Succeeded: "" };
const EFFECTS = { NoSchedule: "warn", PreferNoSchedule: "info", NoExecute: "bad" };

export function chip(text, kind = "", { title, sign = true } = {}) {
  const mark = sign && SIGNS[kind] ? h("span", { class: "chip-sign", "aria-hidden": "true" }, SIGNS[kind]) : null;
  return h("span", { class: ["chip", kind], title }, mark, text);
}

export function taintChip(one) {
  return h(
    "span",
    { class: ["chip", "taint", EFFECTS[one.effect] ?? ""], title: taint(one) },
    h("span", { class: "chip-key" }, one.key),
    one.value ? h("span", { class: "chip-value" }, `=${one.value}`) : null,
    h("span", { class: "chip-effect" }, `:${one.effect}`),
  );
}

export function labelChip(key, value = "") {
  return h(
    "span",
    { class: "chip label", title: `${key}=${value}` },
    h("span", { class: "chip-key" }, key),
    value !== "" && h("span", { class: "chip-value" }, `=${value}`),
  );
}

export function phaseChip(phase) {
  return chip(phase, PHASES[phase] ?? "");
}

export function chips(list, none = "none") {
  return h("span", { class: "chips" }, list.length ? list : h("span", { class: "muted" }, none));
}
