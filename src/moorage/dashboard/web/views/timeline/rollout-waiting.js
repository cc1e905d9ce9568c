/**
 * Shows what a rollout waits for: its conditions, the new pods that are Pending, and who took the place they wait for.
 *
 *   const waiting = rolloutWaiting(() => drawAgain()); waiting.of(rollout) → element or null; waiting.stop()
 *
 * Who took a place is asked once for each pod and reason (question `places`), for the first pod of a rollout.
 */
import { address } from "../../lib/address.js";
import { ask, isAbort } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { podOrText } from "./links.js";

const MOST_KEPT = 200;

export function rolloutWaiting(changed) {
  const answers = new Map();
  const asking = new AbortController();
  return { of, stop: () => asking.abort() };

  function of(rollout) {
    const lines = [
      ...rollout.stuck.map((text) => h("li", {}, text)),
      ...alike(rollout.pending).map(([why, [pod, ...others]], index) =>
        h("li", {}, podOrText(pod), `${others.length ? ` and ${others.length} more stay` : " stays"} Pending: ${why} `, h("a", { href: address.href("pending", { pod }) }, "Why?"), index ? null : places(pod, why)),
      ),
    ];
    return lines.length ? h("ul", { class: "rollout-stuck wrap" }, lines) : null;
  }

  function places(pod, why) {
    const key = `${pod} ${why}`;
    const known = answers.get(key);
    if (known === undefined) {
      answers.set(key, null);
      if (answers.size > MOST_KEPT) answers.delete(answers.keys().next().value);
      find(key, pod);
    }
    return known ? taken(known) : null;
  }

  async function find(key, pod) {
    try {
      const parts = await ask("places", { pod }, { signal: asking.signal });
      answers.set(key, parts.find((part) => part.by));
    } catch (error) {
      if (isAbort(error)) return;
      // The pod may have got a node, or be gone: what it waits for is asked again when it waits again.
      answers.delete(key);
      return;
    }
    changed();
  }
}

/** The reasons, each with the pods that wait for it. */
function alike(pending) {
  const reasons = new Map();
  for (const [pod, why] of pending) reasons.set(why, [...(reasons.get(why) ?? []), pod]);
  return [...reasons];
}

function taken({ text, by }) {
  if (!text) return h("p", { class: "muted" }, "No other pod is in its place: nodes refuse it for what it asks for itself.");
  return h("div", { class: "rollout-taken" }, h("p", {}, text), h("ul", {}, by.map(occupant)));
}

function occupant({ workload, pods, keys, isOld }) {
  const names = keys.flatMap((key, index) => [index ? ", " : "", podOrText(key, key.slice(key.indexOf("/") + 1))]);
  const more = pods > keys.length ? ` and ${pods - keys.length} more` : "";
  return h("li", {}, h("span", { class: "muted" }, `${workload}${isOld ? ", old" : ""}: `), names, more);
}
