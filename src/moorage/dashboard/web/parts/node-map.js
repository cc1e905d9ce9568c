/**
 * Draws all nodes as tiles with their pods as dots: <moorage-node-map>, for the views that show the cluster as a map.
 *
 *   const map = document.createElement("moorage-node-map");    fills its parent's height; give it a min-height
 *   map.group = "zone";              "none", "zone", "pool", "version", "label:KEY", "taint:KEY"
 *   map.colouring = "resource:cpu";  "none", "resource:NAME", "device:DRIVER", "taint:KEY", "version", "label:KEY",
 *                                    "workload:KIND namespace/name"
 *   map.dotsBy = "workload";         "workload", "namespace", "none"
 *   map.search = "zone=a gpu";       others are dimmed; event "found" has detail {nodes, pods, text: what was understood}
 *   map.groupLinks = ({name, nodes}) => [{text, href}]            what the name of a group leads to
 *   map.addEventListener("open", (event) => event.detail.node)    click or Enter on a tile
 *   map.addEventListener("grouped", (event) => event.detail.groups)    the number of groups, after each layout
 *   map.focusNode("n1"); map.zoom(2); map.fit()
 *
 *   map.setOverlay({leaving: Map(pod key → seconds until eviction), landing: Map(pod key → node name),
 *                   pending: Set(pod keys that would be on no node), nodes: Map(node name → {value, isNew, isGone}),
 *                   anyway: Map(pod key → seconds until it leaves without any change), added: [rows of nodes that there would be]})
 *     paints what would happen over what is: dots that leave are hollow and red, those that leave anyway hollow and grey, where
 *     pods land is a green dot, those that find no node join the line below the map; `nodes` are framed, and with a colouring "taint:KEY" or
 *     "label:KEY" those with a `value` take its colour (null: it would be gone). Every member may be left out. Dots that are new in the overlay
 *     fly once. map.setOverlay(null) shows the cluster as it is.
 *
 * It follows `cluster` by itself. Dots and names of pods open the panel of the pod. Keys: parts/map/pointing.js.
 */
import { cluster } from "../lib/cluster.js";
import { onTheme } from "../lib/colour.js";
import { perFrame, replace } from "../lib/dom.js";
import { count, natural } from "../lib/format.js";
import { known, reading } from "../lib/readings.js";
import { buildParts, sizeCanvases } from "./map/around/furniture.js";
import { Heads } from "./map/around/heads.js";
import { fillLegend } from "./map/around/legend.js";
import { Tray } from "./map/around/tray.js";
import { Camera, gestures } from "./map/camera.js";
import { DotColours } from "./map/dots.js";
import { grouper, groups } from "./map/grouping.js";
import { layout } from "./map/layout.js";
import { Marks } from "./map/marks.js";
import { Model } from "./map/model.js";
import { makeOverlay, placeAdded, touched } from "./map/overlay.js";
import { Flights } from "./map/paint/flights.js";
import { Painter } from "./map/paint/painter.js";
import { anatomy } from "./map/paint/places.js";
import { Tween } from "./map/paint/tween.js";
import { Pointing } from "./map/pointing.js";
import { makeScale, split } from "./map/scale.js";
import { podBox } from "./map/seek.js";
import { openPod } from "./pod/link.js";

const SLOW = 200;

export class NodeMap extends HTMLElement {
  #model = new Model();
  #marks = new Marks();
  #dots = new DotColours();
  #heads = new Heads();
  #tray = new Tray();
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
  #level = 0;
  #box = null;
  #drawn = false;
  #stops = [];
  #frame = perFrame(() => this.#draw());
  #camera = new Camera(() => this.#moved());
  #observer = new ResizeObserver(() => this.#resize());
  #parts = {};
  #painter = null;
  #flights = null;
  #pointing = null;

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

