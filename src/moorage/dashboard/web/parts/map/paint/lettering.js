/** Writes names over large tiles: the node's with its value in the band, and its pods' beside their dots or as initials. */
import { colours, inkOn } from "../../../lib/colour.js";
import { podName, shortWorkload } from "../dots.js";
import { CHOSEN, FOUND, MOVING } from "../model.js";
import { sharedDomain, shorten } from "../names.js";
import { codeColour, podColour } from "./inks.js";
import { anatomy, dotIn, gridOf, INITIALS, PILLS, tileAt } from "./places.js";

const FAINT = 0.35;
/** How many texts, letters and initials are kept. */
const MOST_KEPT = 5000;
const HEAD_FONT = "600 12px ui-monospace, monospace";
const VALUE_FONT = "12px system-ui, sans-serif";
const POD_FONT = "12px system-ui, sans-serif";
const INITIALS_FONT = "600 10px system-ui, sans-serif";
const LETTER = 7.3;

export class Lettering {
  #domain = "";
  /** By font, then by text: names are measured for every size of a tile while the map is zoomed. */
  #widths = new Map();
  #initials = new Map();
  #used = false;
  #font = "";
  #style = "";
  #alpha = 1;

  constructor(context) {
    this.context = context;
  }

  /** Writes everything again. */
  all(scene, seen) {
    const { context } = this;
    const { width, height } = scene.size;
    const named = anatomy(scene).level === 2;
    if (!named && !this.#used) return;
    this.#begin(scene);
    context.clearRect(0, 0, width, height);
    this.#used = named;
    if (!named) return;
    this.#domain = sharedDomain(seen.map((node) => scene.model.rows[node].name));
    this.#write(scene, seen);
  }

  /** Writes what stands on one tile again. */
  again(scene, node) {
    const { ratio } = scene.size;
    const { x, y, w, h } = tileAt(scene, node);
    this.#begin(scene);
    this.#used = true;
    this.context.clearRect(x / ratio, y / ratio, w / ratio, h / ratio);
    this.#write(scene, [node]);
  }

  /** The size of a canvas was set perhaps, which forgets everything. */
  #begin({ size: { ratio } }) {
    const { context } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.globalAlpha = this.#alpha = 1;
    this.#font = this.#style = "";
  }

