/**
 * Shows all nodes as a map or as a table, the pods as a table, and the page of one node.
 *
 * Address: group, colour, dots (as parts/node-map.js has them), find, as=table|pods, node=NAME, why=1 (on a node's page).
 */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, freshId, h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { momentMarks } from "../../lib/moments.js";
import { announce } from "../../lib/notice.js";
import { combobox } from "../../parts/combobox.js";
import { colouringOptions } from "../../parts/map/choices.js";
import { DOTS_BY } from "../../parts/map/dots.js";
import { groupingKey, groupingOptions } from "../../parts/map/grouping.js";
import { signs } from "../../parts/map/signs.js";
import "../../parts/node-map.js";
import { empty, loading } from "../../parts/states.js";
import { nodesAreUnread } from "../../parts/unread.js";
import { encode } from "../slider/changes.js";
import { Ghosts } from "./ghosts.js";
import { NodePage } from "./node-page.js";
import { nodeTable } from "./node-table.js";
import { podTable } from "./pod-table.js";

const COLOUR = "resource:cpu";
const DOTS = "workload";
/** Sorting thousands of rows takes a frame or two: a busy cluster's table follows once a second. */
const TABLE_PAUSE = 1000;
/** … and all pods of a large cluster less often: they are sorted for a small part of the time. */
const TABLE_REST = 20;
const TABLES = {
  table: () => nodeTable((row) => address.go("map", { ...address.params, node: row.name })),
  pods: podTable,
};
const OPTIONS_PAUSE = 2000;
const SOON = 100;
const MOST_GROUPS = 50;

export class MapView extends HTMLElement {
  #parts = {};
  #stops = [];
  #page = null;
  #tables = {};
  #took = 0;
  #left = "";
  #optionsTimer = 0;
  #tableTimer = 0;
  #find = debounce((text) => address.set({ find: text || null }), 150);

  connectedCallback() {
    this.#build();
    this.#showQuestions();
    this.#stops = [cluster.subscribe((change) => this.#changed(change))];
    this.addressChanged(address.params);
    this.#changed({ all: true });
  }

  disconnectedCallback() {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#optionsTimer);
    clearTimeout(this.#tableTimer);
    this.#find.cancel();
  }

  addressChanged(params) {
    const p = this.#parts;
    if (params.node) return this.#showNode(params.node);
    this.#hideNode();
    const group = params.group ?? this.#usualGroup();
    p.map.group = group;
    p.group.value = group;
    p.map.colouring = params.colour ?? COLOUR;
    p.colour.value = params.colour ?? COLOUR;
    p.map.dotsBy = DOTS_BY.some(({ value }) => value === params.dots) ? params.dots : DOTS;
    p.dots.value = p.map.dotsBy;
    p.map.search = params.find ?? "";
    if (document.activeElement !== p.find) p.find.value = params.find ?? "";
    const as = Object.hasOwn(TABLES, params.as ?? "") ? params.as : "map";
    for (const [name, button] of Object.entries(p.as)) button.setAttribute("aria-pressed", String(name === as));
    p.map.hidden = as !== "map";
    p.rows.hidden = as === "map";
    if (as !== "map") this.#fillTable();
    this.#state();
    return undefined;
  }

  /** The questions come after the map: they must not keep the first paint waiting. */
  async #showQuestions() {
    if (embedded) return;
    const { StartLine } = await import("../../parts/start/line.js");
    if (!this.isConnected) return;
    const line = new StartLine();
    this.#parts.start.append(line.element);
    line.start();
    this.#stops.push(() => line.stop());
    this.#parts.ghosts.load();
  }

