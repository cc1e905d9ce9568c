/**
 * Draws entries as lanes, one for each node, workload or component, on an axis of time or of order.
 *
 *   const lanes = laneChart({feed, filters}); lanes.element; lanes.update(); lanes.stop()
 *
 * Keys: Up and Down choose a lane, Left and Right a mark in it; what is chosen is read out and shown below. "As a
 * table" has the same in rows. Address: lanes=node|workload|actor, span=SECONDS, axis=order.
 */
import { address } from "../../lib/address.js";
import { freshId, h, perFrame, replace, setText, svg } from "../../lib/dom.js";
import { count, natural } from "../../lib/format.js";
import { empty, failed, loading } from "../../parts/states.js";
import { KINDS } from "./entries.js";
import { axisOf } from "./axis.js";
import { markShape } from "./marks.js";
import { linked, subject } from "./links.js";
import { kindChip } from "./list.js";
import { timeText, when } from "./times.js";

const MOST_LANES = 60;
const LANE = 26;
const TOP = 22;
const BUCKET = 13;
const GROUPS = [
  ["node", "node"],
  ["workload", "workload"],
  ["actor", "component"],
];
/** Nodes may be years old: everything is drawn where that is asked for. */
const SPANS = [
  ["60", "1 minute"],
  ["300", "5 minutes"],
  ["900", "15 minutes"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["all", "everything"],
];
const USUAL_SPAN = "3600";

export function laneChart({ feed, filters }) {
  const group = choice("Lanes by", "lanes", GROUPS, "node");
  const span = choice("Show the last", "span", SPANS, USUAL_SPAN);
  const axis = choice("Axis", "axis", [["", "time"], ["order", "order"]], "");
  const asTable = h("button", { class: "button", type: "button", "aria-pressed": "false", onclick: () => toggleTable() }, "As a table");
  const number = h("span", { class: "muted nums" });
  const picture = h("div", { class: "panel lane-frame" });
  const chosen = h("p", { class: "lane-chosen", role: "status", "aria-live": "polite" });
  const keys = h("p", { class: "lane-legend muted" });
  const element = h("div", { class: "stack" }, h("div", { class: "toolbar" }, group.element, span.element, axis.element, asTable, number), picture, chosen, keys);
  const draw = perFrame(() => paint());
  const observer = new ResizeObserver(() => draw());
  observer.observe(picture);
  let model = null;
  let at = { lane: 0, mark: -1 };
  let width = 0;
  let table = false;
  const id = freshId("lanes");

  return {
    element,
    update: draw,
    stop() {
      observer.disconnect();
      draw.cancel();
    },
  };

  function toggleTable() {
    table = !table;
    asTable.setAttribute("aria-pressed", String(table));
    paint();
  }

  function paint() {
    if (!element.isConnected) return;
    group.update();
    span.update();
    axis.update();
    if (feed.problem) return void replace(picture, failed(feed.problem, () => feed.retry()));
    if (feed.loading) return void replace(picture, loading("Reading what happened", { height: "16rem" }));
    width = picture.clientWidth;
    model = build(feed.entries.filter(filters.accepts()), feed.virtual, width);
    span.element.hidden = feed.virtual;
    const more = `${model.more ? `, ${model.more} less busy ones are not drawn` : ""}${model.left ? `; ${count(model.left, "older entry", "older entries")} not drawn` : ""}`;
    setText(number, `${count(model.lanes.length, "lane")}${more}${model.axis.forced ? "; in order: all of it happens at one time" : ""}`);
    if (!model.lanes.length) return void replace(picture, empty("Nothing to draw", "No entry matches the filters, or none belongs to a lane of this kind.", { height: "16rem" }));
    const focused = picture.contains(document.activeElement);
    at.lane = Math.min(at.lane, model.lanes.length - 1);
    replace(keys, legend(model.lanes), model.rule === null ? null : h("span", {}, h("span", { class: "lane-rule-key", "aria-hidden": "true" }), `left of it: earlier, from Events, before ${when(feed.before?.until)}`));
    replace(picture, table ? tabulate(model, feed.virtual) : chart(model));
    if (focused && !table) picture.querySelector(".lane-svg")?.focus({ preventScroll: true });
    return undefined;
  }

  function chart({ lanes, axis: scale, names, rule }) {
    const height = TOP + lanes.length * LANE + 4;
    return svg(
      "svg",
      {
        class: "lane-svg",
        width,
        height,
        tabindex: "0",
        role: "application",
        "aria-roledescription": "lanes",
        "aria-label": `Lanes by ${GROUPS.find(([value]) => value === group.value())[1]}: ${count(lanes.length, "lane")}. Arrow keys move between lanes and marks.`,
        "aria-describedby": id,
        onkeydown: key,
        onfocus: () => select(at.lane, at.mark < 0 ? lanes[at.lane].marks.length - 1 : at.mark),
      },
      scale.ticks.map(({ x, text }) => [
        svg("line", { class: "lane-grid", x1: x, x2: x, y1: TOP - 4, y2: height }),
        svg("text", { class: "lane-tick", x: Math.min(x + 3, width - 54), y: 13 }, text),
      ]),
      lanes.map((lane, index) => row(lane, index, names)),
      rule === null ? null : svg("g", { class: "lane-rule" }, svg("title", {}, `Left of this line: earlier, from Events, before ${when(feed.before?.until)}, when this dashboard started`), svg("line", { x1: rule, x2: rule, y1: TOP - 4, y2: height })),
    );
  }

  function row(lane, index, names) {
    const y = TOP + index * LANE;
    return svg(
      "g",
      { class: "lane", dataset: { lane: index } },
      svg("rect", { class: index % 2 ? "lane-back odd" : "lane-back", x: 0, y, width, height: LANE }),
      svg("text", { class: "lane-name", x: 8, y: y + LANE / 2 + 4 }, svg("title", {}, lane.name), clip(lane.name, names)),
      svg("line", { class: "lane-line", x1: names, x2: width - 6, y1: y + LANE / 2, y2: y + LANE / 2 }),
      lane.marks.map((mark, number) =>
        svg(
          "g",
          { class: ["lane-mark", KINDS[mark.kind]?.tone ?? "", at.lane === index && at.mark === number ? "current" : ""], dataset: { mark: number }, transform: `translate(${mark.x.toFixed(1)} ${y + LANE / 2})`, onclick: () => select(index, number, true) },
          svg("title", {}, describe(mark, lane)),
          svg("rect", { class: "lane-hit", x: -7, y: -11, width: 14, height: 22 }),
          markShape(KINDS[mark.kind]?.shape ?? "dot"),
          numberOf(mark, lane.marks[number + 1]),
        ),
      ),
    );
  }

  /** How many entries a mark stands for; left out where the next mark has no room for it. */
  function numberOf(mark, next) {
    const text = mark.entries.length > 99 ? "99+" : String(mark.entries.length);
    if (mark.entries.length < 2 || (next && next.x - mark.x < 6 + 7 * text.length)) return null;
    return svg("text", { class: "lane-count", x: 7, y: -4 }, text);
  }

  function key(event) {
    const { lanes } = model;
    const marks = lanes[at.lane].marks.length;
    const moves = {
      ArrowRight: [at.lane, Math.min(marks - 1, at.mark + 1)],
      ArrowLeft: [at.lane, Math.max(0, at.mark - 1)],
      Home: [at.lane, 0],
      End: [at.lane, marks - 1],
      ArrowDown: near(Math.min(lanes.length - 1, at.lane + 1)),
      ArrowUp: near(Math.max(0, at.lane - 1)),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    select(...move);
  }

  /** The mark of another lane that is closest to the chosen one. */
  function near(index) {
    const x = model.lanes[at.lane].marks[at.mark]?.x ?? Infinity;
    const marks = model.lanes[index].marks;
    let best = 0;
    marks.forEach((mark, number) => {
      if (Math.abs(mark.x - x) < Math.abs(marks[best].x - x)) best = number;
    });
    return [index, best];
  }

  function select(index, number, clicked = false) {
    const lane = model.lanes[index];
    const mark = lane?.marks[number];
    if (!mark) return;
    at = { lane: index, mark: number };
    picture.querySelector(".lane-mark.current")?.classList.remove("current");
    const element = picture.querySelector(`.lane[data-lane="${index}"] .lane-mark[data-mark="${number}"]`);
    element?.classList.add("current");
    if (!clicked) element?.scrollIntoView({ block: "nearest", inline: "nearest" });
    replace(chosen, h("strong", {}, lane.name), " ", mark.entries.slice(0, 5).map((one) => h("span", { class: "lane-said" }, kindChip(one.kind), " ", h("span", { class: "nums" }, timeText(one.time, feed.virtual)), " ", subject(one), " ", linked(one.detail, one.namespace), one.earlier ? h("span", { class: "muted" }, " (earlier, from Events)") : null)), mark.entries.length > 5 ? h("span", { class: "muted" }, `and ${mark.entries.length - 5} more`) : null);
  }

  function describe(mark, lane) {
    const [first] = mark.entries;
    const more = mark.entries.length > 1 ? ` and ${mark.entries.length - 1} more` : "";
    return `${lane.name}: ${timeText(first.time, feed.virtual)} ${first.kind} ${first.subject} ${first.detail}${more}`;
  }

  function build(entries, virtual, wide) {
    const by = group.value();
    const seconds = virtual ? 0 : Number(span.value()) || 0;
    const newest = entries.at(-1)?.time ?? 0;
    const recent = seconds ? entries.filter((one) => one.time >= newest - seconds) : entries;
    const lanesByName = new Map();
    for (const one of recent) {
      for (const name of namesOf(one, by)) {
        if (!lanesByName.has(name)) lanesByName.set(name, []);
        lanesByName.get(name).push(one);
      }
    }
    const busiest = [...lanesByName].sort(([, a], [, b]) => b.length - a.length).slice(0, MOST_LANES);
    busiest.sort(([a], [b]) => natural(a, b));
    const names = Math.min(220, Math.max(90, wide * 0.24));
    const scale = axisOf(recent, { byOrder: axis.value() === "order", virtual, from: names + 10, to: wide - 28 });
    const lanes = busiest.map(([name, list]) => ({ name, entries: list, marks: marksOf(list, scale) }));
    return { lanes, axis: scale, names, more: lanesByName.size - busiest.length, rule: ruleIn(recent, scale, feed.before?.until), left: entries.length - recent.length };
  }
}

/** Entries that would be drawn over each other become one mark, of the kind that matters most. */
function marksOf(entries, scale) {
  const order = Object.keys(KINDS);
  const rank = (kind) => ({ bad: 0, warn: 1, info: 2, good: 3 })[KINDS[kind]?.tone] ?? 4;
  const buckets = new Map();
  for (const one of entries) {
    const place = Math.round(scale.place(one) / BUCKET);
    if (!buckets.has(place)) buckets.set(place, []);
    buckets.get(place).push(one);
  }
  return [...buckets]
    .sort(([a], [b]) => a - b)
    .map(([place, list]) => ({ x: place * BUCKET, entries: list, kind: [...list].sort((a, b) => rank(a.kind) - rank(b.kind) || order.indexOf(a.kind) - order.indexOf(b.kind))[0].kind }));
}

/** Where what was seen live begins; null where everything, or nothing, was seen. */
function ruleIn(entries, scale, until) {
  const first = entries.findIndex((one) => !one.earlier);
  if (first === 0 || !entries.length) return null;
  if (first > 0 && scale.byTime) return Math.max(scale.place(entries[first - 1]), Math.min(scale.place({ time: until }), scale.place(entries[first])));
  return first < 0 ? scale.place(entries.at(-1)) + BUCKET : (scale.place(entries[first - 1]) + scale.place(entries[first])) / 2;
}

function namesOf(one, by) {
  if (by === "node") return one.nodes;
  const name = by === "actor" ? one.actor : one.workload;
  return name ? [name] : [];
}

function tabulate({ lanes }, virtual) {
  return h(
    "div",
    { class: "scroll lane-table", tabindex: "0", role: "region", "aria-label": "Lanes as a table" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, ["Lane", "Entries", "First", "Last", "The last was"].map((title) => h("th", { scope: "col" }, title)))),
      h(
        "tbody",
        {},
        lanes.map(({ name, entries }) => {
          const last = entries.at(-1);
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", { class: "nums" }, entries.length),
            h("td", { class: "nums" }, timeText(entries[0].time, virtual)),
            h("td", { class: "nums" }, timeText(last.time, virtual)),
            h("td", {}, kindChip(last.kind), " ", subject(last), " ", linked(last.detail, last.namespace)),
          );
        }),
      ),
    ),
  );
}

function legend(lanes) {
  const drawn = new Set(lanes.flatMap(({ marks }) => marks.map((mark) => mark.kind)));
  return Object.entries(KINDS)
    .filter(([kind]) => drawn.has(kind))
    .map(([, { title, shape, tone }]) => h("span", {}, svg("svg", { class: "lane-key", width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" }, svg("g", { class: ["lane-mark", tone] }, markShape(shape))), title));
}

function clip(text, room) {
  const most = Math.max(6, Math.floor((room - 12) / 7));
  return text.length > most ? `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}` : text;
}

function choice(label, param, options, usual) {
  const id = freshId("lane");
  const select = h("select", { id, onchange: () => address.set({ [param]: select.value === usual ? null : select.value }) }, options.map(([value, text]) => h("option", { value }, text)));
  const value = () => (options.some(([one]) => one === address.params[param]) ? address.params[param] : usual);
  return { element: h("div", { class: "field" }, h("label", { for: id }, label), select), value, update: () => (select.value = value()) };
}
