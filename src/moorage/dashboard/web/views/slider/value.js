/**
 * Builds the control for a value: a slider with ticks and a number field, a slider over versions, or a text field.
 *
 *   const control = valueControl({domain, value, label, noun: "node", onvalue: (text) => …});
 *   control.element
 *
 * The keys of a range work as everywhere; Alt with an arrow key, and the buttons beside it, go to the next threshold.
 */
import { freshId, h } from "../../lib/dom.js";
import { count, natural } from "../../lib/format.js";
import { compareVersions, inequality, isInteger, isVersion } from "./domain.js";

const MOST_CHIPS = 12;
const DIGITS = /^\d+$/;

export function valueControl(options) {
  const made = options.domain.form === "number" ? numberControl(options) : options.domain.form === "version" ? versionControl(options) : null;
  return made ?? textControl(options);
}

/**
 * A slider over whole numbers. Its field takes any text, unless `only` numbers mean something: nodes may have values
 * that are none, or too large to be exact here. The slider then stands at its end.
 */
function numberControl({ domain, value, label, noun, now, only = false, onvalue }) {
  const start = isInteger(value) ? Number(value) : domain.min;
  const bounds = { min: Math.min(domain.min, start), max: Math.max(domain.max, start) };
  const range = h("input", { type: "range", class: "value-range", min: bounds.min, max: bounds.max, step: 1 });
  const field = h(
    "input",
    only
      ? { type: "number", class: "input value-field", min: 0, step: 1, inputmode: "numeric" }
      : { type: "text", class: "input value-field", inputmode: "numeric", spellcheck: "false", autocomplete: "off" },
  );
  const parts = frame({ label, range, field, domain, noun, now, turn });
  const place = (number) => (number - bounds.min) / (bounds.max - bounds.min || 1);
  let ticks = drawTicks(parts.scale, domain, place, Number);

  function show(text) {
    const isNumber = isInteger(text);
    const number = isNumber ? Number(text) : DIGITS.test(text) ? bounds.max : bounds.min;
    if (number < bounds.min || number > bounds.max) {
      bounds.min = Math.min(bounds.min, number);
      bounds.max = Math.max(bounds.max, number);
      range.min = bounds.min;
      range.max = bounds.max;
      ticks.forEach((one) => one.remove());
      ticks = drawTicks(parts.scale, domain, place, Number);
    }
    range.value = number;
    if (isNumber) range.removeAttribute("aria-valuetext");
    else range.setAttribute("aria-valuetext", text || "empty");
    if (field.value !== text) field.value = text;
  }

  function choose(text) {
    show(text);
    onvalue(text);
  }

  function turn(direction) {
    const now = Number(range.value);
    if (!domain.turns.length && now + direction >= 0) choose(String(now + direction));
    const ahead = domain.turns.filter((one) => (direction > 0 ? one > now : one < now));
    if (ahead.length) choose(String(direction > 0 ? ahead[0] : ahead.at(-1)));
  }

  range.addEventListener("input", () => choose(range.value));
  field.addEventListener("input", () => (isInteger(field.value) || !only) && choose(field.value));
  if (only) field.addEventListener("change", () => (field.value = range.value));
  parts.onchip((tick) => choose(tick.value));
  show(only && !isInteger(value) ? String(start) : value);
  return { element: parts.element, focus: () => range.focus(), set: show };
}

function versionControl({ domain, value, label, noun, onvalue }) {
  const stops = [...domain.stops];
  if (isVersion(value) && !stops.includes(value)) insert(stops, value);
  const range = h("input", { type: "range", class: "value-range", min: 0, step: 1 });
  const list = freshId("versions");
  const field = h("input", { type: "text", class: "input value-field", list, spellcheck: "false", autocomplete: "off" });
  const parts = frame({ label, range, field, domain, noun, turn });
  parts.element.append(h("datalist", { id: list }, domain.stops.map((one) => h("option", { value: one }))));
  let ticks = [];

  function show(text) {
    if (isVersion(text) && !stops.includes(text)) insert(stops, text);
    range.max = Math.max(1, stops.length - 1);
    ticks.forEach((one) => one.remove());
    ticks = drawTicks(parts.scale, domain, (at) => at / Math.max(1, stops.length - 1), (one) => stops.indexOf(one));
    if (stops.includes(text)) range.value = stops.indexOf(text);
    range.setAttribute("aria-valuetext", text);
    if (field.value !== text) field.value = text;
  }

  function choose(text) {
    show(text);
    onvalue(text);
  }

  function turn(direction) {
    const at = Number(range.value) + direction;
    if (stops[at] !== undefined) choose(stops[at]);
  }

  range.addEventListener("input", () => stops[range.value] !== undefined && choose(stops[range.value]));
  field.addEventListener("input", () => {
    range.setAttribute("aria-valuetext", field.value);
    onvalue(field.value);
  });
  field.addEventListener("change", () => show(field.value));
  parts.onchip((tick) => choose(tick.value));
  show(value || stops[0] || "");
  return { element: parts.element, focus: () => range.focus(), set: show };
}

