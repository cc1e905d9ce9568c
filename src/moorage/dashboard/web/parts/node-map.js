/**
 * Draws all nodes as tiles with their pods as dots: <moorage-node-map>, for the views that show the cluster as a map.
 *
 *   const map = document.createElement("moorage-node-map");    fills its parent's height; give it a min-height
 *   map.group = "zone";              "none", "zone", "pool", "version", "label:KEY", "taint:KEY"
 *   map.colouring = "resource:cpu";  "none", "resource:NAME", "device:DRIVER", "taint:KEY", "version", "label:KEY",
 *                                    "workload:KIND namespace/name"
 *   map.search = "zone=a gpu";       others are dimmed; event "found" has detail {nodes, pods}
 *   map.addEventListener("open", (event) => event.detail.node)    click or Enter on a tile
 *   map.focusNode("n1"); map.zoom(2); map.fit()
 *
 *   map.setOverlay({leaving: Map(pod key → seconds until eviction), landing: Map(pod key → node name),
 *                   pending: Set(pod keys that would be on no node), nodes: Map(node name → {value})})
 *     paints what would happen over what is: dots that leave are hollow and red, where they land is a green dot, those
 *     that find no node join the strip at the bottom; `nodes` are framed, and with a colouring "taint:KEY" or
 *     "label:KEY" those with a `value` take its colour (null: it would be gone). Every member may be left out. Dots that are new in the overlay
 *     fly once. map.setOverlay(null) shows the cluster as it is.
 *
 * It follows `cluster` by itself. Keys: arrows move between tiles, Enter opens, + − 0 zoom, Shift and arrows pan.
 */
import { cluster } from "../lib/cluster.js";
import { onTheme } from "../lib/colour.js";
import { perFrame, replace, setText } from "../lib/dom.js";
import { count, natural } from "../lib/format.js";
import { known, reading } from "../lib/readings.js";
import { Camera, gestures } from "./map/camera.js";
import { nodeLines, podLines, sentence } from "./map/describe.js";
import { Flights } from "./map/paint/flights.js";
import { buildParts, describeOption, showTip, sizeCanvases, trayText } from "./map/furniture.js";
import { grouper, groups } from "./map/grouping.js";
import { readKey } from "./map/keys.js";
import { layout } from "./map/layout.js";
import { fillLegend } from "./map/legend.js";
import { Marks } from "./map/marks.js";
import { Model } from "./map/model.js";
import { makeOverlay, touched } from "./map/overlay.js";
import { Painter, visible } from "./map/paint/painter.js";
import { makeScale, split } from "./map/scale.js";
import { nearest, nodeAt, podAt } from "./map/seek.js";
import { Tween } from "./map/paint/tween.js";

const TRAY = 46;
const SLOW = 200;

export class NodeMap extends HTMLElement {
  #model = new Model();
  #marks = new Marks();
  #group = "zone";
  #colouring = "resource:cpu";
  #search = "";
  #given = null;
  #order = [];
  #nameOf = () => "";
  #groupNames = [];
  #scene = null;
  #need = { load: true, layout: true, all: true, slow: true };
  #dirty = new Set();
  #slowTimer = 0;
  #tween = null;
  #current = -1;
  #hovered = -1;
  #drawn = false;
  #stops = [];
  #frame = perFrame(() => this.#draw());
  #camera = new Camera(() => this.#moved());
  #observer = new ResizeObserver(() => this.#resize());
  #parts = {};
  #painter = null;
  #flights = null;

