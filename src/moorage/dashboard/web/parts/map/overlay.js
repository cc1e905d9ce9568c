/** Reads what a simulation says of pods and nodes as what the map paints over the cluster as it is. */

export function makeOverlay(given, model, before = null) {
  if (!given) return null;
  const overlay = {
    leaving: given.leaving ?? new Map(),
    landing: given.landing ?? new Map(),
    pending: given.pending ?? new Set(),
    nodes: given.nodes ?? new Map(),
    arrivals: new Map(),
    stranded: [],
    flying: new Set(),
    moves: [],
  };
  for (const [key, name] of overlay.landing) {
    const to = model.numbers.get(name);
    const pod = model.podNumbers.get(key);
    if (to === undefined || (pod !== undefined && model.podNode[pod] === to)) continue;
    const list = overlay.arrivals.get(to) ?? [];
    overlay.arrivals.set(to, list);
    const move = from(model, pod);
    if (move && before?.landing.get(key) !== name) overlay.moves.push([key, ...move, to, model.slots[to].length + list.length]);
    list.push(key);
  }
  for (const key of overlay.pending) {
    const pod = model.podNumbers.get(key);
    const move = from(model, pod);
    if (move?.[0] === -1) continue;
    if (move && !before?.pending.has(key)) overlay.moves.push([key, ...move, -1, model.tray.length + overlay.stranded.length]);
    overlay.stranded.push(key);
  }
  return overlay;
}

/** Numbers of all nodes that an overlay shows something on. */
export function touched(overlay, model) {
  const nodes = new Set([-1]);
  if (!overlay) return nodes;
  for (const number of overlay.arrivals.keys()) nodes.add(number);
  for (const name of overlay.nodes.keys()) if (model.numbers.has(name)) nodes.add(model.numbers.get(name));
  for (const key of overlay.leaving.keys()) {
    const pod = model.podNumbers.get(key);
    if (pod !== undefined && model.podNode[pod] >= 0) nodes.add(model.podNode[pod]);
  }
  return nodes;
}

function from(model, pod) {
  if (pod === undefined || model.podNode[pod] < -1) return null;
  return [model.podNode[pod], model.podSlot[pod]];
}
