/** Moves dots from one place to another: a few hundred at a time, the others are where they belong at once. */
import { calm } from "../../../lib/dom.js";
import { colours } from "../../../lib/colour.js";
import { MOVING } from "../model.js";
import { dotAt, tileAt } from "./places.js";

const MOST = 500;
const MILLISECONDS = 650;

export class Flights {
  #flying = [];
  #used = false;

  constructor(canvas) {
    this.context = canvas.getContext("2d");
  }

  get busy() {
    return this.#flying.length > 0;
  }

  /** Starts the dots of `moved` ([pod, from node, from slot]). */
  start(scene, moved, now = performance.now()) {
    if (calm()) return;
    for (const [pod, node, slot] of moved) {
      if (this.#flying.length >= MOST) return;
      if (!inSight(scene, node) && !inSight(scene, scene.model.podNode[pod])) continue;
      scene.marks.pods[pod] |= MOVING;
      this.#flying.push({ pod, node, slot, now, key: scene.model.pods[pod].key });
    }
  }

  /** Starts the dots that an overlay moves: [key, from node, from slot, to node, to slot]. */
  rehearse(scene, moves, now = performance.now()) {
    this.#flying = this.#flying.filter((one) => !one.to);
    scene.overlay?.flying.clear();
    if (calm()) return;
    for (const [key, node, slot, toNode, toSlot] of moves) {
      if (this.#flying.length >= MOST) return;
      scene.overlay.flying.add(key);
      this.#flying.push({ key, node, slot, to: [toNode, toSlot], now });
    }
  }

  /** Drops all: the numbers of pods mean others now. */
  clear(scene) {
    for (const { pod, to } of this.#flying) if (!to) scene.marks.pods[pod] &= ~MOVING;
    scene.overlay?.flying.clear();
    this.#flying = [];
  }

  /**
   * Draws what moves, and `outlines`: [{x, y, w, h} on the canvas, width of the line]; returns nodes where a dot has
   * arrived.
   */
  draw(scene, outlines, now = performance.now()) {
    const arrived = new Set();
    const { context } = this;
    const { size, model, marks, overlay } = scene;
    if (this.#used) context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    this.#used = false;
    const palette = colours();
    for (const [box, width] of outlines) {
      this.#used = true;
      const line = width * size.ratio;
      const around = [box.x - line, box.y - line, box.w + line * 2, box.h + line * 2];
      context.lineWidth = line + 2 * size.ratio;
      context.strokeStyle = palette.surface;
      context.strokeRect(...around);
      context.lineWidth = line;
      context.strokeStyle = palette.ink;
      context.strokeRect(...around);
    }
    const rest = [];
    for (const one of this.#flying) {
      const to = one.to ?? [model.podNode[one.pod], model.podSlot[one.pod]];
      const share = (now - one.now) / MILLISECONDS;
      const gone = !one.to && (model.pods[one.pod]?.key !== one.key || to[0] < -1);
      if (share >= 1 || gone || (one.to && !overlay)) {
        if (one.to) overlay?.flying.delete(one.key);
        else marks.pods[one.pod] &= ~MOVING;
        arrived.add(to[0]);
        continue;
      }
      rest.push(one);
      if (share < 0) continue;
      this.#used = true;
      const [x0, y0, size0] = dotAt(scene, one.node, one.slot);
      const [x1, y1, size1] = dotAt(scene, ...to);
      const eased = share * share * (3 - 2 * share);
      const large = Math.max(3 * size.ratio, size0 + (size1 - size0) * eased);
      const x = x0 + (x1 - x0) * eased;
      const y = y0 + (y1 - y0) * eased - Math.sin(share * Math.PI) * Math.min(40 * size.ratio, Math.abs(x1 - x0) / 6);
      context.fillStyle = palette.surface;
      context.fillRect(x - 1, y - 1, large + 2, large + 2);
      context.fillStyle = one.to ? palette.good : palette.mark;
      context.fillRect(x, y, large, large);
    }
    this.#flying = rest;
    return arrived;
  }
}

function inSight(scene, node) {
  if (node === -1) return true;
  if (node < 0) return false;
  const { x, y, w, h } = tileAt(scene, node);
  return x + w > 0 && y + h > 0 && x < scene.size.width * scene.size.ratio && y < scene.size.height * scene.size.ratio;
}
