/** Describes a node or a pod in a few lines: for the box at the pointer, and in one sentence for screen readers. */
import { deadlineText } from "../../../lib/cluster.js";
import { h } from "../../../lib/dom.js";
import { count, percent, quantity, taint } from "../../../lib/format.js";

const MOST_TAINTS = 3;

export function sentence(row, value) {
  return [row.name, ...stateWords(row), value, count(row.pods.size, "pod")].filter(Boolean).join(", ");
}

export function podSentence(pod, node) {
  return [`pod ${pod.key}`, pod.workload, pod.phase, deadlineText(pod), `on ${node}`].filter(Boolean).join(", ");
}

export function nodeLines(row, title, value) {
  const taints = (row.taints ?? []).slice(0, MOST_TAINTS).map((one) => h("div", { class: "mono cut" }, taint(one)));
  const more = (row.taints?.length ?? 0) - MOST_TAINTS;
  const words = stateWords(row);
  return [
    h("div", { class: "tip-name" }, row.name),
    words.length ? h("div", { class: "bad" }, words.join(", ")) : null,
    title ? h("div", {}, h("span", { class: "muted" }, `${title}: `), value) : null,
    h("div", { class: "nums" }, resourceWords(row)),
    taints,
    more > 0 ? h("div", { class: "muted" }, `and ${count(more, "taint")} more`) : null,
  ];
}

export function podLines(pod, overlay) {
  const seconds = overlay?.leaving.get(pod.key);
  const landing = overlay?.landing.get(pod.key);
  const anyway = overlay?.anyway.get(pod.key);
  const leaves = deadlineText(pod);
  return [
    h("div", { class: "tip-name" }, pod.key),
    pod.workload ? h("div", { class: "muted" }, pod.workload) : null,
    h("div", {}, pod.phase),
    leaves ? h("div", { class: anyway === undefined ? "bad" : "muted" }, leaves) : null,
    anyway === undefined ? null : h("div", { class: "muted" }, "leaves anyway, without the changes too"),
    seconds === undefined ? null : h("div", { class: "bad" }, leavingText(seconds)),
    landing ? h("div", { class: "good" }, overlay.landed.has(pod.key) ? "is here because of the changes" : `would land on ${landing}`) : null,
  ];
}

/** When a pod would leave; null where only that it does is known. */
function leavingText(seconds) {
  if (seconds === null) return "leaves because of the changes";
  return seconds > 0 ? `would be evicted after ${seconds} s` : "would be evicted at once";
}

function stateWords(row) {
  return [row.ready ? "" : "not ready", row.schedulable ? "" : "cordoned"].filter(Boolean);
}

function resourceWords(row) {
  const words = [count(row.pods.size, "pod")];
  for (const name of ["cpu", "memory"]) {
    const pair = row.resources?.[name];
    if (pair?.[1] > 0) words.push(`${name} ${quantity(name, pair[0])} of ${quantity(name, pair[1])} (${percent(pair[0] / pair[1])})`);
  }
  return words.join(" · ");
}
