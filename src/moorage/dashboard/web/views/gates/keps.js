/**
 * Draws how a live cluster has the KEPs that attach brings: natively, attached, or not at all, and why. The words are
 * those of `moorage gates`; nothing is drawn for files.
 */
import { h } from "../../lib/dom.js";
import { chip } from "../../parts/chips.js";

const KINDS = { native: "good", attached: "info", absent: "", unknown: "warn" };

export function keps(gates, href) {
  if (!gates.keps.length) return null;
  return h(
    "section",
    { class: "panel gate-kep-panel", "aria-label": "Comparisons in this cluster" },
    h(
      "ul",
      { class: "gate-kep-list" },
      gates.keps.map((one) =>
        h(
          "li",
          { class: "gate-kep" },
          h("span", { class: "row" }, chip(one.standing, KINDS[one.standing] ?? ""), " ", h("a", { class: "gate-name", href: href(one.gate) }, one.kep)),
          h("span", { class: "gate-kep-feature" }, one.feature),
          h("span", { class: "gate-kep-why muted" }, one.why),
        ),
      ),
    ),
    gates.kepAdvice ? h("p", { class: "gate-kep-advice muted" }, gates.kepAdvice) : null,
  );
}
