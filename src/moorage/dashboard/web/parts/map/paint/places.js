/**
 * Says where things are on the canvas, in device pixels: tiles, the parts of a tile, and the dots in it.
 *
 * A tile has three looks. Small ones are a square of their colour with dots on it. From 28 pixels on the colour is a band
 * and a frame, and dots lie on a plate of the page's surface, where their colours can be told apart. From 64 pixels on
 * the band has the node's name; pods are named where they fit, else they have initials, else they are plain dots.
 */

export const PLATED = 28;
export const NAMED = 64;
export const DOTS = 0;
export const INITIALS = 1;
export const PILLS = 2;
const WIDEST_DOT = 18;
const PILL = { tall: 24, narrowest: 104, widest: 260, dot: 12 };
const INITIAL = { step: 26, dot: 22 };
/** How many dots a tile has room for: it keeps their size while a few come and go. */
const ROOMS = [6, 9, 12, 16, 25, 36, 64, 100, 144, 256, 400];

/** Where the tile of a node is: {x, y, w, h}. */
export function tileAt(scene, node) {
  const { place, camera, size } = scene;
  const { w, h } = anatomy(scene);
  return {
    x: Math.round((place.x[node] * camera.k + camera.x) * size.ratio),
    y: Math.round((place.y[node] * camera.k + camera.y) * size.ratio),
    w,
    h,
  };
}

/** Thousands of tiles have the same parts: they are found once for a size. */
let last = { wide: 0, tall: 0, k: 0, ratio: 0, parts: null };

/**
 * The parts of every tile: {w, h, level: 0 | 1 | 2, frame, band, text: {name, value, beside} baselines, bar, plate}; `bar` and
 * `plate` are {x, y, w, h} inside of the tile.
 */
export function anatomy({ place: { wide, tall }, camera: { k }, size: { ratio } }) {
  if (last.wide !== wide || last.tall !== tall || last.k !== k || last.ratio !== ratio) last = { wide, tall, k, ratio, parts: dissect(wide * k, tall * k, ratio) };
  return last.parts;
}

function dissect(wide, tall, ratio) {
  const gap = Math.max(1, Math.min(6 * ratio, Math.round(Math.min(wide, tall) * ratio * 0.09)));
  const w = Math.max(2, Math.round(wide * ratio) - gap);
  const h = Math.max(2, Math.round(tall * ratio) - gap);
  const least = Math.min(wide, tall);
  if (least < PLATED) {
    const bar = h >= 8 ? Math.max(1, Math.round(h / 8)) : 0;
    return { w, h, level: 0, frame: 0, band: 0, bar: bar ? { x: 0, y: h - bar, w, h: bar } : null, plate: { x: 1, y: 1, w: w - 2, h: h - 2 - bar } };
  }
  const px = (css) => Math.round(css * ratio);
  const frame = px(2);
  const side = px(least < NAMED ? 3 : 6);
  let band;
  let text = null;
  let bar;
  if (least < NAMED) {
    band = px(Math.max(7, least * 0.2));
    const thick = Math.max(2, Math.round(band * 0.45));
    bar = [Math.round((band - thick) / 2), thick];
  } else if (wide >= 150) {
    [band, text, bar] = [px(30), { name: 15, value: 15, beside: true }, [px(21), px(5)]];
  } else if (tall >= 96) {
    [band, text, bar] = [px(43), { name: 15, value: 29, beside: false }, [px(34), px(5)]];
  } else [band, text, bar] = [px(25), { name: 14, value: 0, beside: false }, [px(18), px(4)]];
  const inside = least < NAMED ? px(1) : px(3);
  const plate = { x: frame, y: band, w: w - frame * 2, h: h - band - frame };
  return {
    ...{ w, h, level: least < NAMED ? 1 : 2, frame, band, text, plate },
    bar: { x: side, y: bar[0], w: w - side * 2, h: bar[1] },
    room: { x: plate.x + inside, y: plate.y + inside, w: plate.w - inside * 2, h: plate.h - inside * 2 },
  };
}

/** Where dots are in the tile of a node: {mode, columns, most, stepX, stepY, dot, left, top}. */
export function gridOf(scene, node) {
  const { model, size, overlay } = scene;
  const parts = anatomy(scene);
  if (parts.level === 0) {
    const rooms = model.side ** 2;
    if (parts.rooms !== rooms) Object.assign(parts, { rooms, grid: plain(parts.plate, rooms, 1) });
    return parts.grid;
  }
  const { ratio } = size;
  const { room } = parts;
  const count = Math.max(model.typical, model.slots[node].length + (overlay?.arrivals.get(node)?.length ?? 0));
  parts.grids ??= new Map();
  let grid = parts.grids.get(count);
  if (!grid) {
    const named = parts.level === 2 ? (pills(room, count, ratio) ?? initials(room, count, ratio)) : null;
    grid = named ?? plain(room, ROOMS.find((one) => one >= count) ?? ROOMS.at(-1), ratio);
    parts.grids.set(count, grid);
  }
  return grid;
}

