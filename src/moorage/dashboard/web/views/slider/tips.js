/**
 * Lists changes that do something, each tried on the simulation, to try them with one click.
 *
 *   const tips = new TipList((change) => …); tips.element; const nearest = await tips.read();    null if nothing does anything
 */
import { ask } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";

const MOST = 5;
/** Milliseconds after which the first tip is good enough to begin with. */
const PATIENCE = 4000;

export class TipList {
  #ontry;
  element = h("section", { class: "tips panel", hidden: true, "aria-label": "What would do something" });

  constructor(ontry) {
    this.#ontry = ontry;
  }

  /** Asks for the tips, shows them as they come, and returns the nearest: of a large cluster that of the first ones. */
  async read() {
    try {
      const began = performance.now();
      return await new Promise((resolve, reject) => {
        const onpart = ({ tips, why }) => {
          this.#show(tips, why ?? "");
          if (performance.now() - began > PATIENCE && tips.length) resolve(tips[0]);
        };
        ask("tipping", {}, { onpart }).then((parts) => resolve(parts.at(-1).tips[0] ?? null), reject);
      });
    } catch {
      // Without tips the page works; what is wrong with the server, the question of the what-if will say.
      return null;
    }
  }

  #show(tips, why) {
    this.element.hidden = false;
    const rows = tips.slice(0, MOST).map((tip) =>
      h("li", {}, h("button", { type: "button", class: "tip", onclick: () => this.#ontry(tip.change) }, h("span", {}, tip.sentence), tip.key ? h("span", { class: "muted" }, `${tip.key}, now ${tip.now}`) : null)),
    );
    replace(this.element, h("h2", { class: "tips-title" }, "Try"), rows.length ? h("ul", { class: "tip-list" }, rows) : h("p", { class: "muted" }, `${why}.`));
  }
}
