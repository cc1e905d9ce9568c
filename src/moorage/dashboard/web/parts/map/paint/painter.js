/**
 * Paints the map: tiles with their dots into pixels, names over them, what moves on top.
 *
 * A scene is what is painted: {model, place: {x, y, wide, tall, boxes, …}, camera, scale, marks, dots, overlay, size:
 * {width, height, ratio}}. `marks` has one byte per node and per pod: 1 found by the search, 2 of the chosen workload, 4
 * moving. `dots` has a colour code per pod.
 */
import { CHOSEN, FOUND, MOVING } from "../model.js";
import { mixInks } from "./inks.js";
import { Lettering } from "./lettering.js";
import { anatomy, dotIn, gridOf, tileAt, visible } from "./places.js";
import { CROSS, HALF, HOLLOW, Raster, RUNNING, SMALL } from "./raster.js";

const SHAPES = [RUNNING, HOLLOW, SMALL, CROSS, HALF];

export class Painter {
  raster = new Raster();
  inks = mixInks();

  constructor(base, labels) {
    this.base = base.getContext("2d", { alpha: false });
    this.lettering = new Lettering(labels.getContext("2d"));
  }

  theme() {
    this.inks = mixInks();
  }

  /** Paints everything. */
  all(scene) {
    const { width, height, ratio } = scene.size;
    const { raster, inks } = this;
    raster.resize(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio)));
    raster.clear(inks.page);
    const seen = visible(scene);
    for (const node of seen) this.#node(scene, node);
    this.base.putImageData(raster.image, 0, 0);
    this.lettering.all(scene, seen);
  }

  /** Repaints some nodes. */
  some(scene, nodes) {
    const { raster } = this;
    const few = nodes.size <= 80;
    const named = anatomy(scene).level === 2;
    for (const node of nodes) {
      if (node < 0 || !scene.model.rows[node]) continue;
      const { x, y, w, h } = tileAt(scene, node);
      if (!this.#node(scene, node)) continue;
      if (named) this.lettering.again(scene, node);
      if (!few) continue;
      const edge = Math.min(h + 2, raster.height - y + 1);
      if (edge > 0) this.base.putImageData(raster.image, 0, 0, x - 1, y - 1, w + 2, edge);
    }
    if (!few) this.base.putImageData(raster.image, 0, 0);
  }

  names(scene) {
    if (anatomy(scene).level === 2) this.lettering.all(scene, visible(scene));
  }

  #node(scene, node) {
    const { model, scale, marks, overlay } = scene;
    const { raster, inks } = this;
    const { x, y, w, h } = tileAt(scene, node);
    if (!(x + w > 0 && y + h > 0 && x < raster.width && y < raster.height)) return false;
    const parts = anatomy(scene);
    const { bar, plate, level, band } = parts;
    const row = model.rows[node];
    const code = scale.codes[node];
    const dim = marks.searching && !(marks.nodes[node] & FOUND);
    const fill = (dim ? inks.dimTile : inks.tile)[code];
    const stripe = (dim ? inks.dimStripe : inks.stripe)[code];
    const bad = dim ? inks.dimBad : inks.bad;
    if (level) {
      raster.plated(x, y, w, h, fill, plate, dim ? inks.dimPlate : inks.surface);
      // The name is read on its band: signs are at its end.
      const sign = level === 2 ? Math.min(band, Math.round(w / 4)) : w;
      if (!row.schedulable) raster.stripes(x + w - sign, y, sign, band, stripe);
    } else {
      raster.tile(x, y, w, h, fill);
      if (!row.schedulable) raster.stripes(x, y, w, h, stripe);
    }
    const share = bar ? scale.share(node) : -1;
    if (share >= 0) {
      if (level) raster.rect(x + bar.x, y + bar.y, bar.w, bar.h, (dim ? inks.dimTrack : inks.track)[code]);
      raster.rect(x + bar.x, y + bar.y, Math.round(bar.w * Math.min(1, share)), bar.h, (dim ? inks.dimDot : inks.dot)[code]);
    }
    this.#dots(scene, node, x, y, dim ? inks.dimPlate : level ? inks.surface : fill, dim);
    const least = Math.min(w, h);
    const thick = Math.max(1, Math.round(least / 24));
    if (!row.ready) {
      if (level < 2) raster.cross(x, y, w, h, bad);
      raster.frame(x, y, w, h, Math.min(thick, 4), bad);
    }
    const changed = overlay?.nodes.get(row.name);
    if (changed?.isGone && level < 2) raster.cross(x, y, w, h, bad);
    if (changed) raster.frame(x, y, w, h, least < 16 ? 1 : Math.min(4, thick + 1), changed.isNew ? inks.good : changed.isGone ? bad : inks.mark);
    return true;
  }

  #dots(scene, node, x, y, behind, dim) {
    const { model, marks, overlay, dots, scale } = scene;
    const { raster, inks } = this;
    const grid = gridOf(scene, node);
    const slots = model.slots[node];
    const { dot, columns, stepX, stepY } = grid;
    const [firstX, firstY] = dotIn(grid, 0);
    const right = x + firstX + columns * stepX;
    const shown = Math.min(slots.length, grid.most);
    const plated = anatomy(scene).level > 0;
    const code = scale.codes[node];
    // Small dots are many: softer, so that the colour of the tile is what is seen first.
    const plain = (dim ? inks.dimDot : dot <= 2 ? inks.softDot : inks.dot)[code];
    const pods = dim ? inks.dimPods : inks.pods;
    const { podPhase } = model;
    let left = x + firstX - stepX;
    let top = y + firstY;
    for (let slot = 0; slot < shown; slot += 1) {
      left += stepX;
      if (left === right) {
        left = x + firstX;
        top += stepY;
      }
      const pod = slots[slot];
      if (pod < 0) continue;
      const mark = marks.pods[pod];
      if (mark & MOVING) continue;
      if (overlay?.leaving.has(model.pods[pod].key)) {
        raster.dot(left, top, dot, HOLLOW, inks.bad, behind);
        continue;
      }
      if (overlay?.anyway.has(model.pods[pod].key)) {
        raster.dot(left, top, dot, HOLLOW, inks.muted, behind);
        continue;
      }
      const phase = podPhase[pod];
      const aside = plated && marks.pointsAtPods && !(mark & FOUND);
      let ink = plated ? (aside ? inks.dimPods : pods)[dots.codes[pod]] : plain;
      if (mark & CHOSEN || (mark && !plated)) ink = inks.mark;
      else if (overlay?.landed.has(model.pods[pod].key)) ink = inks.good;
      else if (dim || aside) ink = plated ? ink : plain;
      else if (phase === 1) ink = inks.warn;
      else if (phase >= 3) ink = inks.bad;
      raster.dot(left, top, dot, SHAPES[phase], ink, behind);
    }
    const arrivals = overlay?.arrivals.get(node);
    if (!arrivals) return;
    for (let at = 0; at < arrivals.length && slots.length + at < grid.most; at += 1) {
      if (overlay.flying.has(arrivals[at])) continue;
      const [toX, toY] = dotIn(grid, slots.length + at);
      raster.dot(x + toX, y + toY, dot, RUNNING, inks.good, behind);
    }
  }
}

