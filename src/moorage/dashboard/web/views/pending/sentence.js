/** Shows the sentence of an explanation; a key that it names shorter is shown whole on hover and to screen readers. */
import { h } from "../../lib/dom.js";

export function sentence({ sentence: text, sentenceKeys: keys = {} }) {
  const parts = [];
  let rest = text;
  for (const [short, key] of Object.entries(keys)) {
    const at = rest.indexOf(short);
    if (at < 0) continue;
    parts.push(rest.slice(0, at), h("abbr", { title: key, tabindex: "0" }, short));
    rest = rest.slice(at + short.length);
  }
  return h("p", { class: "wrap pending-sentence" }, parts, rest);
}