function textControl({ domain, value, label, onvalue }) {
  const id = freshId("value");
  const list = freshId("values");
  const field = h("input", { id, type: "text", class: "input", value, list, spellcheck: "false", autocomplete: "off" });
  field.addEventListener("input", () => onvalue(field.value));
  const element = h(
    "div",
    { class: "value-control" },
    h("label", { for: id, class: "field-label" }, label),
    field,
    h("datalist", { id: list }, (domain.suggestions ?? []).map((one) => h("option", { value: one }))),
  );
  return { element, focus: () => field.focus(), set: (text) => (field.value = text) };
}

/** Label, slider with room for ticks, the field beside it, and the thresholds as buttons below. */
function frame({ label, range, field, domain, noun, now = null, turn }) {
  const id = freshId("value");
  range.id = id;
  field.setAttribute("aria-label", `${label}, typed`);
  const step = (direction, name, sign) =>
    h("button", { type: "button", class: "button small value-step", title: name, "aria-label": name, onclick: () => turn(direction) }, sign);
  const scale = h("div", { class: "value-scale", "aria-hidden": "true" });
  // Those of most pods, in the order of the slider.
  const named = domain.ticks.slice(0, MOST_CHIPS).sort((a, b) => natural(a.value, b.value));
  const chips = named.map((tick) => ({ tick, button: chip(tick) }));
  range.addEventListener("keydown", (event) => {
    const direction = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!event.altKey || !direction) return;
    event.preventDefault();
    turn(direction);
  });
  const [below, above] = stepNames(domain);
  const element = h(
    "div",
    { class: "value-control" },
    h("div", { class: "value-head" }, h("label", { for: id, class: "field-label" }, label), field),
    h(
      "div",
      { class: "value-line" },
      step(-1, below, "‹"),
      h("div", { class: "value-track" }, range, scale),
      step(1, above, "›"),
    ),
    chips.length
      ? h("div", { class: "value-chips", role: "group", "aria-label": "Thresholds that pods name" }, chips.map((one) => one.button), more(domain))
      : null,
    h("p", { class: "value-now muted" }, now ?? valuesText(domain.values, noun)),
  );
  return { element, scale, onchip: (use) => chips.forEach(({ tick, button }) => button.addEventListener("click", () => use(tick))) };
}

function stepNames(domain) {
  if (domain.form === "version") return ["To the version below", "To the version above"];
  return domain.turns.length ? ["To the threshold below", "To the threshold above"] : ["One less", "One more"];
}

function chip(tick) {
  const names = [...tick.workloads, ...(tick.moreWorkloads ? [`${tick.moreWorkloads} more`] : [])].join(", ");
  return h(
    "button",
    { type: "button", class: "value-chip", title: `${inequality(tick)}: ${names}` },
    h("span", { class: "value-chip-rule" }, inequality(tick)),
    h("span", { class: "muted" }, count(tick.pods, "pod")),
  );
}

function more(domain) {
  const rest = domain.ticks.length - MOST_CHIPS;
  return rest > 0 ? h("span", { class: "muted" }, `and ${rest} more`) : null;
}

/** Marks thresholds above the line, and the values that nodes have now below it. */
function drawTicks(scale, domain, place, position) {
  const marks = [];
  const draw = (value, kind, title) => {
    const at = position(value);
    if (!Number.isFinite(at) || at < 0) return;
    const share = place(at);
    if (share < 0 || share > 1) return;
    marks.push(h("span", { class: `value-tick ${kind}`, title, style: { "--at": share.toFixed(4) } }));
  };
  for (const tick of domain.ticks) draw(tick.value, "threshold", inequality(tick));
  for (const value of [...domain.values.keys()].slice(0, 100)) draw(value, "now", value);
  scale.append(...marks);
  return marks;
}

function valuesText(values, noun) {
  const rows = [...values].sort((a, b) => b[1] - a[1]);
  if (!rows.length) return `No ${noun} has it now.`;
  const shown = rows.slice(0, 4).map(([value, number]) => `${value || "(empty)"} on ${number}`);
  const rest = rows.length - shown.length;
  return `Now: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more ${rest === 1 ? "value" : "values"}` : ""}.`;
}

function insert(stops, value) {
  const at = stops.findIndex((one) => compareVersions(one, value) > 0);
  stops.splice(at < 0 ? stops.length : at, 0, value);
}
