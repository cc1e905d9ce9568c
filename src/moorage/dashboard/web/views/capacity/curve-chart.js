/** Draws a curve: pods on nodes, waiting and evicted as steps over the values, and the cost on a scale of its own. */
import { h, svg } from "../../lib/dom.js";
import { number } from "../../lib/format.js";

const WIDTH = 720;
const HEIGHT = 260;
const LEFT = 48;
const RIGHT = 64;
const TOP = 14;
const BOTTOM = 40;
const MOST_LABELS = 14;
const SERIES = [
  ["placed", "on nodes", (point) => point.placed],
  ["waiting", "Pending", (point) => point.waiting],
  ["evicted", "evicted", (point) => point.evicted],
];

export function curveChart({ axis, points }) {
  const most = Math.max(1, ...points.flatMap((point) => SERIES.map(([, , of]) => of(point))));
  const costs = points.map((point) => point.cost ?? 0);
  const dearest = axis.priced ? Math.max(0, ...costs) : 0;
  const label = `${axis.what}: ${points.map((point) => `${point.value}: ${point.placed} on nodes, ${point.waiting} Pending, ${point.evicted} evicted`).join("; ")}`;
  return h(
    "figure",
    { class: "curve-figure" },
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of the curve" },
      svg(
        "svg",
        { class: "curve-svg", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
        grid(most, dearest),
        SERIES.map(([name, , of]) => steps(points.map((point) => of(point) / most), `curve-line ${name}`)),
        dearest > 0 && steps(costs.map((cost) => cost / dearest), "curve-line cost"),
        values(points),
      ),
    ),
    h("figcaption", { class: "curve-legend" }, [...SERIES.map(([name, title]) => [name, title]), ...(dearest > 0 ? [["cost", "cost of nodes in use"]] : [])].map(([name, title]) => h("span", { class: "curve-key" }, h("span", { class: `curve-swatch ${name}`, "aria-hidden": "true" }), title))),
  );
}

function x(at, all) {
  return LEFT + ((WIDTH - LEFT - RIGHT) * at) / Math.max(all, 1);
}

function y(share) {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
}

/** Pods are whole: there is a line in the middle only where it is one of them. */
function grid(most, dearest) {
  return (most % 2 ? [0, 1] : [0, 0.5, 1]).flatMap((share) => [
    svg("line", { class: "curve-grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
    svg("text", { class: "curve-tick end", x: LEFT - 6, y: y(share) + 4 }, number(most * share)),
    dearest > 0 && svg("text", { class: "curve-tick cost", x: WIDTH - RIGHT + 6, y: y(share) + 4 }, `${(dearest * share).toPrecision(3)}/h`),
  ]);
}

function steps(shares, name) {
  const corners = shares.flatMap((share, at) => [at, at + 1].map((side) => `${x(side, shares.length).toFixed(1)},${y(share).toFixed(1)}`));
  return svg("polyline", { class: name, points: corners.join(" ") });
}

function values(points) {
  const every = Math.ceil(points.length / MOST_LABELS);
  return points.map((point, at) => (at % every === 0 || point.isNow) && svg("text", { class: ["curve-tick middle", point.isNow && "now"], x: x(at + 0.5, points.length), y: HEIGHT - BOTTOM + 18 }, `${point.value || "(empty)"}${point.isNow ? " (now)" : ""}`));
}
