/**
 * Shows the map of the nodes with what an answer changes.
 *
 *   const map = whatIfMap(); map.element; map.changed(changes); map.overlay(overlayOf(…)), or null for what is
 *
 * It is coloured by the value that is moved, and grouped as the reader chooses.
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h } from "../../lib/dom.js";
import { combobox } from "../../parts/combobox.js";
import { groupingOptions } from "../../parts/map/grouping.js";
import { signs } from "../../parts/map/signs.js";
import "../../parts/node-map.js";
import { colouringOf } from "./overlay.js";

export function whatIfMap() {
  const map = h("moorage-node-map", { onopen: (event) => address.go("map", { node: event.detail.node }) });
  const group = combobox({ label: "Group by", onchange: (value) => (map.group = value) });
  const element = h(
    "div",
    { class: "what-if" },
    h(
      "div",
      { class: "what-if-head" },
      group,
      signs({ leaves: "leaves", anyway: "leaves anyway", lands: "lands", frame: "changes", added: "new node", removed: "removed node" }),
    ),
    h("div", { class: "what-if-map" }, map),
  );
  return {
    element,
    overlay: (overlay) => map.setOverlay(overlay),
    changed: (changes) => (map.colouring = colouringOf(changes)),
    /** Offers the groupings of the cluster as it is now. */
    refresh() {
      group.options = groupingOptions([...cluster.nodes.values()]);
      if (group.value) return;
      group.value = ["zone", "pool"].find((one) => group.options.some((option) => option.value === one)) ?? "none";
      map.group = group.value;
    },
  };
}
