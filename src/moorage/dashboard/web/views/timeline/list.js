/**
 * Lists entries, newest first, and goes on by itself unless it is paused.
 *
 *   const list = newestFirst({feed, filters, travel: (time) => …}); list.element; list.update(); list.stop()
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace, setText } from "../../lib/dom.js";
import { ago, count, moment } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { chip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { empty, failed, loading } from "../../parts/states.js";
import { KINDS } from "./entries.js";
import { inRow, isPod, linked, subject } from "./links.js";
import { timeText, when } from "./times.js";

const NARROW = matchMedia("(max-width: 40rem)");
const MEDIUM = matchMedia("(max-width: 62rem)");
const WIDE = matchMedia("(min-width: 100rem)");

export function newestFirst({ feed, filters, travel }) {
  let paused = null;
  let opened = null;
  const pause = h("button", { class: "button", type: "button", "aria-pressed": "false", onclick: () => toggle() }, "Pause");
  const news = h("button", { class: "button quiet", type: "button", hidden: true, onclick: () => toggle() });
  const number = h("span", { class: "muted nums" });
  const detail = h("section", { class: "panel padded entry-detail", "aria-live": "polite", "aria-label": "What was chosen", hidden: true });
  const box = h("div", { class: "panel entry-list" }, loading("Reading what happened"));
  const columnsOf = h("div", { class: "entry-columns" }, box, detail);
  const element = h("div", { class: "stack" }, h("div", { class: "row" }, pause, news, number), columnsOf);
  let table = null;
  let tally = "";
  const clockwork = setInterval(tellNumber, 5000);
  for (const one of [NARROW, MEDIUM, WIDE]) one.addEventListener("change", setColumns);
  return { element, update, stop };

  function stop() {
    clearInterval(clockwork);
    for (const one of [NARROW, MEDIUM, WIDE]) one.removeEventListener("change", setColumns);
  }

  function toggle() {
    paused = paused ? null : feed.entries;
    update();
  }

  function update() {
    const entries = paused ?? feed.entries;
    pause.setAttribute("aria-pressed", String(Boolean(paused)));
    pause.hidden = feed.virtual;
    const waiting = paused ? feed.entries.length - paused.length : 0;
    news.hidden = !waiting;
    setText(news, `${count(waiting, "new entry", "new entries")}: show`);
    const accepts = filters.accepts();
    const rows = entries.filter(accepts).reverse();
    tally = feed.loading ? "" : `${count(rows.length, "entry", "entries")}${rows.length < entries.length ? ` of ${entries.length}` : ""}${feed.leftOut ? `; ${feed.leftOut} later ones are left out` : ""}`;
    tellNumber();
    if (feed.problem) {
      table = null;
      replace(box, failed(feed.problem, () => feed.retry()));
    } else if (feed.loading) {
      return;
    } else if (!entries.length) {
      table = null;
      replace(box, nothing(feed));
    } else {
      const shown = withRule(rows, feed);
      if (!table) {
        table = build(shown);
        replace(box, table);
      } else table.rows = shown;
    }
  }

  function tellNumber() {
    const last = feed.virtual ? null : feed.entries.at(-1);
    setText(number, last ? `${tally}; last change ${ago(last.time)}` : tally);
  }

  function build(rows) {
    return dataTable({
      label: "What happened, newest first",
      columns: columns(feed.virtual, room()),
      rows,
      rowKey: (row) => row.id,
      onopen: (row) => row.heading === undefined && open(row),
      height: "max(20rem, calc(100dvh - 21.5rem))",
      none: "No entry matches the filters",
    });
  }

  function room() {
    if (NARROW.matches) return "narrow";
    if (MEDIUM.matches) return "medium";
    return WIDE.matches && opened === null ? "wide" : "usual";
  }

  function setColumns() {
    if (!table) return;
    table.columns = columns(feed.virtual, room());
    table.rows = table.rows;
  }

  function open(row) {
    opened = opened === row.id ? null : row.id;
    detail.hidden = opened === null;
    columnsOf.classList.toggle("opened", opened !== null);
    setColumns();
    if (opened === null) return;
    replace(detail, about(row, feed.virtual, travel, () => open(row)));
    if (NARROW.matches) detail.scrollIntoView({ block: "nearest" });
  }
}

/** Separates what was seen live from what Events and timestamps say of the time before, rows being newest first. */
function withRule(rows, { before }) {
  const at = rows.findIndex((row) => row.earlier);
  if (at < 0 && !(before?.problem && rows.length)) return rows;
  const earlier = at < 0 ? 0 : rows.length - at;
  const rule = { id: "earlier", heading: `Earlier, from Events: before ${when(before.until)}, when this dashboard started${missing(before)}`, count: earlier };
  return rows.toSpliced(at < 0 ? rows.length : at, 0, rule);
}

