/**
 * Lays tiles out: the largest square tiles with which all groups fit, each in its own box with a line for its name.
 *
 * layout(groups, width, height, capacity) → {x, y: Float32Array by node number, pitch, boxes: [{name, count, members, x, y, w, h,
 * columns}],
 * width, height}. Several ways to shape the boxes are tried; the one with the largest tiles is taken.
 */

const HEAD = 20;
const PAD = 6;
const GAP = 8;
const SMALLEST = 4;
const LARGEST = 168;
const SHAPES = [0.6, 1, 1.6, 2.5, 4];

export function layout(groups, width, height, capacity) {
  const counts = groups.map((group) => group.members.length);
  const best = choose(counts, Math.max(80, width), Math.max(80, height));
  const x = new Float32Array(capacity).fill(NaN);
  const y = new Float32Array(capacity).fill(NaN);
  const { pitch, boxes } = best;
  groups.forEach((group, index) => {
    const box = boxes[index];
    group.members.forEach((number, at) => {
      x[number] = box.x + PAD + (at % box.columns) * pitch;
      y[number] = box.y + HEAD + Math.floor(at / box.columns) * pitch;
    });
    Object.assign(box, { name: group.name, count: group.members.length, members: group.members });
  });
  return { x, y, pitch, boxes, width: best.width, height: best.height };
}

function choose(counts, width, height) {
  const ways = [wideBands, ...SHAPES.map((shape) => shaped(shape)), ...sideBySide(counts.length)];
  let best = null;
  for (const way of ways) {
    const pitch = largest((size) => pack(counts, size, width, way).height <= height);
    const tall = pack(counts, pitch, width, way).height;
    // Few nodes have the largest tiles either way: then groups are side by side rather than one below the other.
    if (!best || pitch > best.pitch || (pitch === LARGEST && pitch === best.pitch && tall < best.tall)) best = { pitch, way, tall };
  }
  const packed = pack(counts, best.pitch, width, best.way);
  return { pitch: best.pitch, boxes: packed.boxes, width, height: Math.max(height, packed.height) };
}

function largest(fits) {
  let low = SMALLEST;
  let high = LARGEST;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Packs boxes on shelves, left to right. */
function pack(counts, pitch, width, way) {
  const most = Math.max(1, Math.floor((width - PAD * 2) / pitch));
  const boxes = [];
  let left = 0;
  let top = 0;
  let shelf = 0;
  for (const count of counts) {
    const columns = Math.max(1, Math.min(most, way(count, most, pitch, width)));
    const w = columns * pitch + PAD * 2;
    const h = Math.ceil(count / columns) * pitch + HEAD + PAD;
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
