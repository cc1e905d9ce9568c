/**
 * Shows a plan as `moorage plan` prints it: numbers, what changes would do, a rollout's steps, all pods and nodes, notes.
 * Only saved pages have it: `moorage plan --output html`. Every number says of which moment it is: before the changes of
 * the command line, or after them; what happens anyway stands apart.
 */
import { address } from "../../lib/address.js";
import { ask } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count, duration, number } from "../../lib/format.js";
import { moments } from "../../lib/moments.js";
import { chip } from "../../parts/chips.js";
import { dataTable } from "../../parts/data-table.js";
import { failed, loading } from "../../parts/states.js";
import { played } from "../timeline/rollouts.js";

const NUMBERS = [
  ["nodes", "Nodes"],
  ["present", "Pods on nodes or waiting"],
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
  ["pods", "All pods, with those that are gone"],
  ["failedWorkloads", "Workloads refused"],
  ["rejectedObjects", "Objects refused"],
  ["unreadable", "Unreadable"],
];
/** What `present` sums up: the pods that the map shows. */
const PRESENT = ["bound", "placed", "evicting", "pending"];
/** All other numbers have no row where they are 0. */
const ALWAYS = new Set(["nodes", "present", "placed", "pending"]);
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
  const { whatIf, rollout } = plan;
  const shown = states(plan);
  const then = shown.at(-1).words;
  return [
    h("div", { class: "view-head" }, h("h1", {}, "Plan"), h("p", { class: "lead" }, shown.map(({ title, summary }) => h("span", { class: "plan-lead" }, `${title}: ${phrase(summary)}.`)))),
    h("div", { class: "plan-columns" }, panel("Numbers", null, numbers(shown)), whatIf && changesPanel(whatIf)),
    whatIf && whatIfSections(whatIf),
    rollout && rolloutSection(rollout),
    listed("Evicted", plan.evicted, movedColumns(), { when: then }),
    listed("Evicted again and again", plan.evictionLoops, [text("Workload", (one) => one.workload, "16rem"), { ...text("Every", (one) => duration(one.everySeconds), "6rem"), by: (one) => one.everySeconds, end: true }, text("Why", (one) => one.because)], { when: then }),
    listed("Workloads whose pods are refused", plan.failedCreates, [text("Workload", (one) => one.workload, "16rem"), text("Pods", (one) => (one.refused ? `${number(one.existing)} of ${number(one.wanted)} exist, ${number(one.refused)} refused` : ""), "12rem"), text("Why", (one) => hinted(one)), text("Place", place, "16rem")], { when: then }),
    listed("Preempted", plan.preempted, [text("Pod", (one) => one.pod), text("Node", (one) => one.node), text("Makes room for", (one) => one.by)], { when: then }),
    listed("Pods", plan.pods, podColumns(), { when: then, onopen: (one) => one.state === "Pending" && address.go("pending", { pod: `${one.namespace}/${one.name}` }) }),
    listed("Nodes", plan.nodes, nodeColumns(plan.nodes), { when: then, onopen: (one) => address.go("map", { node: one.name }) }),
    listed("Room for more pods", headroom(plan), [text("Workload", (one) => one[0]), text("Pods", (one) => one[1])], { when: then }),
    listed("Notes", plan.notes, [level(), text("Object", (one) => one.object, "16rem"), text("Note", (one) => hinted(one)), text("Place", place, "16rem")]),
  ];
}

/** The moments of the plan with their numbers; a page that has only the last one still knows those without the changes. */
function states(plan) {
  const known = moments.length ? moments : [{ title: "As planned", words: "as planned", summary: plan.summary }];
  if (!plan.whatIf || known.length > 1) return known;
  return [{ title: "Without the changes", words: "without the changes", summary: plan.whatIf.before }, ...known];
}

function phrase(summary) {
  const others = ["evicting", "evicted", "failed", "refused"].filter((key) => summary[key]).map((key) => `, ${number(summary[key])} ${key === "evicting" ? "to be evicted" : key}`);
  return `${count(present(summary), "pod")} on ${count(summary.nodes, "node")}: ${number(summary.placed)} placed, ${summary.bound ? `${number(summary.bound)} already there, ` : ""}${number(summary.pending)} Pending${others.join("")}`;
}

