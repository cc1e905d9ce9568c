/**
 * Follows the pointer and the keys: which node or pod is meant, what is told of it, and what opens.
 *
 * Keys: arrows move between tiles, Enter opens the node, Space goes to its pods. There arrows move between pods, Enter opens
 * the pod, Escape and Space go back to the node. + − 0 zoom, Shift and arrows pan.
 */
import { nodeLines, podLines, podSentence, sentence } from "./around/describe.js";
import { describeOption, showTip } from "./around/furniture.js";
import { readKey } from "./keys.js";
import { tileAt, visible } from "./paint/places.js";
import { nearest, nearestPod, nodeAt, podAt, podBox } from "./seek.js";

/** Pods of a smaller tile cannot be told apart: it is brought nearer before keys go to them. */
const LEAST_TILE = 150;

export class Pointing {
  current = -1;
  #pod = "";
  #hovered = { node: -1, pod: -1 };

  /** `map` has scene(), order(), parts, camera, frame(), openNode(name), openPod(key). */
  constructor(map) {
    this.map = map;
  }

  get #model() {
    return this.map.scene()?.model;
  }

  /** The number of the pod that keys are at; -1 where they are at a node. */
  get #at() {
    const number = this.#pod ? this.#model?.podNumbers.get(this.#pod) : undefined;
    return number !== undefined && this.#model.podNode[number] === this.current ? number : -1;
  }

  get #focused() {
    return document.activeElement === this.map.parts.list;
  }

  /** Boxes to outline: [{x, y, w, h}, width of the line]. */
  outlines(scene) {
    const list = [];
    const { node, pod } = this.#hovered;
    const around = (number) => scene.model.rows[number] && tileAt(scene, number);
    if (node >= 0 && pod < 0 && around(node)) list.push([around(node), 1.5]);
    if (pod >= 0) list.push([deviceBox(scene, pod), 1]);
    if (this.current >= 0 && this.#focused) {
      const at = this.#at;
      if (around(this.current)) list.push([around(this.current), at >= 0 ? 1 : 2.5]);
      if (at >= 0) list.push([deviceBox(scene, at), 2]);
    }
    return list.filter(([box]) => box);
  }

  /** Forgets numbers, which mean other nodes and pods now. */
  renumber(current) {
    this.current = current;
    this.#hovered = { node: -1, pod: -1 };
  }

  click(x, y, { pointerType = "mouse" } = {}) {
    const scene = this.map.scene();
    const node = scene ? nodeAt(scene, x, y) : -1;
    if (node < 0) return;
    this.current = node;
    const pod = podAt(scene, node, x, y, pointerType);
    if (pod >= 0) this.map.openPod(scene.model.pods[pod].key);
    else this.#open();
  }

  hover(x, y, event) {
    const scene = this.map.scene();
    if (!scene || event.pointerType === "touch") return;
    const node = nodeAt(scene, x, y);
    const pod = podAt(scene, node, x, y);
    this.map.parts.list.classList.toggle("over", node >= 0);
    if (node < 0) {
      this.leave();
      return;
    }
    showTip(this.map.parts.tip, scene.size, x, y, this.#lines(scene, node, pod));
    if (node === this.#hovered.node && pod === this.#hovered.pod) return;
    this.#hovered = { node, pod };
    this.map.frame();
  }

  /** Says whether there was anything to hide. */
  leave() {
    const { tip } = this.map.parts;
    const shown = !tip.hidden;
    tip.hidden = true;
    if (this.#hovered.node >= 0) this.map.frame();
    this.#hovered = { node: -1, pod: -1 };
    return shown;
  }

  focus() {
    const scene = this.map.scene();
    if (!this.#focused) this.leave();
    else if (this.current < 0 && scene) {
      // One that is in sight already: a press of the mouse must not move the map.
      const seen = new Set(visible(scene));
      this.current = scene.place.boxes.flatMap((box) => box.members).find((node) => seen.has(node)) ?? -1;
      this.describe();
    }
    this.map.frame();
  }

  key(event) {
    const scene = this.map.scene();
    if (!scene) return;
    const at = this.#at;
    const { camera } = this.map;
    const order = this.map.order();
    const inPods = at >= 0;
    readKey(event, {
      pan: (dx, dy) => camera.pan(dx, dy),
      move: (dx, dy) => (inPods ? this.#pointAtPod(nearestPod(scene, at, dx, dy)) : this.point(nearest(scene, this.current, dx, dy))),
      first: () => (inPods ? this.#pointAtPod(pods(scene, this.current)[0]) : this.point(order[0] ?? -1)),
      last: () => (inPods ? this.#pointAtPod(pods(scene, this.current).at(-1)) : this.point(order.at(-1) ?? -1)),
      zoom: (factor) => this.#zoomAtCurrent(factor),
      fit: () => camera.fit(),
      open: () => (inPods ? this.map.openPod(scene.model.pods[at].key) : this.#open()),
      enter: () => (inPods ? this.point(this.current) : this.#enter()),
      escape: () => {
        if (!inPods) return this.leave();
        this.point(this.current);
        return true;
      },
    });
  }

  /** Goes to a node: it is in sight then, and described. */
  point(node) {
    if (node < 0) return;
    this.current = node;
    this.#pod = "";
    const { place } = this.map.scene();
    this.map.camera.reveal(place.x[node], place.y[node], place.wide, place.tall);
    this.describe();
    if (this.#focused) this.#tip();
    this.map.frame();
  }

  describe() {
    const scene = this.map.scene();
    const { parts } = this.map;
    const order = this.map.order();
    const { model, scale } = scene;
    const row = model.rows[this.current];
    const at = this.#at;
    if (at >= 0) {
      const all = pods(scene, this.current);
      describeOption(parts, row.name, podSentence(model.pods[at], row.name), all.indexOf(at) + 1, all.length, this.#pod);
      return;
    }
    const text = row && sentence(row, scale.title ? `${scale.title} ${scale.text(this.current)}` : "");
    describeOption(parts, row?.name, text, order.indexOf(this.current) + 1, model.numbers.size);
  }

  #enter() {
    const scene = this.map.scene();
    const first = this.current < 0 ? undefined : pods(scene, this.current)[0];
    if (first === undefined) return;
    const shown = Math.min(scene.place.wide, scene.place.tall) * this.map.camera.k;
    if (shown < LEAST_TILE) this.#zoomAtCurrent(LEAST_TILE / shown);
    this.#pointAtPod(first);
  }

  #pointAtPod(pod) {
    if (pod === undefined || pod < 0) return;
    const scene = this.map.scene();
    this.#pod = scene.model.pods[pod].key;
    const { place } = scene;
    this.map.camera.reveal(place.x[this.current], place.y[this.current], place.wide, place.tall);
    this.describe();
    this.#tip();
    this.map.frame();
  }

  #open() {
    const row = this.#model.rows[this.current];
    if (row) this.map.openNode(row.name);
  }

  #lines(scene, node, pod) {
    const { model, overlay, scale } = scene;
    return pod >= 0 ? podLines(model.pods[pod], overlay) : nodeLines(model.rows[node], scale.title, scale.text(node));
  }

  #tip() {
    const scene = this.map.scene();
    const { place, size } = scene;
    const { k, x, y } = this.map.camera;
    const at = this.#at;
    const box = at >= 0 ? podBox(scene, at) : null;
    const [right, bottom] = box ? [box.x + box.w, box.y + box.h] : [(place.x[this.current] + place.wide) * k + x - 8, (place.y[this.current] + place.tall) * k + y - 8];
    showTip(this.map.parts.tip, size, right, bottom, this.#lines(scene, this.current, at));
  }

  #zoomAtCurrent(factor) {
    const { place } = this.map.scene();
    const { camera } = this.map;
    const node = this.current;
    if (node < 0) camera.zoom(factor);
    else camera.zoom(factor, (place.x[node] + place.wide / 2) * camera.k + camera.x, (place.y[node] + place.tall / 2) * camera.k + camera.y);
  }
}

function pods({ model }, node) {
  return model.slots[node]?.filter((pod) => pod >= 0) ?? [];
}

function deviceBox(scene, pod) {
  const box = scene.model.pods[pod] && podBox(scene, pod);
  const { ratio } = scene.size;
  return box && { x: box.x * ratio + 1, y: box.y * ratio + 1, w: box.w * ratio - 2, h: box.h * ratio - 2 };
}
