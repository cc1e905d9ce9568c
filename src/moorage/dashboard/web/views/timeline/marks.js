/** Draws the shapes of marks in lanes, around 0 0, so that kinds differ without colour. */
import { svg } from "../../lib/dom.js";

const SHAPES = {
  disc: () => svg("circle", { r: 4.5 }),
  ring: () => svg("circle", { class: "hollow", r: 4 }),
  dot: () => svg("circle", { r: 2.5 }),
  diamond: () => svg("path", { d: "M0 -6L6 0L0 6L-6 0z" }),
  square: () => svg("path", { d: "M-4.5 -4.5h9v9h-9z" }),
  triangle: () => svg("path", { d: "M0 -5.5L5.5 4.5h-11z" }),
  cross: () => svg("path", { class: "stroke", d: "M-4.5 -4.5L4.5 4.5M4.5 -4.5L-4.5 4.5" }),
  bar: () => svg("path", { d: "M-2.5 -7h5v14h-5z" }),
};

export function markShape(name) {
  return (SHAPES[name] ?? SHAPES.dot)();
}
