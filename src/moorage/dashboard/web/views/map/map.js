/**
 * Shows all nodes as a map or as a table, and the page of one node.
 *
 * Address: group, colour (as parts/node-map.js has them), find, as=table, node=NAME, why=1 (on a node's page).
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, freshId, h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { announce } from "../../lib/notice.js";
import { combobox } from "../../parts/combobox.js";
import { colouringOptions } from "../../parts/map/choices.js";
import { groupingOptions } from "../../parts/map/grouping.js";
import "../../parts/node-map.js";
import { empty, loading } from "../../parts/states.js";
import { nodesAreUnread } from "../../parts/unread.js";
import { NodePage } from "./node-page.js";
import { nodeTable } from "./node-table.js";

const COLOUR = "resource:cpu";
/** Sorting thousands of rows takes a frame or two: a busy cluster's table follows once a second. */
const TABLE_PAUSE = 1000;
const OPTIONS_PAUSE = 2000;
const SOON = 100;

export class MapView extends HTMLElement {
  #parts = {};
  #stops = [];
  #page = null;
  #table = null;
  #left = "";
  #optionsTimer = 0;
  #tableTimer = 0;
  #find = debounce((text) => address.set({ find: text || null }), 150);

  connectedCallback() {
    this.#build();
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
    p.map.search = params.find ?? "";
    if (document.activeElement !== p.find) p.find.value = params.find ?? "";
    const table = params.as === "table";
    p.asMap.setAttribute("aria-pressed", String(!table));
    p.asTable.setAttribute("aria-pressed", String(table));
    p.map.hidden = table;
    p.rows.hidden = !table;
    if (table) this.#fillTable();
    this.#state();
    return undefined;
  }

  #build() {
    const p = this.#parts;
    const id = freshId("find");
    p.group = combobox({ label: "Group by", onchange: (group) => address.set({ group }) });
    p.colour = combobox({ label: "Colour by", onchange: (colour) => address.set({ colour }) });
    p.find = h("input", { type: "search", class: "input", id, placeholder: "node, pod, workload, key=value", autocomplete: "off", spellcheck: "false", oninput: () => this.#find(p.find.value.trim()) });
    p.found = h("span", { class: "map-found muted nums" });
    const choice = (as, name, text) => h("button", { class: "button", type: "button", onclick: () => address.set({ as }) }, icon(name), text);
    p.asMap = choice(null, "map", "Map");
    p.asTable = choice("table", "table", "Table");
    p.map = h("moorage-node-map", { onopen: (event) => address.go("map", { ...address.params, node: event.detail.node }), onfound: (event) => this.#found(event.detail) });
    p.rows = h("div", { class: "map-rows panel", hidden: true });
    p.state = h("div", { class: "map-state" });
    p.all = h(
      "div",
      { class: "map-all" },
      h("h1", { class: "visually-hidden" }, "Map of nodes and pods"),
      h(
        "div",
        { class: "toolbar" },
        p.group,
        p.colour,
        h("div", { class: "field grow map-find" }, h("label", { for: id }, "Find ", p.found), p.find),
        h("div", { class: "map-as", role: "group", "aria-label": "Show nodes as" }, p.asMap, p.asTable),
      ),
      h("div", { class: "map-frame" }, p.map, p.rows, p.state),
    );
    p.page = h("div", { class: "map-page", hidden: true });
    replace(this, p.all, p.page);
  }

  #changed(change) {
    if (change.source) this.#state();
    if (change.all || change.nodes?.size) {
      // Thousands of workloads take longer to sort than the map to draw: they come after it.
      if (change.all) this.#options(new Map());
      this.#optionsTimer ||= setTimeout(() => this.#options(), change.all ? SOON : OPTIONS_PAUSE);
      if (change.all && !address.params.group) this.addressChanged(address.params);
      if (change.all) this.#fillShownTable();
      else this.#tableTimer ||= setTimeout(() => this.#fillShownTable(), TABLE_PAUSE);
      this.#state();
    }
    if (this.#page && (change.all || change.nodes?.has(address.params.node))) this.#page.refresh();
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
    else if (wanted === "empty") replace(state, empty("There are no nodes", cluster.source.kind === "files" ? "The manifests have no Node: add some, as `kubectl get nodes -o yaml` prints them." : "Nodes appear here as soon as the cluster has them."));
    else replace(state);
  }

  #found({ nodes, pods, searching }) {
    const text = searching ? `${count(nodes, "node")}, ${count(pods, "pod")}` : "";
    if (this.#parts.found.textContent === text) return;
    this.#parts.found.textContent = text;
    const said = searching ? `${count(nodes, "node")} and ${count(pods, "pod")} found` : "";
    // While pods come and go the number changes: only the answer to what was typed is read out.
    if (said && this.#parts.found.dataset.find !== (address.params.find ?? "")) announce(said);
    this.#parts.found.dataset.find = address.params.find ?? "";
  }

  #fillTable() {
    this.#table ??= nodeTable((row) => address.go("map", { ...address.params, node: row.name }));
    if (!this.#table.element.isConnected) replace(this.#parts.rows, this.#table.element);
    this.#table.fill(address.params.find ?? "", address.params.colour ?? COLOUR);
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
    const { node, why: _, ...rest } = address.params;
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
    if (address.params.as !== "table") requestAnimationFrame(() => p.map.focusNode(this.#left));
  }
}

customElements.define("moorage-map", MapView);
