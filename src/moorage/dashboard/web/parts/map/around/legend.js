/** Shows what the colours, bars and signs of the map mean, with the number of nodes and pods of each. */
import { colours, inkOn } from "../../../lib/colour.js";
import { h, replace } from "../../../lib/dom.js";
import { count, number } from "../../../lib/format.js";
import { NEUTRAL } from "../dots.js";
import { PHASES } from "../model.js";
import { codeColour, podColour } from "../paint/inks.js";
import { NONE, STEPS } from "../scale.js";

/** Marks that would touch say nothing: this much of the ramp is between two of them, and more for each letter. */
const APART = 0.06;
const LETTER = 0.038;

/**
 * `coloured` says whether dots have colours: those of small tiles are too small for them. The legend has them all the same, so
 * that it keeps its height while the map is zoomed.
 */
export function fillLegend(element, { scale, model, dots }, coloured) {
  const palette = colours();
  const nodes = [];
  if (scale.kind === "ramp") nodes.push(ramp(element, scale, palette));
  for (const { code, text, count: many } of scale.entries) nodes.push(entry(codeColour(palette, code), text, many));
  if (scale.none.count) nodes.push(entry(codeColour(palette, NONE), scale.none.text, scale.none.count));
  const [cordoned, notReady] = states(model);
  if (cordoned) nodes.push(entry("", "cordoned", cordoned, "stripes"));
  if (notReady) nodes.push(entry("", "not ready", notReady, "crossed"));
  nodes.push(h("span", { class: "legend-entry" }, h("span", { class: "legend-bar", "aria-hidden": "true" }), h("span", { class: "legend-text" }, `bar: ${scale.shareOf} requested`)));
  const pods = [];
  if (dots.by !== "none") pods.push(...colouredDots(dots, palette));
  for (const [phase, many] of phases(model)) pods.push(entry("", phaseText(phase, many, model), many, `pod ${phase}`));
  const line = (title, label, items) => h("div", { class: "legend-line", role: "group", "aria-label": label }, title ? h("span", { class: "legend-title" }, title) : null, items);
  replace(element, line(scale.title, "Nodes", nodes), pods.length ? line(dots.by === "none" ? "" : `dots by ${dots.by}${coloured ? "" : ", zoomed in"}`, "Dots", pods) : null);
}

function colouredDots({ by, entries, rest }, palette) {
  // A kind is left out where the rest of the name is enough.
  const short = ({ name }) => name.slice(name.indexOf(" ") + 1);
  const only = (one) => entries.every((other) => other === one || short(other) !== short(one));
  const items = entries.map((one) => entry(podColour(palette, one.code), only(one) ? short(one) : one.name, one.count, "dot", one.name));
  const neutral = podColour(palette, NEUTRAL);
  if (rest.names) items.push(entry(neutral, `${count(rest.names, `smaller ${by}`)}: neutral`, rest.pods, "dot"));
  if (rest.alone) items.push(entry(neutral, `without a ${by}`, rest.alone, "dot"));
  return items;
}

/** The ramps of legends: while pods move only the numbers of nodes change, several times a second. */
const ramps = new WeakMap();

function ramp(legend, scale, palette) {
  const { ticks, bins } = scale;
  const key = ticks.map(({ at, text }) => `${at} ${text}`).join();
  let known = ramps.get(legend);
  if (known?.key !== key || known.palette !== palette) ramps.set(legend, (known = { key, palette, bins: [], ...emptyRamp(ticks, palette) }));
  const most = Math.max(1, ...bins);
  known.steps.setAttribute("aria-label", `${ticks[0].text} to ${ticks.at(-1).text}: nodes in each step ${bins.join(", ")}`);
  for (let step = 0; step < STEPS; step += 1) {
    if (known.bins[step] === bins[step] && known.most === most) continue;
    known.steps.children[step].title = `${number(bins[step])} nodes`;
    known.steps.children[step].firstChild.style.setProperty("height", `${Math.round((bins[step] / most) * 100)}%`);
  }
  Object.assign(known, { bins, most });
  return known.element;
}

function emptyRamp(ticks, palette) {
  const step = (colour) => h("span", { class: "legend-step" }, h("span", { class: "legend-bin" }), h("span", { class: "legend-colour", style: { background: colour } }));
  const steps = h("span", { class: "legend-steps", role: "img" }, palette.steps.map(step));
  return { steps, element: h("span", { class: "legend-ramp" }, steps, h("span", { class: "legend-ticks nums", "aria-hidden": "true" }, readable(ticks).map(tick))) };
}

/** The ends, and of the marks between them those that can stand beside each other. */
function readable(ticks) {
  const end = ticks.at(-1);
  const half = ({ text }) => (text.length * LETTER) / 2;
  const shown = [];
  for (const one of ticks.slice(0, -1)) {
    const before = shown.at(-1);
    const clear = (a, b) => b.at - a.at >= half(a) + half(b) + APART;
    if (!before || (clear(before, one) && clear(one, end))) shown.push(one);
  }
  return ticks.length > 1 ? [...shown, end] : ticks;
}

function tick({ at, text }, index, all) {
  const edge = index === 0 ? "first" : index === all.length - 1 ? "last" : "";
  return h("span", { class: ["legend-tick", edge], style: { left: `${(at * 100).toFixed(1)}%` }, title: text }, text);
}

function entry(colour, text, many, sign = "", title = text) {
  const style = colour ? { background: colour, color: inkOn(colour) } : {};
  return h(
    "span",
    { class: "legend-entry" },
    h("span", { class: ["legend-sign", sign], style, "aria-hidden": "true" }),
    h("span", { class: "legend-text cut", title }, text),
    h("span", { class: "muted nums" }, number(many)),
  );
}

/** Phases whose dots look different, and how many pods are in each. */
function phases(model) {
  const found = new Uint32Array(PHASES.length);
  const { pods, podPhase } = model;
  for (let pod = 0; pod < pods.length; pod += 1) if (podPhase[pod] && pods[pod]) found[podPhase[pod]] += 1;
  return PHASES.map((phase, at) => [phase.toLowerCase(), found[at]]).filter(([, pods], at) => at > 0 && pods > 0);
}

/** Pods of this phase are more than those in the line below the map where a kubelet has not started some. */
function phaseText(phase, many, model) {
  const placed = phase === "pending" ? many - model.tray.filter((pod) => pod >= 0).length : 0;
  return placed > 0 ? `${phase} pods, ${number(placed)} of them on a node` : `${phase} pods`;
}

function states(model) {
  let cordoned = 0;
  let notReady = 0;
  for (const row of model.rows) {
    if (!row) continue;
    if (!row.schedulable) cordoned += 1;
    if (!row.ready) notReady += 1;
  }
  return [cordoned, notReady];
}
