/**
 * Builds the control for a value: a slider over the stops of a scale with its thresholds, or a text field.
 *
 *   const control = valueControl({scale, value, label, noun: "node", place: async (text) => scale, onvalue: (text) => …,
 *                                 next: async (direction, signal) => ({value, last, complete})});
 *   const control = countControl({most: 10, least: 0, value: 3, label, now: "Now 3.", oncount: (number) => …});
 *   control.element
 *
 * The keys of a range work as everywhere; Alt with an arrow key, and the buttons beside it, go to the next value at which
 * something changes, which `next` asks of the simulation; where nothing does, they say so. A value that is typed and no stop is asked about: `place` answers with the scale on which it stands, or with
 * the reason why it cannot be compared.
 */
import { debounce, freshId, h, setText } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { isAbort } from "../../lib/api.js";
import { reading } from "../../lib/readings.js";
import { announce } from "../../lib/notice.js";
import { holdsAt } from "./scales.js";

const MOST_CHIPS = 12;
const TYPING_PAUSE = 120;

export function valueControl(options) {
  return options.scale.stops.length ? scaleControl(options) : textControl(options);
}

function scaleControl({ scale, value, label, noun, place, onvalue, next }) {
  const range = h("input", { type: "range", class: "value-range", min: 0, step: 1 });
  const list = scale.form === "version" ? freshId("stops") : null;
  const field = h("input", { type: "text", class: "input value-field", list, inputmode: list ? null : "numeric", spellcheck: "false", autocomplete: "off" });
  const known = list ? h("datalist", { id: list }) : null;
  const marks = h("div", { class: "value-scale", "aria-hidden": "true" });
  const why = h("p", { class: "value-why warn", role: "note", hidden: true });
  const beyond = h("p", { class: "value-beyond muted" });
  const chips = chipsOf(scale, choose);
  const element = frame({ label, range, field, scale, marks, turn: (direction) => turn(direction), below: [beyond, chips.element, why, h("p", { class: "value-now muted" }, valuesText(scale, noun))] });
  if (known) element.append(known);
  let text = value;
  let asking = null;
  let turning = null;

  async function askPlace() {
    asking?.abort();
    asking = new AbortController();
    const asked = text;
    try {
      const answer = await place(asked, asking.signal);
      if (asked === text) draw(answer);
    } catch (error) {
      // What is wrong with the server, the question of the what-if will say.
      if (!isAbort(error)) element.dataset.placed = "unknown";
    }
  }

  const askSoon = debounce(askPlace, TYPING_PAUSE);

  function draw(next) {
    scale = next;
    // The map colours nodes by the value while it is dragged.
    reading([...scale.stops, ...scale.values.map(([value]) => value), text]).catch(() => {});
    range.max = Math.max(1, scale.stops.length - 1);
    const share = (stop) => stop / Math.max(1, scale.stops.length - 1);
    const mark = (stop, kind, title) => h("span", { class: `value-tick ${kind}`, title, style: { "--at": share(stop).toFixed(4) } });
    const thresholds = scale.ticks.filter((one) => one.stop !== null).map((one) => mark(one.stop, "threshold", one.rule));
    marks.replaceChildren(...thresholds, ...scale.now.map((stop) => mark(stop, "now", scale.stops[stop])));
    known?.replaceChildren(...scale.stops.map((one) => h("option", { value: one })));
    show(scale.value?.text === text ? scale.value : { text, stop: scale.stops.indexOf(text), unreadable: "" });
  }

  /** Shows where the value stands. Of one that was not placed yet the slider stays where it was. */
  function show({ stop, unreadable, holds }) {
    const isStop = stop !== null && stop >= 0;
    if (isStop || unreadable) range.value = isStop ? stop : 0;
    range.classList.toggle("nowhere", Boolean(unreadable));
    range.setAttribute("aria-valuetext", unreadable ? `${text || "empty"}, not a ${scale.form}` : text || "empty");
    why.hidden = !unreadable;
    setText(why, unreadable ? `${unreadable}.` : "");
    if (isStop) chips.show(scale.ticks.map((one) => holdsAt(one, stop)));
    else if (holds) chips.show(holds);
    element.dataset.placed = isStop ? "stop" : unreadable ? "nowhere" : "asked";
    if (field.value !== text) field.value = text;
  }

  function set(next) {
    text = next;
    const stop = scale.stops.indexOf(text);
    show({ text, stop, unreadable: "" });
    if (stop < 0) askSoon();
    else askSoon.cancel();
  }

  function choose(chosen) {
    turning?.abort();
    setText(beyond, "");
    set(chosen);
    onvalue(chosen);
  }

  /** Goes to the next value at which something changes; what was asked before is of no interest then. */
  async function turn(direction) {
    turning?.abort();
    const { signal } = (turning = new AbortController());
    setText(beyond, "Looking for the next value at which something changes…");
    try {
      const found = await next(direction, signal);
      if (signal.aborted) return;
      if (found.value !== null) return choose(found.value);
      const side = direction > 0 ? "above" : "below";
      const tried = found.complete ? "" : ` as far as was tried, to ${found.last}`;
      setText(beyond, `Nothing changes ${side} ${text || "this"}${tried}.`);
    } catch (error) {
      if (isAbort(error)) return;
      setText(beyond, error.message);
    }
    announce(beyond.textContent);
  }

  range.addEventListener("input", () => choose(scale.stops[range.valueAsNumber]));
  field.addEventListener("input", () => choose(field.value));
  draw(scale);
  if (!scale.stops.includes(text)) askPlace();
  return { element, focus: () => range.focus(), set };
}

