/** Shows the map of the nodes with what an answer changes: `overlay(overlayOf(…))`, or null for the cluster as it is. */
import { h } from "../../lib/dom.js";
import { changedNodes } from "./overlay.js";
import { cluster } from "../../lib/cluster.js";

export function whatIfMap() {
  const map = document.createElement("moorage-node-map");
  const element = h("div", { class: "what-if-map" }, map);
  return {
    element,
    overlay(overlay) {
      map.setOverlay?.(overlay);
    },
    changed(changes) {
      return changedNodes(changes, cluster.nodes);
    },
  };
}
