/**
 * Says under the header which moment of a saved page is shown, and leads to the others.
 *
 *   const line = new MomentLine(); line.element; line.show("map", moment)
 */
import { address } from "../lib/address.js";
import { h, replace } from "../lib/dom.js";
import { count } from "../lib/format.js";
import { hasMoments, moments, podsIn } from "../lib/moments.js";

export class MomentLine {
  element = h("nav", { class: "moment-line", "aria-label": "Moments of the plan", hidden: true });

  show(view, shown) {
    this.element.hidden = !hasMoments(view);
    if (this.element.hidden) return;
    const links = moments.map((moment) => h("li", {}, this.#link(view, moment, shown)));
    const focused = this.element.querySelector(":focus")?.dataset.moment;
    replace(this.element, h("ul", {}, links));
    this.element.querySelector(`[data-moment="${focused}"]`)?.focus();
  }

  #link(view, moment, shown) {
    const { pod, look, ...params } = address.params;
    return h(
      "a",
      {
        class: "button small",
        href: address.href(view, { ...params, moment: moment === moments.at(-1) ? null : moment.id }),
        "aria-current": moment === shown ? "true" : null,
        dataset: { moment: moment.id },
        title: moment.words,
      },
      `${moment.title}: ${count(podsIn(moment), "pod")}`,
    );
  }
}
