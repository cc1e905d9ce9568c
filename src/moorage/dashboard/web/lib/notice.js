/**
 * Tells the reader things: `announce` speaks to screen readers, `problem` shows a line in the banner under the header.
 *
 *   announce("12 nodes match")
 *   const over = problem("copy", "The browser did not allow copying.");   … over() when it is no longer so
 *   problem("source", "The cluster does not answer. Look whether it runs:", { stay: true, command: "kubectl cluster-info" });
 *
 * One line per subject, the newest last. A line with `stay` is a standing condition: it goes when it is cleared. Any other
 * can be dismissed, and goes when another view is opened (`clearPassing`). The focus stays where it is.
 */
import { h, replace } from "./dom.js";
import { count } from "./format.js";

const MOST = 3;
const lines = new Map();
let shown = "";

export function announce(text) {
  const live = document.getElementById("live");
  if (!live) return;
  // The same sentence twice is only read again if it differs.
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

export function problem(subject, text, { stay = false, command = "" } = {}) {
  // A line that is there already keeps its place.
  lines.set(subject, { text, stay, command });
  show();
  return () => clear(subject);
}

export function clear(subject) {
  if (lines.delete(subject)) show();
}

/** Removes the lines that are no standing conditions. */
export function clearPassing() {
  for (const [subject, { stay }] of lines) if (!stay) lines.delete(subject);
  show();
}

function show() {
  const element = document.getElementById("problem");
  // The same lines again would be read aloud again.
  const wanted = JSON.stringify([...lines]);
  if (!element || wanted === shown) return;
  shown = wanted;
  element.hidden = lines.size === 0;
  const all = [...lines];
  const listed = all.slice(-MOST).map(([subject, line]) => row(subject, line));
  replace(element, listed, all.length > MOST && h("p", { class: "problem-more" }, `and ${count(all.length - MOST, "more problem")}`));
}

function row(subject, { text, stay, command }) {
  return h(
    "div",
    { class: "problem-line", dataset: { subject } },
    h("p", { class: "problem-text" }, text, command && [" ", h("code", { class: "problem-command" }, command)]),
    !stay && h("button", { class: "button small quiet", type: "button", onclick: () => clear(subject) }, "Dismiss"),
  );
}
