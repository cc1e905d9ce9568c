/** Shows what the colours and signs of the map mean, with the number of nodes of each. */
import { colours, inkOn } from "../../lib/colour.js";
import { h, replace } from "../../lib/dom.js";
import { number } from "../../lib/format.js";
import { codeColour } from "./paint/inks.js";
import { PHASES } from "./model.js";
import { NONE, STEPS } from "./scale.js";

export function fillLegend(element, scale, model) {
  const palette = colours();
  const items = [];
  if (scale.kind === "ramp") items.push(ramp(scale, palette));
  for (const { code, text, count } of scale.entries) items.push(entry(codeColour(palette, code), text, count));
  if (scale.none.count) items.push(entry(codeColour(palette, NONE), scale.none.text, scale.none.count));
  const [cordoned, notReady] = states(model);
  if (cordoned) items.push(entry("", "cordoned", cordoned, "stripes"));
  if (notReady) items.push(entry("", "not ready", notReady, "crossed"));
  for (const [phase, pods] of phases(model)) items.push(entry("", `${phase} pods`, pods, `pod ${phase}`));
  replace(element, scale.title ? h("span", { class: "legend-title" }, scale.title) : null, items);
}

function ramp(scale, palette) {
  const most = Math.max(1, ...scale.bins);
  const words = `${scale.low} to ${scale.high}: nodes in each step ${[...scale.bins].join(", ")}`;
  return h(
    "span",
    { class: "legend-ramp" },
    h("span", { class: "nums" }, scale.low),
    h(
      "span",
      { class: "legend-steps", role: "img", "aria-label": words },
      Array.from({ length: STEPS }, (_, step) =>
        h(
          "span",
          { class: "legend-step", title: `${number(scale.bins[step])} nodes` },
          h("span", { class: "legend-bin", style: { height: `${Math.round((scale.bins[step] / most) * 100)}%` } }),
          h("span", { class: "legend-colour", style: { background: palette.steps[step] } }),
        ),
      ),
    ),
    h("span", { class: "nums" }, scale.high),
  );
}

function entry(colour, text, count, sign = "") {
  const style = colour ? { background: colour, color: inkOn(colour) } : {};
  return h(
    "span",
    { class: "legend-entry" },
    h("span", { class: ["legend-sign", sign], style, "aria-hidden": "true" }),
    h("span", { class: "legend-text cut", title: text }, text),
    h("span", { class: "muted nums" }, number(count)),
  );
}

/** Phases whose dots look different, and how many pods are in each. */
function phases(model) {
  const found = new Uint32Array(PHASES.length);
  for (let pod = 0; pod < model.pods.length; pod += 1) if (model.pods[pod]) found[model.podPhase[pod]] += 1;
  return PHASES.map((phase, at) => [phase.toLowerCase(), found[at]]).filter(([, pods], at) => at > 0 && pods > 0);
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
