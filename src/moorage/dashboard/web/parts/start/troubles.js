/**
 * Asks what is wrong or soon will be: one function for each kind of question.
 *
 * A question is a function of the facts, which returns null or {urgency, text, href, title}. Facts: `cluster`, `tally`,
 * `seen` (survey.js), `answers` (asking.js: gates, tips, budgets; each may be absent), `now` in seconds.
 */
import { address } from "../../lib/address.js";
import { count, duration, natural, number } from "../../lib/format.js";
import { differing } from "../../lib/gates.js";
import { UNREAD } from "../unread.js";
import { encode } from "../../views/slider/changes.js";
import { movable } from "./survey.js";

/** An eviction this many seconds ago still belongs to a loop. */
const RECENT = 600;

export const TROUBLES = { waiting, notReady, leaving, loops, pressed, gates, unread, budgets, tipping, cordoned };

function waiting({ cluster, tally }) {
  const keys = [...tally.waiting];
  if (!keys.length) return null;
  const workloads = new Set(keys.map((key) => cluster.pods.get(key)?.workload).filter(Boolean));
  const [first] = keys;
  const text = keys.length === 1 ? "1 pod waits: why?" : `${count(keys.length, "pod")}${ofWorkloads(workloads)} wait: why?`;
  // Of several shapes the view shows the largest group first.
  const href = workloads.size > 1 ? address.href("pending") : address.href("pending", { pod: first });
  return { urgency: 100, text, href, title: keys.slice(0, 5).join("\n") };
}

function ofWorkloads(workloads) {
  if (!workloads.size) return "";
  return workloads.size === 1 ? ` of ${shortName([...workloads][0])}` : ` of ${number(workloads.size)} workloads`;
}

/** "Deployment shop/checkout" → "checkout", "shop/web-1" → "web-1". */
export function shortName(name) {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf(" ")) + 1);
}

function notReady({ seen }) {
  const rows = seen.notReady;
  const pods = rows.reduce((sum, row) => sum + row.pods.size, 0);
  if (!rows.length) return null;
  const on = pods ? `, with ${count(pods, "pod")}` : "";
  if (rows.length === 1) return { urgency: 95, text: `${rows[0].name} is not ready${on}: look`, href: address.href("map", { node: rows[0].name }) };
  return { urgency: 95, text: `${count(rows.length, "node")} are not ready${on}: which?`, href: address.href("map", { find: "notready" }) };
}

function leaving({ cluster, tally, now }) {
  let first = null;
  for (const key of tally.leaving) {
    const pod = cluster.pods.get(key);
    if (pod?.deadline && (!first || pod.deadline[0] < first.deadline[0])) first = pod;
  }
  if (!first) return null;
  const [due, because] = first.deadline;
  const left = Math.round(due - now);
  const when = due >= 0 && left > 0 ? `in ${duration(left)}` : "now";
  const more = tally.leaving.size - 1;
  const text = `${shortName(first.workload || first.key)} leaves ${first.node} ${when}${more ? `, ${number(more)} more later` : ""}: why?`;
  return { urgency: 90, text, href: address.href("map", { look: first.key }), title: `${first.key}: ${because}` };
}

/** A loop is told once; it goes on while pods of its workload are evicted. */
function loops({ cluster, now }) {
  if (cluster.source.kind !== "live") return null;
  const lasting = new Map();
  for (const [time, kind, , workload, detail] of cluster.happenings) {
    if (kind === "loop") lasting.set(workload, { detail, last: Math.max(time, lasting.get(workload)?.last ?? 0) });
    else if (kind === "evicted" && lasting.has(workload)) lasting.get(workload).last = time;
  }
  const going = [...lasting].filter(([, { last }]) => now - last < RECENT);
  if (!going.length) return null;
  const [workload, { detail }] = going[0];
  const what = going.length === 1 ? `${shortName(workload)} is` : `${number(going.length)} workloads are`;
  return { urgency: 85, text: `${what} evicted again and again: why?`, href: address.href("timeline", { workload: going.length === 1 ? workload : null, kinds: "loop,evicted" }), title: `${workload}: ${detail}` };
}

function pressed({ cluster, seen }) {
  const rows = seen.pressed;
  if (!rows.length) return null;
  if (rows.length > 1) return { urgency: 80, text: `${count(rows.length, "node")} are short of memory, disk or process IDs: which?`, href: address.href("map", { find: "pressure" }) };
  const [row] = rows;
  const what = row.taints.map(({ key }) => cluster.names.pressures[key]).filter(Boolean);
  return { urgency: 80, text: `${row.name} is under ${what.join(" and ")} pressure, with ${count(row.pods.size, "pod")}: look`, href: address.href("map", { node: row.name }) };
}

function gates({ answers }) {
  const names = answers.gates?.told ? differing(answers.gates) : [];
  if (!names.length) return null;
  const text = names.length === 1 ? "1 gate differs between components: which?" : `${count(names.length, "gate")} differ between components: which?`;
  return { urgency: 75, text, href: address.href("gates", { gate: names[0] }), title: names.join("\n") };
}

/** The line in the header says which and why: the link opens it. */
function unread({ cluster }) {
  const list = cluster.source.unread ?? [];
  if (!list.length) return null;
  const what = cluster.source.kind === "live" ? count(list.length, "kind") : count(list.length, "object");
  return { urgency: 72, text: `${what} could not be read: which?`, href: UNREAD, title: list.slice(0, 5).map((one) => one.what).join("\n") };
}

function budgets({ answers }) {
  const list = answers.budgets?.budgets ?? [];
  if (!list.length) return null;
  const [{ budget, node }] = list;
  const more = list.length > 1 ? `, ${count(list.length - 1, "other budget")} likewise` : "";
  const changes = encode([{ drain: { nodes: [node] } }]);
  return { urgency: 60, text: `A drain of ${node} would wait for budget ${shortName(budget)}${more}: look`, href: address.href("slider", { changes }), title: list.map((one) => `${one.budget}: ${one.pod} on ${one.node}`).join("\n") };
}

function tipping({ answers }) {
  // Where no value does anything, a drain is proposed instead: that is asked for itself.
  const tip = answers.tips?.tips?.find((one) => one.key);
  if (!tip) return null;
  return { urgency: 55, text: `${tip.sentence}: look`, href: address.href("slider", { changes: encode([tip.change]) }), title: (tip.workloads ?? []).join("\n") };
}

function cordoned({ cluster, seen }) {
  const rows = seen.cordoned;
  if (!rows.length) return null;
  const pods = rows.reduce((sum, row) => sum + movable(row, cluster.pods), 0);
  const [{ name }] = rows.sort((a, b) => natural(a.name, b.name));
  if (rows.length === 1) return { urgency: 50, text: `${name} is cordoned and still has ${count(pods, "pod")}: drain it?`, href: address.href("slider", { changes: encode([{ drain: { nodes: [name] } }]) }) };
  return { urgency: 50, text: `${count(rows.length, "node")} are cordoned and still have ${count(pods, "pod")}: which?`, href: address.href("map", { find: "cordoned" }) };
}
