/** Reads what a simulation says of pods and nodes as what the map paints over the cluster as it is. */

export function makeOverlay(given, model, before = null) {
  if (!given) return null;
  const overlay = {
    leaving: given.leaving ?? new Map(),
    landing: given.landing ?? new Map(),
    pending: given.pending ?? new Set(),
    anyway: given.anyway ?? new Map(),
    nodes: given.nodes ?? new Map(),
    arrivals: new Map(),
    stranded: [],
    landed: new Set(),
    flying: new Set(),
    moves: [],
  };
  for (const [key, name] of overlay.landing) {
    const to = model.numbers.get(name);
    const pod = model.podNumbers.get(key);
    if (to === undefined) continue;
    if (pod !== undefined && model.podNode[pod] === to) {
      overlay.landed.add(key);
      continue;
    }
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

/** Puts the nodes that there would be onto the map and takes those of another answer off; says whether any came or went. */
export function placeAdded(model, added, before, cluster) {
  const rows = new Map((added ?? []).filter((row) => !cluster.nodes.has(row.name)).map((row) => [row.name, { ...row, pods: [] }]));
  const gone = (before ?? []).map((row) => row.name).filter((name) => !rows.has(name) && !cluster.nodes.has(name));
  if (!rows.size && !gone.length) return false;
  const nodes = { get: (name) => cluster.nodes.get(name) ?? rows.get(name) };
  return model.update({ nodes: new Set([...rows.keys(), ...gone]), pods: new Map() }, { nodes, pods: cluster.pods }).relayout;
}

/** Numbers of all nodes that an overlay shows something on. */
export function touched(overlay, model) {
  const nodes = new Set([-1]);
  if (!overlay) return nodes;
  for (const number of overlay.arrivals.keys()) nodes.add(number);
  for (const name of overlay.nodes.keys()) if (model.numbers.has(name)) nodes.add(model.numbers.get(name));
  for (const key of [...overlay.leaving.keys(), ...overlay.anyway.keys()]) {
    const pod = model.podNumbers.get(key);
    if (pod !== undefined && model.podNode[pod] >= 0) nodes.add(model.podNode[pod]);
  }
  return nodes;
}

function from(model, pod) {
  if (pod === undefined || model.podNode[pod] < -1) return null;
  return [model.podNode[pod], model.podSlot[pod]];
}
