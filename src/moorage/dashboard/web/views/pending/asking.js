/** Asks about pods that wait: the groups, one pod, and what the cluster itself says of it. */
import { answerable, ask, embedded, getJSON } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";

/** Tells the server which questions come from this tab: a newer one of the same name takes the place of the older. */
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export async function pendingGroups() {
  return (await asked("pending", {}))[0];
}

/** Explains a pod, with `node` that node in full. */
export async function explainPod(pod, node, signal) {
  const args = node ? { pod, node } : { pod };
  // What stays Pending is explained at once; for other pods those before them have to be placed first.
  if (answerable("explain-pending", args)) {
    const [told] = await asked("explain-pending", args, signal);
    if (told.ask !== "explain") return told;
  }
  return (await asked("explain", args, signal))[0];
}

/** Says whether a pod, or a node for it, can be asked about: a saved page has only the answers that were saved. */
export function canExplain(pod, node) {
  const args = node ? { pod, node } : { pod };
  return answerable("explain", args) || answerable("explain-pending", args);
}

/** Plays manifests on the simulated cluster; returns the last part. */
export async function tryManifest(manifest) {
  return (await asked("what-if", { changes: [{ apply: manifest }] })).at(-1);
}

export function canTry(manifest) {
  return answerable("what-if", { changes: [{ apply: manifest }] });
}

/** Why the cluster's own scheduler has not placed a pod: {what, reason, message}; null where it does not say. */
export async function schedulersWord(pod) {
  await cluster.ready;
  if (cluster.source.kind !== "live" || embedded || !cluster.pods.has(pod)) return null;
  try {
    const told = await getJSON(`/api/pod/${pod.split("/").map(encodeURIComponent).join("/")}`);
    return told.wrong.find(({ what }) => what.startsWith("PodScheduled ")) ?? null;
  } catch {
    // It is gone meanwhile.
    return null;
  }
}

function asked(question, args, signal) {
  return ask(question, embedded ? args : { ...args, tab: `${TAB} ${args.node ?? ""}` }, { signal });
}
