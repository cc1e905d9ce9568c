/** Shortens lists of nodes as Python's shown_nodes does: `a, b, c`, or `30 nodes, such as a, b`. */
import { number } from "../../lib/format.js";

const MOST = 6;
const EXAMPLES = 2;

export function shownNodes(names, total = names.length, most = MOST) {
  if (total <= most && total === names.length) return names.join(", ");
  return `${number(total)} nodes, such as ${names.slice(0, Math.min(EXAMPLES, most)).join(", ")}`;
}
