/**
 * The playground's mode "Admission policy": policies in one editor, an object in another, and how the policies decide
 * about it. The texts are in the address. `element`, `show(params)`, `close()`; answers are those of `moorage policy explain`.
 */
import { address } from "../../lib/address.js";
import { ask, isAbort } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, freshId, h, replace, setText } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { announce } from "../../lib/notice.js";
import { copy } from "../../parts/code-block.js";
import { empty, failed } from "../../parts/states.js";
import { Editor } from "./editor.js";
import { explained } from "./explanation.js";
import { POLICY_EXAMPLES } from "./policy-examples.js";
import { decode, encode } from "./sharing.js";

const OPERATIONS = [
  ["CREATE", "created"],
  ["UPDATE", "updated (two objects: before --- after)"],
  ["DELETE", "deleted"],
];
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const NO_STATE = { policies: "", object: "", operation: "CREATE", user: "" };

export class PolicyMode {
  #state = { ...NO_STATE };
  #asking = null;
  #known = [];
  #ask = debounce(() => this.#judge(), 300);
  #share = debounce(() => this.#remember(), 300);

  constructor(kinds) {
    const hint = freshId("hint");
    this.policies = this.#side("Policies, bindings and parameters", "policies", hint);
    this.object = this.#side("Object", "object", hint);
    this.operation = h("select", { onchange: () => this.#change({ operation: this.operation.value }) }, OPERATIONS.map(([value, title]) => h("option", { value }, title)));
    this.user = h("input", { type: "text", placeholder: "kubernetes-admin", autocomplete: "off", oninput: () => this.#change({ user: this.user.value }) });
    this.examples = h("select", { "aria-label": "Examples", onchange: () => this.#choose() });
    this.summary = h("h2", { class: "policy-summary" }, "Decision");
    this.status = h("span", { class: "muted small", role: "status" });
    this.results = h("div", { class: "panel-body stack policy-results" });
    const share = h("button", { class: "button", type: "button", onclick: () => this.#copyAddress(share) }, icon("share"), "Share");
    this.element = h(
      "div",
      { class: "stack policy-mode" },
      h("div", { class: "view-head" }, h("h1", {}, "Playground"), kinds, this.examples, share),
      h("div", { class: "policy-editors" }, this.policies.element, this.object.element),
      h("div", { class: "row" }, h("label", { class: "row" }, "The object is", this.operation), h("label", { class: "row" }, "by user", this.user)),
      h("p", { class: "muted small", id: hint }, "Tab indents; Escape, then Tab leaves the editor. Namespaces and definitions of the cluster count."),
      h("section", { class: "panel", "aria-label": "Decision" }, h("div", { class: "panel-head" }, this.summary, h("span", { class: "grow" }), this.status), this.results),
    );
    this.#listExamples();
    this.#readKnown();
  }

  /** Shows what the address has, or the first example. */
  show(params) {
    const policies = decode(params.policies ?? "");
    const object = decode(params.object ?? "");
    const operation = OPERATIONS.some(([name]) => name === params.operation) ? params.operation : "CREATE";
    if (!policies && !object) this.#take(POLICY_EXAMPLES[0]);
    else {
      const state = { policies: policies ?? "", object: object ?? "", operation, user: params.user ?? "" };
      if (JSON.stringify(state) !== JSON.stringify(this.#state)) this.#take(state);
    }
  }

  close() {
    this.#ask.cancel();
    this.#share.cancel();
    this.#asking?.abort();
    this.policies.editor.close();
    this.object.editor.close();
  }

  // -- layout

  #side(label, name, hintId) {
    const ids = { problems: freshId("problems") };
    const editor = new Editor({ label, describedBy: ids.problems, hintId, oninput: (text) => this.#change({ [name]: text }), complete: async () => null });
    const problems = h("div", { class: "problems", id: ids.problems });
    return { editor, problems, element: h("section", { class: "panel", "aria-label": label }, h("h2", { class: "policy-side" }, label), editor.element, problems) };
  }

  #listExamples() {
    const option = (text, value) => h("option", { value }, text);
    const known = this.#known.map((one, index) => option(one.name, `known ${index}`));
    replace(
      this.examples,
      option("Examples…", ""),
      POLICY_EXAMPLES.map((one, index) => option(one.title, `example ${index}`)),
      known.length ? h("optgroup", { label: "Policies of this cluster" }, known) : null,
    );
  }

  async #readKnown() {
    await cluster.ready;
    try {
      const parts = await ask("policies-known", {});
      this.#known = parts.at(-1).policies;
      this.#listExamples();
    } catch {
      // Without them there are still the examples.
    }
  }

  // -- state

  #take(state) {
    this.#state = { ...NO_STATE, policies: state.policies, object: state.object, operation: state.operation ?? "CREATE", user: state.user ?? "" };
    this.policies.editor.text = this.#state.policies;
    this.object.editor.text = this.#state.object;
    this.operation.value = this.#state.operation;
    this.user.value = this.#state.user;
    this.#ask.cancel();
    this.#judge();
  }

  #change(part) {
    this.#state = { ...this.#state, ...part };
    this.#ask();
    this.#share();
  }

  #choose() {
    const [kind, index] = this.examples.value.split(" ");
    this.examples.value = "";
    if (kind === "example") this.#take(POLICY_EXAMPLES[index]);
    else if (kind === "known") this.#take({ ...this.#state, policies: this.#known[index].text });
    else return;
    this.#remember();
  }

  #remember() {
    this.#share.cancel();
    const { policies, object, operation, user } = this.#state;
    if (!this.element.isConnected) return;
    address.set({ kind: "policy", policies: encode(policies), object: encode(object), operation: operation === "CREATE" ? null : operation, user: user || null, text: null, taints: null, gates: null });
  }

  async #copyAddress(button) {
    this.#remember();
    await copy(location.href, button);
  }

  // -- asking

  async #judge() {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    setText(this.status, "asking…");
    try {
      const onpart = (part) => this.#asking === asking && this.#show(part);
      await ask("policies", { ...this.#state, tab: TAB }, { signal: asking.signal, onpart });
      if (this.#asking === asking) setText(this.status, "");
    } catch (error) {
      if (isAbort(error) || this.#asking !== asking) return;
      setText(this.status, "");
      setText(this.summary, "Not judged");
      replace(this.results, failed(error.message, () => this.#judge()));
    }
  }

  #show(part) {
    if (part.problems) {
      this.#showProblems(this.policies, part.problems.policies);
      this.#showProblems(this.object, part.problems.object);
    }
    if (part.refused != null) {
      setText(this.summary, "Not judged");
      replace(this.results, empty(part.refused || "The API server would refuse these policies.", part.refused ? "" : "Their problems are below the text."));
    }
    if (part.explanation) {
      const { decision } = part.explanation;
      setText(this.summary, { allow: "Allowed", deny: "Refused by policy", invalid: "Refused by the API server" }[decision] ?? decision);
      announce(this.summary.textContent);
      replace(this.results, explained(part.explanation, part.left, (place) => this.#select(place)));
    }
  }

  #select({ line, column }) {
    this.policies.editor.select({ line, column, endColumn: column + 1 });
  }

  #showProblems(side, problems) {
    side.editor.problems = problems;
    const bad = problems.some((one) => one.severity === "error");
    replace(
      side.problems,
      h("h3", { class: ["problems-head", bad ? "bad" : problems.length ? "warn" : "good"] }, problems.length ? count(problems.length, "problem") : "No problems"),
      h("ol", { class: "problem-list" }, problems.map((one) => problem(one, () => side.editor.select(one)))),
    );
  }
}

function problem(one, onclick) {
  return h(
    "li",
    { class: ["problem", one.severity] },
    h(
      "button",
      { class: "problem-button", type: "button", onclick },
      h("span", { class: "problem-place nums" }, `${one.line}:${one.column}`),
      h("span", { class: ["problem-word", one.severity === "error" ? "bad" : "warn"] }, one.severity),
      h("span", { class: "wrap" }, one.message),
    ),
    one.hint ? h("p", { class: "problem-hint muted wrap" }, one.hint) : null,
  );
}
