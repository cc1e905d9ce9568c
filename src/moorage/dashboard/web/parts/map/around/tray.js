/**
 * Shows pods that are not on a node, below the map: each opens its panel. Few of them have names, more have initials, and
 * past sixty they are a number.
 */
import { address } from "../../../lib/address.js";
import { asOf } from "../../../lib/cluster.js";
import { h, replace, setText } from "../../../lib/dom.js";
import { count } from "../../../lib/format.js";
import { podLink } from "../../pod/link.js";
import { podName, shortWorkload } from "../dots.js";
import { FOUND } from "../model.js";
import { initialsOf } from "../paint/lettering.js";

const MOST_NAMES = 12;
const MOST = 60;

export class Tray {
  #shown = "";

  constructor() {
    this.text = h("a", { class: "map-tray", href: address.href("pending") }, "Pods are being counted");
    this.list = h("ul", { class: "map-waiting", "aria-label": "Pods that are not on a node" });
    this.element = h("div", { class: "map-tray-line" }, this.text, this.list);
  }

  show({ model, marks, overlay } = {}) {
    if (!model) return;
    const stranded = overlay?.stranded ?? [];
    const waiting = model.tray.filter((pod) => pod >= 0);
    setText(this.text, model.podNumbers.size ? trayText(waiting.length, stranded.length, model.astray) : noPods());
    const found = (pod) => (marks.searching ? marks.pods[pod] & FOUND : 1);
    const pods = [...waiting].sort((a, b) => found(b) - found(a)).slice(0, MOST);
    const keys = [...pods.map((pod) => [model.pods[pod], overlay?.pending.has(model.pods[pod].key) ? "stranded" : found(pod) ? "" : "dim"]), ...stranded.slice(0, MOST - pods.length).map((key) => [model.pods[model.podNumbers.get(key)] ?? { key, workload: "" }, "stranded"])];
    const total = waiting.length + stranded.length;
    const small = keys.length > MOST_NAMES;
    const state = `${small} ${total} ${keys.map(([pod, sort]) => pod.key + sort).join(" ")}`;
    if (state === this.#shown) return;
    this.#shown = state;
    const more = total - keys.length;
    this.list.hidden = !keys.length;
    const items = keys.map(([pod, sort]) => h("li", {}, entry(pod, sort, small, model.podNumbers.has(pod.key))));
    if (more > 0) items.push(h("li", {}, h("a", { class: "map-more", href: address.href("pending") }, `and ${count(more, "pod")} more`)));
    replace(this.list, items);
  }
}

function entry(pod, sort, small, exists) {
  const words = small ? initialsOf(shortWorkload(pod) || podName(pod.key)) : podName(pod.key);
  const sign = h("span", { class: "map-waiting-dot", "aria-hidden": "true" }, small ? words : "");
  const content = small ? [sign, h("span", { class: "visually-hidden" }, pod.key)] : [sign, h("span", { class: "cut" }, words)];
  const element = exists ? podLink(pod.key, content) : h("span", {}, content);
  element.title = pod.workload ? `${pod.key} · ${pod.workload}` : pod.key;
  element.classList.add("map-waiting-pod");
  if (small) element.classList.add("small");
  if (sort) element.classList.add(sort);
  return element;
}

function noPods() {
  return asOf() ? `There were no pods ${asOf()}` : "There are no pods";
}

/** What is true of pods that are not on a node; of a cluster that does not answer only what was last seen. */
export function trayText(waiting, stranded, astray = 0) {
  const lost = astray ? `${count(astray, "pod")} on nodes that are not here` : "";
  if (!waiting && !stranded) return lost || (asOf() ? `Every pod was on a node ${asOf()}` : "Every pod is on a node");
  const more = stranded ? `, ${count(stranded, "pod")} more would be` : "";
  return `Not on a node: ${count(waiting, "pod")}${more}${lost && `; ${lost}`}`;
}
