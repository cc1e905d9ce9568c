/** Shows the view "What if". */
import { h, replace } from "../../lib/dom.js";

export class SliderView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "What if"));
  }
}

customElements.define("moorage-slider", SliderView);
