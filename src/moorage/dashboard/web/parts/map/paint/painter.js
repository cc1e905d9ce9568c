/**
 * Paints the map: tiles with their dots into pixels, names over them, what moves on top.
 *
 * A scene is what is painted: {model, place: {x, y, pitch, boxes, …}, camera, scale, marks, overlay, size: {width, height,
 * ratio, tray}}. `marks` has one byte per node and per pod: 1 found by the search, 2 of the chosen workload, 4 moving.
 */
import { colours, inkOn } from "../../../lib/colour.js";
import { number } from "../../../lib/format.js";
import { sharedDomain, shorten } from "../names.js";
import { codeColour, mixInks } from "./inks.js";
import { CROSS, HALF, HOLLOW, Raster, RUNNING, SMALL } from "./raster.js";

export const FOUND = 1;
export const CHOSEN = 2;
export const MOVING = 4;
const SHAPES = [RUNNING, HOLLOW, SMALL, CROSS, HALF];
const NAMED = 64;
const TRAY_HEAD = 22;
const WIDEST = 18;

export class Painter {
  raster = new Raster();
  inks = mixInks();

  constructor(base, labels) {
    this.base = base.getContext("2d", { alpha: false });
    this.labels = labels.getContext("2d");
  }

  theme() {
    this.inks = mixInks();
  }

