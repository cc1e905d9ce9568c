/**
 * Counts pods change by change: those that wait for a node, and those that a taint makes leave theirs.
 *
 *   tally.waiting, tally.leaving      Sets of keys
 *   tally.ready                       false until the pods of the cluster have been counted
 *   const stop = tally.subscribe(() => …)
 */
import { cluster } from "../../lib/cluster.js";

/** All pods are counted after the frame that draws them, not in it. */
const AFTER_PAINT = 60;
const readers = new Set();
let timer = 0;

export const tally = {
  waiting: new Set(),
  leaving: new Set(),
  ready: false,

  subscribe(reader) {
    readers.add(reader);
    return () => readers.delete(reader);
  },
};

/** Whether a pod waits for a node. */
export function waits({ phase, node }) {
  return phase === "Pending" && !node;
}

function note(key) {
  const pod = cluster.pods.get(key);
  put(tally.waiting, key, pod && waits(pod));
  put(tally.leaving, key, pod?.deadline);
}

function put(keys, key, is) {
  if (is) keys.add(key);
  else keys.delete(key);
}

function countAll() {
  timer = 0;
  tally.waiting.clear();
  tally.leaving.clear();
  for (const pod of cluster.pods.values()) {
    if (waits(pod)) tally.waiting.add(pod.key);
    if (pod.deadline) tally.leaving.add(pod.key);
  }
  tally.ready = cluster.loaded;
  tell();
}

function tell() {
  for (const reader of [...readers]) reader();
}

cluster.subscribe((change) => {
  if (change.all) timer ||= setTimeout(countAll, AFTER_PAINT);
  else if (!timer && change.pods.size) {
    for (const key of change.pods.keys()) note(key);
    tell();
  }
});
if (cluster.loaded) timer = setTimeout(countAll, AFTER_PAINT);
