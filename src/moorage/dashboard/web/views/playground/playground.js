/** Shows the view "Playground". */
import { h, replace } from "../../lib/dom.js";

export class PlaygroundView extends HTMLElement {
  connectedCallback() {
    replace(this, h("h1", {}, "Playground"));
  }
}

customElements.define("moorage-playground", PlaygroundView);