  /** Paints everything. */
  all(scene) {
    const { width, height, ratio, tray } = scene.size;
    const { raster, inks } = this;
    raster.resize(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio)));
    raster.clear(inks.page);
    raster.bottom = Math.round((height - tray) * ratio);
    const seen = visible(scene);
    for (const node of seen) this.#node(scene, node);
    this.#tray(scene);
    this.base.putImageData(raster.image, 0, 0);
    this.names(scene, seen);
  }

  /** Repaints some nodes (-1: the tray). */
  some(scene, nodes) {
    const { raster } = this;
    const few = nodes.size <= 80;
    for (const node of nodes) {
      if (node === -1) {
        this.#tray(scene);
        if (few) this.base.putImageData(raster.image, 0, 0, 0, raster.bottom, raster.width, raster.height - raster.bottom);
      } else if (node >= 0 && scene.model.rows[node]) {
        const { x, y, size } = tileAt(scene, node);
        if (!this.#node(scene, node) || !few) continue;
        const edge = Math.min(size + 2, raster.bottom - y + 1);
        if (edge > 0) this.base.putImageData(raster.image, 0, 0, x - 1, y - 1, size + 2, edge);
      }
    }
    if (!few) this.base.putImageData(raster.image, 0, 0);
  }

  #node(scene, node) {
    const { model, scale, marks, overlay } = scene;
    const { raster, inks } = this;
    const { x, y, size } = tileAt(scene, node);
    if (!(x + size > 0 && y + size > 0 && x < raster.width && y < raster.bottom)) return false;
    const row = model.rows[node];
    const code = scale.codes[node];
    const dim = marks.searching && !(marks.nodes[node] & FOUND);
    const fill = (dim ? inks.dimTile : inks.tile)[code];
    raster.tile(x, y, size, fill);
    if (!row.schedulable) raster.stripes(x, y, size, (dim ? inks.dimStripe : inks.stripe)[code]);
    this.#dots(scene, node, x, y, size, fill, (dim ? inks.dimDot : inks.dot)[code], dim);
    const thick = Math.max(1, Math.round(size / 24));
    if (!row.ready) {
      raster.cross(x, y, size, dim ? inks.dimBad : inks.bad);
      raster.frame(x, y, size, thick, dim ? inks.dimBad : inks.bad);
    }
    if (overlay?.nodes.has(row.name)) raster.frame(x, y, size, size < 16 ? 1 : Math.min(4, thick + 1), inks.mark);
    return true;
  }

  #dots(scene, node, x, y, size, behind, colour, dim) {
    const { model, marks, overlay } = scene;
    const { raster, inks } = this;
    const grid = gridOf(scene, size);
    const slots = model.slots[node];
    const most = grid.side * grid.side;
    const { left, top, pitch, dot, side } = grid;
    // Small dots are many: softer, so that the colour of the tile is what is seen first.
    const usual = dim ? colour : dot <= 2 ? inks.softDot[scene.scale.codes[node]] : colour;
    for (let slot = 0; slot < slots.length && slot < most; slot += 1) {
      const pod = slots[slot];
      if (pod < 0) continue;
      const mark = marks.pods[pod];
      if (mark & MOVING) continue;
      const px = x + left + Math.round((slot % side) * pitch);
      const py = y + top + Math.round(Math.floor(slot / side) * pitch);
      if (overlay?.leaving.has(model.pods[pod].key)) {
        raster.dot(px, py, dot, HOLLOW, inks.bad, behind);
        continue;
      }
      const phase = model.podPhase[pod];
      let ink = usual;
      if (mark) ink = inks.mark;
      else if (dim) ink = colour;
      else if (phase === 1) ink = inks.warn;
      else if (phase >= 3) ink = inks.bad;
      raster.dot(px, py, dot, SHAPES[phase], ink, behind);
    }
    const arrivals = overlay?.arrivals.get(node);
    if (!arrivals) return;
    for (let at = 0; at < arrivals.length && slots.length + at < most; at += 1) {
      const slot = slots.length + at;
      if (overlay.flying.has(arrivals[at])) continue;
      const px = x + left + Math.round((slot % side) * pitch);
      const py = y + top + Math.round(Math.floor(slot / side) * pitch);
      raster.dot(px, py, dot, RUNNING, inks.good, behind);
    }
  }

  /** The strip at the bottom: pods that are on no node, and those that an overlay leaves without one. */
  #tray(scene) {
    const { model, marks, overlay } = scene;
    const { raster, inks } = this;
    const above = raster.bottom;
    raster.bottom = raster.height;
    raster.rect(0, above, raster.width, raster.height - above, inks.surface);
    const more = overlay ? overlay.stranded : [];
    const total = model.tray.length + more.length;
    const grid = trayGrid(scene, total);
    for (let slot = 0; slot < total && slot < grid.most; slot += 1) {
      const pod = slot < model.tray.length ? model.tray[slot] : -2;
      if (pod === -1 || (pod >= 0 && marks.pods[pod] & MOVING)) continue;
      const [x, y] = traySlot(grid, slot);
      if (pod === -2) {
        if (!overlay.flying.has(more[slot - model.tray.length])) raster.dot(x, y, grid.dot, HOLLOW, inks.bad, inks.surface);
      } else raster.dot(x, y, grid.dot, HOLLOW, marks.pods[pod] ? inks.mark : marks.searching ? inks.soft : inks.warn, inks.surface);
    }
    raster.bottom = above;
  }

  /** Names of groups always; names of nodes where tiles are large enough to read them. */
  names(scene, seen = visible(scene)) {
    const { size } = scene;
    const { ratio } = size;
    const context = this.labels;
    const palette = colours();
    const bottom = size.height - size.tray;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.save();
    context.beginPath();
    context.rect(0, 0, size.width, bottom);
    context.clip();
    context.textBaseline = "alphabetic";
    this.#nodeNames(scene, seen, palette);
    this.#groupNames(scene, palette, bottom);
    context.restore();
  }

  #nodeNames({ place, camera, scale, model, marks }, seen, palette) {
    const context = this.labels;
    const tile = place.pitch * camera.k;
    if (tile < NAMED) return;
    const domain = sharedDomain(seen.map((node) => model.rows[node].name));
    for (const node of seen) {
      const x = place.x[node] * camera.k + camera.x;
      const y = place.y[node] * camera.k + camera.y;
      const fill = codeColour(palette, scale.codes[node]);
      context.globalAlpha = marks.searching && !(marks.nodes[node] & FOUND) ? 0.35 : 1;
      context.fillStyle = inkOn(fill);
      context.font = "600 11px ui-monospace, monospace";
      const letters = Math.floor((tile - 14) / 6.7);
      const { name } = model.rows[node];
      context.fillText(shorten(name, letters, domain), x + 6, y + 15);
      if (tile >= 96 && scale.short) {
        context.font = "11px system-ui, sans-serif";
        context.fillText(fit(context, scale.short(node), tile - 14), x + 6, y + 29);
      }
    }
    context.globalAlpha = 1;
  }

  #groupNames({ place, camera, size }, palette, bottom) {
    const context = this.labels;
    for (const box of place.boxes) {
      const x = box.x * camera.k + camera.x;
      const y = box.y * camera.k + camera.y;
      const w = box.w * camera.k;
      if (x + w < 0 || x > size.width || y + box.h * camera.k < 0 || y > bottom) continue;
      const left = Math.max(x, 0) + 6;
      // The name stays in sight while any of its group is.
      const line = Math.max(y + 20 * camera.k - 6, Math.min(14, y + box.h * camera.k - 4));
      const room = x + w - left - 6;
      context.font = "600 12px system-ui, sans-serif";
      const count = number(box.count);
      const name = fit(context, box.name, room - context.measureText(count).width - 8);
      if (line <= 14) {
        context.fillStyle = palette.page;
        context.fillRect(Math.max(0, x), 0, Math.min(w, size.width), 20);
      }
      context.fillStyle = palette.ink;
      context.fillText(name, left, line);
      const after = context.measureText(name).width;
      context.fillStyle = palette.muted;
      context.font = "12px system-ui, sans-serif";
      if (room - after > context.measureText(count).width + 6) context.fillText(count, left + after + 7, line);
    }
  }
}

