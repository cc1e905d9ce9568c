/**
 * Builds the sections of a pod's panel from answers of the server: each returns elements, and none asks for anything.
 *
 *   scores(placement), tolerations(answer, node), resources(details), events(list), wrong(list)
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h } from "../../lib/dom.js";
import { age, count, duration, moment, natural, number, quantity } from "../../lib/format.js";
import { chip, chips, labelChip } from "../chips.js";
import { sharedDomain } from "../map/names.js";

/** Columns of the table of scores: the pod's node and the best others. */
const MOST_NODES = 3;

export function section(title, ...content) {
  return h("section", { class: "pod-section" }, h("h3", {}, title), content);
}

/** A section with a button beside its title. */
export function sectionWith(title, button, ...content) {
  return h("section", { class: "pod-section" }, h("div", { class: "pod-section-head" }, h("h3", {}, title), button), content);
}

export function facts(pairs) {
  const rows = pairs.filter(([, value]) => value);
  return rows.length ? h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])) : null;
}

export function nodeLink(name, text = name) {
  const title = text === name ? null : name;
  return cluster.nodes.has(name) ? h("a", { href: address.href("map", { node: name }), title }, text) : h("span", { title }, text);
}

/** What is wrong with the pod: its own reason, containers, conditions. */
export function wrong(list) {
  if (!list?.length) return null;
  return h(
    "ul",
    { class: "plain pod-wrong" },
    list.map((one) => h("li", { class: "wrap" }, chip(one.what, "bad"), " ", h("strong", {}, one.reason), one.message ? `: ${one.message}` : "")),
  );
}

/** The points of the pod's node and of the best others: plugins in which they differ, then those in which they do not. */
export function scores({ scored, weights, isDecision }) {
  if (scored.length < 2) return null;
  const nodes = scored.slice(0, MOST_NODES);
  const plugins = Object.keys(nodes[0].scores);
  const differ = plugins.filter((name) => nodes.some((one) => one.scores[name] !== nodes[0].scores[name]));
  const same = plugins.filter((name) => !differ.includes(name) && nodes[0].scores[name] > 0);
  const domain = sharedDomain(cluster.nodes.keys());
  const short = (name) => (domain && name.endsWith(domain) ? name.slice(0, -domain.length) : name);
  const cell = (value, best) => h("td", { class: ["end nums", best ? "pod-best" : ""] }, number(value));
  const rowOf = (name, values) => {
    const best = Math.max(...values);
    return h("tr", {}, h("th", { scope: "row" }, breakable(name)), values.map((value) => cell(value, value === best)));
  };
  return [
    h(
      "table",
      { class: "pod-scores", "aria-label": "Scores by plugin, times their weights" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, isDecision ? "Points at its turn" : "Points now"), nodes.map((one, at) => h("th", { scope: "col", class: "end" }, nodeLink(one.node, short(one.node)), at === 0 ? h("span", { class: "muted" }, " here") : null)))),
      h(
        "tbody",
        {},
        h("tr", { class: "pod-total" }, h("th", { scope: "row" }, "Total"), nodes.map((one) => cell(one.total, one.rank === 1))),
        differ.map((name) => rowOf(`${name}${weights[name] > 1 ? ` ×${weights[name]}` : ""}`, nodes.map((one) => one.scores[name]))),
      ),
    ),
    same.length ? h("p", { class: "muted small wrap" }, `The same on these: ${same.map((name) => `${name} ${number(nodes[0].scores[name])}`).join(", ")}`) : null,
  ];
}

/** A name in capitals that a narrow column may break before each of them. */
function breakable(name) {
  return name.split(/(?=[A-Z][a-z])/).map((word, at) => (at ? [h("wbr", {}), word] : word));
}