function missing({ problem, leftOut }) {
  return `${leftOut ? `; ${count(leftOut, "older entry", "older entries")} left out` : ""}${problem ? `. ${problem}` : ""}`;
}

/** Says that nothing happened only where that is known. */
function nothing({ before, virtual }) {
  const { connected, problem } = cluster.source;
  const height = { height: "16rem" };
  if (!virtual && (!connected || problem)) return empty("The cluster does not answer", "What happens in it meanwhile is not known here.", height);
  if (before?.problem) return empty(before.until ? `Nothing has happened since ${when(before.until)}` : "Nothing was seen yet", before.problem, height);
  return empty(virtual ? "Nothing happens" : "Nothing has happened yet", "Placements, evictions, rollouts and changes of nodes appear here as they happen.", height);
}

export function kindChip(kind) {
  const known = KINDS[kind] ?? { title: kind, sign: "·", tone: "" };
  return h("span", { class: ["chip", known.tone], title: known.title }, h("span", { class: "chip-sign", "aria-hidden": "true" }, known.sign), known.title);
}

function columns(virtual, room) {
  const narrow = room === "narrow";
  const time = { id: "time", title: virtual ? "Order" : "Time", cell: (row) => h("span", { class: "nums" }, virtual ? `${row.number}. at ${timeText(row.time, true)}` : timeText(row.time, false)), width: narrow ? "5rem" : virtual ? "8rem" : "6.5rem" };
  const what = { id: "kind", title: "What", cell: (row) => kindChip(row.kind), width: narrow ? "7rem" : "8rem" };
  // There rows are cards, with a line for each column.
  if (narrow) return [time, what, { id: "subject", title: "Object", cell: (row) => cut(row.subject, subject(row)) }, { id: "detail", title: "How", cell: (row) => cut(row.detail, linked(row.detail, row.namespace)) }];
  return [
    time,
    what,
    { id: "subject", title: "Object", cell: (row) => cut(row.subject, subject(row)), width: "30%" },
    { id: "detail", title: "How", cell: (row) => cut(row.detail, linked(row.detail, row.namespace)) },
    room === "wide" && { id: "workload", title: "Workload", cell: (row) => cut(row.workload === row.subject ? "" : row.workload), width: "18%" },
    room !== "medium" && { id: "actor", title: "By", cell: (row) => cut(row.actor), width: "12rem" },
  ].filter(Boolean);
}

function cut(text, content = text) {
  return h("span", { class: "cut block", title: text }, content === text ? text : inRow(content));
}

function about(row, virtual, travel, close) {
  const ofPod = !["node", "control", "server"].includes(row.kind);
  return h(
    "div",
    { class: "stack" },
    h("div", { class: "entry-title" }, h("h2", {}, kindChip(row.kind), " ", subject(row)), h("button", { class: "button small quiet", type: "button", onclick: close }, "Close")),
    h(
      "dl",
      { class: "facts" },
      h("dt", {}, "when"),
      h("dd", {}, virtual ? `${timeText(row.time, true)} after the beginning, in virtual time` : `${moment(row.time)}, ${ago(row.time)}`),
      h("dt", {}, "how"),
      h("dd", {}, linked(row.detail, row.namespace)),
      row.workload && row.workload !== row.subject ? [h("dt", {}, "workload"), h("dd", {}, row.workload)] : null,
      row.actor ? [h("dt", {}, "by"), h("dd", {}, row.actor)] : null,
      row.earlier ? [h("dt", {}, "known"), h("dd", {}, "from Events or timestamps: it was before this dashboard started")] : null,
    ),
    h(
      "p",
      { class: "row" },
      row.nodes.map((name) => h("a", { class: "button small", href: address.href("map", { node: name }) }, icon("map"), name)),
      ofPod && row.kind === "pending" && isPod(row.subject) ? h("a", { class: "button small", href: address.href("pending", { pod: row.subject }) }, icon("pending"), "Why is it pending?") : null,
      virtual || row.earlier ? null : h("button", { class: "button small", type: "button", onclick: () => travel(row.time) }, icon("timeline"), "Go to this moment"),
      row.kind === "server" ? chip("the dashboard could not see the cluster then", "info") : null,
    ),
  );
}
