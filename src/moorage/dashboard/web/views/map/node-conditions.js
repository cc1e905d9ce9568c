/** Shows the conditions of a node: one line if all are as they should be, else those that are not in full, first. */
import { h } from "../../lib/dom.js";
import { age, count } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";

export function conditions(list) {
  if (!list.length) return h("p", { class: "muted" }, "The node reports no conditions");
  const wrong = list.filter((one) => !isRight(one));
  const right = list.filter(isRight);
  return [
    wrong.length ? table(wrong) : null,
    right.length ? h("details", { class: "node-conditions" }, h("summary", {}, wrong.length ? `${count(right.length, "other condition")} as it should be` : summary(list)), table(right)) : null,
  ];
}

function isRight(one) {
  return one.status === (one.type === "Ready" ? "True" : "False");
}

/** "Ready for 2h; no pressure": what kubectl describe takes a table for. */
function summary(list) {
  const ready = list.find((one) => one.type === "Ready");
  const since = ready?.lastTransitionTime ? ` for ${age(ready.lastTransitionTime)}` : "";
  const pressures = list.filter((one) => one.type.endsWith("Pressure"));
  const others = list.length - pressures.length - (ready ? 1 : 0);
  return [ready ? `Ready${since}` : "", pressures.length ? "no pressure" : "", others ? `${count(others, "other condition")} fine` : ""].filter(Boolean).join("; ");
}

function table(list) {
  const rows = list.map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.type),
      h("td", {}, chip(one.status, isRight(one) ? "good" : "bad")),
      h("td", { class: "wrap" }, h("div", {}, [one.reason, one.lastTransitionTime ? `for ${age(one.lastTransitionTime)}` : ""].filter(Boolean).join(", ")), h("div", { class: "muted small" }, one.message ?? "")),
    ),
  );
  return h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, ["Condition", "Status", "Reason"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows));
}
