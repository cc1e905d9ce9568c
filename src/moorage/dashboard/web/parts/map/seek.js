/** Finds the tile or dot at a place, and the tile or dot next to another one. */
import { cellOf, gridOf, tileAt } from "./paint/places.js";

/** Dots are pointed at from this size on; smaller ones belong to their tile. Fingers need more than a mouse. */
const LEAST = { mouse: 11, touch: 20 };

/** The number of the node whose tile is at (x, y) in CSS pixels; -1 where there is none. */
export function nodeAt({ place, camera }, x, y) {
  const wx = (x - camera.x) / camera.k;
  const wy = (y - camera.y) / camera.k;
  for (const box of place.boxes) {
    if (wx < box.x || wy < box.y || wx >= box.x + box.w || wy >= box.y + box.h) continue;
    const first = box.members[0];
    const column = Math.floor((wx - place.x[first]) / place.wide);
    const row = Math.floor((wy - place.y[first]) / place.tall);
    if (column < 0 || column >= box.columns || row < 0) return -1;
    return box.members[row * box.columns + column] ?? -1;
  }
  return -1;
}

/** The number of the pod whose dot or name is at (x, y), if dots are large enough to point at; -1 otherwise. */
export function podAt(scene, node, x, y, pointer = "mouse") {
  if (node < 0) return -1;
  const { model, size } = scene;
  const grid = gridOf(scene, node);
  if (grid.stepY < (LEAST[pointer] ?? LEAST.mouse) * size.ratio) return -1;
  const tile = tileAt(scene, node);
  const column = Math.floor((x * size.ratio - tile.x - grid.left) / grid.stepX);
  const row = Math.floor((y * size.ratio - tile.y - grid.top) / grid.stepY);
  if (column < 0 || column >= grid.columns || row < 0) return -1;
  const slot = row * grid.columns + column;
  return slot < grid.most ? (model.slots[node][slot] ?? -1) : -1;
}

/** The nearest tile to the left, right, above or below; the same where there is none. */
export function nearest({ model, place }, from, dx, dy) {
  if (from < 0 || !model.rows[from]) return place.boxes[0]?.members[0] ?? -1;
  const x = place.x[from];
  const y = place.y[from];
  let best = from;
  let least = Infinity;
  for (let node = 0; node < model.rows.length; node += 1) {
    if (!model.rows[node] || node === from) continue;
    // In tiles, not in pixels: the next one in a row is as near as the next one in a column.
    const across = (place.x[node] - x) / place.wide;
    const down = (place.y[node] - y) / place.tall;
    const ahead = across * dx + down * dy;
    if (!(ahead > 0.4)) continue;
    const far = ahead + (Math.abs(across * dy) + Math.abs(down * dx)) * 3;
    if (far < least) {
      least = far;
      best = node;
    }
  }
  return best;
}

/** The pod beside, above or below another one on the same node; the same where there is none. */
export function nearestPod(scene, pod, dx, dy) {
  const { model } = scene;
  const node = model.podNode[pod];
  if (node < 0) return pod;
  const { columns } = gridOf(scene, node);
  const slots = model.slots[node];
  const step = dx || dy * columns;
  for (let slot = model.podSlot[pod] + step; slot >= 0 && slot < slots.length; slot += step) if (slots[slot] >= 0) return slots[slot];
  return pod;
}

/** Where a pod is on the canvas, in CSS pixels: {x, y, w, h}; null where it is not shown. */
export function podBox(scene, pod) {
  const { model, size } = scene;
  const node = model.podNode[pod];
  const cell = node < 0 ? null : cellOf(scene, node, model.podSlot[pod]);
  return cell && { x: cell.x / size.ratio, y: cell.y / size.ratio, w: cell.w / size.ratio, h: cell.h / size.ratio };
}
