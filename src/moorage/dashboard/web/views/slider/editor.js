/**
 * Edits one change: its kind, where it applies, key, effect and value.
 *
 *   const editor = new ChangeEditor(change, {nodes: () => Map, facts: () => thresholds, onchange, onremove});
 *   editor.element; editor.change; editor.number = 2; editor.refresh()     after the cluster or the facts changed
 *
 * The form is rebuilt when its fields change, not when a value does: a slider that is dragged stays the same element.
 */
import { cluster } from "../../lib/cluster.js";
import { freshId, h, replace, setText } from "../../lib/dom.js";
import { count, natural, number } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { combobox } from "../../parts/combobox.js";
import { KINDS, ONLY_NODES, describe, kindOf, missing, nodesIn } from "./changes.js";
import { onNode, propose, workloadName } from "./proposals.js";
import { keysOf, placed, scaleOf } from "./scales.js";
import { scopeFields } from "./scope.js";
import { countControl, valueControl } from "./value.js";

const ON_NODES = new Set(["taint", "untaint", "label", ...ONLY_NODES]);

export class ChangeEditor {
  #hooks;
  #legend = h("legend", { class: "change-title" });
  #body = h("div", { class: "change-body" });
  #note = h("p", { class: "change-note muted" });

  constructor(change, hooks) {
    this.change = change;
    this.#hooks = hooks;
    const kinds = Object.entries(KINDS).map(([value, text]) => h("option", { value, selected: value === kindOf(change) }, text));
    const id = freshId("kind");
    this.kindSelect = h("select", { id, class: "select grow", onchange: (event) => this.#setKind(event.target.value) }, kinds);
    this.removeButton = h("button", { type: "button", class: "icon-button", onclick: () => hooks.onremove() }, icon("close"));
    this.element = h(
      "div",
      { class: "change panel" },
      h(
        "fieldset",
        { class: "change-fields" },
        this.#legend,
        h("div", { class: "change-head" }, h("label", { class: "visually-hidden", for: id }, "Kind of change"), this.kindSelect, this.removeButton),
        this.#body,
        this.#note,
      ),
    );
    this.#build();
  }

  set number(at) {
    setText(this.#legend, `Change ${at}`);
    this.removeButton.setAttribute("aria-label", `Take change ${at} away`);
    this.removeButton.title = `Take change ${at} away`;
  }

  /** Takes another change, for instance from the address. */
  set(change) {
    if (JSON.stringify(change) === JSON.stringify(this.change)) return;
    this.change = change;
    this.kindSelect.value = kindOf(change);
    this.#build();
  }

  refresh() {
    // Not under the reader's hands: a slider that is held keeps its scale.
    if (!this.#body.contains(document.activeElement)) this.#build();
    else this.#tell();
  }

  focus() {
    this.kindSelect.focus();
  }

  get #kind() {
    return kindOf(this.change);
  }

  get #what() {
    return this.change[this.#kind];
  }

  #setKind(kind) {
    this.change = propose(kind, this.#hooks.nodes(), this.#hooks.facts());
    this.#build();
    this.#hooks.onchange();
  }

  /** Merges fields into the change; `rebuild` where other controls depend on them. */
  #put(fields, rebuild = false) {
    const kind = this.#kind;
    this.change = { [kind]: typeof fields === "object" ? { ...this.#what, ...fields } : fields };
    if (rebuild) this.#build();
    else this.#tell();
    this.#hooks.onchange();
  }

  #build() {
    const part = this.#body.contains(document.activeElement) ? document.activeElement.closest("[data-part]")?.dataset.part : null;
    replace(this.#body, this.#fields());
    this.#tell();
    if (part) focusPart(this.#body.querySelector(`[data-part="${part}"]`));
  }

  #tell() {
    const lack = missing(this.change);
    let text = lack;
    if (!lack && ON_NODES.has(this.#kind)) {
      const all = this.#hooks.nodes().size;
      const found = nodesIn(this.#what.nodes, this.#hooks.nodes()).length;
      text = `${number(found)} of ${count(all, "node")}: ${describe(this.change)}.`;
    } else if (!lack) {
      text = `${describe(this.change)}.`;
    }
    setText(this.#note, text);
    this.#note.classList.toggle("warn", Boolean(lack));
  }

  #fields() {
    const kind = this.#kind;
    if (kind === "scale") return this.#scaleFields();
    if (kind === "addNodes") return this.#addFields();
    if (kind === "apply") return [this.#applyField()];
    if (kind === "evict") return [this.#podField()];
    if (kind === "deviceTaint") return [...this.#deviceFields(), this.#keyField(), this.#effectField(cluster.names.deviceEffects), this.#valueField("device")];
    const scope = scopeFields({ kind, what: this.#what, nodes: this.#hooks.nodes(), onscope: (nodes) => this.#put({ nodes }, true) });
    if (ONLY_NODES.has(kind)) return [scope];
    if (kind === "untaint") return [this.#keyField(), this.#effectField(["", ...cluster.names.effects]), scope];
    if (kind === "taint") return [this.#keyField(), this.#effectField(cluster.names.effects), scope, this.#valueField("node")];
    return [this.#keyField(), scope, this.#what.value === null ? null : this.#valueField("node"), this.#removeField()];
  }

  #keyField() {
    const kind = this.#kind;
    const isLabel = kind === "label";
    const noun = kind === "deviceTaint" ? "device" : "node";
    const options = keysOf(kind, this.#hooks.facts()).map((one) => ({
      value: one.key,
      text: one.key,
      hint: [one.on ? `on ${count(one.on, noun)}` : "", one.pods ? `named by ${count(one.pods, "pod")}` : ""].filter(Boolean).join(", "),
      group: one.compared ? "Compared by pods" : "Others",
    }));
    const box = combobox({
      label: isLabel ? "Label" : "Taint key",
      options,
      value: this.#what.key,
      free: kind !== "untaint",
      placeholder: isLabel ? "example.com/pool" : "example.com/level",
      onchange: (key) => this.#setKey(key),
    });
    return part("key", box);
  }

  #setKey(key) {
    if (key === this.#what.key) return;
    const kind = this.#kind;
    const nodes = this.#hooks.nodes();
    if (kind === "taint" || kind === "label") {
      const scope = this.#what.nodes?.taint ? null : this.#what.nodes;
      const isOneNode = Array.isArray(scope) && scope.length === 1;
      return this.#put(onNode(kind, key, nodes, scope?.[0] ?? "", isOneNode ? null : scope), true);
    }
    if (kind === "untaint") return this.#put({ key, effect: "", nodes: { taint: key } }, true);
    const one = this.#hooks.facts()?.devicesTainted?.find((row) => row.key === key);
    return this.#put({ key, value: one?.value ?? "", effect: one?.effect ?? this.#what.effect }, true);
  }

  #effectField(effects) {
    const id = freshId("effect");
    const options = effects.map((effect) => h("option", { value: effect, selected: effect === (this.#what.effect ?? "") }, effect || "any effect"));
    const select = h("select", { id, class: "select", onchange: (event) => this.#put({ effect: event.target.value }) }, options);
    return h("div", { class: "field", dataset: { part: "effect" } }, h("label", { for: id }, "Effect"), select);
  }

  #valueField(noun) {
    const kind = this.#kind;
    const { key } = this.#what;
    const control = valueControl({
      scale: scaleOf(kind, key, this.#hooks.facts()),
      value: this.#what.value ?? "",
      label: "Value",
      noun,
      place: (value, signal) => placed(kind, key, value, signal),
      onvalue: (value) => this.#put({ value }),
      next: (direction, signal) => this.#hooks.next(this, direction, signal),
    });
    control.element.dataset.part = "value";
    return control.element;
  }

  /** A label can also go: its value is null then. */
  #removeField() {
    const key = this.#what.key;
    const put = (event) => this.#put({ value: event.target.checked ? null : onNode("label", key, this.#hooks.nodes(), "").value }, true);
    const box = h("input", { type: "checkbox", checked: this.#what.value === null, onchange: put });
    return h("label", { class: "check", dataset: { part: "remove" } }, box, "Remove the label instead");
  }

  #nodeField(label, value, onchange) {
    const options = [...this.#hooks.nodes().keys()].sort(natural).map((name) => ({ value: name, text: name }));
    return part("node", combobox({ label, options, value, placeholder: "node-1", onchange }));
  }

  #podField() {
    const pods = [...cluster.pods.values()].filter((pod) => pod.node);
    const options = pods.map((pod) => ({ value: pod.key, text: pod.key, hint: pod.node }));
    return part("pod", combobox({ label: "Pod", options, value: this.#what, placeholder: "default/web-1", onchange: (key) => this.#put(key) }));
  }

  #addFields() {
    const { count: value } = this.#what;
    const control = countControl({ least: 1, most: Math.max(10, 2 * value), value, label: "How many", now: "", oncount: (number) => this.#put({ count: number }) });
    control.element.dataset.part = "value";
    return [this.#nodeField("Like", this.#what.like, (like) => this.#put({ like })), control.element];
  }

  #scaleFields() {
    const workloads = this.#hooks.facts()?.workloads ?? [];
    const options = workloads.map((one) => ({ value: workloadName(one), text: workloadName(one), hint: `now ${one.replicas}` }));
    const now = workloads.find((one) => workloadName(one) === this.#what.workload)?.replicas;
    const box = combobox({
      label: "Workload",
      options,
      value: this.#what.workload,
      placeholder: "deployment/default/web",
      onchange: (workload) => this.#put({ workload, replicas: workloads.find((one) => workloadName(one) === workload)?.replicas ?? 1 }, true),
    });
    const { replicas } = this.#what;
    const most = Math.max(10, 2 * (now ?? replicas));
    const control = countControl({ least: 0, most, value: replicas, label: "Replicas", now: now === undefined ? "" : `Now ${now}.`, oncount: (number) => this.#put({ replicas: number }) });
    control.element.dataset.part = "value";
    return [part("workload", box), control.element];
  }

  #applyField() {
    const id = freshId("apply");
    const area = h("textarea", { id, rows: 8, spellcheck: "false", value: this.#what, placeholder: "apiVersion: v1\nkind: Node\n…", oninput: (event) => this.#put(event.target.value) });
    return h("div", { class: "field wide", dataset: { part: "apply" } }, h("label", { for: id }, "Manifests (YAML)"), area);
  }

  #deviceFields() {
    const devices = this.#hooks.facts()?.devices ?? [];
    const { driver, pool, device } = this.#what;
    const pools = devices.find((one) => one.driver === driver)?.pools ?? [];
    const names = pools.find((one) => one.pool === pool)?.devices ?? [];
    const pick = (label, name, options, value, all) =>
      part(name, combobox({ label, options: [...(all ? [{ value: "", text: all }] : []), ...options.map((one) => ({ value: one, text: one }))], value, onchange: (one) => this.#put(this.#deviceFrom(name, one), true) }));
    return [
      pick("Driver", "driver", devices.map((one) => one.driver), driver, ""),
      pick("Pool", "pool", pools.map((one) => one.pool), pool ?? "", "all pools"),
      pool ? pick("Device", "device", names, device ?? "", "all devices") : null,
    ];
  }

  /** A pool belongs to its driver, a device to its pool. */
  #deviceFrom(name, value) {
    if (name === "driver") return { driver: value, pool: "", device: "" };
    return name === "pool" ? { pool: value, device: "" } : { device: value };
  }
}

function part(name, element) {
  element.dataset.part = name;
  return element;
}

function focusPart(element) {
  if (!element) return;
  (element.querySelector("input, select, textarea, button") ?? element).focus();
}