/** The thresholds of most pods as buttons, in the order of the slider; each shows whether it holds. */
function chipsOf(scale, choose) {
  const indices = scale.ticks.map((_, at) => at).slice(0, MOST_CHIPS);
  indices.sort((a, b) => (scale.ticks[a].stop ?? -1) - (scale.ticks[b].stop ?? -1));
  const buttons = indices.map((at) => ({ at, button: chip(scale.ticks[at], choose) }));
  const rest = scale.ticks.length - MOST_CHIPS;
  const more = rest > 0 ? h("span", { class: "muted" }, `and ${rest} more`) : null;
  const show = (holds) => {
    for (const { at, button } of buttons) {
      button.dataset.holds = String(holds[at]);
      button.setAttribute("aria-description", holds[at] ? "holds" : "does not hold");
    }
  };
  const element = buttons.length ? h("div", { class: "value-chips", role: "group", "aria-label": "Thresholds that pods name" }, buttons.map((one) => one.button), more) : null;
  return { element, show };
}

function chip(tick, choose) {
  const names = [...tick.workloads, ...(tick.moreWorkloads ? [`${tick.moreWorkloads} more`] : [])].join(", ");
  return h(
    "button",
    { type: "button", class: "value-chip", title: `${tick.rule}: ${names}`, onclick: () => choose(tick.value) },
    h("span", { class: "value-chip-rule" }, tick.rule),
    h("span", { class: "muted" }, count(tick.pods, "pod")),
  );
}

/** A slider and a field for how many there are of something. */
export function countControl({ least, most, value, label, now, oncount }) {
  const range = h("input", { type: "range", class: "value-range", min: least, max: Math.max(most, value), step: 1 });
  const field = h("input", { type: "number", class: "input value-field", min: least, step: 1, inputmode: "numeric" });
  const element = frame({ label, range, field, turn: (by) => choose(range.valueAsNumber + by), below: [now ? h("p", { class: "value-now muted" }, now) : null] });

  function set(number) {
    range.max = Math.max(range.max, number);
    range.value = number;
    if (field.valueAsNumber !== number) field.value = number;
  }

  function choose(number) {
    if (!Number.isInteger(number) || number < least) return;
    set(number);
    oncount(number);
  }

  range.addEventListener("input", () => choose(range.valueAsNumber));
  field.addEventListener("input", () => choose(field.valueAsNumber));
  field.addEventListener("change", () => (field.value = range.value));
  set(value);
  return { element, focus: () => range.focus(), set };
}

function textControl({ scale, value, label, onvalue }) {
  const id = freshId("value");
  const list = freshId("values");
  const field = h("input", { id, type: "text", class: "input", value, list, spellcheck: "false", autocomplete: "off" });
  field.addEventListener("input", () => onvalue(field.value));
  const element = h(
    "div",
    { class: "value-control" },
    h("label", { for: id, class: "field-label" }, label),
    field,
    h("datalist", { id: list }, (scale.suggestions ?? []).map((one) => h("option", { value: one }))),
  );
  return { element, focus: () => field.focus(), set: (text) => (field.value = text) };
}

/** Label, slider with room for marks, the field beside it, and what stands below. */
function frame({ label, range, field, scale = null, marks = null, turn, below }) {
  const id = freshId("value");
  range.id = id;
  field.setAttribute("aria-label", `${label}, typed`);
  const step = (direction, name, sign) =>
    h("button", { type: "button", class: "button small value-step", title: name, "aria-label": name, onclick: () => turn(direction) }, sign);
  range.addEventListener("keydown", (event) => {
    const direction = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!event.altKey || !direction) return;
    event.preventDefault();
    turn(direction);
  });
  const [left, right] = stepNames(scale);
  return h(
    "div",
    { class: "value-control" },
    h("div", { class: "value-head" }, h("label", { for: id, class: "field-label" }, label), field),
    h("div", { class: "value-line" }, step(-1, left, "‹"), h("div", { class: "value-track" }, range, marks), step(1, right, "›")),
    below,
  );
}

function stepNames(scale) {
  return scale ? ["To the next change below", "To the next change above"] : ["One less", "One more"];
}

function valuesText({ values, moreValues }, noun) {
  if (!values.length) return `No ${noun} has it now.`;
  const shown = values.slice(0, 4).map(([value, number]) => `${value || "(empty)"} on ${number}`);
  const rest = values.length - shown.length + moreValues;
  return `Now: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more ${rest === 1 ? "value" : "values"}` : ""}.`;
}