function present(summary) {
  return PRESENT.reduce((sum, key) => sum + summary[key], 0);
}

/** One row for each number, one column for each moment, and what differs between the last two. */
function numbers(shown) {
  const value = ({ summary }, key) => (key === "present" ? present(summary) : summary[key]);
  const isShown = (key) => ALWAYS.has(key) || (key === "pods" ? shown.some(({ summary }) => summary.pods !== present(summary)) : shown.some(({ summary }) => summary[key]));
  const head = (title) => h("th", { scope: "col", class: "end" }, title);
  const row = ([key, title]) => {
    const [before, after] = shown.slice(-2).map((state) => value(state, key));
    const cells = shown.map((state) => h("td", { class: "end nums", dataset: { number: key } }, number(value(state, key))));
    return h("tr", {}, h("th", { scope: "row" }, title), cells, shown.length > 1 && h("td", { class: "end nums" }, after === before ? h("span", { class: "muted" }, "0") : h("strong", {}, `${after > before ? "+" : "−"}${number(Math.abs(after - before))}`)));
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of the plan" },
    h(
      "table",
      { class: "plan-numbers" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Number"), shown.map(({ title }) => head(title)), shown.length > 1 && head("Difference"))),
      h("tbody", {}, NUMBERS.filter(([key]) => isShown(key)).map(row)),
    ),
  );
}

function changesPanel(whatIf) {
  return panel("What the changes do", null, h("div", {}, h("ul", { class: "plan-changes" }, whatIf.changes.map((one) => h("li", { class: "wrap" }, one))), h("p", { class: "plan-changes wrap" }, h("strong", {}, `${whatIf.sentence}.`))));
}

function movedColumns() {
  return [
    text("Pod", (one) => one.pod),
    text("Node", (one) => one.node, "10rem"),
    { ...text("After", (one) => (one.afterSeconds > 0 ? duration(one.afterSeconds) : "at once"), "6rem"), by: (one) => one.afterSeconds, end: true },
    text("Why", (one) => `${one.cause}: ${one.because}`),
    text("Then", (one) => (one.newNode ? `${one.replacedBy} on ${one.newNode}` : one.replacedBy ? `${one.replacedBy} is Pending: ${one.message}` : "nothing takes its place")),
  ];
}

function whatIfSections(whatIf) {
  const moved = movedColumns();
  const pods = podColumns();
  const because = { when: "because of the changes" };
  return [
    listed("Evicted", whatIf.evicted, moved, because),
    listed("Replaced by a rolling update", whatIf.replaced, moved, because),
    listed("Kept from being evicted", whatIf.blocked, [text("Pod", (one) => one.pod), text("Why", (one) => one.message)], because),
    listed("Newly placed", whatIf.placed, pods, because),
    listed("Newly Pending", whatIf.pending, pods, because),
    listed("Newly failed", whatIf.failed, pods, because),
    listed("Leave anyway", whatIf.anyway, moved, { when: "also without the changes", anyway: true }),
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

/** A panel with a table; nothing where there are no rows. `when` says of which moment they are. */
function listed(title, rows, columns, { when = "", onopen = null, anyway = false } = {}) {
  if (!rows?.length) return null;
  const beside = [h("span", { class: "muted nums" }, number(rows.length)), when && h("span", { class: "muted" }, when)];
  return panel(title, beside, table([title, when].filter(Boolean).join(", "), rows, columns, onopen), anyway);
}

function table(label, rows, columns, onopen) {
  return dataTable({ label, columns, rows, onopen, height: `${Math.min(rows.length + 1, MOST) * ROW}px` });
}

function panel(title, beside, body, anyway = false) {
  return h("section", { class: ["panel plan-panel", anyway && "anyway"] }, h("div", { class: "panel-head" }, h("h2", {}, title), beside), h("div", { class: "plan-body" }, body));
}

customElements.define("moorage-plan", PlanView);
