/** Shows one node: state, taints, labels, resources, pods, devices and events. What the map knows is there at once. */
import { address } from "../../lib/address.js";
import { embedded, getJSON, isAbort } from "../../lib/api.js";
import { cluster, deadlineText } from "../../lib/cluster.js";
import { h, replace, setText } from "../../lib/dom.js";
import { age, clock, count, natural, number, quantity } from "../../lib/format.js";
import { reading } from "../../lib/readings.js";
import { icon } from "../../lib/icons.js";
import { bar } from "../../parts/bar.js";
import { chip, chips, labelChip, phaseChip, taintChip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { podLink } from "../../parts/pod/link.js";
import { empty } from "../../parts/states.js";
import { nodesAreUnread } from "../../parts/unread.js";
import { encode } from "../slider/changes.js";
import { Elsewhere } from "./elsewhere.js";
import { conditions } from "./node-conditions.js";
import { NodeRoom } from "./node-room.js";

const AGAIN = 1000;

export class NodePage {
  #details = null;
  #problem = "";
  #timer = 0;
  #countdown = 0;
  #leaving = false;
  #asking = null;
  #parts = {};
  #elsewhere;
  #room;

  constructor(name, back) {
    this.name = name;
    this.#elsewhere = new Elsewhere(name);
    this.#room = new NodeRoom(name);
    this.element = this.#build(back);
    this.#show();
    this.#load();
  }

  close() {
    this.#elsewhere.close();
    this.#room.close();
    clearTimeout(this.#timer);
    clearTimeout(this.#countdown);
    this.#asking?.abort();
  }

  /** Shows or hides why other pods are not here. */
  explain(wanted) {
    this.#elsewhere.show(wanted);
  }

  /** Something about the node changed: asks and shows it again, at most once a second. */
  refresh() {
    this.#timer ||= setTimeout(() => this.#load(), AGAIN);
    this.#room.refresh();
  }

  async #load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#asking?.abort();
    if (cluster.loaded && !cluster.nodes.has(this.name)) return this.#show();
    this.#asking = new AbortController();
    try {
      this.#details = await getJSON(`/api/node/${encodeURIComponent(this.name)}`, { signal: this.#asking.signal });
      this.#problem = "";
    } catch (error) {
      if (isAbort(error)) return;
      this.#problem = error.message;
    }
    this.#show();
  }

  #build(back) {
    const p = this.#parts;
    p.state = h("span", { class: "row" });
    p.facts = h("dl", { class: "facts" });
    p.taints = h("div", {});
    p.labels = h("div", {});
    p.conditions = h("div", { class: "scroll" });
    p.resources = h("div", { class: "stack node-bars" });
    p.devices = h("div", { class: "scroll" });
    p.events = h("div", { class: "scroll" });
    p.podCount = h("span", { class: "muted nums" });
    p.pods = dataTable({
      label: `Pods on ${this.name}`,
      columns: podColumns(),
      sort: "key",
      rowKey: (pod) => pod.key,
      most: 10,
      none: "No pod runs here",
    });
    p.whatIf = h("a", { class: "button" }, "What if it changes");
    p.gone = h("p", { class: "chip bad", hidden: true });
    const panel = (title, body, ...more) => h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, title), ...more), h("div", { class: "padded" }, body));
    p.grid = h(
      "div",
      { class: "node-grid" },
      h("div", { class: "stack" }, panel("Node", p.facts), panel("Taints", p.taints), panel("Labels", p.labels), panel("Conditions", p.conditions)),
      h(
        "div",
        { class: "stack" },
        panel("Resources requested", p.resources),
        this.#room.isHere ? panel("What would still fit", this.#room.element) : null,
        h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Pods"), p.podCount), p.pods),
        panel("Devices", p.devices),
        panel("Events", p.events),
      ),
    );
    return h(
      "article",
      { class: "node-page" },
      h(
        "div",
        { class: "view-head" },
        h("a", { class: "button quiet", href: back }, icon("left"), "All nodes"),
        h("h1", { tabindex: "-1", class: "wrap" }, this.name),
        p.state,
        p.gone,
        h("span", { class: "grow" }),
        this.#elsewhere.button,
        embedded ? null : p.whatIf,
      ),
      this.#elsewhere.element,
      p.grid,
    );
  }

  #show() {
    const p = this.#parts;
    const row = cluster.nodes.get(this.name);
    const details = this.#details;
    const node = { ...(details ?? {}), ...(row ?? {}) };
    const isGone = !row && cluster.loaded;
    p.gone.hidden = !isGone;
    setText(p.gone, nodesAreUnread(cluster.source) ? "Nodes cannot be read" : details ? "This node is gone" : "There is no such node");
    // Of one that never was there is nothing to show, ask or change.
    for (const part of [p.grid, p.whatIf, this.#elsewhere.button]) part.hidden = isGone && !details;
    if (!row && !details) return;
    replace(p.state, chip(node.ready ? "ready" : "not ready", node.ready ? "good" : "bad"), node.schedulable ? null : chip("cordoned", "warn"));
    const addresses = (details?.addresses ?? []).map((one) => `${one.address} (${one.type})`).join(", ");
    fact(p.facts, [["Version", node.version || "–"], ...(node.created ? [["Age", age(node.created)]] : []), ["Addresses", addresses || "–"]]);
    update(p.taints, node.taints ?? [], (taints) => chips(taints.map(taintChip), "No taints"));
    const labels = Object.entries(node.labels ?? {}).sort((a, b) => natural(a[0], b[0]));
    update(p.labels, labels, () => chips(labels.map(([key, value]) => labelChip(key, value)), "No labels"));
    update(p.resources, [node.resources, row?.devices], () => resourceBars(node));
    this.#offerWhatIf(node);
    this.#showPods(row);
    if (details) {
      update(p.conditions, details.conditions ?? [], conditions);
      update(p.devices, details.devices ?? [], (list) => devices(list, details.deviceCount ?? 0));
      update(p.events, details.events ?? [], events);
    } else if (this.#problem) {
      for (const part of [p.conditions, p.devices, p.events]) replace(part, h("p", { class: "muted" }, this.#problem));
    } else {
      for (const part of [p.conditions, p.devices, p.events]) if (!part.firstChild) replace(part, h("p", { class: "muted" }, "Loading…"));
    }
  }

  /** The slider opens with the taint that has a number, where there is one, else with a drain. */
  async #offerWhatIf(node) {
    const link = this.#parts.whatIf;
    const offer = (change) => (link.href = address.href("slider", { changes: encode([change]) }));
    offer({ drain: { nodes: [this.name] } });
    const taints = node.taints ?? [];
    const { numbers } = await reading(taints.map((one) => one.value ?? "")).catch(() => ({ numbers: new Map() }));
    const one = taints.find(({ value }) => numbers.has(value ?? ""));
    if (one) offer({ taint: { nodes: [this.name], key: one.key, value: one.value, effect: one.effect } });
  }

  #showPods(row) {
    const requests = new Map((this.#details?.pods ?? []).map(([key, , , wanted]) => [key, wanted]));
    const keys = row ? [...row.pods] : [];
    const rows = keys.map((key) => ({ ...cluster.pods.get(key), requests: requests.get(key) }));
    const leaving = rows.some((pod) => pod.deadline);
    if (leaving !== this.#leaving) this.#parts.pods.columns = podColumns(leaving);
    this.#leaving = leaving;
    this.#parts.pods.rows = rows;
    setText(this.#parts.podCount, number(keys.length));
    clearTimeout(this.#countdown);
    this.#countdown = leaving && cluster.source.kind === "live" ? setTimeout(() => this.#showPods(cluster.nodes.get(this.name)), AGAIN) : 0;
  }
}

const shown = new WeakMap();

/** Rebuilds a part only where its data differ, so that a selection of its text survives. */
function update(part, data, build) {
  const text = JSON.stringify(data);
  if (shown.get(part) === text) return;
  shown.set(part, text);
  replace(part, build(data));
}

function fact(list, pairs) {
  replace(list, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function resourceBars(node) {
  const resources = Object.entries(node.resources ?? {}).map(([name, pair]) => [name, name, ...pair]);
  const drivers = Object.entries(node.devices ?? {}).filter(([, pair]) => Array.isArray(pair)).map(([name, pair]) => [`devices of ${name}`, "", ...pair]);
  const list = [...resources, ...drivers].filter(([, , used, there]) => used > 0 || there > 0);
  if (!list.length) return empty("The node reports no resources", "", { height: "3rem" });
  return list.map(([label, name, used, there]) => bar({ label, value: used, max: there, text: `${quantity(name, used)} of ${quantity(name, there)}` }));
}

/** The columns of the table; with `leaving`, when a taint of the node evicts each pod. */
function podColumns(leaving = false) {
  const amount = (name) => ({
    id: name,
    title: name,
    width: "6rem",
    end: true,
    by: (pod) => pod.requests?.[name] ?? -1,
    cell: (pod) => (pod.requests?.[name] ? quantity(name, pod.requests[name]) : "–"),
  });
  return [
    { id: "key", title: "Pod", by: (pod) => pod.key, cell: (pod) => podLink(pod.key) },
    { id: "workload", title: "Workload", width: "34%", by: (pod) => pod.workload, cell: (pod) => pod.workload || "–" },
    { id: "phase", title: "Phase", width: "7rem", by: (pod) => pod.phase, cell: (pod) => phaseChip(pod.phase) },
    ...(leaving ? [{ id: "deadline", title: "Leaves", width: "24%", by: (pod) => pod.deadline?.[0] ?? Infinity, cell: (pod) => h("span", { class: "cut", title: deadlineText(pod) }, deadlineText(pod) || "–") }] : []),
    amount("cpu"),
    amount("memory"),
  ];
}

function table(heads, rows) {
  return h(
    "table",
    { class: "stacks" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", { class: "wrap" }, cell))))),
  );
}

function devices(list, total) {
  if (!list.length) return h("p", { class: "muted" }, "No driver publishes devices of this node");
  const rows = list.map((one) => [one.name, one.driver, one.pool, one.inUseBy?.length ? one.inUseBy.map((key, at) => [at ? ", " : "", cluster.pods.has(key) ? podLink(key) : key]) : h("span", { class: "muted" }, "free"), chips((one.taints ?? []).map(taintChip), "–")]);
  const more = total > list.length ? h("p", { class: "muted" }, `and ${count(total - list.length, "device")} more`) : null;
  return [table(["Device", "Driver", "Pool", "In use by", "Taints"], rows), more];
}

function events(list) {
  if (!list.length) return h("p", { class: "muted" }, "No events about this node");
  const rows = list.map((one) => [clock(one.time), chip(one.reason ?? one.type, one.type === "Warning" ? "warn" : ""), one.message, one.count > 1 ? `× ${number(one.count)}` : ""]);
  return table(["Time", "Reason", "Message", "Count"], rows);
}
