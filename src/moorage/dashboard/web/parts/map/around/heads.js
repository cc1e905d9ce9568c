/**
 * Shows the names of groups over their boxes. With links a name opens a short list of them.
 *
 *   const heads = new Heads(); heads.element
 *   heads.links = (group) => [{text, href}]     group: {name, nodes: [names]}
 *   heads.show(scene)                           where the boxes are now
 */
import { h, replace, setText } from "../../../lib/dom.js";
import { number } from "../../../lib/format.js";
import { icon } from "../../../lib/icons.js";
import { HEAD } from "../layout.js";

const NARROWEST = 30;
/** Lists open upwards from here to the lower edge. */
const LOW = 110;

export class Heads {
  links = null;
  #shown = new Map();

  constructor() {
    this.element = h("div", { class: "map-heads" });
    this.element.addEventListener("keydown", (event) => {
      const open = event.key === "Escape" && this.element.querySelector("details[open]");
      if (!open) return;
      open.open = false;
      open.querySelector("summary").focus();
    });
    this.element.addEventListener("focusout", ({ relatedTarget }) => {
      const open = this.element.querySelector("details[open]");
      if (open && relatedTarget && !open.contains(relatedTarget)) open.open = false;
    });
  }

  /** Closes lists that are open. */
  close() {
    for (const open of this.element.querySelectorAll("details[open]")) open.open = false;
  }

  show({ place, camera, size, model }) {
    const before = this.#shown;
    this.#shown = new Map();
    for (const box of place.boxes) {
      const x = box.x * camera.k + camera.x;
      const y = box.y * camera.k + camera.y;
      const [w, tall] = [box.w * camera.k, box.h * camera.k];
      const left = Math.max(x, 0);
      const room = Math.min(x + w, size.width) - left;
      if (room < NARROWEST || y + tall < 0 || y > size.height) continue;
      // The name stays in sight while any of its group is.
      const top = Math.max(y + HEAD * (camera.k - 1), Math.min(0, y + tall - HEAD));
      const head = before.get(box.name) ?? this.#make();
      before.delete(box.name);
      this.#shown.set(box.name, head);
      head.box = box;
      head.model = model;
      setText(head.name, box.name);
      setText(head.count, number(box.count));
      head.element.classList.toggle("over", top > y + HEAD * (camera.k - 1));
      head.element.classList.toggle("low", top > size.height - LOW);
      head.element.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
      head.element.style.setProperty("width", `${Math.round(room)}px`);
      if (!head.element.isConnected) this.element.append(head.element);
    }
    for (const head of before.values()) head.element.remove();
  }

  #make() {
    const head = { box: null, model: null, name: h("span", { class: "map-group-name cut" }), count: h("span", { class: "muted nums" }) };
    if (!this.links) {
      head.element = h("div", { class: "map-group" }, h("span", { class: "map-group-line" }, head.name, head.count));
      return head;
    }
    const list = h("ul", { class: "map-group-links" });
    const fill = (event) => {
      if (!event.currentTarget.open) return;
      const group = { name: head.box.name, nodes: head.box.members.map((node) => head.model.rows[node]?.name).filter(Boolean) };
      replace(list, this.links(group).map(({ text, href }) => h("li", {}, h("a", { href }, text))));
    };
    head.element = h("details", { class: "map-group", ontoggle: fill }, h("summary", { class: "map-group-line" }, head.name, head.count, icon("down", { size: 12 })), list);
    return head;
  }
}