  #build() {
    const p = this.#parts;
    const id = freshId("find");
    p.group = combobox({ label: "Group by", onchange: (group) => address.set({ group }) });
    p.colour = combobox({ label: "Colour by", onchange: (colour) => address.set({ colour }) });
    p.dots = combobox({ label: "Dots by", options: DOTS_BY, onchange: (dots) => address.set({ dots: dots === DOTS ? null : dots }) });
    p.dots.classList.add("map-dots");
    p.find = h("input", { type: "search", class: "input", id, placeholder: "name, namespace, label or taint: app=web", autocomplete: "off", spellcheck: "false", oninput: () => this.#find(p.find.value.trim()) });
    p.found = h("p", { class: "map-found nums", hidden: true });
    p.warning = h("p", { class: "map-warning warn", role: "status", hidden: true });
    const choice = (as, name, text) => h("button", { class: "button", type: "button", onclick: () => address.set({ as }) }, icon(name), text);
    p.as = { map: choice(null, "map", "Map"), table: choice("table", "table", "Nodes"), pods: choice("pods", "table", "Pods") };
    p.map = h("moorage-node-map", { onopen: (event) => address.go("map", { ...address.params, node: event.detail.node }), onfound: (event) => this.#found(event.detail), ongrouped: (event) => this.#grouped(event.detail.groups) });
    if (!embedded) p.map.groupLinks = (group) => groupLinks(p.map.group, group);
    const marks = momentMarks();
    if (marks) p.map.setOverlay(marks);
    p.rows = h("div", { class: "map-rows panel", hidden: true });
    p.state = h("div", { class: "map-state" });
    p.ghosts = new Ghosts();
    p.start = h("div", { class: "map-start", hidden: Boolean(embedded) });
    p.all = h(
      "div",
      { class: "map-all" },
      h("h1", { class: "visually-hidden" }, "Map of nodes and pods"),
      p.start,
      h(
        "div",
        { class: "toolbar" },
        p.group,
        p.colour,
        p.dots,
        h("div", { class: "field grow map-find" }, h("label", { for: id }, "Find"), p.find),
        h("div", { class: "map-as", role: "group", "aria-label": "Show as" }, Object.values(p.as)),
      ),
      p.found,
      p.warning,
      marks && signs(markTexts(marks)),
      h("div", { class: "map-frame" }, p.map, p.rows, p.state),
      p.ghosts.element,
    );
    p.page = h("div", { class: "map-page", hidden: true });
    replace(this, p.all, p.page);
  }

  #changed(change) {
    if (change.source) this.#state();
    if (address.params.as === "pods" && change.pods?.size) this.#fillSoon();
    if (change.all || change.nodes?.size) {
      this.#parts.ghosts.soon();
      // Thousands of workloads take longer to sort than the map to draw: they come after it.
      if (change.all) this.#options(new Map());
      this.#optionsTimer ||= setTimeout(() => this.#options(), change.all ? SOON : OPTIONS_PAUSE);
      if (change.all && !address.params.group) this.addressChanged(address.params);
      if (change.all) this.#fillShownTable();
      else this.#fillSoon();
      this.#state();
    }
    if (this.#page && (change.all || change.nodes?.has(address.params.node))) this.#page.refresh();
  }

  #fillSoon() {
    this.#tableTimer ||= setTimeout(() => this.#fillShownTable(), Math.max(TABLE_PAUSE, TABLE_REST * this.#took));
  }

  #fillShownTable() {
    clearTimeout(this.#tableTimer);
    this.#tableTimer = 0;
    if (!this.#parts.rows.hidden) this.#fillTable();
  }

  #options(workloads = cluster.workloads) {
    clearTimeout(this.#optionsTimer);
    this.#optionsTimer = 0;
    const rows = [...cluster.nodes.values()];
    this.#parts.group.options = groupingOptions(rows);
    this.#parts.colour.options = colouringOptions(rows, workloads);
  }

  #usualGroup() {
    const known = this.#parts.group.options.map((one) => one.value);
    return ["zone", "pool"].find((group) => known.includes(group)) ?? "none";
  }

  #state() {
    const { state } = this.#parts;
    const wanted = !cluster.loaded ? "loading" : cluster.nodes.size > 0 ? "" : nodesAreUnread(cluster.source) ? "unread" : "empty";
    state.hidden = !wanted;
    if (state.dataset.shown === wanted) return;
    state.dataset.shown = wanted;
    if (wanted === "loading") replace(state, loading("Reading the cluster"));
    else if (wanted === "unread") replace(state, empty("Nodes cannot be read", nodesAreUnread(cluster.source)));
    else if (wanted === "empty") replace(state, empty("There are no nodes", cluster.source.kind === "files" ? "The manifests have no Node: add some, as kubectl get nodes -o yaml prints them." : "Nodes appear here as soon as the cluster has them."));
    else replace(state);
  }

  #found({ searching, text }) {
    this.#parts.found.hidden = !searching;
    if (this.#parts.found.textContent === text) return;
    this.#parts.found.textContent = text;
    // While pods come and go the number changes: only the answer to what was typed is read out.
    if (text && this.#parts.found.dataset.find !== (address.params.find ?? "")) announce(text);
    this.#parts.found.dataset.find = address.params.find ?? "";
  }

  /** Says that a grouping makes too many groups to read, and offers others. */
  #grouped(groups) {
    const { warning, group } = this.#parts;
    const many = groups > MOST_GROUPS;
    const wanted = many ? `${group.value} ${groups}` : "";
    if (warning.dataset.shown === wanted) return;
    warning.dataset.shown = wanted;
    warning.hidden = !many;
    if (!many) return;
    const others = ["zone", "pool", "version", "none"].map((value) => group.options.find((one) => one.value === value)).filter((one) => one && one.value !== group.value);
    const offer = ({ value, text }) => h("button", { class: "button small", type: "button", onclick: () => address.set({ group: value }) }, `by ${text}`);
    replace(warning, `This makes ${number(groups)} groups of ${count(cluster.nodes.size, "node")}, more than can be read. Group `, others.map(offer));
  }

  #fillTable() {
    const table = (this.#tables[address.params.as] ??= TABLES[address.params.as]());
    if (!table.element.isConnected) replace(this.#parts.rows, table.element);
    const began = performance.now();
    // Pods are in one list, in the order of a column, unless groups are asked for.
    const group = address.params.as === "pods" ? (address.params.group ?? "none") : this.#parts.map.group;
    const text = table.fill(address.params.find ?? "", address.params.colour ?? COLOUR, group);
    this.#found({ searching: text !== "", text });
    this.#took = performance.now() - began;
  }

  #showNode(name) {
    const p = this.#parts;
    p.all.hidden = true;
    p.page.hidden = false;
    this.#left = name;
    const why = Boolean(address.params.why);
    if (this.#page?.name === name) {
      this.#page.explain(why);
      return;
    }
    this.#page?.close();
    const { node, why: _, look, ...rest } = address.params;
    this.#page = new NodePage(name, address.href("map", rest));
    replace(p.page, this.#page.element);
    this.#page.explain(why);
    this.#page.element.querySelector("h1").focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  #hideNode() {
    const p = this.#parts;
    if (!this.#page) return;
    this.#page.close();
    this.#page = null;
    replace(p.page);
    p.page.hidden = true;
    p.all.hidden = false;
    if (!Object.hasOwn(TABLES, address.params.as ?? "")) requestAnimationFrame(() => p.map.focusNode(this.#left));
  }
}

/** Says what the marks of a saved page mean: those that there are. */
function markTexts({ leaving, landing, pending, nodes }) {
  const any = (is) => [...nodes.values()].some(is);
  return {
    ...(leaving.size ? { leaves: "leaves because of the changes" } : {}),
    ...(landing.size ? { lands: "is here because of the changes" } : {}),
    ...(pending.size ? { waits: "waits because of the changes" } : {}),
    ...(any(({ isNew, isGone }) => !isNew && !isGone) ? { frame: "node that is changed" } : {}),
    ...(any(({ isNew }) => isNew) ? { added: "node that is added" } : {}),
    ...(any(({ isGone }) => isGone) ? { removed: "node that is removed" } : {}),
  };
}

/** What can be asked of a group: its nodes drained, or only these shown. */
function groupLinks(grouping, { name, nodes }) {
  const key = groupingKey(grouping, [...cluster.nodes.values()]);
  const labelled = key && nodes.every((node) => cluster.nodes.get(node)?.labels?.[key] === name);
  const drained = encode([{ drain: { nodes: labelled ? { label: { key, value: name } } : nodes } }]);
  const what = labelled || nodes.length === 1 ? `${labelled ? name : nodes[0]} is` : `these ${count(nodes.length, "node")} are`;
  const links = drained ? [{ text: `What if ${what} drained`, href: address.href("slider", { changes: drained }) }] : [];
  if (labelled) links.push({ text: `Find only ${name}`, href: address.href("map", { ...address.params, find: `${key}=${name}` }) });
  return links;
}

customElements.define("moorage-map", MapView);
