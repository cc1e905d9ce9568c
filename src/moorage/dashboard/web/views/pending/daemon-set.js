/** Shows one DaemonSet: its counts as kubectl has them, and for each node whether there is a pod, and why not. */
import { embedded } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { clock, count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { evictionLoop, leaving } from "../../parts/leaving.js";
import { help } from "./help.js";
import { shownNodes } from "./names.js";

const STATES = {
  Running: ["Running", "good"],
  Pending: ["Pending", "warn"],
  Failed: ["Failed", "bad"],
  Refused: ["Refused", "bad"],
  Missing: ["Not created yet", "warn"],
  Stays: ["Stays, not made again", "info"],
  NoPod: ["No pod is wanted", ""],
};
const COUNTS = [
  ["desired", "DESIRED"],
  ["current", "CURRENT"],
  ["ready", "READY"],
  ["upToDate", "UP-TO-DATE"],
  ["available", "AVAILABLE"],
];

export function daemonSet(told, { again }) {
  const { explanation } = told;
  return h(
    "div",
    { class: "pending-explanation stack" },
    h(
      "header",
      { class: "pending-head stack" },
      h(
        "div",
        { class: "row" },
        h("h2", { class: "wrap" }, explanation.workload),
        explanation.standing === "Pending" ? chip("Pending", "warn") : chip(explanation.desired ? "Complete" : "DESIRED 0", explanation.desired ? "good" : "info"),
        h("span", { class: "grow" }),
        told.asked && h("span", { class: "muted small" }, `as of ${clock(told.asked.time)}`),
        !embedded && h("button", { class: "button small quiet", type: "button", onclick: again }, "Refresh"),
      ),
      h("p", { class: "muted nums" }, COUNTS.map(([key, title]) => `${title} ${number(explanation[key])}`).join(" · ")),
      h("p", { class: "wrap pending-verdict" }, told.verdict),
      evictionLoop(explanation.evictionLoop),
      leaving(explanation.deadlines ?? []),
    ),
    table(explanation, told.leftOutRows),
    explanation.pending?.suggestions.length ? section(pendingTitle(explanation.pending), explanation.pending) : null,
    explanation.suggestions.length || explanation.together ? section(explanation.desired ? "What would let it run on more nodes" : "What would let it run", explanation, "It would run") : null,
  );
}

function table(explanation, leftOut) {
  const rows = explanation.groups.map((group) =>
    h(
      "tr",
      { dataset: { state: group.state } },
      h("th", { scope: "row", class: "wrap" }, shownNodes(group.nodes, group.count)),
      h("td", {}, chip(...(STATES[group.state] ?? [group.state, ""]))),
      h("td", { class: "wrap" }, reasons(group)),
    ),
  );
  const heads = ["Nodes", "Pod", "Why"].map((title) => h("th", { scope: "col" }, title));
  return h(
    "div",
    { class: "matrix-scroll", tabindex: "0", role: "region", "aria-label": "Nodes of the DaemonSet" },
    h("table", { class: "daemon-nodes" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
    leftOut ? h("p", { class: "muted" }, `${count(leftOut, "row")} more`) : null,
  );
}

function reasons({ refusals, pods }) {
  const lines = refusals.flatMap(({ reasons: said, details }) => (details.length ? details : said));
  const waits = pods.length === 1 && refusals.length > 0 ? [h("li", { class: "muted" }, `pod ${pods[0]}`)] : [];
  return h("ul", { class: "daemon-reasons" }, lines.map((line) => h("li", {}, line)), waits);
}

function pendingTitle({ standing, pod }) {
  return standing === "Refused" ? "What would let its pods in" : `What would help ${pod}`;
}

function section(title, explanation, subject) {
  const remedies = explanation.suggestions.map(({ remedy }) => remedy);
  return h("section", { class: "stack" }, h("h3", { class: "wrap" }, title), help({ explanation: { column: null, ...explanation }, remedies, subject }));
}
