/**
 * Draws when pods would be evicted: a bar for each moment, on an axis that has room for seconds and for hours.
 *
 *   const chart = evictionChart(); chart.show([{pod, workload, afterSeconds}]); chart.element
 */
import { h, replace, svg } from "../../lib/dom.js";
import { count, duration } from "../../lib/format.js";

const AXIS = [1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400];
const SHORTEST = 60;
const HEIGHT = 96;
const BASE = 76;
const TOP = 16;
const MOST_ROWS = 100;
/** Shares of the axis: bars nearer than this become one, and numbers nearer than that are left out. */
const BAR_ROOM = 0.03;
const LABEL_ROOM = 0.05;

export function evictionChart() {
  const picture = h("div", { class: "eviction-picture" });
  const table = h("div", { class: "eviction-table" });
  const element = h(
    "section",
    { class: "eviction-chart", "aria-label": "When pods would be evicted" },
    picture,
    h("details", {}, h("summary", {}, "As a table"), table),
  );
  return {
    element,
    show(evicted) {
      const moments = grouped(evicted);
      replace(picture, draw(moments));
      replace(table, tabulate(moments));
    },
  };
}

/** [[seconds, pods, workloads as Map workload → pods], …] in order of time. */
function grouped(evicted) {
  const moments = new Map();
  for (const one of evicted) {
    const at = Math.max(0, one.afterSeconds ?? 0);
    const moment = moments.get(at) ?? { at, pods: 0, workloads: new Map() };
    moment.pods += 1;
    const name = one.workload || one.pod;
    moment.workloads.set(name, (moment.workloads.get(name) ?? 0) + 1);
    moments.set(at, moment);
  }
  return [...moments.values()].sort((a, b) => a.at - b.at);
}

function draw(moments) {
  const last = Math.max(SHORTEST, moments.at(-1)?.at ?? 0);
  const shown = barsOf(moments, last);
  const most = shown.reduce((highest, one) => Math.max(highest, one.pods), 1);
  const place = (seconds) => `${(100 * shareOf(seconds, last)).toFixed(2)}%`;
  const text = moments.length
    ? moments.slice(0, 8).map((one) => `${count(one.pods, "pod")} ${whenText(one.at)}`).join(", ")
    : "no pod would be evicted";
  const marks = axis(last).map((seconds) => [
    svg("line", { class: "eviction-grid", x1: place(seconds), x2: place(seconds), y1: TOP, y2: BASE + 4 }),
    svg("text", { class: "eviction-label", x: place(seconds), y: HEIGHT - 4 }, seconds ? duration(seconds) : "at once"),
  ]);
  const bars = shown.map((one) => {
    const height = Math.max(3, ((BASE - TOP - 6) * one.pods) / most);
    const when = one.until > one.at ? `${whenText(one.at)} to ${duration(one.until)}` : whenText(one.at);
    return svg(
      "g",
      { class: "eviction-bar" },
      svg("title", {}, `${when}: ${count(one.pods, "pod")}: ${names(one.workloads)}`),
      svg("rect", { x: place(one.at), y: BASE - height, width: 10, height, rx: 2 }),
      one.labelled ? svg("text", { class: "eviction-count", x: place(one.at), y: BASE - height - 4 }, String(one.pods)) : null,
    );
  });
  return svg(
    "svg",
    { class: "eviction-svg", width: "100%", height: HEIGHT, role: "img", "aria-label": `Evictions: ${text}` },
    svg("line", { class: "eviction-base", x1: "0%", x2: "100%", y1: BASE, y2: BASE }),
    marks,
    bars,
  );
}

/** Moments as bars that can be told apart: {at, until, pods, workloads, labelled}. */
export function barsOf(moments, last) {
  const bars = [];
  let labelled = -1;
  for (const one of moments) {
    const at = shareOf(one.at, last);
    const before = bars.at(-1);
    if (before && at - shareOf(before.at, last) < BAR_ROOM) {
      before.until = one.at;
      before.pods += one.pods;
      for (const [name, pods] of one.workloads) before.workloads.set(name, (before.workloads.get(name) ?? 0) + pods);
      continue;
    }
    const bar = { at: one.at, until: one.at, pods: one.pods, workloads: new Map(one.workloads), labelled: at - labelled >= LABEL_ROOM };
    if (bar.labelled) labelled = at;
    bars.push(bar);
  }
  return bars;
}

/** Where a moment is on the axis, from 0 to 1: there is room for seconds and for days. */
function shareOf(seconds, last) {
  return Math.log1p(seconds) / Math.log1p(last);
}

/** Marks that are far enough from each other to be read on a phone. */
function axis(last) {
  const wanted = [0, ...AXIS.filter((one) => one < last), last];
  const kept = [];
  for (const one of wanted) {
    const room = kept.length ? shareOf(one, last) - shareOf(kept.at(-1), last) : 1;
    if (room >= 0.14) kept.push(one);
    else if (one === last) kept[kept.length - 1] = last;
  }
  if (kept[0] !== 0) kept.unshift(0);
  return kept;
}

function tabulate(moments) {
  const rows = moments.slice(0, MOST_ROWS).map((one) =>
    h("tr", {}, h("th", { scope: "row" }, whenText(one.at)), h("td", { class: "end nums" }, String(one.pods)), h("td", { class: "wrap" }, names(one.workloads))),
  );
  const more = moments.length - rows.length;
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "When"), h("th", { scope: "col", class: "end" }, "Pods"), h("th", { scope: "col" }, "Of"))),
    h(
      "tbody",
      {},
      rows.length ? rows : h("tr", {}, h("td", { colspan: 3, class: "muted" }, "No pod would be evicted.")),
      more > 0 ? h("tr", {}, h("td", { colspan: 3, class: "muted" }, `and ${count(more, "later moment")}`)) : null,
    ),
  );
}

export function whenText(seconds) {
  return seconds > 0 ? `after ${duration(seconds)}` : "at once";
}

function names(workloads) {
  const rows = [...workloads].sort((a, b) => b[1] - a[1]);
  const shown = rows.slice(0, 5).map(([name, pods]) => (pods > 1 ? `${name} (${pods})` : name));
  const rest = rows.length - shown.length;
  return `${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
