/**
 * Shows the outline of the page and how far the server is, until there is a cluster to show.
 *
 *   const skeleton = new Skeleton(); main.append(skeleton.element); skeleton.show(cluster);
 */
import { h, setText } from "../lib/dom.js";
import { announce } from "../lib/notice.js";
import { progressText } from "../lib/waiting.js";

const TILES = 24;

export class Skeleton {
  #text = h("p", { class: "skeleton-text" }, "Connecting…");
  #phase = "";
  #bar = h("progress", { class: "skeleton-bar", "aria-label": "Progress", hidden: true });
  element = h(
    "div",
    { class: "skeleton" },
    h("div", { class: "skeleton-head" }, h("h1", {}, "Reading the cluster"), this.#text, this.#bar),
    h("div", { class: "skeleton-tiles", "aria-hidden": "true" }, Array.from({ length: TILES }, () => h("span"))),
  );

  show({ loaded, progress }) {
    if (loaded) return;
    setText(this.#text, progress ? `${progressText(progress)}…` : "Connecting…");
    this.#bar.hidden = !progress;
    if (!progress) return;
    // Numbers that change all the time are not for screen readers.
    if (progress.phase !== this.#phase) announce(progress.phase);
    this.#phase = progress.phase;
    // Without a value it is a bar that only moves.
    if (progress.total) {
      this.#bar.max = progress.total;
      this.#bar.value = progress.done;
    } else this.#bar.removeAttribute("value");
  }
}
