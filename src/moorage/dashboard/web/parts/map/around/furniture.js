/** Builds the elements of the map: canvases, the list that keys and screen readers use, tools, tip and legend. */
import { freshId, h, replace, setText } from "../../../lib/dom.js";
import { icon } from "../../../lib/icons.js";

const NONE_CHOSEN = "No node is chosen: use the arrow keys";
const KEYS = "Arrow keys move between nodes, Enter opens one. Space goes to its pods: there arrow keys move, Enter opens a pod, Escape goes back.";

export function buildParts(heads, { onkey, onfocus, zoom, fit }) {
  const id = freshId("map");
  const canvas = () => h("canvas", { class: "map-canvas", "aria-hidden": "true" });
  const tool = (name, label, work) => h("button", { class: "icon-button", type: "button", "aria-label": label, title: label, onclick: work }, icon(name));
  const p = { base: canvas(), labels: canvas(), top: canvas() };
  p.option = h("div", { class: "visually-hidden", role: "option", id: `${id}-option`, "aria-selected": "true" }, NONE_CHOSEN);
  p.keys = h("div", { class: "visually-hidden", id: `${id}-keys` }, KEYS);
  p.list = h("div", { class: "map-list", role: "listbox", tabindex: "0", "aria-label": "Nodes", "aria-describedby": p.keys.id, onkeydown: onkey, onfocus, onblur: onfocus }, p.option);
  p.tip = h("div", { class: "map-tip", "aria-hidden": "true", hidden: true });
  p.surface = h("div", { class: "map-surface" }, p.base, p.labels, p.top, p.list, p.keys, heads, p.tip);
  p.legend = h("div", { class: "map-legend", "aria-label": "Legend", role: "group" });
  p.tools = h(
    "div",
    { class: "map-tools", role: "group", "aria-label": "Zoom" },
    tool("minus", "Zoom out", () => zoom(1 / 1.6)),
    tool("plus", "Zoom in", () => zoom(1.6)),
    tool("fit", "Show all", fit),
  );
  p.foot = h("div", { class: "map-foot" }, p.legend, p.tools);
  return p;
}

/** Shows lines in the box beside (x, y), inside of the surface. */
export function showTip(tip, { width, height }, x, y, lines) {
  replace(tip, lines);
  tip.hidden = false;
  const left = x + 16 + tip.offsetWidth > width ? Math.max(4, x - tip.offsetWidth - 12) : x + 16;
  const top = Math.max(4, Math.min(y + 14, height - tip.offsetHeight - 4));
  tip.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
}

/** Describes the node, or the pod of it, that the keys are at to screen readers. */
export function describeOption({ list, option }, name, text, position, total, pod = "") {
  if (!name) {
    list.removeAttribute("aria-activedescendant");
    setText(option, NONE_CHOSEN);
    return;
  }
  setText(option, text);
  option.dataset.node = name;
  option.dataset.pod = pod;
  option.setAttribute("aria-setsize", String(total));
  option.setAttribute("aria-posinset", String(position));
  list.setAttribute("aria-activedescendant", option.id);
}

export function sizeCanvases({ base, labels, top }, { width, height, ratio }) {
  for (const canvas of [base, labels, top]) {
    // Setting a size clears a canvas, the same one too.
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  }
}
