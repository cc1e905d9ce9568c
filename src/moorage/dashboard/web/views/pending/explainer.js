/**
 * Shows the sentence and inequality of one cell beside it: on hover, on focus, and kept open by a tap or Enter.
 *
 *   const explainer = new Explainer(); document.body.append(explainer.element);
 *   explainer.attach(button, () => ({title, nodes: {nodes, count}, reasons: […], details: […], code}))
 *   explainer.close()
 */
import { freshId, h, replace } from "../../lib/dom.js";
import { shownNodes } from "./names.js";

const EDGE = 8;
const UNRESOLVABLE = "UnschedulableAndUnresolvable";

export class Explainer {
  #id = freshId("explainer");
  #owner = null;
  #pinned = false;

  constructor() {
    this.element = h("div", { class: "explainer", id: this.#id, role: "note", hidden: true, onpointerleave: () => this.#leave() });
  }

  attach(button, content) {
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && this.#pinned === false && this.#show(button, content));
    button.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && !this.element.contains(event.relatedTarget)) this.#leave();
    });
    button.addEventListener("focus", () => {
      if (button.matches(":focus-visible")) this.#show(button, content);
    });
    button.addEventListener("blur", (event) => {
      if (!this.element.contains(event.relatedTarget)) this.close();
    });
    button.addEventListener("click", () => {
      if (this.#owner === button && this.#pinned) this.close();
      else {
        this.#show(button, content);
        this.#pinned = true;
      }
    });
    button.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  close() {
    this.#owner?.setAttribute("aria-expanded", "false");
    this.#owner?.removeAttribute("aria-describedby");
    this.#owner = null;
    this.#pinned = false;
    this.element.hidden = true;
  }

  #leave() {
    if (!this.#pinned && document.activeElement !== this.#owner) this.close();
  }

  #show(button, content) {
    if (this.#owner !== button) this.close();
    this.#owner = button;
    const { title, nodes, reasons, details, code } = content();
    replace(
      this.element,
      h("p", { class: "explainer-title" }, title, h("span", { class: "muted" }, ` on ${shownNodes(nodes.nodes, nodes.count)}`)),
      reasons.map((reason) => h("p", { class: "wrap" }, reason)),
      details.length > 0 && h("ul", { class: "explainer-details" }, details.map((one) => h("li", { class: "wrap mono" }, one))),
      h("p", { class: "muted small" }, code === UNRESOLVABLE ? "Evicting pods would not help." : "Evicting pods might help."),
    );
    this.element.hidden = false;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-describedby", this.#id);
    this.#place(button.getBoundingClientRect());
  }

  /** Below the cell, or above it where there is no room; always inside of the window. */
  #place(cell) {
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const left = Math.min(Math.max(EDGE, cell.left), innerWidth - width - EDGE);
    const below = cell.bottom + 4;
    const top = below + height > innerHeight - EDGE ? Math.max(EDGE, cell.top - height - 4) : below;
    this.element.style.setProperty("left", `${left}px`);
    this.element.style.setProperty("top", `${top}px`);
  }
}
