/** Shows what would help: each change with its manifest, where the pod would fit then, and buttons that try and apply it. */
import { act, embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { codeBlock } from "../../parts/code-block.js";
import { empty } from "../../parts/states.js";
import { shownNodes } from "./names.js";
import { applyRemedy, canBeTried, tryRemedy } from "./trying.js";

export function helpCount({ explanation }) {
  return explanation.suggestions.length || explanation.together?.changes.length || 0;
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
      h("p", {}, `${told.subject ?? "It would fit"}${where} with any one of these changes. Each was tried on the simulated cluster.`),
      h("ol", { class: "help-list" }, cards.map((card) => h("li", {}, card.element))),
      unfinished(explanation),
    );
  }
  if (explanation.together) {
    const { node, changes, pendingBefore, pendingAfter, remarks } = explanation.together;
    const whole = { pendingBefore, pendingAfter, remarks, summary: changes.map((one) => one.summary).join("; "), nodes: [node], yaml: changes.map((one) => one.yaml).filter(Boolean).join("\n") };
    const card = new Card(told, whole, togetherRemedy, 1);
    offerWhatIsAllowed([card]);
    return h(
      "div",
      { class: "stack" },
      h("p", { class: "wrap" }, `No single change is enough; on ${node} these ${count(changes.length, "change")} would be, together:`),
      card.element,
      unfinished(explanation),
    );
  }
  const standing = explanation.next ?? explanation.standing;
  if (standing === "Fits" || standing === "Bound") return empty("Nothing needs to help", "The pod has a node, or gets one.");
  if (explanation.notAllTried) return empty("No change was found that would be enough", "Not all were tried: each takes a long search.");
  return empty("No single change to the pod or to one node would be enough");
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
    const { yaml } = suggestion;
    const { command, manifest, note, target } = this.remedy;
    this.element = h(
      "article",
      { class: "help-card panel padded stack", "aria-label": suggestion.summary },
      h("h3", { class: "wrap" }, suggestion.summary),
      h("p", { class: "muted wrap" }, opens(suggestion, target)),
      ...effects(suggestion),
      yaml ? codeBlock(yaml, { label: `Change ${number}: what to write` }) : null,
      command ? codeBlock(command, { label: `Change ${number}: command` }) : null,
      manifest ? h("details", {}, h("summary", {}, `Whole manifest${target ? ` of ${named(target)}` : ""}`), codeBlock(manifest, { label: `Change ${number}: whole manifest`, height: "20rem" })) : null,
      note ? h("p", { class: "wrap help-note" }, note) : null,
      this.#buttons,
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
    replace(this.#buttons, trial, applying, verb && h("span", { class: "muted" }, this.#whyNot()));
  }

  #whyNot() {
    if (embedded) return "This is a saved page: nothing can be tried or applied.";
    if (cluster.source.kind !== "live") return "The cluster is in files: it is tried on the simulated cluster.";
    if (!cluster.changes.allowed) return "Read-only: start the dashboard with --allow-changes to apply changes.";
    if (cluster.past != null) return "You are looking at the past: nothing is applied.";
    return this.#rights && !this.#rights.allowed ? this.#rights.reason : "";
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

function opens({ nodes, kind }, target) {
  if (target?.kind === "Node" && nodes.length === 1) return `Changes node ${target.name}.`;
  const fits = kind === "priority" ? "It would be put on" : "It fits on";
  const where = nodes.length ? `${fits} ${shownNodes(nodes)}.` : "";
  return [where, target ? `Changes ${named(target)}.` : ""].filter(Boolean).join(" ");
}

/** How many pods of the workload wait before and after the change, and what to know before it is made. */
function effects({ pendingBefore, pendingAfter, remarks }) {
  return [
    pendingBefore > 0 && h("p", { class: "help-pending" }, `Pods that wait: ${pendingBefore} → ${pendingAfter}`),
    remarks?.length > 0 && h("ul", { class: "help-remarks wrap" }, remarks.map((one) => h("li", {}, one))),
  ];
}

export function named({ kind, namespace, name }) {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}
