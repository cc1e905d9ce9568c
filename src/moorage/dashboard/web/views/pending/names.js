/** Shortens lists of nodes: `a, b, c`, or the first three and how many more there are. */
import { number } from "../../lib/format.js";

const MOST = 3;

export function abbreviated(names, total = names.length) {
  if (total <= MOST + 1) return names.join(", ");
  return `${names.slice(0, MOST).join(", ")} and ${number(total - MOST)} more`;
}
