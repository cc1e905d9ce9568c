/** Shows which nodes a rule matches and why not the others, and what it says of each taint. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count, duration, number, taint } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";

/** Up to this many nodes are named; of more, two examples after their number, as in the commands. */
const NAMES = 6;
const EXAMPLES = 2;

/** One sentence for the heading and for screen readers. */
export function summary(nodes) {
  if (!nodes.total) return "There are no nodes to try it on.";
  return `${number(nodes.matched)} of ${count(nodes.total, "node")} ${nodes.total === 1 ? "matches" : "match"}.`;
}

export function nodeGroups(nodes, { pasted, bare }) {
  const share = nodes.total ? (nodes.matched / nodes.total) * 100 : 0;
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "match-bar", role: "img", "aria-label": summary(nodes) },
      h("span", { class: "match-bar-yes", style: { width: `${share}%` } }),
    ),
    h(
      "div",
      { class: "match-scroll", tabindex: "0", role: "region", "aria-label": "Nodes by answer" },
      h(
        "ul",
        { class: "match-groups" },
        nodes.groups.map((group) => nodeGroup(group, pasted, bare)),
      ),
    ),
    nodes.leftOut.groups
      ? h("p", { class: "muted" }, `${count(nodes.leftOut.nodes, "node")} with ${count(nodes.leftOut.groups, "other reason")} are not listed.`)
      : null,
  );
}

function nodeGroup(group, pasted, bare) {
  const verdict = group.matches ? chip("matches", "good") : chip("does not match", "bad");
  return h(
    "li",
    { class: ["match-group", group.matches ? "yes" : "no"], dataset: { matches: group.matches } },
    h(
      "p",
      { class: "row" },
      verdict,
      h("strong", { class: "nums" }, count(group.count, "node")),
      evictionChip(group),
      group.score != null ? chip(`score ${group.score}`, "", { title: "weights of the preferred terms that match" }) : null,
    ),
    names(group, pasted),
    group.reasons.length ? h("ul", { class: "match-reasons" }, group.reasons.map((one) => h("li", { class: "wrap" }, plain(one, bare)))) : null,
    group.alike?.reasons.length ? alike(group.alike, bare) : null,
    group.notes.length ? h("ul", { class: "match-reasons muted" }, group.notes.map((one) => h("li", { class: "wrap" }, one))) : null,
  );
}

/** The same reason with other values, folded away. */
function alike({ count: others, reasons }, bare) {
  return h(
    "details",
    { class: "alike" },
    h("summary", {}, `and ${count(others, "other value")} alike`),
    h("ul", { class: "match-reasons" }, reasons.map((one) => h("li", { class: "wrap" }, plain(one, bare)))),
    others > reasons.length ? h("p", { class: "muted small" }, `and ${number(others - reasons.length)} more`) : null,
  );
}

function evictionChip({ eviction, matches }) {
  if (!eviction || (eviction.when === "never" && !matches)) return null;
  if (eviction.when === "now") return chip("a pod there is evicted at once", "bad", { title: eviction.because });
  if (eviction.when === "after") {
    return chip(`evicted after ${duration(eviction.seconds)}`, "warn", { title: eviction.because });
  }
  return chip("stays", "", { title: "no taint of the node evicts the pod" });
}

function names({ nodes, count: total }, pasted) {
  const shown = nodes.slice(0, total <= NAMES ? NAMES : EXAMPLES);
  const made = shown.map((name) =>
    pasted ? h("span", { class: "node-name" }, name) : h("a", { class: "node-name", href: address.href("map", { node: name }) }, name),
  );
  if (total <= NAMES) return h("p", { class: "node-names" }, made);
  const rest = nodes.slice(EXAMPLES);
  return h(
    "div",
    { class: "node-names" },
    h("span", { class: "muted" }, "such as"),
    made,
    h(
      "details",
      {},
      h("summary", {}, "list them"),
      h("p", { class: "node-names" }, rest.map((name) => h("span", { class: "node-name" }, name))),
      total > nodes.length ? h("p", { class: "muted" }, `${number(nodes.length)} of ${count(total, "node")}`) : null,
    ),
  );
}

export function taintTable(taints, bare) {
  return h(
    "div",
    { class: "taint-scroll", tabindex: "0", role: "region", "aria-label": "Taints" },
    h(
      "table",
      { class: "taints" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Taint"), h("th", { scope: "col", class: "end" }, "Nodes"), h("th", { scope: "col" }, "Answer"))),
      h(
        "tbody",
        {},
        taints.map((row) =>
          h("tr", {}, h("th", { scope: "row", class: "wrap" }, h("code", {}, breakable(taint(row)))), h("td", { class: "end nums" }, number(row.nodes)), h("td", { class: "wrap" }, answer(row, bare))),
        ),
      ),
    ),
  );
}

/** Breaks a long taint before its value and its effect, not within. */
function breakable(text) {
  return text.split(/(?=[=:])/).flatMap((part, at) => (at ? [h("wbr"), part] : [part]));
}

function answer(row, bare) {
  if (!row.tolerated) return [chip("not tolerated", "bad"), ` ${plain(row.reason, bare).replace(/^.*? is not tolerated: /, "")}`];
  const by = row.by == null ? "by a toleration that the API server adds" : `by tolerations[${row.by}]`;
  const limit = row.seconds != null && row.effect === "NoExecute" ? ` for ${duration(row.seconds)}` : "";
  return [chip("tolerated", "good"), ` ${by}${limit}`];
}

/** Where the whole rule is one expression, there is no need to repeat it in each reason. */
function plain(reason, bare) {
  return bare ? reason.replace(/ \(toleration expression ".*"\)$/s, "") : reason;
}
