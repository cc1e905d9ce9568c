/** Shortens lists of nodes: `a, b, c`, or the first three and how many more there are. */
import { number } from "../../lib/format.js";

const MOST = 3;

export function abbreviated(names, total = names.length, most = MOST) {
  if (total <= most + 1 && total === names.length) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${number(total - most)} more`;
}
