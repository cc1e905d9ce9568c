/**
 * Looks over the rows of all nodes once, for the questions that are about nodes.
 *
 *   survey(cluster) → {notReady, cordoned, pressed: [rows], risks: Map(taint key → {nodes, pods, values}),
 *                      zones: Map(zone → pods), emptiest: row or null}
 *
 * `cordoned` are those that still have pods which a drain would move.
 */

export function survey({ nodes, pods, names }) {
  const seen = { notReady: [], cordoned: [], pressed: [], risks: new Map(), zones: new Map(), emptiest: null };
  let least = Infinity;
  for (const row of nodes.values()) {
    if (!row.ready) seen.notReady.push(row);
    if (!row.schedulable && movable(row, pods)) seen.cordoned.push(row);
    if (row.taints.some(({ key }) => names.pressures[key])) seen.pressed.push(row);
    noteRisks(seen.risks, row, names);
    const zone = row.labels[names.zone];
    if (zone) seen.zones.set(zone, (seen.zones.get(zone) ?? 0) + row.pods.size);
    const share = fullness(row);
    if (share < least && row.ready && row.schedulable && !Object.hasOwn(row.labels, names.controlPlane)) {
      least = share;
      seen.emptiest = row;
    }
  }
  return seen;
}

/** Taints that evict and have a value: what Kubernetes itself writes has none. */
function noteRisks(risks, row, { evicting }) {
  for (const { key, value, effect } of row.taints) {
    if (effect !== evicting || !value) continue;
    const risk = risks.get(key) ?? { nodes: 0, pods: 0, values: new Set() };
    risk.nodes += 1;
    risk.pods += row.pods.size;
    risk.values.add(value);
    risks.set(key, risk);
  }
}

/** How many pods of a node a drain would move: not those of DaemonSets. */
export function movable(row, pods) {
  let number = 0;
  for (const key of row.pods) if (!pods.get(key)?.workload.startsWith("DaemonSet ")) number += 1;
  return number;
}

/** The largest share of CPU or memory that pods have requested. */
function fullness({ resources }) {
  let most = 0;
  for (const name of ["cpu", "memory"]) {
    const [used, all] = resources?.[name] ?? [0, 0];
    if (all > 0) most = Math.max(most, used / all);
  }
  return most;
}