  connectedCallback() {
    if (!this.#parts.surface) this.#build();
    this.#observer.observe(this.#parts.surface);
    this.#need.load = true;
    this.#stops = [
      cluster.subscribe((change) => this.#changed(change)),
      onTheme(() => {
        this.#painter?.theme();
        this.#need.all = true;
        this.#slowly();
        this.#frame();
      }),
    ];
    this.#frame();
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#frame.cancel();
    clearTimeout(this.#slowTimer);
    this.#slowTimer = 0;
    for (const stop of this.#stops) stop();
  }

  set group(group) {
    if (group === this.#group) return;
    this.#group = group;
    this.#need.layout = true;
    this.#frame();
  }

  get group() {
    return this.#group;
  }

  set colouring(colouring) {
    if (colouring === this.#colouring) return;
    this.#colouring = colouring;
    this.#remark();
  }

  get colouring() {
    return this.#colouring;
  }

  set search(text) {
    if (text === this.#search) return;
    this.#search = text;
    this.#remark();
  }

  setOverlay(overlay) {
    const before = this.#scene?.overlay ?? null;
    this.#given = overlay;
    if (!this.#scene) return;
    const next = makeOverlay(overlay, this.#model, before);
    this.#scene.overlay = next;
    this.#flights.rehearse(this.#scene, next?.moves ?? []);
    this.#rescale();
    for (const one of [before, next]) for (const node of touched(one, this.#model)) this.#dirty.add(node);
    this.#tellTray();
    this.#need.names = true;
    this.#frame();
  }

  zoom(factor) {
    this.#camera.zoom(factor);
  }

  fit() {
    this.#camera.fit();
  }

  focusNode(name) {
    const number = this.#model.numbers.get(name);
    if (number === undefined || !this.#scene) return;
    this.#point(number);
    this.#parts.list.focus();
  }

  /** For tests and measurements: where the tile of a node is on the page, {x, y, size} in CSS pixels. */
  tile(name) {
    const number = this.#model.numbers.get(name);
    if (number === undefined || !this.#scene) return null;
    const { place } = this.#scene;
    const box = this.#parts.surface.getBoundingClientRect();
    const { k, x, y } = this.#camera;
    return { x: box.left + place.x[number] * k + x, y: box.top + place.y[number] * k + y, size: place.pitch * k };
  }

  #build() {
    const p = buildParts({
      onkey: (event) => this.#key(event),
      onfocus: () => this.#focused(),
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
    });
    this.#parts = p;
    replace(this, p.surface, p.foot);
    this.#painter = new Painter(p.base, p.labels);
    this.#flights = new Flights(p.top);
    gestures(p.list, this.#camera, {
      onclick: (x, y) => this.#clicked(x, y),
      onhover: (x, y, event) => this.#hover(x, y, event),
      onleave: () => this.#unhover(),
    });
  }

  #resize() {
    this.#need.layout = true;
    this.#frame();
  }

  #changed(change) {
    if (change.all) {
      this.#need.load = true;
    } else if (change.nodes.size || change.pods.size) {
      if (this.#need.load || !this.#scene) return;
      const side = this.#model.side;
      const { nodes, moved, relayout } = this.#model.update(change, cluster);
      this.#marks.some(this.#model, change.pods.keys(), nodes);
      for (const node of nodes) this.#dirty.add(node);
      if (relayout) this.#order = [];
      if (relayout) this.#scene.stale = true;
      else this.#flights.start(this.#scene, moved);
      if (side !== this.#model.side) this.#need.all = true;
      this.#tellTray();
      this.#slowly();
    } else return;
    this.#frame();
  }

  /** Colours, legend, groups and counts follow a few times per second: dots follow at once. */
  #slowly() {
    this.#slowTimer ||= setTimeout(() => {
      this.#slowTimer = 0;
      if (!this.#scene) return;
      if (this.#scene.stale || this.#regrouped()) this.#need.layout = true;
      this.#need.slow = true;
      this.#frame();
    }, SLOW);
  }

  #regrouped() {
    const { rows } = this.#model;
    for (let node = 0; node < rows.length; node += 1) if (rows[node] && this.#nameOf(rows[node]) !== this.#groupNames[node]) return true;
    return false;
  }

  #remark() {
    this.#need.marks = true;
    this.#need.slow = true;
    this.#need.all = true;
    this.#frame();
  }

  #draw() {
    const need = this.#need;
    const box = this.#parts.surface.getBoundingClientRect();
    if (!cluster.loaded || box.width < 40 || box.height < 80) return;
    if (need.load) this.#load();
    if (need.marks) this.#mark();
    if (need.layout) this.#layout(box);
    if (need.slow) this.#rescale();
    const scene = this.#scene;
    if (this.#tween) {
      scene.place = this.#tween.place();
      need.all = true;
      if (this.#tween.done) this.#tween = null;
    }
    if (need.all) this.#painter.all(scene);
    else if (this.#dirty.size) this.#painter.some(scene, this.#dirty);
    if (!this.#drawn) performance.mark("moorage-map");
    this.#drawn = true;
    if (!need.all && (need.slow || need.names)) this.#painter.names(scene);
    this.#dirty.clear();
    this.#need = {};
    const outlines = [];
    if (this.#hovered >= 0) outlines.push([this.#hovered, 1.5, []]);
    if (this.#current >= 0 && document.activeElement === this.#parts.list) outlines.push([this.#current, 2.5, []]);
    for (const node of this.#flights.draw(scene, outlines)) this.#dirty.add(node);
    if (this.#tween) this.#need.all = true;
    if (this.#flights.busy || this.#dirty.size || this.#tween) this.#frame();
  }

  #load() {
    if (this.#scene) this.#flights.clear(this.#scene);
    const current = this.#model.rows[this.#current]?.name;
    this.#model.load(cluster);
    this.#current = this.#model.numbers.get(current) ?? -1;
    this.#hovered = -1;
    this.#order = [];
    this.#mark();
    this.#need.layout = true;
    this.#tellTray();
  }

  #mark() {
    const [kind, name] = split(this.#colouring);
    this.#marks.search(this.#search);
    this.#marks.workload = kind === "workload" ? name : "";
    this.#marks.all(this.#model);
  }

  #layout(box) {
    const model = this.#model;
    const { rows } = model;
    if (!this.#order.length) {
      this.#order = [...model.numbers.values()].sort((a, b) => natural(rows[a].name, rows[b].name));
    }
    const list = groups(this.#group, rows, this.#order);
    this.#nameOf = grouper(this.#group, this.#order.map((node) => rows[node]));
    this.#groupNames = rows.map((row) => row && this.#nameOf(row));
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const size = { width: Math.round(box.width), height: Math.round(box.height), ratio, tray: TRAY };
    const place = layout(list, size.width, size.height - TRAY - 4, rows.length);
    sizeCanvases(this.#parts, size);
    const before = this.#scene;
    this.#camera.bounds({ width: size.width, height: size.height - TRAY }, place);
    this.#scene = { model, marks: this.#marks, camera: this.#camera, place, size, scale: before?.scale, overlay: null };
    this.#scene.overlay = makeOverlay(this.#given, model, before?.overlay);
    this.#tellTray();
    this.#tween = Tween.between(before, this.#scene);
    this.#rescale();
    this.#need.all = true;
    this.#parts.list.dataset.groups = String(place.boxes.length);
  }

  #rescale() {
    const scene = this.#scene;
    if (!scene) return;
    const before = scene.scale;
    scene.scale = makeScale(this.#colouring, this.#model, scene.overlay?.nodes, (texts) => this.#read(texts));
    const { codes } = scene.scale;
    for (let node = 0; node < codes.length; node += 1) if (codes[node] !== before?.codes[node]) this.#dirty.add(node);
    fillLegend(this.#parts.legend, scene.scale, this.#model);
    const total = this.#model.numbers.size;
    this.#parts.list.setAttribute("aria-label", `${count(total, "node")} by ${scene.scale.title || "group"}`);
    this.#describe();
    if (this.#marks.searching || this.#search === "") this.#tellFound();
  }

  /** Returns what the values are read as, or null and paints once more when that is known. */
  #read(texts) {
    const read = known(texts);
    if (!read) reading(texts).then(() => this.isConnected && this.#remark(), () => {});
    return read;
  }

  #tellFound() {
    const [nodes, pods] = this.#marks.searching ? this.#marks.counts(this.#model) : [0, 0];
    this.dispatchEvent(new CustomEvent("found", { detail: { nodes, pods, searching: this.#marks.searching } }));
  }

  #tellTray() {
    const stranded = this.#scene?.overlay?.stranded.length ?? 0;
    let waiting = 0;
    for (const pod of this.#model.tray) if (pod >= 0) waiting += 1;
    setText(this.#parts.tray, trayText(waiting, stranded, this.#model.astray));
  }

  #moved() {
    this.#need.all = true;
    this.#parts.list.classList.toggle("zoomed", this.#camera.pannable);
    this.#unhover();
    this.#frame();
  }

  #clicked(x, y) {
    const node = this.#scene ? nodeAt(this.#scene, x, y) : -1;
    if (node < 0) return;
    this.#current = node;
    this.#open();
  }

  #open() {
    const row = this.#model.rows[this.#current];
    if (row) this.dispatchEvent(new CustomEvent("open", { detail: { node: row.name } }));
  }

  #hover(x, y, event) {
    if (!this.#scene || event.pointerType === "touch") return;
    const node = nodeAt(this.#scene, x, y);
    const pod = podAt(this.#scene, node, x, y);
    this.#parts.list.classList.toggle("over", node >= 0);
    if (node < 0 && pod < 0) return this.#unhover();
    const { scale, overlay } = this.#scene;
    const lines = pod >= 0 ? podLines(this.#model.pods[pod], overlay) : nodeLines(this.#model.rows[node], scale.title, scale.text(node));
    showTip(this.#parts.tip, this.#scene.size, x, y, lines);
    if (node === this.#hovered) return undefined;
    this.#hovered = node;
    return this.#frame();
  }

  /** Says whether there was anything to hide. */
  #unhover() {
    const shown = !this.#parts.tip.hidden;
    this.#parts.tip.hidden = true;
    if (this.#hovered >= 0) this.#frame();
    this.#hovered = -1;
    return shown;
  }

  #focused() {
    if (document.activeElement !== this.#parts.list) this.#unhover();
    else if (this.#current < 0 && this.#scene) {
      // One that is in sight already: a press of the mouse must not move the map.
      const seen = new Set(visible(this.#scene));
      this.#current = this.#scene.place.boxes.flatMap((box) => box.members).find((node) => seen.has(node)) ?? -1;
      this.#describe();
    }
    this.#frame();
  }

  #point(node) {
    if (node < 0) return;
    this.#current = node;
    const { place } = this.#scene;
    this.#camera.reveal(place.x[node], place.y[node], place.pitch);
    this.#describe();
    if (document.activeElement === this.#parts.list) this.#tipAtCurrent();
    this.#frame();
  }

  #tipAtCurrent() {
    const { scale, size, place } = this.#scene;
    const { k, x, y } = this.#camera;
    const node = this.#current;
    const lines = nodeLines(this.#model.rows[node], scale.title, scale.text(node));
    showTip(this.#parts.tip, size, (place.x[node] + place.pitch) * k + x - 8, (place.y[node] + place.pitch) * k + y - 8, lines);
  }

  #describe() {
    const row = this.#model.rows[this.#current];
    const { scale } = this.#scene;
    const text = row && sentence(row, scale.title ? `${scale.title} ${scale.text(this.#current)}` : "");
    describeOption(this.#parts, row?.name, text, this.#order.indexOf(this.#current) + 1, this.#model.numbers.size);
  }

  #key(event) {
    if (!this.#scene) return;
    readKey(event, {
      pan: (dx, dy) => this.#camera.pan(dx, dy),
      move: (dx, dy) => this.#point(nearest(this.#scene, this.#current, dx, dy)),
      first: () => this.#point(this.#order[0] ?? -1),
      last: () => this.#point(this.#order.at(-1) ?? -1),
      zoom: (factor) => this.#zoomAtCurrent(factor),
      fit: () => this.fit(),
      open: () => this.#open(),
      escape: () => this.#unhover(),
    });
  }

  #zoomAtCurrent(factor) {
    const { place } = this.#scene;
    const { k, x, y } = this.#camera;
    const node = this.#current;
    if (node < 0) return this.#camera.zoom(factor);
    return this.#camera.zoom(factor, (place.x[node] + place.pitch / 2) * k + x, (place.y[node] + place.pitch / 2) * k + y);
  }
}

customElements.define("moorage-node-map", NodeMap);
