/**
 * Shows a plan as `moorage plan` prints it: numbers, what changes would do, a rollout's steps, all pods and nodes, notes.
 * Only saved pages have it: `moorage plan --output html`.
 */
import { address } from "../../lib/address.js";
import { ask } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count, duration, number } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { failed, loading } from "../../parts/states.js";
import { played } from "../timeline/rollouts.js";

const NUMBERS = [
  ["nodes", "Nodes"],
  ["pods", "Pods"],
  ["bound", "Already there"],
  ["placed", "Placed"],
  ["pending", "Pending"],
  ["evicting", "To be evicted"],
  ["evicted", "Evicted"],
  ["failed", "Failed"],
  ["refused", "Pods refused"],
  ["preempted", "Preempted"],
  ["succeeded", "Succeeded"],
  ["deleted", "Deleted"],
  ["terminating", "Terminating"],
  ["ended", "Ended before"],
  ["failedWorkloads", "Workloads refused"],
  ["rejectedObjects", "Objects refused"],
  ["unreadable", "Unreadable"],
];
/** Numbers that most plans lack have no column where they are 0. */
const ALWAYS = new Set(["nodes", "pods", "bound", "placed", "pending", "preempted", "failedWorkloads", "rejectedObjects", "unreadable"]);
const STATES = { Pending: "warn", Evicting: "warn", Evicted: "bad", Failed: "bad", Refused: "bad", Preempted: "warn", Bound: "good", Placed: "good", Succeeded: "good" };
const LEVELS = { error: "bad", warning: "warn", info: "info" };
const ROW = 33;
const MOST = 12;

export class PlanView extends HTMLElement {
  async connectedCallback() {
    replace(this, h("h1", {}, "Plan"), loading("Reading the plan"));
    try {
      const [plan] = await ask("plan");
      replace(this, sections(plan));
    } catch (error) {
      replace(this, h("h1", {}, "Plan"), failed(error.message));
    }
  }
}

function sections(plan) {
  const { summary, whatIf, rollout } = plan;
  const others = ["evicting", "evicted", "failed", "refused"].filter((key) => summary[key]).map((key) => `, ${number(summary[key])} ${key === "evicting" ? "to be evicted" : key}`);
  const lead = `${count(summary.pods, "pod")} on ${count(summary.nodes, "node")}: ${number(summary.placed)} placed, ${number(summary.bound)} already there, ${number(summary.pending)} Pending${others.join("")}`;
  return [
    h("div", { class: "view-head" }, h("h1", {}, "Plan"), h("p", { class: "lead" }, lead)),
    panel("Numbers", null, numbers(summary, whatIf?.before)),
    whatIf && whatIfSections(whatIf),
    rollout && rolloutSection(rollout),
    listed("Evicted", plan.evicted, movedColumns()),
    listed("Evicted again and again", plan.evictionLoops, [text("Workload", (one) => one.workload, "16rem"), { ...text("Every", (one) => duration(one.everySeconds), "6rem"), by: (one) => one.everySeconds, end: true }, text("Why", (one) => one.because)]),
    listed("Workloads whose pods are refused", plan.failedCreates, [text("Workload", (one) => one.workload, "16rem"), text("Pods", (one) => (one.refused ? `${number(one.existing)} of ${number(one.wanted)} exist, ${number(one.refused)} refused` : ""), "12rem"), text("Why", (one) => hinted(one)), text("Place", place, "16rem")]),
    listed("Preempted", plan.preempted, [text("Pod", (one) => one.pod), text("Node", (one) => one.node), text("Makes room for", (one) => one.by)]),
    listed("Pods", plan.pods, podColumns(), (one) => one.state === "Pending" && address.go("pending", { pod: `${one.namespace}/${one.name}` })),
    listed("Nodes", plan.nodes, nodeColumns(plan.nodes), (one) => address.go("map", { node: one.name })),
    listed("Room for more pods", headroom(plan), [text("Workload", (one) => one[0]), text("Pods", (one) => one[1])]),
    listed("Notes", plan.notes, [level(), text("Object", (one) => one.object, "16rem"), text("Note", (one) => hinted(one)), text("Place", place, "16rem")]),
  ];
}

function numbers(summary, before) {
  const shown = NUMBERS.filter(([key]) => ALWAYS.has(key) || summary[key] || before?.[key]);
  const row = (name, values) => h("tr", {}, h("th", { scope: "row" }, name), shown.map(([key]) => h("td", { class: "end nums", dataset: { number: key } }, number(values[key]))));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the plan" },
    h(
      "table",
      { class: "plan-numbers" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "State"), shown.map(([, title]) => h("th", { scope: "col", class: "end" }, title)))),
      h("tbody", {}, before && row("Before", before), row(before ? "After the changes" : "Planned", summary)),
    ),
  );
}

