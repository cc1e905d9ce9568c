/**
 * Zooms and pans: wheel, drag, pinch and double click. Screen = world × k + (x, y), in CSS pixels.
 *
 * At k = 1 the whole map is in sight (or as wide as the element, where it is taller).
 */

const LARGEST_TILE = 360;
/** However large tiles are, they can be looked at more closely. */
const LEAST_ZOOM = 2;
const CLICK = 5;

export class Camera {
  k = 1;
  x = 0;
  y = 0;
  #view = { width: 1, height: 1 };
  #world = { width: 1, height: 1, wide: 10, tall: 10 };

  constructor(onmove) {
    this.onmove = onmove;
  }

  /** Says how large the element and the map are; the place in sight is kept. */
  bounds(view, world) {
    this.#view = view;
    this.#world = world;
    this.#limit();
  }

  get most() {
    return Math.max(LEAST_ZOOM, LARGEST_TILE / Math.min(this.#world.wide, this.#world.tall));
  }

  get zoomed() {
    return this.k > 1.001;
  }

  zoom(factor, x = this.#view.width / 2, y = this.#view.height / 2) {
    const k = Math.max(1, Math.min(this.most, this.k * factor));
    const ratio = k / this.k;
    this.x = x - (x - this.x) * ratio;
    this.y = y - (y - this.y) * ratio;
    this.k = k;
    this.#limit();
    this.onmove();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.#limit();
    this.onmove();
  }

  fit() {
    this.k = 1;
    this.x = 0;
    this.y = 0;
    this.#limit();
    this.onmove();
  }

  /** Pans so that a tile is in sight. */
  reveal(x, y, wide, tall) {
    const left = x * this.k + this.x;
    const top = y * this.k + this.y;
    const dx = left < 4 ? 4 - left : Math.min(0, this.#view.width - 4 - left - wide * this.k);
    const dy = top < 26 ? 26 - top : Math.min(0, this.#view.height - 4 - top - tall * this.k);
    if (dx || dy) this.pan(dx, dy);
  }

  #limit() {
    const w = this.#world.width * this.k;
    const h = this.#world.height * this.k;
    this.x = w <= this.#view.width ? 0 : Math.max(this.#view.width - w, Math.min(0, this.x));
    this.y = h <= this.#view.height ? 0 : Math.max(this.#view.height - h, Math.min(0, this.y));
  }

  /** True where the map is larger than the element, so that a drag has somewhere to go. */
  get pannable() {
    return this.#world.height * this.k > this.#view.height + 1 || this.zoomed;
  }
}

/** Listens on the surface; `onclick(x, y, event)` and `onhover(x, y, event)` get CSS pixels inside of it. */
export function gestures(surface, camera, { onclick, onhover, onleave }) {
  const fingers = new Map();
  let moved = 0;
  let spread = 0;

  const inside = (event) => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  surface.addEventListener(
    "wheel",
    (event) => {
      // Nothing smaller to show: the page may scroll.
      if (event.deltaY > 0 && !camera.zoomed && !event.ctrlKey) return;
      event.preventDefault();
      const pixels = event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY;
      if (event.shiftKey) camera.pan(-pixels - event.deltaX, 0);
      else camera.zoom(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.0022)), ...inside(event));
    },
    { passive: false },
  );

  surface.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, inside(event));
    if (fingers.size === 1) moved = 0;
    spread = distance(fingers);
  });

  surface.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const [x, y] = inside(event);
    if (!before) {
      onhover(x, y, event);
      return;
    }
    fingers.set(event.pointerId, [x, y]);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (moved > CLICK && !surface.hasPointerCapture(event.pointerId)) {
      surface.setPointerCapture(event.pointerId);
      onleave();
    }
    if (fingers.size === 2) {
      const wide = distance(fingers);
      const [one, two] = [...fingers.values()];
      if (spread > 0) camera.zoom(wide / spread, (one[0] + two[0]) / 2, (one[1] + two[1]) / 2);
      spread = wide;
    } else if (fingers.size === 1 && moved > CLICK && camera.pannable) camera.pan(x - before[0], y - before[1]);
  });

  const release = (event) => {
    const known = fingers.delete(event.pointerId);
    spread = 0;
    if (known && event.type === "pointerup" && moved <= CLICK && fingers.size === 0) onclick(...inside(event), event);
  };
  surface.addEventListener("pointerup", release);
  surface.addEventListener("pointercancel", release);
  surface.addEventListener("pointerleave", () => onleave());
}

function distance(fingers) {
  if (fingers.size !== 2) return 0;
  const [one, two] = [...fingers.values()];
  return Math.hypot(one[0] - two[0], one[1] - two[1]);
}