  set dotsBy(by) {
    if (by === this.#dots.by) return;
    this.#dots.by = by;
    this.#remark();
  }

  get dotsBy() {
    return this.#dots.by;
  }

  set groupLinks(links) {
    this.#heads.links = links;
  }

  set search(text) {
    if (text === this.#search) return;
    this.#search = text;
    this.#remark();
  }

  setOverlay(overlay) {
    const before = this.#scene?.overlay ?? null;
    const earlier = this.#given;
    this.#given = overlay;
    if (!this.#scene) return;
    if (placeAdded(this.#model, overlay?.added, earlier?.added, cluster)) {
      this.#order = [];
      this.#need.layout = true;
      this.#remark();
      return;
    }
    const next = makeOverlay(overlay, this.#model, before);
    this.#scene.overlay = next;
    this.#flights.rehearse(this.#scene, next?.moves ?? []);
    this.#rescale();
    for (const one of [before, next]) for (const node of touched(one, this.#model)) this.#dirty.add(node);
    this.#tray.show(this.#scene);
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
    this.#pointing.point(number);
    this.#parts.list.focus();
  }

  /** For tests and measurements: where the tile of a node is on the page, {x, y, width, height} in CSS pixels. */
  tile(name) {
    const number = this.#model.numbers.get(name);
    if (number === undefined || !this.#scene) return null;
    const { place } = this.#scene;
    const box = this.#parts.surface.getBoundingClientRect();
    const { k, x, y } = this.#camera;
    return { x: box.left + place.x[number] * k + x, y: box.top + place.y[number] * k + y, width: place.wide * k, height: place.tall * k };
  }

  /** For tests: where the dot of a pod is on the page, {x, y, w, h} in CSS pixels. */
  dot(key) {
    const number = this.#model.podNumbers.get(key);
    const found = number === undefined || !this.#scene ? null : podBox(this.#scene, number);
    const box = this.#parts.surface.getBoundingClientRect();
    return found && { ...found, x: box.left + found.x, y: box.top + found.y };
  }

  #build() {
    const p = buildParts(this.#heads.element, {
      onkey: (event) => this.#pointing.key(event),
      onfocus: () => this.#pointing.focus(),
      zoom: (factor) => this.zoom(factor),
      fit: () => this.fit(),
    });
    this.#parts = p;
    replace(this, p.surface, this.#tray.element, p.foot);
    this.#painter = new Painter(p.base, p.labels);
    this.#flights = new Flights(p.top);
    this.#pointing = new Pointing({
      scene: () => this.#scene,
      order: () => this.#order,
      parts: p,
      camera: this.#camera,
      frame: () => this.#frame(),
      openNode: (node) => this.dispatchEvent(new CustomEvent("open", { detail: { node } })),
      openPod,
    });
    gestures(p.list, this.#camera, {
      onclick: (x, y, event) => this.#pointing.click(x, y, event),
      onhover: (x, y, event) => this.#pointing.hover(x, y, event),
      onleave: () => this.#pointing.leave(),
    });
    p.list.addEventListener("pointerdown", () => this.#heads.close());
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
      this.#dots.some(this.#model, change.pods.keys());
      for (const node of nodes) this.#dirty.add(node);
      if (relayout) this.#order = [];
      if (relayout) this.#scene.stale = true;
      else this.#flights.start(this.#scene, moved);
      if (side !== this.#model.side) this.#need.all = true;
      this.#slowly();
    } else if (change.source) {
      this.#tray.show(this.#scene ?? undefined);
      return;
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
    if (!cluster.loaded) return;
    // A new size asks for a new layout: it is not measured for other frames.
    if (need.load || need.layout || !this.#scene) this.#box = this.#parts.surface.getBoundingClientRect();
    const box = this.#box;
    if (box.width < 40 || box.height < 80) return;
    if (need.load) this.#load();
    if (need.marks) this.#mark();
    if (need.layout) this.#layout(box);
    const scene = this.#scene;
    const { level } = anatomy(scene);
    if (need.slow) this.#rescale();
    else if (level !== this.#level) fillLegend(this.#parts.legend, scene, level > 0);
    this.#level = level;
    if (this.#tween) {
      scene.place = this.#tween.place();
      need.all = true;
      if (this.#tween.done) this.#tween = null;
    }
    if (need.all) this.#heads.show(scene);
    if (need.all) this.#painter.all(scene);
    else if (this.#dirty.size) this.#painter.some(scene, this.#dirty);
    if (!this.#drawn) performance.mark("moorage-map");
    this.#drawn = true;
    if (!need.all && (need.slow || need.names)) this.#painter.names(scene);
    this.#dirty.clear();
    this.#need = {};
    for (const node of this.#flights.draw(scene, this.#pointing.outlines(scene))) this.#dirty.add(node);
    if (this.#tween) this.#need.all = true;
    if (this.#flights.busy || this.#dirty.size || this.#tween) this.#frame();
  }

  #load() {
    if (this.#scene) this.#flights.clear(this.#scene);
    const current = this.#model.rows[this.#pointing.current]?.name;
    this.#model.load(cluster);
    placeAdded(this.#model, this.#given?.added, null, cluster);
    this.#pointing.renumber(this.#model.numbers.get(current) ?? -1);
    this.#order = [];
    this.#mark();
    this.#need.layout = true;
  }

  #mark() {
    const [kind, name] = split(this.#colouring);
    this.#marks.search(this.#search);
    this.#marks.workload = kind === "workload" ? name : "";
    this.#marks.all(this.#model);
    this.#dots.all(this.#model);
  }

  #layout(box) {
    const model = this.#model;
    const { rows } = model;
    if (!this.#order.length) {
      this.#order = [...model.numbers.values()].sort((a, b) => natural(rows[a].name, rows[b].name));
    }
    this.#nameOf = grouper(this.#group, this.#order.map((node) => rows[node]));
    const list = groups(this.#nameOf, rows, this.#order);
    this.#groupNames = rows.map((row) => row && this.#nameOf(row));
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const size = { width: Math.round(box.width), height: Math.round(box.height), ratio };
    const place = layout(list, size.width, size.height, rows.length);
    sizeCanvases(this.#parts, size);
    const before = this.#scene;
    this.#camera.bounds(size, place);
    this.#scene = { model, marks: this.#marks, dots: this.#dots, camera: this.#camera, place, size, scale: before?.scale, overlay: null };
    this.#scene.overlay = makeOverlay(this.#given, model, before?.overlay);
    this.#tween = Tween.between(before, this.#scene);
    this.#rescale();
    this.#need.all = true;
    this.#need.slow = false;
    this.#parts.list.dataset.groups = String(place.boxes.length);
    this.dispatchEvent(new CustomEvent("grouped", { detail: { groups: new Set(this.#groupNames.filter((name) => name !== null)).size } }));
  }

  #rescale() {
    const scene = this.#scene;
    if (!scene) return;
    const before = scene.scale;
    scene.scale = makeScale(this.#colouring, this.#model, scene.overlay?.nodes, (texts) => this.#read(texts));
    const { codes } = scene.scale;
    for (let node = 0; node < codes.length; node += 1) if (codes[node] !== before?.codes[node]) this.#dirty.add(node);
    if (this.#dots.later(this.#model) || this.#model.measure()) this.#need.all = true;
    fillLegend(this.#parts.legend, scene, anatomy(scene).level > 0);
    this.#tray.show(scene);
    const total = this.#model.numbers.size;
    this.#parts.list.setAttribute("aria-label", `${count(total, "node")} by ${scene.scale.title || "group"}`);
    this.#pointing.describe();
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
    this.dispatchEvent(new CustomEvent("found", { detail: { nodes, pods, searching: this.#marks.searching, text: this.#marks.understood(this.#model) } }));
  }

  #moved() {
    this.#need.all = true;
    this.#parts.list.classList.toggle("zoomed", this.#camera.pannable);
    this.#pointing.leave();
    this.#frame();
  }
}

customElements.define("moorage-node-map", NodeMap);