  /** One font after the other: to change it costs more than to write a word. */
  #write(scene, nodes) {
    const { ratio } = scene.size;
    const { text, w } = anatomy(scene);
    const palette = colours();
    const tiles = nodes.map((node) => {
      const { x, y } = tileAt(scene, node);
      const faint = scene.marks.searching && !(scene.marks.nodes[node] & FOUND);
      return { node, x: x / ratio, y: y / ratio, room: w / ratio - 14, alpha: faint ? FAINT : 1, ink: inkOn(codeColour(palette, scene.scale.codes[node])) };
    });
    if (text.value) for (const tile of tiles) this.#value(scene, tile, text, w / ratio);
    for (const tile of tiles) this.#name(scene, tile, text);
    for (const tile of tiles) this.#pods(scene, tile, palette);
  }

  #value({ model, scale }, tile, text, wide) {
    const { ready, schedulable } = model.rows[tile.node];
    const state = ready ? (schedulable ? "" : "cordoned") : "not ready";
    const short = scale.short?.(tile.node) ?? "";
    const value = state && short ? `${state} · ${short}` : state || short;
    this.#use(VALUE_FONT, tile.ink, tile.alpha);
    const shown = this.#fit(value, text.beside ? tile.room * 0.5 : tile.room);
    if (!shown) return;
    const right = this.#width(shown);
    this.context.fillText(shown, text.beside ? tile.x + wide - 7 - right : tile.x + 7, tile.y + text.value);
    if (text.beside) tile.room -= right + 8;
  }

  #name({ model }, { node, x, y, room, alpha, ink }, text) {
    this.#use(HEAD_FONT, ink, alpha);
    this.context.fillText(shorten(model.rows[node].name, Math.floor(room / LETTER), this.#domain), x + 7, y + text.name);
  }

  #pods(scene, { node, x, y, alpha }, palette) {
    const { model, overlay, marks } = scene;
    const grid = gridOf(scene, node);
    if (grid.mode !== PILLS && grid.mode !== INITIALS) return;
    const slots = model.slots[node];
    const most = Math.min(slots.length, grid.most);
    for (let slot = 0; slot < most; slot += 1) {
      const pod = slots[slot];
      if (pod < 0 || marks.pods[pod] & MOVING) continue;
      const { key } = model.pods[pod];
      const ink = overlay?.leaving.has(key) ? palette.bad : overlay?.anyway.has(key) ? palette.muted : palette.ink;
      const shade = marks.pointsAtPods && !(marks.pods[pod] & FOUND) ? FAINT : alpha;
      if (grid.mode === PILLS) this.#pill(scene, grid, slot, x, y, model.pods[pod], ink, shade);
      else if (ink === palette.ink) this.#letters(scene, grid, slot, x, y, pod, palette, shade);
    }
    if (grid.mode !== PILLS) return;
    const arrivals = overlay?.arrivals.get(node) ?? [];
    arrivals.forEach((key, at) => {
      const slot = slots.length + at;
      if (slot >= grid.most || overlay.flying.has(key)) return;
      const known = model.podNumbers.get(key);
      this.#pill(scene, grid, slot, x, y, known === undefined ? { key, workload: "" } : model.pods[known], palette.good, alpha);
    });
  }

  #pill({ size: { ratio } }, grid, slot, x, y, pod, ink, alpha) {
    const [left, top] = dotIn(grid, slot);
    const dot = grid.dot / ratio;
    this.#use(POD_FONT, ink, alpha);
    const room = grid.stepX / ratio - dot - 14;
    const name = podName(pod.key);
    const short = shortWorkload(pod);
    // A whole name, or the workload's: what a cut name begins with is the same for all of its pods.
    const shown = this.#width(name) <= room || !short ? this.#fit(name, room) : this.#fit(short, room);
    this.context.fillText(shown, x + left / ratio + dot + 5, y + top / ratio + dot / 2 + 4);
  }

  /** Only filled dots have room for letters. */
  #letters(scene, grid, slot, x, y, number, palette, alpha) {
    const { model, marks, dots, size } = scene;
    if (model.podPhase[number] !== 0 || marks.pods[number] & CHOSEN) return;
    const [left, top] = dotIn(grid, slot);
    const dot = grid.dot / size.ratio;
    const pod = model.pods[number];
    this.#use(INITIALS_FONT, inkOn(podColour(palette, dots.codes[number])), alpha);
    const letters = kept(this.#initials, pod.workload || pod.key, () => initialsOf(shortWorkload(pod) || podName(pod.key)));
    this.context.fillText(letters, x + left / size.ratio + (dot - this.#width(letters)) / 2, y + top / size.ratio + dot / 2 + 3.5);
  }

  #use(font, style, alpha) {
    const { context } = this;
    if (font !== this.#font) context.font = this.#font = font;
    if (style !== this.#style) context.fillStyle = this.#style = style;
    if (alpha !== this.#alpha) context.globalAlpha = this.#alpha = alpha;
  }

  #width(text) {
    const widths = kept(this.#widths, this.#font, () => new Map());
    return kept(widths, text, () => {
      if (text.length === 1) return this.context.measureText(text).width;
      let width = 0;
      for (const letter of text) width += this.#letter(letter);
      return width;
    });
  }

  #letter(letter) {
    return letter.length === 1 ? this.#width(letter) : this.context.measureText(letter).width;
  }

  #fit(text, room) {
    if (this.#width(text) <= room) return text;
    let left = room - this.#letter("…");
    let shown = "";
    for (const letter of text) {
      left -= this.#letter(letter);
      if (left < 0) break;
      shown += letter;
    }
    return shown ? `${shown}…` : "";
  }
}

/** The value of a key, made where there is none; all are forgotten when there are too many. */
function kept(map, key, make) {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    if (map.size >= MOST_KEPT) map.clear();
    map.set(key, value);
  }
  return value;
}

/** Two letters for a name: "node-exporter" → "ne", "web" → "we". */
export function initialsOf(name) {
  const words = name.split(/[-_.]+/).filter(Boolean);
  if (words.length > 1) return `${words[0][0]}${words[1][0]}`;
  return (words[0] ?? "").slice(0, 2);
}
