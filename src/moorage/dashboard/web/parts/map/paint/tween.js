/** Slides tiles from one layout to another. */
import { calm } from "../../../lib/dom.js";

const MILLISECONDS = 350;

export class Tween {
  /** Returns null where nothing should slide: no layout before, another size, or a reader who wants less motion. */
  static between(before, after) {
    if (!before || calm()) return null;
    const same = before.size.width === after.size.width && before.size.height === after.size.height;
    return same ? new Tween(before.place, after.place) : null;
  }

  constructor(from, to) {
    this.from = from;
    this.to = to;
    this.start = performance.now();
    this.done = false;
  }

  /** The layout as it is now. */
  place(now = performance.now()) {
    const { from, to } = this;
    const share = (now - this.start) / MILLISECONDS;
    this.done = share >= 1;
    if (this.done) return to;
    const eased = 1 - (1 - Math.max(0, share)) ** 3;
    const blend = (a, b) => b.map((end, at) => (a[at] >= 0 ? a[at] + (end - a[at]) * eased : end));
    return { ...to, x: blend(from.x, to.x), y: blend(from.y, to.y), wide: from.wide + (to.wide - from.wide) * eased, tall: from.tall + (to.tall - from.tall) * eased };
  }
}
