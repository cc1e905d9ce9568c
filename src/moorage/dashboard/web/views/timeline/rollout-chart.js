/**
 * Draws the steps of a rollout: new and old pods stacked, how many are available, and what the strategy allows.
 *
 *   rolloutChart({steps: [{time, wanted, updated, old, available, maxSurge, maxUnavailable}], budgets, until, unit})
 *
 * `until` is where the last step's line ends; `unit` is "time" or "step" (for played rollouts, which have no time);
 * `width` is in pixels, so that text keeps its size. In a narrower place the chart shrinks until it is drawn again.
 */
import { svg } from "../../lib/dom.js";
import { clock, duration } from "../../lib/format.js";

const USUAL = 640;
const HEIGHT = 200;
const LEFT = 34;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 24;

export function rolloutChart({ steps, budgets = [], until, unit = "time", label, width: WIDTH = USUAL }) {
  const times = steps.map((step, index) => (unit === "time" ? step.time : index));
  const end = unit === "time" ? Math.max(until ?? times.at(-1), times.at(-1), times[0] + 1) : steps.length;
  const most = Math.max(1, ...steps.map((step) => Math.max(step.updated + step.old, step.wanted + step.maxSurge)));
  const x = (time) => LEFT + ((time - times[0]) / (end - times[0])) * (WIDTH - LEFT - RIGHT);
  const y = (number) => HEIGHT - BOTTOM - (number / most) * (HEIGHT - TOP - BOTTOM);
  const stairs = (pick) => steps.map((step, index) => [x(times[index]), x(times[index + 1] ?? end), y(pick(step))]);
  return svg(
    "svg",
    { class: "rollout-svg", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    grid(most, y, WIDTH),
    band(stairs((step) => step.wanted + step.maxSurge), stairs((step) => step.wanted), "rollout-surge"),
    band(stairs((step) => step.wanted), stairs((step) => Math.max(0, step.wanted - step.maxUnavailable)), "rollout-spare"),
    area(stairs((step) => step.updated), y(0), "rollout-new"),
    band(stairs((step) => step.updated + step.old), stairs((step) => step.updated), "rollout-old"),
    line(stairs((step) => step.wanted + step.maxSurge), "rollout-limit"),
    line(stairs((step) => Math.max(0, step.wanted - step.maxUnavailable)), "rollout-limit low"),
    budgets.map((budget) => line([[LEFT, WIDTH - RIGHT, y(Math.min(most, budget.desiredHealthy))]], "rollout-budget")),
    line(stairs((step) => step.available), "rollout-available"),
    axis(times, end, x, unit, WIDTH),
  );
}

function grid(most, y, width) {
  const step = Math.max(1, Math.ceil(most / 5));
  const lines = [];
  for (let number = 0; number <= most; number += step) {
    lines.push(svg("line", { class: "rollout-grid", x1: LEFT, x2: width - RIGHT, y1: y(number), y2: y(number) }), svg("text", { class: "rollout-tick end", x: LEFT - 6, y: y(number) + 4 }, String(number)));
  }
  return lines;
}

function axis(times, end, x, unit, width) {
  const text = (time, index) => (unit === "step" ? `step ${Math.round(time) + 1}` : index ? `+${short(time - times[0])}` : clock(time));
  const marks = unit === "time" ? [times[0], (times[0] + end) / 2, end] : [0, Math.floor(end / 2), end - 1];
  return [...new Set(marks)].map((time, index, all) =>
    svg("text", { class: ["rollout-tick", index === 0 ? "" : index === all.length - 1 ? "end" : "middle"], x: index && index === all.length - 1 ? width - RIGHT : x(time), y: HEIGHT - 6 }, text(time, index)),
  );
}

function path(stairs) {
  return stairs.map(([from, to, height], index) => `${index ? "L" : "M"}${from.toFixed(1)} ${height.toFixed(1)}L${to.toFixed(1)} ${height.toFixed(1)}`).join("");
}

function line(stairs, name) {
  return svg("path", { class: name, d: path(stairs) });
}

function area(stairs, base, name) {
  return svg("path", { class: name, d: `${path(stairs)}L${stairs.at(-1)[1].toFixed(1)} ${base}L${stairs[0][0].toFixed(1)} ${base}z` });
}

function band(upper, lower, name) {
  const back = lower.toReversed().map(([from, to, height]) => `L${to.toFixed(1)} ${height.toFixed(1)}L${from.toFixed(1)} ${height.toFixed(1)}`);
  return svg("path", { class: name, d: `${path(upper)}${back.join("")}z` });
}

function short(seconds) {
  return seconds < 10 ? `${seconds.toFixed(1)}s` : duration(seconds);
}