/** Tolerations that match a taint of this cluster, taints of the node that none matches, and the rest folded. */
export function tolerations(answer, node) {
  const used = answer.tolerations.filter((one) => one.here.length || one.otherTaints || one.never);
  const rest = answer.tolerations.filter((one) => !used.includes(one));
  const open = answer.untolerated.map((one) => h("li", { class: "wrap" }, h("p", { class: "pod-untolerated" }, chip("not tolerated", one.effect === cluster.names.evicting ? "bad" : "warn"), " ", h("code", {}, one.taint)), h("p", { class: "muted small wrap" }, one.why)));
  return [
    node && !open.length && !used.some((one) => one.here.length) ? h("p", { class: "muted" }, `${node} has no taints.`) : null,
    open.length || used.length ? h("ul", { class: "plain" }, open, used.map((one) => tolerationItem(one, node))) : null,
    rest.length ? h("details", { class: "pod-rest" }, h("summary", {}, `${count(rest.length, "toleration")} ${rest.length === 1 ? "matches" : "match"} no taint in this cluster`), h("ul", { class: "plain" }, rest.map((one) => h("li", { class: "wrap" }, h("code", {}, one.toleration), forSeconds(one.seconds))))) : null,
    answer.tolerations.length ? null : h("p", { class: "muted" }, "It tolerates no taint."),
  ];
}

function tolerationItem(one, node) {
  const lines = one.here.map((taint) =>
    h("li", { class: "wrap" }, h("span", { class: "good", "aria-hidden": "true" }, "✓ "), h("code", {}, taint.taint), ` on ${node}: ${taint.why}`, taint.counts ? "" : h("span", { class: "muted" }, " (an earlier toleration counts)")),
  );
  const others = one.otherTaints ? h("li", { class: "muted" }, `${one.here.length ? "and " : ""}${count(one.otherTaints, "taint")} on ${count(one.otherNodes, node ? "other node" : "node")}`) : null;
  return h("li", { class: "wrap" }, h("code", {}, one.toleration), forSeconds(one.seconds), one.never ? h("p", { class: "warn small wrap" }, `Matches nothing: ${one.never}`) : null, lines.length || others ? h("ul", { class: "plain pod-matches" }, lines, others) : null);
}

function forSeconds(seconds) {
  return seconds === null || seconds === undefined ? "" : h("span", { class: "muted" }, ` for ${duration(seconds)}`);
}

export function resources(details) {
  const devices = (details.devices ?? []).map(({ claim, devices: list }) => h("div", {}, list.length ? list.join(", ") : "none yet", h("span", { class: "muted" }, ` (claim ${claim})`)));
  const priority = details.priorityClass ? `${details.priorityClass} (${number(details.priority)})` : details.priority ? number(details.priority) : "";
  return facts([
    ["Requests", amounts(details.requests) || "nothing"],
    ["Limits", amounts(details.limits)],
    ["Devices", devices.length ? devices : null],
    ["Priority", priority],
    ["Scheduler", details.scheduler === "default-scheduler" ? "" : details.scheduler],
  ]);
}

function amounts(all) {
  return Object.entries(all ?? {})
    .filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} ${quantity(name, value)}`)
    .join(", ");
}

export function labels(all) {
  return chips(Object.entries(all ?? {}).sort((a, b) => natural(a[0], b[0])).map(([key, value]) => labelChip(key, value)), "No labels");
}

/** Events in the order of kubectl describe. */
export function events(list) {
  if (!list.length) return h("p", { class: "muted" }, "No events about this pod");
  return h(
    "ul",
    { class: "plain pod-events" },
    list.map((one) =>
      h(
        "li",
        { class: "wrap" },
        chip(one.reason || one.type, one.type === "Warning" ? "warn" : ""),
        h("span", { class: "muted nums", title: moment(one.time) }, ` ${one.time ? `${age(one.time)} ago` : ""}${one.count > 1 ? ` × ${number(one.count)}` : ""}${one.source ? `, ${one.source}` : ""}`),
        h("p", { class: "wrap" }, one.message),
      ),
    ),
  );
}
