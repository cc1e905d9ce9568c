/** Lists HorizontalPodAutoscalers: replicas, metrics, conditions, and why one does not scale. */
import { h } from "../../lib/dom.js";
import { ago, count, number } from "../../lib/format.js";
import { empty } from "../../parts/states.js";

export function horizontalPanel({ rows, leftOut, played }) {
  if (!rows.length) return empty("No HorizontalPodAutoscaler", "Those among the files, or in the cluster, appear here.");
  return [
    h("div", { class: "panel-head" }, h("h2", {}, "HorizontalPodAutoscalers"), played && h("span", { class: "muted" }, "as they have scaled in the simulation")),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "HorizontalPodAutoscalers" },
      h(
        "table",
        { class: "horizontal-table" },
        h("thead", {}, h("tr", {}, ["Name", "Scales", "Replicas", "Desired", "Bounds", "Metrics", "Last scale", "Conditions"].map((text, at) => h("th", { scope: "col", class: at > 1 && at < 5 && "end" }, text)))),
        h("tbody", {}, rows.map(row)),
      ),
    ),
    leftOut > 0 && h("p", { class: "padded muted" }, `${count(leftOut, "more autoscaler")}.`),
  ];
}

function row(one) {
  const conditions = one.conditions.map((condition) => h("li", { class: ["wrap", isWrong(condition) && "bad"], title: condition.message }, h("strong", {}, `${condition.type} ${condition.status}`), condition.reason && ` ${condition.reason}`, isWrong(condition) && condition.message && `: ${condition.message}`));
  return h(
    "tr",
    { class: one.problem && "worse" },
    h("th", { scope: "row" }, one.name),
    h("td", {}, one.target),
    h("td", { class: "end nums" }, number(one.current)),
    h("td", { class: "end nums" }, number(one.desired)),
    h("td", { class: "end nums" }, `${number(one.least)}–${number(one.most)}`),
    h("td", { class: "wrap" }, one.metrics),
    h("td", { class: "wrap" }, lastScale(one)),
    h("td", {}, h("ul", { class: "plain horizontal-conditions" }, conditions)),
  );
}

function lastScale({ scalings, lastScale }) {
  const last = scalings.at(-1);
  if (last) return [`after ${last.text}`, h("span", { class: "pool-kind" }, last.reason)];
  return lastScale === null ? "never" : ago(lastScale);
}

/** AbleToScale and ScalingActive have to be True; ScalingLimited says that a bound holds it. */
function isWrong({ type, status }) {
  return type === "ScalingLimited" ? status === "True" : (type === "AbleToScale" || type === "ScalingActive") && status !== "True";
}
