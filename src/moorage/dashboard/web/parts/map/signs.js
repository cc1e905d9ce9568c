/** Explains what is painted over the map: `signs({leaves: "leaves", lands: "lands"})`; names are those of the styles. */
import { h } from "../../lib/dom.js";

export function signs(texts) {
  const entries = Object.entries(texts).map(([name, text]) => h("li", {}, h("span", { class: `map-sign ${name}`, "aria-hidden": "true" }), text));
  return h("ul", { class: "map-signs", "aria-label": "Signs on the map" }, entries);
}
