/** Shows one pod: what becomes of it, what is said of it, and tabs with the reasons and what would help. */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { clock, count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { evictionLoop } from "../../parts/leaving.js";
import { empty } from "../../parts/states.js";
import { tabs } from "../../parts/tabs.js";
import { canExplain, schedulersWord } from "./asking.js";
import { help, helpCount } from "./help.js";
import { matrix } from "./matrix.js";
import { preemption } from "./preemption.js";
import { scores } from "./scores.js";

const STANDINGS = { Pending: "warn", Preempts: "info", Fits: "good", Bound: "good", Failed: "bad", Evicted: "bad", Refused: "bad", Complete: "good" };

export function nothingChosen() {
  return empty("Choose a group", "Its nodes, what would help, and whom preemption would evict are shown here.", { height: "20rem" });
}

/** `group` has the pods that are like this one, where there are some. */
export function detail(told, { again, group = null }) {
  const { explanation } = told;
  const word = h("div", { class: cluster.source.kind === "live" ? "pending-word" : "" });
  schedulersWord(explanation.pod).then((condition) => replace(word, theirWord(condition, explanation)));
  const helping = helpCount(told);
  return h(
    "div",
    { class: "pending-explanation stack" },
    h(
      "header",
      { class: "pending-head stack" },
      h(
        "div",
        { class: "row" },
        h("h2", { class: "wrap" }, isAbsent(explanation) ? explanation.workload : explanation.pod),
        chip(explanation.standing, STANDINGS[explanation.standing] ?? ""),
        h("span", { class: "grow" }),
        told.asked && h("span", { class: "muted small" }, `as of ${clock(told.asked.time)}`),
        !embedded && h("button", { class: "button small quiet", type: "button", onclick: again }, "Explain again"),
      ),
      h("p", { class: "muted wrap pending-facts" }, facts(explanation)),
      (isAbsent(explanation) || explanation.replicas?.refusal) && h("p", { class: "wrap pending-verdict" }, explanation.replicas.headline),
      h("p", { class: "wrap pending-verdict" }, told.verdict),
      message(told),
      explanation.troubles.map((one) => h("p", { class: "bad wrap" }, `But ${one}`)),
      deadline(explanation),
      word,
      group && group.count > 1 && alike(group, explanation.pod),
    ),
    tabs({
      label: "Explanation",
      selected: address.params.tab,
      onselect: (tab) => address.set({ tab: tab === "matrix" ? null : tab }),
      tabs: [
        { id: "matrix", title: "Matrix", build: () => matrix(told) },
        { id: "help", title: helping ? `What would help (${helping})` : "What would help", build: () => help(told) },
        { id: "preemption", title: "Preemption", build: () => preemption(told) },
        { id: "scores", title: explanation.scores.length ? `Scores (${explanation.feasible})` : "Scores", build: () => scores(told) },
      ],
    }),
    notes(explanation),
  );
}

/** The pod that is explained is not there: it would be the next one of its workload, or is refused. */
function isAbsent({ standing, replicas }) {
  return replicas && (standing === "Complete" || standing === "Refused");
}

function facts(explanation) {
  const parts = [
    isAbsent(explanation) ? null : explanation.workload || "no controller",
    explanation.story,
    `priority ${explanation.priority}`,
    `scheduler ${explanation.scheduler}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** That the pod stays on its tainted node, or what follows when it has left it; and whether that never ends. */
function deadline({ deadline: found, evictionLoop: loop }) {
  const stays = found && found.seconds === undefined;
  return [
    stays ? h("p", { class: "wrap pending-deadline" }, `It ${found.text}`) : null,
    found?.then ? h("p", { class: "wrap pending-deadline" }, `Then ${found.then}`) : null,
    evictionLoop(loop),
  ];
}

/** The message as people read it, and as the event has it. */
function message({ explanation, short }) {
  if (!explanation.message || explanation.standing === "Refused") return null;
  const brief = h("p", { class: "pending-message wrap" }, `${explanation.reason}: ${short}`);
  if (short === explanation.message) return brief;
  return [
    brief,
    h("details", { class: "pending-more" }, h("summary", {}, "The event in full"), h("p", { class: "pending-message wrap" }, explanation.message)),
  ];
}

function alike(group, pod) {
  const links = group.pods.map((key) =>
    h("li", {}, key !== pod && canExplain(key) ? h("a", { href: address.href("pending", { ...address.params, pod: key, node: null }) }, key) : key),
  );
  const more = group.morePods ? h("li", { class: "muted" }, `${number(group.morePods)} more`) : null;
  return h("details", { class: "pending-more" }, h("summary", {}, `${count(group.count, "pod")} wait alike`), h("ul", { class: "pending-alike" }, links, more));
}

/** What the cluster's scheduler says, where it says something else than the simulation. */
function theirWord(condition, explanation) {
  if (!condition || condition.status === "True" || !condition.message) return null;
  if (condition.message === explanation.message) return h("p", { class: "muted" }, "The cluster's scheduler says the same.");
  return h("p", { class: "wrap muted" }, h("strong", {}, "The cluster's scheduler says: "), `${condition.reason}: ${condition.message}`);
}

function notes(explanation) {
  const doubts = explanation.notes.filter((note) => note.level !== "info");
  if (!doubts.length) return null;
  return h(
    "details",
    { class: "pending-notes" },
    h("summary", {}, `${count(doubts.length, "note")} that may matter`),
    h("ul", {}, doubts.slice(0, 50).map((note) => h("li", { class: "wrap" }, `${note.object ? `${note.object}: ` : ""}${note.message}`))),
  );
}
