/** Shows whom preemption would evict for a pod, and from where; or why that would not help. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { podLink } from "../../parts/pod/link.js";
import { empty } from "../../parts/states.js";

const MOST = 200;

export function preemption({ explanation }) {
  const found = explanation.preemption;
  if (!found) {
    const why = explanation.feasible
      ? "A node fits without it."
      : explanation.nodes
        ? "The scheduler does not get as far as looking at nodes."
        : "There are no nodes.";
    return empty("Preemption is not considered", why);
  }
  if (!found.victims.length) return empty("Preemption would not help", found.message.replace(/^preemption: /, ""));
  return h(
    "div",
    { class: "stack" },
    h(
      "p",
      { class: "wrap" },
      `The scheduler would evict ${count(found.victims.length, "pod")} from `,
      h("a", { href: address.href("map", { node: found.node }) }, found.node),
      `, all with a priority below ${number(explanation.priority)}.`,
    ),
    found.violations
      ? h("p", {}, chip(`${count(found.violations, "eviction")} against a disruption budget`, "bad"))
      : h("p", {}, chip("no disruption budget is violated", "good")),
    h(
      "table",
      { class: "pending-victims" },
      h("caption", {}, "Pods that would be evicted"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Pod"), h("th", { scope: "col" }, "Node"))),
      h(
        "tbody",
        {},
        found.victims
          .slice(0, MOST)
          .map((pod) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", class: "wrap" }, podLink(pod)),
              h("td", { class: "wrap" }, found.node),
            ),
          ),
      ),
    ),
    found.victims.length > MOST && h("p", { class: "muted" }, `${count(found.victims.length - MOST, "pod")} more`),
  );
}
