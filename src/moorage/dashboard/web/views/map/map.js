/** Shows the view "Map". */
import { h, replace } from "../../lib/dom.js";

export class MapView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "Map"));
  }
}

customElements.define("moorage-map", MapView);
