/**
 * Goes back to any moment that history still has: a scrubber, steps both ways, play, and what changed in each step.
 *
 *   const moments = momentBrowser(); moments.element; moments.start(); moments.stop(); moments.travel(time)
 *
 * The cluster as of then is shown by `cluster`, and so by all views, until "Back to now". Address: at=NUMBER.
 */
import { address } from "../../lib/address.js";
import { embedded, getJSON } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, h, replace, setText } from "../../lib/dom.js";
import { count, moment } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { announce, problem } from "../../lib/notice.js";
import { dataTable } from "../../parts/data-table.js";
import { empty, failed } from "../../parts/states.js";
import "../../parts/node-map.js";
import { stepDetail } from "./step-detail.js";
import { when } from "./times.js";

const PAUSE = 900;

export function momentBrowser() {
  const track = h("input", { type: "range", class: "moment-range", id: "moment-range", min: "0", max: "0", value: "0", oninput: () => slide(), disabled: true });
  const label = h("output", { class: "moment-label nums", for: "moment-range" });
  const buttons = {
    first: button("The earliest moment", "first", () => go(history.moments[0][0])),
    back: button("One step back", "back", () => step(-1)),
    play: button("Play", "play", () => togglePlay()),
    forward: button("One step forward", "forward", () => step(1)),
    now: h("button", { class: "button primary", type: "button", onclick: () => toNow() }, "Back to now"),
  };
  const where = h("p", { class: "moment-where", role: "status", "aria-live": "polite" });
  const map = document.createElement("moorage-node-map");
  const changes = h("section", { class: "panel padded moment-changes", "aria-label": "What changed in this step" });
  const list = dataTable({
    label: "Moments, newest first",
    columns: [
      { id: "time", title: "Moment", cell: ([, time]) => h("span", { class: "nums" }, when(time)), width: "6.5rem" },
      { id: "what", title: "What led to it", cell: ([, , what]) => h("span", { class: "cut block", title: what }, what) },
    ],
    rowKey: (row) => row[0],
    onopen: (row) => go(row[0]),
    height: "16rem",
    none: "Nothing has changed yet",
  });
  const body = h("div", { class: "moment-columns" }, h("div", { class: "panel moment-map" }, map), h("div", { class: "stack" }, changes, h("div", { class: "panel moment-list" }, list)));
  const controls = h("div", { class: "panel padded stack" }, h("div", { class: "moment-controls" }, Object.values(buttons), label), h("label", { class: "visually-hidden", for: "moment-range" }, "Moment"), track, where);
  const element = h("div", { class: "stack" }, controls, body);
  const refresh = debounce(() => load(), 400);
  const slid = debounce((seq) => go(seq), 80);
  let history = { first: 0, last: 0, moments: [] };
  let at = null; // the number of the moment that is shown, null is now
  let ahead = []; // steps after it, the next one first
  let behind = []; // steps that led to it, the last one first
  let playing = 0;
  let queue = Promise.resolve(false);
  let newest = 0; // the last moment that was asked for
  let visit = 0; // of the past; what is under way when it ends has no effect
  let unsubscribe = null;
  let shown = "";

  return { element, start, stop, travel, addressChanged };

  function start() {
    unsubscribe = cluster.subscribe((change) => {
      if (cluster.past == null && at !== null) leave();
      if (cluster.past == null && (change.all || change.pods.size || change.nodes.size || change.happenings.length)) refresh();
    });
    load().then(() => addressChanged());
  }

  function stop() {
    unsubscribe?.();
    refresh.cancel();
    pause();
  }

  function addressChanged() {
    const wanted = address.params.at;
    if (wanted !== undefined && /^\d+$/.test(wanted) && Number(wanted) !== at) go(Number(wanted));
    else if (wanted === undefined && at !== null) toNow();
  }

  async function load() {
    if (embedded) return void replace(element, empty("A saved page has no history", "It shows one moment. Go back in time where moorage dashboard runs."));
    try {
      history = await getJSON("/api/history");
    } catch (error) {
      if (!history.moments.length) replace(changes, failed(error.message, load));
      return undefined;
    }
    list.rows = history.moments.toReversed();
    draw();
    return undefined;
  }

  /** Does one thing after the other, so that steps that are asked for faster than they are answered are not lost. */
  function inTurn(work) {
    const mine = visit;
    queue = queue.catch(() => false).then(() => (mine === visit ? work() : false));
    return queue;
  }

  /** Goes to a moment by its number. Of several that are asked for, as while the scrubber is dragged, the last one counts. */
  function go(seq) {
    newest += 1;
    const mine = newest;
    return inTurn(() => (mine === newest ? show(seq) : false));
  }

  function step(direction) {
    return inTurn(() => move(direction));
  }

  /** Shows a moment, from the server. */
  async function show(seq) {
    const mine = visit;
    try {
      if (!isKept(seq)) await load();
      if (!isKept(seq)) return refuse(seq);
      const [state, back] = await Promise.all([getJSON(`/api/history/${seq}`), getJSON(`/api/history/${seq}/steps?back`)]);
      if (mine !== visit) return false;
      at = seq;
      ahead = [];
      behind = back.steps;
      cluster.show(state, moment(state.source.time));
      address.set({ at: String(seq) });
      draw();
      return true;
    } catch (error) {
      problem("history", error.message);
      if (error.status === 404) await load();
      return false;
    }
  }

  function isKept(seq) {
    return seq >= history.first && seq <= history.last;
  }

  function refuse(seq) {
    const why = seq > history.last ? `has not come yet: the last one is ${history.last}` : `is not kept any more: history begins with ${history.first}`;
    problem("history", `Moment ${seq} ${why}.`);
    if (at === null) address.set({ at: null });
    return false;
  }

  function travel(time) {
    const last = history.moments.filter((one) => one[1] <= time + 0.5).at(-1) ?? history.moments[0];
    return last ? go(last[0]) : load().then(() => history.moments.length && go((history.moments.filter((one) => one[1] <= time + 0.5).at(-1) ?? history.moments[0])[0]));
  }

  /** Goes to the neighbouring state, by the rows that changed. */
  async function move(direction) {
    if (at === null) return direction < 0 ? moveFromNow() : false;
    const mine = visit;
    if (direction > 0 ? !ahead.length : !behind.length) await fetchSteps(direction);
    if (mine !== visit) return false;
    const found = direction > 0 ? ahead.shift() : behind.shift();
    if (!found) {
      if (direction > 0) announce("This is the last moment that was recorded");
      draw();
      return false;
    }
    if (direction > 0) {
      behind.unshift(found);
      at = found.seq;
      cluster.step(forward(found), moment(found.time));
    } else {
      ahead.unshift(found);
      const before = behind[0] ?? (await fetchSteps(-1), behind[0]);
      if (mine !== visit) return false;
      at = before?.seq ?? history.first;
      cluster.step({ ...backward(found), seq: at }, before ? moment(before.time) : moment(history.moments[0]?.[1]));
    }
    address.set({ at: String(at) });
    draw();
    return true;
  }

  async function moveFromNow() {
    await load();
    const last = history.moments.at(-1);
    if (!last || history.first === history.last) return false;
    return (await show(last[0])) && move(-1);
  }

  async function fetchSteps(direction) {
    const seq = direction > 0 ? at : (behind.at(-1)?.seq ?? at);
    try {
      const { steps } = await getJSON(`/api/history/${seq}/steps${direction > 0 ? "" : "?back"}`);
      if (direction > 0) ahead = steps;
      else behind = steps;
    } catch (error) {
      problem("history", error.message);
    }
  }

  async function toNow() {
    leave();
    await cluster.resume();
    announce("The cluster is shown as it is now");
  }

  function leave() {
    pause();
    visit += 1;
    at = null;
    ahead = [];
    behind = [];
    address.set({ at: null });
    load();
  }

  function slide() {
    const chosen = history.moments[Number(track.value)];
    if (!chosen) return;
    setText(label, `${when(chosen[1])} · ${chosen[2]}`);
    slid(chosen[0]);
  }

  function togglePlay() {
    if (playing) return pause();
    playing = setTimeout(playOn, 0);
    draw();
    return undefined;
  }

  function pause() {
    clearTimeout(playing);
    playing = 0;
    draw();
  }

  async function playOn() {
    const went = at === null ? await go(history.first) : await step(1);
    if (!playing) return;
    if (went) playing = setTimeout(playOn, PAUSE);
    else pause();
  }

  function draw() {
    const { moments } = history;
    const index = at === null ? moments.length - 1 : Math.max(0, moments.findLastIndex((one) => one[0] <= at));
    track.max = String(Math.max(0, moments.length - 1));
    if (document.activeElement !== track || at === null) track.value = String(index);
    track.disabled = moments.length < 2;
    const known = moments[index];
    track.setAttribute("aria-valuetext", known ? `${when(known[1])}, ${known[2]}` : "now");
    buttons.first.disabled = buttons.back.disabled = buttons.play.disabled = moments.length < 2;
    if (at !== null && !behind.length && at <= history.first) buttons.first.disabled = buttons.back.disabled = true;
    buttons.forward.disabled = at === null;
    buttons.now.disabled = at === null;
    buttons.play.setAttribute("aria-pressed", String(Boolean(playing)));
    replace(buttons.play, icon(playing ? "pause" : "play"));
    setText(label, at === null ? `now · ${count(moments.length, "moment")} kept${moments.length ? `, since ${when(moments[0][1])}` : ""}` : `${when(behind[0]?.time ?? known?.[1])} · change ${at} of ${history.last}`);
    element.classList.toggle("past", at !== null);
    setText(where, at === null ? "The cluster as it is now." : `You are looking at the past: ${cluster.past ?? ""}. The whole dashboard shows this moment until you go back to now.`);
    const key = at === null ? "now" : `${at} ${behind[0]?.seq}`;
    if (key === shown) return;
    shown = key;
    replace(changes, at === null ? empty("What changed", "Step back, or move the scrubber: each step says which pods and nodes changed.") : stepDetail(behind[0], at));
  }
}

function button(label, sign, onclick) {
  return h("button", { class: "button", type: "button", "aria-label": label, title: label, onclick }, icon(sign));
}

function forward(step) {
  return asDelta(step, step.nodes, step.pods, step.seq);
}

function backward(step) {
  return asDelta(step, step.nodes.map(([old, now]) => [now, old]), step.pods.map(([old, now]) => [now, old]));
}

/** A change as the stream of changes has it: new rows, and the names of those that are gone. */
function asDelta({ time, seq }, nodes, pods) {
  return {
    seq,
    time,
    nodes: nodes.filter(([, now]) => now).map(([, now]) => now),
    nodesGone: nodes.filter(([, now]) => !now).map(([old]) => old.name),
    pods: pods.filter(([, now]) => now).map(([, now]) => now),
    podsGone: pods.filter(([, now]) => !now).map(([old]) => old[0]),
    happenings: [],
  };
}
