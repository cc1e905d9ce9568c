/**
 * Chooses which moment of a saved page is shown: the cluster before the changes of its command line, or after them.
 *
 *   moments                       [{id, title, words, summary, state, answers, marks}], in the order of time; none on a server
 *   showMoment("map", "before")   takes its rows; what-if and timeline are always about the cluster before the changes
 *   momentWords("map")            which moment the view is about: "before the changes"
 *   momentMarks()                 what the changes make different in it, as `setOverlay` of parts/node-map.js takes it
 *   savedNumbers()                "8 nodes · 26 pods before, 27 after the changes"
 *
 * The address names a moment as `moment=before`; without it the last one is shown.
 */
import { embedded } from "./api.js";
import { cluster } from "./cluster.js";
import { count, number } from "./format.js";

const FIRST_ONLY = new Set(["slider", "timeline"]);

export const moments = embedded?.moments ?? [];

/** Shows a moment of the page in a view, and returns it. */
export function showMoment(view, wanted) {
  const chosen = FIRST_ONLY.has(view) ? moments[0] : (moments.find(({ id }) => id === wanted) ?? moments.at(-1));
  if (!chosen || chosen === embedded.moment) return chosen;
  embedded.moment = chosen;
  cluster.swap(chosen.state);
  return chosen;
}

export function momentWords(view) {
  // A what-if is about what becomes of the cluster.
  return (view === "slider" ? moments.at(-1) : embedded?.moment)?.words ?? "";
}

/** Says whether a view can show more than one moment. */
export function hasMoments(view) {
  return moments.length > 1 && (view === "map" || view === "pending");
}

export function momentMarks() {
  const marks = embedded?.moment?.marks;
  if (!marks) return null;
  const isFirst = embedded.moment === moments[0];
  const others = new Set(stateOf(isFirst ? moments.at(-1) : moments[0]).nodes.map(({ name }) => name));
  const differs = isFirst ? "isGone" : "isNew";
  return {
    leaving: new Map(marks.leaving.map((key) => [key, null])),
    landing: new Map(Object.entries(marks.landing)),
    pending: new Set(marks.pending),
    nodes: new Map(marks.nodes.map((name) => [name, others.has(name) ? {} : { [differs]: true }])),
  };
}

export function podsIn(moment) {
  return stateOf(moment).pods.rows.length;
}

export function savedNumbers() {
  if (moments.length < 2) return [moments[0]?.words, numbers(moments[0] ?? {})].filter(Boolean).join(": ");
  const [first, last] = [moments[0], moments.at(-1)];
  if (nodesIn(first) !== nodesIn(last)) return `${numbers(first, ", ")} before · ${numbers(last, ", ")} ${last.words}`;
  return `${count(nodesIn(first), "node")} · ${count(podsIn(first), "pod")} before, ${number(podsIn(last))} ${last.words}`;
}

function numbers(moment, between = " · ") {
  return [count(nodesIn(moment), "node"), count(podsIn(moment), "pod")].join(between);
}

function nodesIn(moment) {
  return stateOf(moment).nodes.length;
}

/** The rows of a moment; the first one has those of the page. */
function stateOf({ state }) {
  return state ?? embedded.state;
}
