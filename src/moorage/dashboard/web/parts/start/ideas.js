/** Asks what is worth knowing although nothing is wrong; questions as in troubles.js. */
import { address } from "../../lib/address.js";
import { count, natural } from "../../lib/format.js";
import { encode } from "../../views/slider/changes.js";
import { shortName } from "./troubles.js";

export const IDEAS = { risky, drainZone, emptiest, room };

/** `numbers` are the texts that the server has read as numbers: a taint without one is no measure of risk. */
function risky({ seen, numbers }) {
  const measured = [...seen.risks].filter(([, { pods, values }]) => pods && [...values].some((value) => numbers.has(value)));
  if (!measured.length) return null;
  const [key, { nodes, pods }] = measured.sort((a, b) => b[1].pods - a[1].pods || natural(a[0], b[0]))[0];
  const where = nodes === 1 ? "a node" : "nodes";
  return { urgency: 40, text: `${count(pods, "pod")} ${pods === 1 ? "is" : "are"} on ${where} with ${shortName(key)}: which?`, href: address.href("map", { as: "pods", find: key, colour: `taint:${key}` }), title: key };
}

function drainZone({ cluster, seen }) {
  const zones = [...seen.zones].filter(([, pods]) => pods).sort((a, b) => natural(a[0], b[0]));
  // The drain of the only zone leaves nothing to move to.
  if (seen.zones.size < 2 || !zones.length) return null;
  const [value] = zones[0];
  const label = { key: cluster.names.zone, value };
  return { urgency: 20, text: `What would a drain of ${/zone/i.test(value) ? "" : "zone "}${value} do?`, href: address.href("slider", { changes: encode([{ drain: { nodes: { label } } }]) }), title: `${label.key}=${value}` };
}

function emptiest({ cluster, seen }) {
  if (!seen.emptiest || cluster.nodes.size < 2) return null;
  const { name } = seen.emptiest;
  return { urgency: 10, text: `${name} is the emptiest node: could it go?`, href: address.href("slider", { changes: encode([{ drain: { nodes: [name] } }]) }) };
}

/** A cluster of one node has nowhere to drain it to: what is left of it is the question. */
function room({ cluster }) {
  const [node] = cluster.nodes.values();
  if (cluster.nodes.size !== 1 || !node.ready || !node.schedulable) return null;
  return { urgency: 5, text: `What else would fit on ${node.name}?`, href: address.href("map", { node: node.name }) };
}
