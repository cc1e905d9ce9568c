/**
 * Tells the reader things: `announce` speaks to screen readers, `problem` shows a line at the bottom of the page.
 *
 *   announce("12 nodes match")
 *   const clear = problem("changes", "The server does not answer: trying again in 2 s");   … clear() when it is over
 *
 * One line per subject; a line without `stay` goes away by itself.
 */
import { setText } from "./dom.js";

const SECONDS = 8;
const lines = new Map();

export function announce(text) {
  const live = document.getElementById("live");
  if (!live) return;
  // The same sentence twice is only read again if it differs.
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

export function problem(subject, text, { stay = false } = {}) {
  clearTimeout(lines.get(subject)?.timer);
  lines.delete(subject);
  lines.set(subject, { text, timer: stay ? 0 : setTimeout(() => clear(subject), SECONDS * 1000) });
  show();
  return () => clear(subject);
}

export function clear(subject) {
  const line = lines.get(subject);
  if (!line) return;
  clearTimeout(line.timer);
  lines.delete(subject);
  show();
}

function show() {
  const element = document.getElementById("problem");
  if (!element) return;
  const last = [...lines.values()].at(-1);
  element.hidden = !last;
  setText(element, last?.text ?? "");
}
