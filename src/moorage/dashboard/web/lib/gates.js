/** Compares what components have gates set to, as `/api/gates` tells it. */

/** The names of gates that are on in one component and off in another: those whose combination does harm first. */
export function differing({ gates, skews }) {
  const names = new Set(skews.flatMap((skew) => skew.gates));
  for (const { name, values } of gates) {
    const all = Object.values(values);
    if (all.includes(true) && all.includes(false)) names.add(name);
  }
  return [...names];
}
