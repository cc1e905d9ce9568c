/** Shows one pod on one page: a sentence, what would help, every node's reasons, the scheduler's event; then the rest folded. */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { clock, count, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { evictionLoop } from "../../parts/leaving.js";
import { podLink } from "../../parts/pod/link.js";
import { empty } from "../../parts/states.js";
import { canExplain, schedulersWord } from "./asking.js";
import { help, poolRows } from "./help.js";
import { matrix } from "./matrix.js";
import { preemption } from "./preemption.js";
import { scores } from "./scores.js";
import { sentence } from "./sentence.js";

const STANDINGS = { Pending: "warn", Preempts: "info", Fits: "good", Bound: "good", Failed: "bad", Evicted: "bad", Refused: "bad", Complete: "info" };
/** What a pod is called that is not there. */
const ABSENT = { Complete: "next replica, does not exist yet", Refused: "refused, does not exist" };

export function nothingChosen() {
  return empty("Choose a group", "Why its pods wait, what would help and every node's reasons are shown here.", { height: "20rem" });
}

/** `group` has the pods that are like this one, where there are some. */
export function detail(told, { again, group = null }) {
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
        h("h2", { class: "wrap" }, name(explanation)),
        standing(explanation),
        h("span", { class: "grow" }),
        told.asked && h("span", { class: "muted small" }, `as of ${clock(told.asked.time)}`),
        !embedded && h("button", { class: "button small quiet", type: "button", onclick: again }, "Refresh"),
      ),
      sentence(explanation),
      h("p", { class: "muted wrap pending-facts" }, facts(explanation)),
      explanation.standing === "Complete" && h("p", { class: "wrap" }, explanation.replicas.headline),
      explanation.standing !== "Refused" && explanation.replicas?.refusal && h("p", { class: "wrap bad" }, explanation.replicas.headline),
      explanation.troubles.map((one) => h("p", { class: "bad wrap" }, `But ${one}`)),
      deadline(explanation),
      group && group.count > 1 && alike(group, explanation.pod),
    ),
    section("help", "What would help", help(told)),
    explanation.pools?.length ? section("pools", "Nodes that pools could start", poolRows(explanation)) : null,
    section("matrix", "Nodes, the nearest first", matrix(told)),
    event(explanation),
    folded("preemption", "Preemption", () => preemption(told)),
    folded("scores", explanation.scores.length ? `Scores (${number(explanation.feasible)})` : "Scores", () => scores(told)),
    notes(explanation),
  );
}

function name({ pod, workload, exists }) {
  if (exists) return cluster.pods.has(pod) ? podLink(pod) : pod;
  return workload || pod;
}

/** The standing of a pod. One that is not there is not called Pending. */
function standing({ standing: word, exists }) {
  if (exists) return chip(word, STANDINGS[word] ?? "");
  return chip(ABSENT[word] ?? "does not exist yet", "info");
}

function section(id, title, content) {
  return h("section", { class: `stack pending-${id}`, "aria-label": title }, h("h3", {}, title), content);
}

/** A section that is shown on demand; the address opens it. */
function folded(id, title, build) {
  const body = h("div", { class: "pending-folded-body" });
  const details = h("details", { class: `pending-folded pending-${id}`, open: address.params.tab === id }, h("summary", {}, title), body);
  const fill = () => details.open && !body.childElementCount && replace(body, build());
  details.addEventListener("toggle", () => {
    fill();
    if (details.open) address.set({ tab: id });
    else if (address.params.tab === id) address.set({ tab: null });
  });
  fill();
  return details;
}

function facts(explanation) {
  const parts = [
    explanation.exists ? explanation.workload || "no controller" : null,
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

/** The scheduler's event, once: with a check mark where this cluster's scheduler says the same, else what it says. */
function event(explanation) {
  if (!explanation.message || explanation.standing === "Refused") return null;
  const text = h("p", { class: "pending-message wrap" }, `${explanation.reason}: ${explanation.message}`);
  const word = h("div", { class: "pending-word" });
  schedulersWord(explanation.pod).then((said) => replace(word, theirWord(said, explanation)));
  return h("section", { class: "stack pending-event", "aria-label": "Event of the scheduler" }, h("h3", {}, "Event of the scheduler"), text, word);
}

function alike(group, pod) {
  const links = group.pods.map((key) =>
    h("li", {}, cluster.pods.has(key) ? podLink(key) : key !== pod && canExplain(key) ? h("a", { href: address.href("pending", { ...address.params, pod: key, node: null }) }, key) : key),
  );
  const more = group.morePods ? h("li", { class: "muted" }, `${number(group.morePods)} more`) : null;
  return h("details", { class: "pending-more" }, h("summary", {}, `${count(group.count, "pod")} wait alike`), h("ul", { class: "pending-alike" }, links, more));
}

function theirWord(said, explanation) {
  if (!said?.message) return null;
  if (said.message === explanation.message) return h("p", { class: "muted small" }, h("span", { class: "good", "aria-hidden": "true" }, "✓ "), "the same in this cluster");
  return h("p", { class: "wrap muted" }, h("strong", {}, "In this cluster: "), `${said.reason}: ${said.message}`);
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
