/**
 * Shows the pods that a NoExecute taint evicts, when, and what follows; and a workload of which that never ends.
 *
 *   leaving([{pod, text, then}]), evictionLoop({workload, everySeconds, because})
 */
import { h } from "../lib/dom.js";
import { count } from "../lib/format.js";

const MOST = 200;

export function leaving(deadlines) {
  if (!deadlines.length) return null;
  const more = deadlines.length - MOST;
  const rows = deadlines.slice(0, MOST).map(({ pod, text, then }) => h("li", { class: "wrap" }, h("strong", {}, pod), ` ${text}`, then ? h("span", { class: "muted" }, `; then ${then}`) : null));
  return h("div", { class: "leaving" }, h("h3", {}, "Pods that have to leave"), h("ul", { class: "plain" }, rows), more > 0 ? h("p", { class: "muted" }, `and ${count(more, "pod")} more`) : null);
}

export function evictionLoop(loop) {
  if (!loop) return null;
  const often = loop.everySeconds ? `every ${loop.everySeconds.toLocaleString("en-US")} s` : "at once";
  return h("p", { class: "bad wrap pending-deadline" }, `${loop.workload}: evicted again ${often}: ${loop.because}`);
}
