/** Shows the view "Why pending". */
import { h, replace } from "../../lib/dom.js";

export class PendingView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "Why pending"));
  }
}

customElements.define("moorage-pending", PendingView);
