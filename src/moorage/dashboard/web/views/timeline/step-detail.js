/** Says what changed in one step of history: happenings, pods from where to where, and nodes field by field. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count, moment, quantity, taint } from "../../lib/format.js";
import { empty } from "../../parts/states.js";
import { podOrText } from "./links.js";
import { kindChip } from "./list.js";

const LISTED = 60;

export function stepDetail(step, at) {
  if (!step) return empty("The earliest moment", `Nothing before number ${at} is kept.`);
  return h(
    "div",
    { class: "stack" },
    h("h2", {}, `What changed at ${moment(step.time)}`),
    step.happenings.length ? h("ul", { class: "step-list" }, some(step.happenings, ([, kind, subject, , detail]) => h("li", { class: "wrap" }, kindChip(kind), ` ${subject} ${detail}`))) : null,
    step.pods.length ? section(count(step.pods.length, "pod"), some(step.pods, podLine)) : null,
    step.nodes.length ? section(count(step.nodes.length, "node"), some(step.nodes, nodeLine)) : null,
    step.pods.length + step.nodes.length + step.happenings.length ? null : h("p", { class: "muted" }, "No row changed."),
  );
}

function section(title, lines) {
  return h("div", {}, h("h3", {}, title), h("ul", { class: "step-list" }, lines));
}

function some(list, line) {
  const shown = list.slice(0, LISTED).map(line);
  if (list.length > LISTED) shown.push(h("li", { class: "muted" }, `and ${list.length - LISTED} more`));
  return shown;
}

function podLine([old, now]) {
  const [key] = now ?? old;
  const words = [];
  if (!old) words.push(`created${now[2] ? ` on ${now[2]}` : ""}, ${now[3]}`);
  else if (!now) words.push(`gone${old[2] ? ` from ${old[2]}` : ""}`);
  else {
    if (old[2] !== now[2]) words.push(`${old[2] || "no node"} → ${now[2] || "no node"}`);
    if (old[3] !== now[3]) words.push(`${old[3]} → ${now[3]}`);
  }
  return h("li", { class: "wrap" }, h("strong", {}, podOrText(key)), ` ${words.join(", ")}`);
}

function nodeLine([old, now]) {
  const { name } = now ?? old;
  const words = old && now ? differences(old, now) : [now ? "joined" : "is gone"];
  return h("li", { class: "wrap" }, h("a", { href: address.href("map", { node: name }) }, name), ` ${words.join(", ")}`);
}

function differences(old, now) {
  const words = [];
  if (old.ready !== now.ready) words.push(now.ready ? "is ready" : "is not ready");
  if (old.schedulable !== now.schedulable) words.push(now.schedulable ? "is schedulable again" : "is cordoned");
  const before = new Set((old.taints ?? []).map(taint));
  const after = new Set((now.taints ?? []).map(taint));
  for (const one of after) if (!before.has(one)) words.push(`new taint ${one}`);
  for (const one of before) if (!after.has(one)) words.push(`lost taint ${one}`);
  for (const [key, value] of Object.entries(now.labels ?? {})) if ((old.labels ?? {})[key] !== value) words.push(`label ${key}=${value}`);
  for (const key of Object.keys(old.labels ?? {})) if (!(key in (now.labels ?? {}))) words.push(`lost label ${key}`);
  for (const [name, [used]] of Object.entries(now.resources ?? {})) {
    const was = old.resources?.[name]?.[0] ?? 0;
    if (was !== used) words.push(`${name} ${quantity(name, was)} → ${quantity(name, used)}`);
  }
  for (const [driver, [used]] of Object.entries(now.devices ?? {})) {
    const was = old.devices?.[driver]?.[0] ?? 0;
    if (was !== used) words.push(`${driver} ${was} → ${used}`);
  }
  return words.length ? words : ["changed"];
}