/** Where the tile of a node is: {x, y, size}. */
export function tileAt({ place, camera, size }, node) {
  const { ratio } = size;
  const x = Math.round((place.x[node] * camera.k + camera.x) * ratio);
  const y = Math.round((place.y[node] * camera.k + camera.y) * ratio);
  const pitch = place.pitch * camera.k * ratio;
  const gap = Math.max(1, Math.min(6 * ratio, Math.round(pitch * 0.09)));
  return { x, y, size: Math.max(2, Math.round(pitch) - gap) };
}

/** Where dots are in a tile: below the name, where it has one. */
export function gridOf({ model, size, place, camera }, tile) {
  const { ratio } = size;
  const shown = place.pitch * camera.k;
  const pad = tile > 24 * ratio ? Math.round(Math.min(6, 1 + tile / (20 * ratio)) * ratio) : 1;
  const head = shown >= 96 ? 38 * ratio : shown >= NAMED ? 18 * ratio : 0;
  const inner = tile - pad * 2;
  const room = Math.min(inner, inner - head + pad);
  // Dots that would touch say nothing: tiles that small show as many as can be told apart.
  const side = Math.max(1, Math.min(model.side, Math.floor((room + 1) / 2)));
  const exact = (room + 1) / side;
  const pitch = exact < 6 ? Math.floor(exact) : Math.min(exact, WIDEST * ratio);
  const dot = Math.max(1, Math.min(12 * ratio, Math.round(pitch * 0.72 - 0.3)));
  return { side, pitch, dot, left: pad, top: pad + Math.round(head ? head - pad : 0) };
}

export function trayGrid({ size }, total) {
  const { ratio } = size;
  const width = (size.width - 16) * ratio;
  const height = (size.tray - TRAY_HEAD - 4) * ratio;
  // The raster paints whole pixels only: on screens with a ratio such as 1.5 nothing may lie between two.
  let pitch = Math.floor(9 * ratio);
  while (pitch > 2 && Math.floor(width / pitch) * Math.floor(height / pitch) < total) pitch -= 1;
  const columns = Math.max(1, Math.floor(width / pitch));
  const rows = Math.max(1, Math.floor(height / pitch));
  const top = Math.round((size.height - size.tray + TRAY_HEAD) * ratio);
  return { columns, pitch, most: columns * rows, left: Math.round(8 * ratio), top, dot: Math.max(1, Math.floor(pitch * 0.75)) };
}

export function traySlot(grid, slot) {
  return [grid.left + (slot % grid.columns) * grid.pitch, grid.top + Math.floor(slot / grid.columns) * grid.pitch];
}

/** Where a dot is: [x, y, size]. */
export function dotAt(scene, node, slot) {
  if (node === -1) {
    const grid = trayGrid(scene, scene.model.tray.length + (scene.overlay?.stranded.length ?? 0));
    return [...traySlot(grid, Math.min(slot, grid.most - 1)), grid.dot];
  }
  const { x, y, size } = tileAt(scene, node);
  const { left, top, pitch, dot, side } = gridOf(scene, size);
  const at = Math.min(slot, side * side - 1);
  return [x + left + Math.round((at % side) * pitch), y + top + Math.round(Math.floor(at / side) * pitch), dot];
}

/** Numbers of the nodes whose tiles are in sight. */
export function visible({ model, place, camera, size }) {
  const right = (size.width - camera.x) / camera.k;
  const bottom = (size.height - size.tray - camera.y) / camera.k;
  const left = -camera.x / camera.k - place.pitch;
  const top = -camera.y / camera.k - place.pitch;
  const found = [];
  for (let node = 0; node < model.rows.length; node += 1) {
    const x = place.x[node];
    const y = place.y[node];
    if (x > left && x < right && y > top && y < bottom && model.rows[node]) found.push(node);
  }
  return found;
}

function fit(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? `${text.slice(0, low)}…` : "";
}
