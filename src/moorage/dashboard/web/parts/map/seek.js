/** Finds the tile or dot at a place, and the tile next to another one. */
import { dotAt, tileAt, trayGrid } from "./paint/painter.js";

/** The number of the node whose tile is at (x, y) in CSS pixels; -1 where there is none. */
export function nodeAt({ place, camera, size }, x, y) {
  if (y > size.height - size.tray) return -1;
  const wx = (x - camera.x) / camera.k;
  const wy = (y - camera.y) / camera.k;
  for (const box of place.boxes) {
    if (wx < box.x || wy < box.y || wx >= box.x + box.w || wy >= box.y + box.h) continue;
    const first = box.members[0];
    const column = Math.floor((wx - place.x[first]) / place.pitch);
    const row = Math.floor((wy - place.y[first]) / place.pitch);
    if (column < 0 || column >= box.columns || row < 0) return -1;
    return box.members[row * box.columns + column] ?? -1;
  }
  return -1;
}

/** The number of the pod whose dot is at (x, y), if dots are large enough to point at; -1 otherwise. */
export function podAt(scene, node, x, y) {
  const { model, size } = scene;
  const px = x * size.ratio;
  const py = y * size.ratio;
  if (node < 0) {
    if (y < size.height - size.tray) return -1;
    const grid = trayGrid(scene, model.tray.length + (scene.overlay?.stranded.length ?? 0));
    const column = Math.floor((px - grid.left) / grid.pitch);
    const row = Math.floor((py - grid.top) / grid.pitch);
    if (column < 0 || column >= grid.columns || row < 0) return -1;
    return model.tray[row * grid.columns + column] ?? -1;
  }
  if (tileAt(scene, node).size < 48 * size.ratio) return -1;
  for (const pod of model.slots[node]) {
    if (pod < 0) continue;
    const [left, top, dot] = dotAt(scene, node, model.podSlot[pod]);
    if (px >= left - 1 && py >= top - 1 && px <= left + dot + 1 && py <= top + dot + 1) return pod;
  }
  return -1;
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
    const ahead = (place.x[node] - x) * dx + (place.y[node] - y) * dy;
    if (!(ahead > place.pitch * 0.4)) continue;
    const aside = Math.abs((place.x[node] - x) * dy) + Math.abs((place.y[node] - y) * dx);
    const far = ahead + aside * 3;
    if (far < least) {
      least = far;
      best = node;
    }
  }
  return best;
}
