/**
 * Lays tiles out: the largest tiles with which all groups fit, each group in its own box with a line for its name.
 *
 * layout(groups, width, height, capacity) → {x, y: Float32Array by node number, wide, tall (from one tile to the next),
 * boxes: [{name, count, members, x, y, w, h, columns}], width, height}. Several ways to shape the boxes are tried, and the
 * one with the largest tiles is taken. Many tiles are squares; few of them take the shape that fills the frame.
 */

export const HEAD = 26;
const PAD = 6;
const GAP = 8;
const SMALLEST = 4;
const LARGEST = 168;
/** From here on a tile has room for names: then its shape follows the frame. */
const ROOMY = 64;
const WIDEST = 520;
const TALLEST = 420;
/** More than this of a tile is empty anyway. */
const ENOUGH = { wide: 360, tall: 300 };
const SHAPES = [0.6, 1, 1.6, 2.5, 4];
const ASPECTS = [0.7, 0.85, 1, 1.25, 1.6, 2, 2.6, 3.4];

export function layout(groups, width, height, capacity) {
  const counts = groups.map((group) => group.members.length);
  const best = choose(counts, Math.max(80, width), Math.max(80, height));
  const x = new Float32Array(capacity).fill(NaN);
  const y = new Float32Array(capacity).fill(NaN);
  const { wide, tall, boxes } = best;
  groups.forEach((group, index) => {
    const box = boxes[index];
    group.members.forEach((number, at) => {
      x[number] = box.x + PAD + (at % box.columns) * wide;
      y[number] = box.y + HEAD + Math.floor(at / box.columns) * tall;
    });
    Object.assign(box, { name: group.name, count: group.members.length, members: group.members });
  });
  return { x, y, wide, tall, boxes, width: best.width, height: best.height };
}

function choose(counts, width, height) {
  const ways = [wideBands, ...SHAPES.map((shape) => shaped(shape)), ...sideBySide(counts.length)];
  let best = null;
  for (const way of ways) {
    const pitch = largest(SMALLEST, LARGEST, (size) => pack(counts, size, size, width, way).height <= height);
    if (!best || pitch > best.wide) best = { wide: pitch, tall: pitch, way };
  }
  if (best.wide >= ROOMY) best = filling(counts, width, height, ways) ?? best;
  const packed = pack(counts, best.wide, best.tall, width, best.way);
  return { ...best, boxes: packed.boxes, width, height: Math.max(height, packed.height) };
}

/** Tries tiles of other shapes, and stretches the best of them to the edges of the frame. */
function filling(counts, width, height, ways) {
  let best = null;
  for (const way of ways) {
    for (const aspect of ASPECTS) {
      const fits = (tall) => {
        const wide = Math.round(tall * aspect);
        return wide <= Math.min(WIDEST, width - PAD * 2) && pack(counts, wide, tall, width, way).height <= height;
      };
      const tall = largest(ROOMY, TALLEST, fits);
      const wide = Math.round(tall * aspect);
      if (wide < ROOMY || !fits(tall)) continue;
      const score = Math.min(wide, ENOUGH.wide) * Math.min(tall, ENOUGH.tall);
      if (!best || score > best.score) best = { wide, tall, way, score };
    }
  }
  if (!best) return null;
  const { boxes } = pack(counts, best.wide, best.tall, width, best.way);
  let at = 0;
  const way = () => boxes[at++ % boxes.length].columns;
  const same = (wide, tall) => {
    at = 0;
    const packed = pack(counts, wide, tall, width, way);
    return packed.height <= height && packed.boxes.every((box, index) => box.w <= width && box.columns === boxes[index].columns);
  };
  const wide = largest(best.wide, WIDEST, (size) => same(size, best.tall));
  const tall = largest(best.tall, TALLEST, (size) => same(wide, size));
  at = 0;
  return { wide, tall, way };
}

function largest(least, most, fits) {
  let low = least;
  let high = most;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Packs boxes on shelves, left to right. */
function pack(counts, wide, tall, width, way) {
  const most = Math.max(1, Math.floor((width - PAD * 2) / wide));
  const boxes = [];
  let left = 0;
  let top = 0;
  let shelf = 0;
  for (const count of counts) {
    const columns = Math.max(1, Math.min(most, count, way(count, most, wide, width)));
    const w = columns * wide + PAD * 2;
    const h = Math.ceil(count / columns) * tall + HEAD + PAD;
    if (left > 0 && left + w > width) {
      left = 0;
      top += shelf + GAP;
      shelf = 0;
    }
    boxes.push({ x: left, y: top, w, h, columns });
    left += w + GAP;
    shelf = Math.max(shelf, h);
  }
  return { boxes, height: top + shelf };
}

const wideBands = (count, most) => most;

const shaped = (shape) => (count, most, pitch) => {
  // Wide enough for a name, where the tiles of the group alone would not be.
  const forName = Math.ceil(72 / pitch);
  return Math.max(Math.min(count, forName), Math.ceil(Math.sqrt(count * shape)));
};

function sideBySide(groups) {
  const ways = [];
  for (let across = 2; across <= Math.min(groups, 12); across += 1) {
    ways.push((count, most, pitch, width) => Math.floor((width / across - PAD * 2 - GAP) / pitch));
  }
  return ways;
}
