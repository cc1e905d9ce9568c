/** Puts the number of pods that wait for a node into the navigation, beside "Why pending", and into the page's title. */
import { h, setText } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { tally } from "./tally.js";

/** Above this, the exact number would be wider than the word beside it. */
const MOST_SHOWN = 999;

/** `link` is the view's link in the navigation; `onnumber` gets each new number. */
export function showWaiting(link, onnumber) {
  const shown = h("span", {});
  const spoken = h("span", { class: "visually-hidden" });
  const badge = h("span", { class: "nav-badge nums", hidden: true }, shown, spoken);
  link.append(badge);
  let last = 0;
  const show = () => {
    const waiting = tally.waiting.size;
    if (waiting === last) return;
    last = waiting;
    badge.hidden = waiting === 0;
    setText(shown, waiting > MOST_SHOWN ? `${number(MOST_SHOWN)}+` : number(waiting));
    setText(spoken, waiting === 1 ? "pod waits for a node" : "pods wait for a node");
    badge.title = `${count(waiting, "pod")} ${waiting === 1 ? "waits" : "wait"} for a node`;
    onnumber(waiting);
  };
  tally.subscribe(show);
  show();
}
