/** Shows the view "Gates". */
import { h, replace } from "../../lib/dom.js";

export class GatesView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "Gates"));
  }
}

customElements.define("moorage-gates", GatesView);
