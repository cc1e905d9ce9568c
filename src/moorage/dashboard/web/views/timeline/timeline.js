/** Shows the view "Timeline". */
import { h, replace } from "../../lib/dom.js";

export class TimelineView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "Timeline"));
  }
}

customElements.define("moorage-timeline", TimelineView);