function movedColumns() {
  return [
    text("Pod", (one) => one.pod),
    text("Node", (one) => one.node, "10rem"),
    { ...text("After", (one) => duration(one.afterSeconds), "6rem"), by: (one) => one.afterSeconds, end: true },
    text("Why", (one) => `${one.cause}: ${one.because}`),
    text("Then", (one) => (one.newNode ? `${one.replacedBy} on ${one.newNode}` : one.replacedBy ? `${one.replacedBy} is Pending: ${one.message}` : "nothing takes its place")),
  ];
}

function whatIfSections(whatIf) {
  const moved = movedColumns();
  const pods = podColumns();
  return [
    panel("What if", null, h("div", {}, h("ul", { class: "plan-changes" }, whatIf.changes.map((one) => h("li", { class: "wrap" }, one))), h("p", { class: "plan-changes wrap" }, `${whatIf.sentence}.`))),
    listed("Evicted", whatIf.evicted, moved),
    listed("Replaced by a rolling update", whatIf.replaced, moved),
    listed("Kept from being evicted", whatIf.blocked, [text("Pod", (one) => one.pod), text("Why", (one) => one.message)]),
    listed("Newly placed", whatIf.placed, pods),
    listed("Newly Pending", whatIf.pending, pods),
    listed("Newly failed", whatIf.failed, pods),
    listed("Leave anyway, also without the changes", whatIf.anyway, moved),
  ];
}

function rolloutSection(rollout) {
  return panel(`Rollout of ${rollout.deployment}`, null, h("div", { class: "padded" }, played(rollout.deployment, rollout, Math.min(1152, Math.max(240, innerWidth - 72)))));
}

function podColumns() {
  return [
    text("Pod", (one) => `${one.namespace}/${one.name}`),
    text("Workload", (one) => one.workload),
    { ...text("State", (one) => one.state, "6rem"), cell: (one) => chip(one.state, STATES[one.state] ?? "") },
    text("Node", (one) => one.node || one.lastNode || "", "10rem"),
    text("Why", (one) => [one.reason ? `${one.reason}: ${one.message ?? ""}` : "", one.deadline?.then ? `then: ${one.deadline.then}` : ""].filter(Boolean).join("; ")),
  ];
}

function nodeColumns(nodes) {
  const names = [...new Set(nodes.flatMap((one) => Object.keys(one.resources)))].slice(0, 8);
  const resources = names.map((name) => ({
    id: name,
    title: name,
    width: "11rem",
    end: true,
    by: (one) => one.resources[name]?.percent ?? -1,
    cell: (one) => (one.resources[name] ? `${one.resources[name].requested}/${one.resources[name].allocatable} · ${one.resources[name].percent}%` : "–"),
  }));
  return [text("Node", (one) => one.name, "12rem"), ...resources, text("Taints", (one) => one.taints.join(", ")), text("Takes pods", (one) => (one.schedulable ? "yes" : "cordoned"), "7rem")];
}

function headroom({ headroom: room = {}, headroomUnknown: unknown = {} }) {
  return [...Object.entries(room).map(([name, pods]) => [name, number(pods)]), ...Object.entries(unknown).map(([name, why]) => [name, `not counted: ${why}`])];
}

function level() {
  return { ...text("Level", (one) => one.level, "7rem"), cell: (one) => chip(one.level, LEVELS[one.level] ?? "") };
}

function hinted({ message, hint }) {
  return hint ? `${message} (hint: ${hint})` : message;
}

function place({ file, line }) {
  return line ? `${file}:${line}` : file ?? "";
}

function text(title, of, width) {
  return { id: title, title, width, cell: (row) => String(of(row) ?? ""), by: (row) => String(of(row) ?? "") };
}

/** A panel with a table; nothing where there are no rows. */
function listed(title, rows, columns, onopen = null) {
  if (!rows?.length) return null;
  return panel(title, h("span", { class: "muted nums" }, number(rows.length)), table(title, rows, columns, onopen));
}

function table(label, rows, columns, onopen = null) {
  return dataTable({ label, columns, rows, onopen, height: `${Math.min(rows.length + 1, MOST) * ROW}px` });
}

function panel(title, beside, ...body) {
  return h("section", { class: "panel plan-panel" }, h("div", { class: "panel-head" }, h("h2", {}, title), beside), h("div", { class: "plan-body" }, body));
}

customElements.define("moorage-plan", PlanView);
