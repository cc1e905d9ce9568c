/** Shows what would help, a row for each change: a sentence, its effect, buttons that try and apply it; code is folded. */
import { act, embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { codeBlock } from "../../parts/code-block.js";
import { applyRemedy, canBeTried, tryRemedy } from "./trying.js";

/** What the pools of autoscalers would do for it, a row for each; null if nothing is known of pools. */
export function poolRows(explanation) {
  if (!explanation.pools?.length) return null;
  return h(
    "dl",
    { class: "facts" },
    explanation.pools.map((one) => [h("dt", {}, one.pool), h("dd", { class: "wrap" }, one.sentence)]),
  );
}

export function help(told) {
  const { explanation, remedies, togetherRemedy } = told;
  if (explanation.suggestions.length) {
    const where = explanation.column ? ` on ${explanation.column.node}` : "";
    const cards = explanation.suggestions.map((one, index) => new Card(told, one, remedies[index], index + 1));
    offerWhatIsAllowed(cards);
    return h(
      "div",
      { class: "stack" },
      h("p", { class: "muted" }, `${told.subject ?? "It would fit"}${where} with any one of these. Each was tried in a simulation of this cluster, on the whole workload.`),
      whyNotApplied(cards),
      h("ol", { class: "help-list" }, cards.map((card) => h("li", {}, card.element))),
      unfinished(explanation),
    );
  }
  if (explanation.together) {
    const { node, changes, pendingAfter, remarks, effect } = explanation.together;
    const whole = { pendingAfter, remarks, effect, summary: changes.map((one) => one.summary).join("; "), sentence: changes.map((one) => one.sentence).join(". "), yaml: changes.map((one) => one.yaml).filter(Boolean).join("\n") };
    const card = new Card(told, whole, togetherRemedy, 1);
    offerWhatIsAllowed([card]);
    return h(
      "div",
      { class: "stack" },
      h("p", { class: "wrap" }, `No single change is enough; on ${node} these ${count(changes.length, "change")} would be, together:`),
      whyNotApplied([card]),
      h("ol", { class: "help-list" }, h("li", {}, card.element)),
      unfinished(explanation),
    );
  }
  return h("p", { class: "wrap" }, nothingHelps(explanation));
}

/** Why nothing is offered. */
function nothingHelps(explanation) {
  const standing = explanation.next ?? explanation.standing;
  if (standing === "Fits" || standing === "Bound") return "Nothing needs to: it has a node, or gets one.";
  if (!explanation.nodes) return "Nodes: the cluster has none.";
  if (explanation.notAllTried) return "No change was found that is enough. Not all were tried: each takes a long search.";
  if (explanation.reason === "NoScheduler") return "Nothing that can be tried here: its scheduler is not simulated.";
  if (explanation.reason === "Terminating") return "Nothing: it is being deleted.";
  if (explanation.reason === "NotCreated") return "Whatever lets the pod before it run.";
  return "Nothing was found: no single change of the pod, of one node or of another pod is enough, and neither are a few together.";
}

/** Why no change can be applied, if that is so. */
function whyNot() {
  if (embedded) return "This is a saved page: nothing can be applied.";
  if (cluster.source.kind !== "live") return "The cluster is in files: changes are tried in the simulation.";
  if (!cluster.changes.allowed) return "Read-only: start the dashboard with --allow-changes to apply changes.";
  return cluster.past != null ? "You are looking at the past: nothing is applied." : "";
}

function whyNotApplied(cards) {
  const line = h("p", { class: "muted small help-why" });
  if (cards.some((card) => card.remedy.verb)) cluster.ready.then(() => replace(line, whyNot()));
  return line;
}

function unfinished(explanation) {
  return explanation.notAllTried && h("p", { class: "muted" }, "Not all changes were tried: that took too long.");
}

/** One change. */
class Card {
  #told;
  #buttons = h("div", { class: "row help-buttons" });
  #result = h("div", { class: "help-result stack", "aria-live": "polite" });
  #rights = null;

  constructor(told, suggestion, remedy, number) {
    this.#told = told;
    this.suggestion = suggestion;
    this.remedy = remedy ?? {};
    const { yaml, remarks = [], pendingAfter } = suggestion;
    const { command, manifest, note, target } = this.remedy;
    // The effect says already how many pods still wait.
    const lines = remarks.slice(pendingAfter ? 1 : 0);
    const code = [
      yaml ? codeBlock(yaml, { label: `Change ${number}: what to write` }) : null,
      command ? codeBlock(command, { label: `Change ${number}: command` }) : null,
      manifest ? codeBlock(manifest, { label: `Change ${number}: whole manifest${target ? ` of ${named(target)}` : ""}`, height: "20rem" }) : null,
    ].filter(Boolean);
    this.element = h(
      "article",
      { class: "help-card", "aria-label": suggestion.sentence },
      h(
        "div",
        { class: "help-row" },
        h(
          "div",
          { class: "help-text" },
          h("h4", { class: "wrap help-summary" }, suggestion.sentence),
          h("p", { class: "wrap help-effect" }, suggestion.effect, target && h("span", { class: "muted" }, ` · changes ${named(target)}`)),
        ),
        this.#buttons,
      ),
      lines.length > 0 && h("ul", { class: "help-remarks wrap" }, lines.map((one) => h("li", {}, one))),
      note && !remarks.includes(note) ? h("p", { class: "wrap help-note" }, note) : null,
      code.length > 0 && h("details", { class: "help-code" }, h("summary", {}, "Code"), h("div", { class: "stack" }, code)),
      this.#result,
    );
    this.#drawButtons();
  }

  /** What the API server lets the kubeconfig do; null while that is not known. */
  set rights(rights) {
    this.#rights = rights;
    this.#drawButtons();
  }

  #drawButtons() {
    const { verb } = this.remedy;
    const may = this.#rights?.allowed && verb && cluster.changes.allowed && cluster.past == null;
    const trial = canBeTried(this.remedy) && h("button", { class: "button", type: "button", onclick: () => this.#try() }, "Try");
    const applying = may && h("button", { class: "button primary", type: "button", onclick: () => this.#apply() }, "Apply…");
    const refused = verb && !whyNot() && this.#rights && !this.#rights.allowed ? this.#rights.reason : "";
    replace(this.#buttons, trial, applying, refused && h("span", { class: "muted wrap" }, refused));
  }

  #try() {
    return tryRemedy(this.remedy, this.#told.explanation, this.#result, { asksServer: this.#rights?.allowed !== false });
  }

  #apply() {
    return applyRemedy(this.remedy, this.suggestion, this.#result);
  }
}

/** Asks once for all cards what the kubeconfig may do: what it may not is not offered. */
async function offerWhatIsAllowed(cards) {
  const asking = cards.filter((card) => card.remedy.verb);
  if (embedded || !asking.length) return;
  await cluster.ready;
  if (cluster.source.kind !== "live") {
    for (const card of asking) card.rights = { allowed: false, reason: "" };
    return;
  }
  try {
    const asks = asking.map(({ remedy }) => ({ verb: remedy.verb, ...remedy.target }));
    const { rights } = await act("rights", { asks });
    asking.forEach((card, index) => (card.rights = rights[index]));
  } catch (error) {
    for (const card of asking) card.rights = { allowed: false, reason: error.message };
  }
}

export function named({ kind, namespace, name }) {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}
