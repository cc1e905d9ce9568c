/**
 * Draws a share of a whole as a bar with its numbers beside it.
 *
 *   bar({label: "cpu", value: 1500, max: 4000, text: "1.5 of 4"})
 *   stacked({label: "score", max: 100, parts: [{name: "NodeResourcesFit", value: 40, colour: "var(--category-0)"}]})
 */
import { h } from "../lib/dom.js";
import { number, percent } from "../lib/format.js";

const CROWDED = 0.9;

export function bar({ label, value, max, text }) {
  const share = max > 0 ? value / max : 0;
  const words = text ?? `${number(value)} of ${number(max)}`;
  return h(
    "div",
    { class: "bar" },
    h("span", { class: "bar-label cut", title: label }, label),
    h(
      "span",
      { class: "bar-track", role: "img", "aria-label": `${label}: ${words}, ${percent(share)}` },
      h("span", {
        class: ["bar-fill", share > 1 ? "over" : share >= CROWDED ? "crowded" : ""],
        style: { width: `${Math.min(100, share * 100)}%` },
      }),
    ),
    h("span", { class: "bar-text nums" }, words),
    h("span", { class: "bar-percent nums" }, max > 0 ? percent(share) : "–"),
  );
}

export function stacked({ label, parts, max, text }) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  const words = parts.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return h(
    "div",
    { class: "bar" },
    h("span", { class: "bar-label cut", title: label }, label),
    h(
      "span",
      { class: "bar-track", role: "img", "aria-label": `${label}: ${words}` },
      parts.map((part, index) =>
        h("span", {
          class: "bar-fill",
          title: `${part.name}: ${number(part.value)}`,
          style: {
            width: `${max > 0 ? Math.min(100, (part.value / max) * 100) : 0}%`,
            background: part.colour ?? `var(--category-${index % 8})`,
          },
        }),
      ),
    ),
    h("span", { class: "bar-text nums" }, text ?? number(total)),
  );
}