function pills(room, count, ratio) {
  const tall = Math.round(PILL.tall * ratio);
  const rows = Math.floor((room.h + 2 * ratio) / tall);
  if (rows < 1) return null;
  const columns = Math.max(1, Math.ceil(count / rows));
  if (room.w < PILL.narrowest * ratio * columns * (columns > 1 ? 1 : 0.8)) return null;
  const stepX = Math.floor(Math.min(room.w / columns, PILL.widest * ratio));
  return { mode: PILLS, columns, most: columns * rows, stepX, stepY: tall, dot: Math.round(PILL.dot * ratio), left: room.x, top: room.y };
}

function initials(room, count, ratio) {
  const step = Math.round(INITIAL.step * ratio);
  const columns = Math.floor((room.w + 2 * ratio) / step);
  const rows = Math.floor((room.h + 2 * ratio) / step);
  if (columns * rows < count || columns < 1 || rows < 1) return null;
  return { mode: INITIALS, columns, most: columns * rows, stepX: step, stepY: step, dot: Math.round(INITIAL.dot * ratio), left: room.x, top: room.y };
}

/** Dots that would touch say nothing: tiles that are too small show as many as can be told apart. */
function plain({ x, y, w, h }, rooms, ratio) {
  let step = Math.max(2, Math.min(Math.round(WIDEST_DOT * ratio), Math.floor(Math.sqrt(((w + 1) * (h + 1)) / rooms)) + 1));
  while (step > 2 && Math.floor((w + 1) / step) * Math.floor((h + 1) / step) < rooms) step -= 1;
  const columns = Math.max(1, Math.floor((w + 1) / step));
  const most = columns * Math.max(1, Math.floor((h + 1) / step));
  return { mode: DOTS, columns, most, stepX: step, stepY: step, dot: Math.max(1, Math.round(step * 0.72 - 0.3)), left: x, top: y };
}

/** Where the dot of a slot is in its tile: [x, y], from the corner of the tile. */
export function dotIn(grid, slot) {
  const x = grid.left + (slot % grid.columns) * grid.stepX;
  const y = grid.top + Math.floor(slot / grid.columns) * grid.stepY;
  if (grid.mode === DOTS) return [x, y];
  const inset = Math.floor((grid.stepY - grid.dot) / 2);
  return [x + inset, y + inset];
}

/** Where a dot is on the canvas: [x, y, size]. Pods that are not on a node are below it. */
export function dotAt(scene, node, slot) {
  if (node === -1) {
    const { width, height, ratio } = scene.size;
    const step = INITIAL.step * ratio;
    const columns = Math.max(1, Math.floor((width * ratio) / step));
    return [Math.round((slot % columns) * step), Math.round((height - 8) * ratio), Math.round(8 * ratio)];
  }
  const { x, y } = tileAt(scene, node);
  const grid = gridOf(scene, node);
  const [left, top] = dotIn(grid, Math.min(slot, grid.most - 1));
  return [x + left, y + top, grid.dot];
}

/** The box that belongs to a dot, which the pointer can hit: {x, y, w, h} on the canvas; null where it is not shown. */
export function cellOf(scene, node, slot) {
  const grid = gridOf(scene, node);
  if (slot >= grid.most) return null;
  const { x, y } = tileAt(scene, node);
  return { x: x + grid.left + (slot % grid.columns) * grid.stepX, y: y + grid.top + Math.floor(slot / grid.columns) * grid.stepY, w: grid.stepX, h: grid.stepY };
}

/** Numbers of the nodes whose tiles are in sight. */
export function visible({ model, place, camera, size }) {
  const right = (size.width - camera.x) / camera.k;
  const bottom = (size.height - camera.y) / camera.k;
  const left = -camera.x / camera.k - place.wide;
  const top = -camera.y / camera.k - place.tall;
  const found = [];
  for (let node = 0; node < model.rows.length; node += 1) {
    const x = place.x[node];
    const y = place.y[node];
    if (x > left && x < right && y > top && y < bottom && model.rows[node]) found.push(node);
  }
  return found;
}
