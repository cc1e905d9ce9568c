/**
 * Shows the view "Gates": what each gate is set to in every component, where they disagree, and what turning one off
 * would do. Those that differ between components come first, then those that objects use; the others are folded, and
 * found by a search all the same. Address: gate=NAME, find=TEXT, show=on|off|differ|used, all=1.
 */
import { address } from "../../lib/address.js";
import { answerable, ask, getJSON, isAbort, NOT_HERE } from "../../lib/api.js";
import { asOf, cluster } from "../../lib/cluster.js";
import { debounce, h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { differing } from "../../lib/gates.js";
import { announce } from "../../lib/notice.js";
import { chip } from "../../parts/chips.js";
import { failed, loading } from "../../parts/states.js";
import { gateDetail } from "./detail.js";
import { keps } from "./keps.js";
import { matrix } from "./matrix.js";

const EVERY = 30_000;
const REST = 20;
const SHOWN = [
  ["", "gates in use first"],
  ["on", "on anywhere"],
  ["off", "off anywhere"],
  ["differ", "components differ"],
  ["used", "objects depend on it"],
];

export class GatesView extends HTMLElement {
  #gates = null;
  #audit = null;
  #auditSeq = -1;
  #restUntil = 0;
  #auditProblem = "";
  #asking = null;
  #chosen = address.params.gate;
  #parts = {};
  #stop = null;
  #timer = 0;
  #server = "";

  connectedCallback() {
    this.#build();
    this.#stop = cluster.subscribe((change) => this.#clusterChanged(change));
    this.#timer = setInterval(() => this.#load(), EVERY);
    this.#load();
  }

  disconnectedCallback() {
    this.#stop?.();
    this.#asking?.abort();
    clearInterval(this.#timer);
  }

  addressChanged(params) {
    this.#show();
    if (params.gate && params.gate !== this.#chosen) this.#parts.detail.scrollIntoView({ block: "nearest" });
    this.#chosen = params.gate;
  }

  #build() {
    const p = this.#parts;
    const find = debounce((text) => address.set({ find: text }), 150);
    p.find = h("input", { type: "search", class: "input", id: "gate-find", placeholder: "name or feature", value: address.params.find ?? "", oninput: () => find(p.find.value) });
    p.shown = h(
      "select",
      { id: "gate-shown", onchange: () => address.set({ show: p.shown.value }) },
      SHOWN.map(([value, text]) => h("option", { value, selected: value === (address.params.show ?? "") }, text)),
    );
    p.state = h("span", { class: "row gate-state" });
    p.warnings = h("div", { class: "stack gate-warnings" });
    p.keps = h("div", { class: "gate-keps" });
    p.matrix = h("div", { class: "panel gate-matrix" }, loading("Asking the components", { height: "30rem" }));
    p.detail = h("section", { class: "panel gate-detail", tabindex: "0", "aria-live": "polite", "aria-label": "The chosen gate" });
    replace(
      this,
      h("div", { class: "view-head" }, h("h1", {}, "Gates"), h("p", { class: "lead" }, "What each component has on, and what turning a gate off would do.")),
      p.warnings,
      p.keps,
      h(
        "div",
        { class: "toolbar" },
        h("div", { class: "field" }, h("label", { for: "gate-find" }, "Find"), p.find),
        h("div", { class: "field" }, h("label", { for: "gate-shown" }, "Show"), p.shown),
        p.state,
      ),
      h("div", { class: "gate-columns" }, p.matrix, p.detail),
    );
  }

  #clusterChanged(change) {
    const server = `${cluster.source.name} ${cluster.source.connected} ${cluster.streaming}`;
    if ((change.source || change.all) && server !== this.#server) {
      this.#server = server;
      this.#load();
    }
  }

  async #load() {
    try {
      this.#gates = await getJSON("/api/gates");
    } catch (error) {
      if (!this.#gates) replace(this.#parts.matrix, failed(error.message, () => this.#load(), { height: "12rem" }));
      else this.#show();
      return;
    }
    this.#show();
    this.#askAudit();
  }

  async #askAudit() {
    const isFresh = this.#audit && (this.#auditSeq === cluster.seq || performance.now() < this.#restUntil);
    if (this.#asking || document.hidden || isFresh) return;
    if (!answerable("audit", {})) {
      this.#auditProblem = NOT_HERE;
      this.#show();
      return;
    }
    this.#asking = new AbortController();
    this.#auditSeq = cluster.seq;
    const began = performance.now();
    try {
      const parts = await ask("audit", {}, { signal: this.#asking.signal });
      this.#audit = parts.at(-1);
      this.#auditProblem = "";
    } catch (error) {
      if (isAbort(error)) return;
      this.#auditProblem = error.message;
    } finally {
      this.#asking = null;
      // An audit of a large cluster takes a while: most of the time it should not be looking.
      this.#restUntil = performance.now() + REST * (performance.now() - began);
    }
    this.#show();
  }

  #show() {
    if (!this.#gates || !this.isConnected) return;
    const p = this.#parts;
    const { gate: chosen, find = "", show = "" } = address.params;
    if (document.activeElement !== p.find) p.find.value = find;
    p.shown.value = show;
    const differ = new Set(differing(this.#gates));
    const { rows, rest, note } = this.#sorted(find.trim().toLowerCase(), show, differ);
    const shown = chosen ?? this.#usual(rows);
    const isOpen = Boolean(address.params.all) || rest.some((gate) => gate.name === chosen);
    this.#showState(isOpen ? rows.length + rest.length : rows.length, differ.size);
    replace(p.warnings, this.#gates.skews.map((skew) => this.#warning(skew)), this.#problems());
    replace(p.keps, keps(this.#gates, (name) => address.href("gates", { ...address.params, gate: name })));
    const scroll = p.matrix.querySelector(".scroll")?.scrollTop ?? 0;
    const focused = p.matrix.contains(document.activeElement) ? document.activeElement.dataset.gate : null;
    replace(
      p.matrix,
      matrix({
        gates: this.#gates,
        rows,
        rest,
        note,
        isOpen,
        onfold: () => this.#fold(!isOpen),
        differ,
        chosen: shown,
        totals: this.#audit?.totals,
        href: (name) => address.href("gates", { ...address.params, gate: name }),
      }),
    );
    const scroller = p.matrix.querySelector(".scroll");
    if (scroller) scroller.scrollTop = scroll;
    if (focused) p.matrix.querySelector(`[data-gate="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const gate = this.#gates.gates.find((one) => one.name === shown);
    replace(p.detail, gateDetail({ gate, gates: this.#gates, audit: this.#audit, problem: this.#auditProblem, again: () => this.#askAudit() }));
    // On a narrow screen the table comes first until a gate is chosen.
    p.detail.classList.toggle("unchosen", !chosen || !gate);
    if (chosen && gate && this.#told !== gate.name) {
      this.#told = gate.name;
      announce(`${gate.name} is shown`);
    }
  }

  #told = "";

  #fold(isOpen) {
    // A gate that is chosen among the folded ones would keep them open.
    address.set({ all: isOpen ? "1" : null, ...(isOpen ? {} : { gate: null }) });
    this.#parts.matrix.querySelector(".gate-fold")?.focus();
  }

  /** The gate to begin with: the first of the list, once it is known which are used. */
  #usual(rows) {
    return this.#audit || this.#auditProblem || rows.length ? (rows[0] ?? this.#gates.gates[0])?.name : undefined;
  }

  /** What is shown, the most important first, and what is folded. */
  #sorted(find, show, differ) {
    const totals = this.#audit?.totals ?? {};
    const use = (gate) => (totals[gate.name]?.affected ?? 0) * 1e6 + (totals[gate.name]?.objects ?? 0);
    const list = this.#matching(find, show, differ).sort((a, b) => differ.has(b.name) - differ.has(a.name) || use(b) - use(a));
    if (find || show || this.#auditProblem) return { rows: list, rest: [], note: list.length ? "" : "No gate matches" };
    const rows = list.filter((gate) => differ.has(gate.name) || use(gate));
    const note = this.#audit ? "" : "Looking for the objects that use each gate…";
    return { rows, rest: this.#audit ? list.filter((gate) => !rows.includes(gate)) : [], note };
  }

  #matching(find, show, differ) {
    const totals = this.#audit?.totals ?? {};
    return this.#gates.gates.filter((gate) => {
      const values = Object.values(gate.values);
      if (find && !`${gate.name} ${gate.feature}`.toLowerCase().includes(find)) return false;
      if (show === "on") return values.includes(true);
      if (show === "off") return values.includes(false);
      if (show === "differ") return differ.has(gate.name);
      if (show === "used") return (totals[gate.name]?.objects ?? 0) > 0;
      return true;
    });
  }

  #showState(shown, differ) {
    const { gates, components, told, silent, skews } = this.#gates;
    const parts = [h("span", { class: "muted nums" }, `${shown} of ${count(gates.length, "gate")}`)];
    if (!told) parts.push(chip("as --feature-gates sets them; no cluster was asked", "info"));
    else if (skews.length) parts.push(chip(`${count(skews.length, "combination")} that does harm`.replace("combinations that does", "combinations that do"), "warn"));
    else if (differ) parts.push(chip(differ === 1 ? "1 gate differs between components" : `${count(differ, "gate")} differ between components`, "warn"));
    else if (silent.length < components.length - 1) {
      const who = silent.length ? "those that tell" : "components";
      parts.push(asOf() ? chip(`${who} agreed ${asOf()}`, "warn") : chip(`${who} agree`, "good"));
    }
    replace(this.#parts.state, parts);
  }

  #warning(skew) {
    return h(
      "section",
      { class: "gate-warning", "aria-label": "Half-enabled gates" },
      h("h2", {}, chip("half enabled", "warn"), " ", `${skew.situation}`),
      h("ul", {}, skew.happens.map((text) => h("li", {}, text))),
      h("p", { class: "gate-remedy" }, h("strong", {}, "What to do: "), skew.remedy),
      h(
        "p",
        { class: "row" },
        skew.gates.map((name) => h("a", { href: address.href("gates", { ...address.params, gate: name }) }, `What depends on ${name}`)),
      ),
    );
  }

  #problems() {
    const { problems, silent, told } = this.#gates;
    const lines = problems.map((text) => h("p", { class: "gate-problem" }, chip("not read", "warn"), " ", text));
    if (told && silent.length) {
      const whom = silent.join(", ");
      const verb = silent.length === 1 ? "does" : "do";
      lines.push(h("p", { class: "gate-problem muted" }, `${whom} ${verb} not tell: start the dashboard with --scrape URL to ask a component's own metrics.`));
    }
    return lines;
  }
}

customElements.define("moorage-gates", GatesView);
