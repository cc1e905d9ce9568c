/**
 * Finds nodes and pods by words: labels of pods and nodes and taints (`app=web`, or the key alone), namespaces, names,
 * versions, workloads, phases. All words must be found on the same node or pod.
 *
 *   const match = matcher("app=web shop", pods, nodes);   null where there is nothing to find
 *   match.pod(pod), match.node(row)                       say whether it is one of them
 *   match.understood({own: 0, pods: 12, on: 4})           "pods with app=web in namespace shop: 12, on 4 nodes"
 *
 * A word that is exactly a label, a key, a taint or a namespace of this cluster means that; any other is looked for in the
 * text of everything that a node or pod has.
 */
import { cluster } from "../../lib/cluster.js";
import { count, number, taint } from "../../lib/format.js";
import { namespaceOf } from "./dots.js";

const MOST_SETS = 20_000;
const TEXT = 0;
const EXACT = 1;
const KEY = 2;
const NAMESPACE = 3;

export function matcher(text, pods = [], nodes = []) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const terms = resolve(words, pods, nodes);
  return {
    pod: (pod) => terms.every((term) => podHas(pod, term)),
    node: (row) => terms.every((term) => nodeHas(row, term)),
    understood: (counts) => understood(terms, text, counts),
  };
}

/** Counts what a matcher finds in the cluster: {own: nodes themselves, pods, on: nodes of these pods}. */
export function countsOf(match) {
  const counts = { own: 0, pods: 0, on: 0 };
  const on = new Set();
  for (const row of cluster.nodes.values()) if (match.node(row)) counts.own += 1;
  for (const pod of cluster.pods.values()) {
    if (!match.pod(pod)) continue;
    counts.pods += 1;
    if (pod.node) on.add(pod.node);
  }
  return { ...counts, on: on.size };
}

/** Says what each word means: {word, pods, nodes: TEXT, EXACT, KEY or NAMESPACE}. */
function resolve(words, pods, nodes) {
  const terms = words.map((word) => ({ word, pods: TEXT, nodes: TEXT, taint: false }));
  const sets = new Set();
  const namespaces = new Set();
  for (const pod of pods) {
    sets.add(pod.labels);
    namespaces.add(namespaceOf(pod.key).toLowerCase());
  }
  const known = (word) => ({ exact: (tokens) => tokens.has(word), key: (tokens) => tokens.has(`${word}=`) });
  for (const term of terms) {
    const { exact, key } = known(term.word);
    for (const labels of sets) {
      const { tokens } = podLabels(labels);
      if (exact(tokens)) term.pods = EXACT;
      else if (key(tokens) && term.pods === TEXT) term.pods = KEY;
    }
    for (const row of nodes) {
      const { tokens, taints } = nodeText(row);
      if (exact(tokens)) term.nodes = EXACT;
      else if (key(tokens) && term.nodes === TEXT) term.nodes = KEY;
      if (taints.has(term.word) || taints.has(`${term.word}=`)) term.taint = true;
    }
    // What is exactly a label of some pods is not looked for in the text of nodes, and the other way round.
    if (term.pods === EXACT || term.nodes === EXACT) term.pods = term.nodes = EXACT;
    else if (namespaces.has(term.word)) term.pods = NAMESPACE;
  }
  return terms;
}

function podHas(pod, { word, pods: kind }) {
  if (kind === NAMESPACE) return pod.key.toLowerCase().startsWith(`${word}/`);
  const { text, tokens } = podLabels(pod.labels);
  if (kind === EXACT) return tokens.has(word);
  if (kind === KEY && tokens.has(`${word}=`)) return true;
  return text.includes(word) || `${pod.key} ${pod.workload} ${pod.phase}`.toLowerCase().includes(word);
}

function nodeHas(row, { word, nodes: kind }) {
  const { text, tokens } = nodeText(row);
  if (kind === EXACT) return tokens.has(word);
  return text.includes(word);
}

function understood(terms, text, { own, pods, on }) {
  const parts = [];
  if (pods) parts.push(`pods ${terms.map(podWords).join(", ")}: ${number(pods)}${on ? `, on ${count(on, "node")}` : ""}`);
  if (own) parts.push(`nodes ${terms.map(nodeWords).join(", ")}: ${number(own)}`);
  return parts.join(" · ") || `No node and no pod has “${text.trim()}”`;
}

function podWords({ word, pods: kind }) {
  if (kind === EXACT) return `with ${word}`;
  if (kind === NAMESPACE) return `in namespace ${word}`;
  return kind === KEY ? `with label ${word} or “${word}” in their name` : `with “${word}”`;
}

function nodeWords({ word, nodes: kind, taint: tainted }) {
  if (kind === TEXT) return `with “${word}”`;
  return `with ${tainted ? "taint " : kind === KEY ? "label " : ""}${word}`;
}

const labelSets = new Map();

/** The labels of pods as text, and as a set with "key=value" and "key=" of each. Few sets are shared by many pods. */
function podLabels(labels = "") {
  let set = labelSets.get(labels);
  if (!set) {
    if (labelSets.size >= MOST_SETS) labelSets.clear();
    const text = labels.toLowerCase();
    set = { text, tokens: tokensOf(text ? text.split(",") : []) };
    labelSets.set(labels, set);
  }
  return set;
}

const texts = new WeakMap();

function nodeText(row) {
  let known = texts.get(row);
  if (known === undefined) {
    const labels = Object.entries(row.labels ?? {}).map(([key, value]) => `${key}=${value}`.toLowerCase());
    const taints = (row.taints ?? []).flatMap((one) => [taint(one), `${one.key}=${one.value ?? ""}`]).map((one) => one.toLowerCase());
    const states = [row.ready ? "" : "notready", row.schedulable ? "" : "cordoned unschedulable"];
    const text = [row.name, row.version, ...states].join("\n").toLowerCase();
    known = { text: [text, ...labels, ...taints].join("\n"), tokens: tokensOf([...labels, ...taints]), taints: tokensOf(taints) };
    texts.set(row, known);
  }
  return known;
}

function tokensOf(labels) {
  const tokens = new Set(labels);
  for (const label of labels) {
    const at = label.search(/[=:]/);
    tokens.add(`${at < 0 ? label : label.slice(0, at)}=`);
  }
  return tokens;
}
