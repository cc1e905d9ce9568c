/**
 * Shows the view "Playground": a rule in an editor, what is wrong with it, which nodes it matches and why not the others,
 * how else it can be said, and which gates it needs. The rule is in the address, so that it can be shared.
 */
import { address } from "../../lib/address.js";
import { NOT_HERE, answerable, ask, embedded, isAbort } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, freshId, h, replace, setText } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { announce } from "../../lib/notice.js";
import { copy } from "../../parts/code-block.js";
import { empty, failed } from "../../parts/states.js";
import { Editor } from "./editor.js";
import { EXAMPLES, fromCluster } from "./examples.js";
import { PolicyMode } from "./policy-mode.js";
import { nodeGroups, summary, taintTable } from "./node-results.js";
import { expressionFacts, forms, gates } from "./rule-results.js";
import { fromParams, toParams } from "./sharing.js";

const KINDS = [
  ["tolerations", "Tolerations"],
  ["affinity", "Affinity"],
  ["nodeSelector", "Node selector"],
  ["cel", "CEL expression"],
  ["policy", "Admission policy"],
];
const NAMES = { tolerations: "tolerations", affinity: "an affinity", nodeSelector: "a node selector" };
/** Milliseconds after which a question about a copy that is too old is asked again. */
const CATCH_UP = 1500;
/** Tells the server which questions come from this tab, so that it can drop the older ones. */
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class PlaygroundView extends HTMLElement {
  #state = { kind: "tolerations", text: "", taints: null, gates: {} };
  #drafts = new Map();
  #asking = null;
  #answer = {};
  #answered = false;
  #known = new Map();
  #changedAt = 0;
  #again = 0;
  #started = false;
  #ask = debounce(() => this.#judge(), 150);
  #share = debounce(() => this.#remember(), 300);
  #stop = () => {};
  #policies = null;

  connectedCallback() {
    if (address.params.kind === "policy") {
      this.#openPolicies();
      return;
    }
    if (!this.#started) this.#build();
    this.#started = true;
    const given = fromParams(address.params);
    if (given || this.#state.text) this.#show(given ?? this.#state);
    else cluster.ready.then(() => this.#showFirst());
    this.#stop = cluster.subscribe((change) => this.#clusterChanged(change));
  }

  disconnectedCallback() {
    this.#stop();
    this.#ask.cancel();
    this.#share.cancel();
    clearTimeout(this.#again);
    this.#asking?.abort();
    this.editor?.close();
    this.#policies?.close();
  }

  addressChanged(params) {
    const wants = params.kind === "policy";
    if (wants !== Boolean(this.#policies)) {
      this.disconnectedCallback();
      this.#policies = null;
      this.#started = false;
      this.connectedCallback();
      return;
    }
    if (wants) {
      this.#policies.show(params);
      return;
    }
    const given = fromParams(params);
    if (given && JSON.stringify(given) !== JSON.stringify(this.#state)) this.#show(given);
  }

  /** The mode about policies takes the place of all that is about rules. */
  #openPolicies() {
    this.#started = false;
    const kinds = h("div", { class: "segmented", role: "group", "aria-label": "Kind of rule" }, KINDS.map(([kind, title]) => this.#kindButton(kind, title)));
    kinds.lastChild.setAttribute("aria-pressed", "true");
    this.#policies = new PolicyMode(kinds);
    replace(this, this.#policies.element);
    this.#policies.show(address.params);
  }

  async #showFirst() {
    const example = await fromCluster(cluster.nodes.values());
    if (this.isConnected && !this.#state.text) this.#show({ kind: example.kind, text: example.text, taints: example.taints, gates: {} });
  }

  /** A cluster with other taints or labels may have another answer; nodes change in other ways all the time. */
  #clusterChanged(change) {
    const concerned = change.all || [...change.nodes].some((name) => this.#known.get(name) !== facts(cluster.nodes.get(name)));
    if (concerned) this.#changedAt = cluster.seq;
    if (concerned && this.#state.taints == null && this.#answered && !embedded) this.#ask();
    this.#countNodes();
  }

  #noteNodes() {
    this.#known = new Map([...cluster.nodes].map(([name, node]) => [name, facts(node)]));
  }

  // -- layout

  #build() {
    const ids = { problems: freshId("problems"), hint: freshId("hint"), pasted: freshId("pasted") };
    this.editor = new Editor({
      label: "Rule",
      describedBy: ids.problems,
      hintId: ids.hint,
      oninput: (text) => this.#change({ text }),
      complete: (text, place, signal) => this.#complete(text, place, signal),
      onplace: (place) => this.#atCursor(place),
    });
    this.editor.disabled = Boolean(embedded);
    this.kinds = h("div", { class: "segmented", role: "group", "aria-label": "Kind of rule" }, KINDS.map(([kind, title]) => this.#kindButton(kind, title)));
    this.problems = h("div", { class: "problems", id: ids.problems });
    this.cursor = h("p", { class: "cursor-line muted small" });
    this.costs = h("div", { class: "costs" });
    this.gateNotice = h("div", { class: "gate-notice", hidden: true });
    this.sources = h("div", { class: "segmented", role: "group", "aria-label": "Nodes" }, this.#sourceButton(false), this.#sourceButton(true));
    this.paste = h("textarea", {
      id: ids.pasted,
      class: "paste",
      rows: 6,
      spellcheck: "false",
      placeholder: "node-1 key=value:NoSchedule other=1:NoExecute\nnode-2 zone=a",
      oninput: () => this.#change({ taints: this.paste.value }),
    });
    this.pasteBox = h("div", { class: "field paste-box", hidden: true }, h("label", { for: ids.pasted }, "One node in a line: its name, taints key=value:Effect, labels key=value"), this.paste);
    this.pasteProblems = h("ul", { class: "paste-problems warn" });
    this.pasteBox.append(this.pasteProblems);
    this.summary = h("h2", { class: "match-summary" }, "Nodes");
    this.state = h("span", { class: "muted small", role: "status" });
    this.nodes = h("div", { class: "matches" });
    this.taints = h("section", { class: "panel taint-panel", hidden: true });
    this.forms = h("div", { class: "panel-body" });
    this.gates = h("div", { class: "panel-body" });
    const hint = "Control and Space: completions. Tab indents; Escape, then Tab leaves the editor.";
    replace(
      this,
      h("div", { class: "view-head" }, h("h1", {}, "Playground"), this.kinds, this.#examples(), this.#shareButton()),
      embedded ? h("p", { class: "muted" }, NOT_HERE) : null,
      h(
        "div",
        { class: "play" },
        h("section", { class: "panel play-editor", "aria-label": "Editor" }, this.editor.element, this.cursor, this.problems, h("p", { class: "editor-hint muted small", id: ids.hint }, hint)),
        this.costs,
        h("section", { class: "panel match-panel" }, h("div", { class: "panel-head" }, this.summary, h("span", { class: "grow" }), this.state, this.sources), this.pasteBox, this.gateNotice, this.nodes),
        this.taints,
      ),
      h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "The same rule in other forms")), this.forms),
      h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, "Feature gates and versions")), this.gates),
    );
  }

  #kindButton(kind, title) {
    return h("button", { class: "button", type: "button", "aria-pressed": false, dataset: { kind }, onclick: () => this.#switchKind(kind) }, title);
  }

  #sourceButton(pasted) {
    const label = pasted ? "Pasted nodes" : "This cluster";
    return h("button", { class: "button small", type: "button", "aria-pressed": false, dataset: { pasted }, onclick: () => this.#switchSource(pasted) }, label);
  }

  #examples() {
    const groups = new Map();
    EXAMPLES.forEach((example, index) => {
      if (!groups.has(example.group)) groups.set(example.group, []);
      groups.get(example.group).push(h("option", { value: String(index) }, example.title));
    });
    const select = h(
      "select",
      { "aria-label": "Examples", onchange: () => this.#useExample(select) },
      h("option", { value: "" }, "Examples…"),
      h("option", { value: "cluster" }, "From this cluster's taints"),
      [...groups].map(([group, options]) => h("optgroup", { label: group }, options)),
    );
    select.disabled = Boolean(embedded);
    return select;
  }

  #shareButton() {
    const button = h("button", { class: "button", type: "button", onclick: () => this.#shareAddress(button) }, icon("share"), "Share");
    return button;
  }

  async #shareAddress(button) {
    this.#remember();
    // The token of the first visit is gone from the address by now; what is left works for whom the dashboard lets in.
    await copy(location.href, button);
  }

  // -- state

  #show(state) {
    this.#state = { ...state, gates: { ...state.gates } };
    this.editor.language = state.kind === "cel" ? "cel" : "yaml";
    this.editor.text = state.text;
    this.#reflect();
    this.#ask.cancel();
    this.#judge();
  }

  #change(part) {
    this.#state = { ...this.#state, ...part };
    this.#reflect();
    this.#ask();
    this.#share();
  }

  #reflect() {
    const { kind, taints } = this.#state;
    for (const button of this.kinds.children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    for (const button of this.sources.children) button.setAttribute("aria-pressed", String((button.dataset.pasted === "true") === (taints != null)));
    this.pasteBox.hidden = taints == null;
    if (taints != null && this.paste.value !== taints) this.paste.value = taints;
    this.#countNodes();
  }

  #countNodes() {
    setText(this.sources.firstChild, cluster.loaded ? `This cluster (${count(cluster.nodes.size, "node")})` : "This cluster");
  }

  #remember() {
    this.#share.cancel();
    if (this.isConnected) address.set(toParams(this.#state));
  }

  #switchKind(kind) {
    if (kind === "policy" || this.#policies) {
      if (kind !== "policy") this.#state = { ...this.#state, kind, text: EXAMPLES.find((example) => example.kind === kind)?.text ?? "" };
      address.go("playground", { kind });
      return;
    }
    if (kind === this.#state.kind || embedded) return;
    this.#drafts.set(this.#state.kind, this.#state.text);
    const text = this.#drafts.get(kind) ?? EXAMPLES.find((example) => example.kind === kind)?.text ?? "";
    this.#show({ ...this.#state, kind, text });
    this.#share();
  }

  #switchSource(pasted) {
    const kept = this.#drafts.get("pasted") ?? "";
    if (!pasted && this.#state.taints != null) this.#drafts.set("pasted", this.#state.taints);
    this.#change({ taints: pasted ? (this.#state.taints ?? kept) : null });
    if (pasted) this.paste.focus();
  }

  async #useExample(select) {
    const { value } = select;
    const none = value === "";
    select.value = "";
    const chosen = value === "cluster" ? await fromCluster(cluster.nodes.values()) : EXAMPLES[Number(value)];
    if (none || !chosen) return;
    this.#show({ kind: chosen.kind, text: chosen.text, taints: chosen.taints, gates: this.#state.gates });
    this.#remember();
    this.editor.area.focus();
  }

  #setGate(name, on) {
    const all = { ...this.#state.gates };
    if (on == null) delete all[name];
    else all[name] = on;
    this.#change({ gates: all });
  }

  // -- asking

  #arguments() {
    const { kind, text, taints, gates: set } = this.#state;
    return { kind, text, ...(taints != null && { taints }), ...(Object.keys(set).length && { gates: set }) };
  }

  async #judge() {
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const args = this.#arguments();
    if (embedded && !answerable("playground", args)) return;
    setText(this.state, "asking…");
    this.#answer = {};
    this.#noteNodes();
    try {
      const options = { signal: asking.signal, onpart: (part) => this.#asking === asking && this.#take(part) };
      await ask("playground", embedded ? args : { ...args, tab: TAB }, options);
      if (this.#asking === asking) this.#finish();
    } catch (error) {
      if (isAbort(error) || this.#asking !== asking) return;
      setText(this.state, "");
      setText(this.summary, "Nodes");
      this.editor.problems = [];
      replace(this.problems, h("h2", { class: "problems-head bad" }, "Not judged"), h("p", { class: "wrap" }, error.message));
      replace(this.nodes, failed(error.message, () => this.#judge()));
    }
  }

  async #complete(text, place, signal) {
    if (embedded) return null;
    const parts = await ask("complete", { ...this.#arguments(), text, ...place, tab: TAB }, { signal });
    return parts.at(-1);
  }

  // -- results

  #take(part) {
    this.#answer = { ...this.#answer, ...part };
    if (part.errors) this.#showProblems(part);
    if (part.nodes) this.#showNodes(part);
    if (part.forms) replace(this.forms, part.forms.length ? forms(part.forms, embedded ? null : (yaml) => this.#useForm(yaml)) : h("p", { class: "muted" }, "There is nothing to say in another way."));
  }

  /** While a rule cannot be read, the answer to the last one that could stays, marked as such. */
  #finish() {
    const { nodes, empty: isEmpty } = this.#answer;
    const stale = !nodes && !isEmpty && this.#answered;
    this.classList.toggle("stale", stale);
    setText(this.state, stale ? "of the last rule that could be read" : this.#answer.givenUp ? "some expressions were too expensive to try" : "");
    this.#answered = Boolean(nodes) || stale;
    if (nodes) this.#askAgain();
    if (nodes || stale) return;
    setText(this.summary, "Nodes");
    replace(this.nodes, isEmpty ? empty("No rule yet", "Write one, or choose an example.") : empty("Not read yet", "Nodes are tried as soon as the rule can be read."));
    for (const place of [this.forms, this.gates]) replace(place, h("p", { class: "muted" }, "They are told as soon as there is a rule that can be read."));
    this.taints.hidden = true;
    replace(this.pasteProblems);
  }

  /** The simulated copy of a live cluster may be older than what the page knows: then ask until it has caught up. */
  #askAgain() {
    clearTimeout(this.#again);
    const { asked, pasted } = this.#answer;
    if (pasted || embedded || cluster.source.kind !== "live" || !asked || asked.seq >= this.#changedAt) return;
    setText(this.state, "the cluster has changed: asking again");
    this.#again = setTimeout(() => this.isConnected && this.#judge(), CATCH_UP);
  }

  #showProblems({ errors, cel, gates: rows, readable, looksLike }) {
    this.editor.problems = errors;
    const bad = errors.filter((one) => one.severity === "error").length;
    const rest = errors.length - bad;
    const told = errors.length ? [bad ? count(bad, "error") : "", rest ? count(rest, "warning") : ""].filter(Boolean).join(", ") : "No problems";
    replace(
      this.problems,
      h("h2", { class: ["problems-head", bad ? "bad" : rest ? "warn" : "good"] }, told),
      looksLike ? this.#otherKind(looksLike) : null,
      h("ol", { class: "problem-list" }, errors.map((one) => this.#problem(one))),
    );
    replace(this.costs, cel.length ? h("section", { class: "panel padded" }, h("h2", {}, cel.length > 1 ? "Expressions" : "Expression"), expressionFacts(cel)) : null);
    if (readable) this.#noticeGates(rows);
    if (readable) replace(this.gates, gates(rows, this.#state.gates, (name, on) => this.#setGate(name, on)));
    this.#atCursor(null);
  }

  /** Where a gate is off nothing can match: say so where the nodes are, and offer to try. */
  #noticeGates(rows) {
    const off = rows.filter((gate) => !gate.on).map((gate) => gate.name);
    this.gateNotice.hidden = !off.length;
    if (!off.length) return;
    const on = Object.fromEntries(off.map((name) => [name, true]));
    replace(
      this.gateNotice,
      h("p", { class: "wrap" }, `${off.join(", ")} ${off.length > 1 ? "are" : "is"} off here: what needs it matches nothing.`),
      h("button", { class: "button small", type: "button", onclick: () => this.#change({ gates: { ...this.#state.gates, ...on } }) }, "Try as if on"),
    );
  }

  /** A text of another kind than the one that is chosen: offers to read it so. */
  #otherKind(kind) {
    const read = () => {
      this.#show({ ...this.#state, kind });
      this.#remember();
      this.editor.area.focus();
    };
    return h("p", { class: "other-kind row" }, `It looks like ${NAMES[kind]}.`, h("button", { class: "button small", type: "button", onclick: read }, "Read it so"));
  }

  #problem(one) {
    return h(
      "li",
      { class: ["problem", one.severity] },
      h(
        "button",
        { class: "problem-button", type: "button", onclick: () => this.editor.select(one) },
        h("span", { class: "problem-place nums" }, `${one.line}:${one.column}`),
        h("span", { class: ["problem-word", one.severity === "error" ? "bad" : "warn"] }, one.severity),
        h("span", { class: "wrap" }, shortened(one)),
      ),
      one.hint ? h("p", { class: "problem-hint muted wrap" }, one.hint) : null,
    );
  }

  #atCursor(place) {
    const found = place ? (this.#answer.errors ?? []).find((one) => one.line === place.line && one.column <= place.column && place.column <= one.endColumn) : null;
    setText(this.cursor, found ? `${found.severity}: ${shortened(found)}` : "");
  }

  #showNodes({ nodes, pasted, pasteProblems, taints }) {
    const bare = this.#state.kind === "cel";
    setText(this.summary, summary(nodes));
    announce(summary(nodes));
    replace(this.nodes, nodes.total ? nodeGroups(nodes, { pasted, bare }) : empty("No nodes", pasted ? "Paste one node in a line." : "The cluster has none."));
    replace(this.pasteProblems, pasteProblems.map(({ line, message }) => h("li", { class: "wrap" }, `line ${line}: ${message}`)));
    this.taints.hidden = !taints?.length;
    if (taints?.length) replace(this.taints, h("div", { class: "panel-head" }, h("h2", {}, count(taints.length, "distinct taint"))), taintTable(taints, bare));
  }

  #useForm(yaml) {
    const kind = this.#state.kind === "cel" ? "tolerations" : this.#state.kind;
    this.#show({ ...this.#state, kind, text: `${yaml}\n` });
    this.#remember();
    this.editor.area.focus();
  }
}

/** What rules read of a node, as a text to compare. */
function facts(node) {
  return node && JSON.stringify([node.taints, node.labels]);
}

/** The path is where the problem is shown already. */
function shortened({ message, path }) {
  return path && message.startsWith(`${path}: `) ? message.slice(path.length + 2) : message;
}

customElements.define("moorage-playground", PlaygroundView);
