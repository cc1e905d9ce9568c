/** Draws the dashboard's icons: strokes in the colour of the text beside them, hidden from screen readers. */
import { svg } from "./dom.js";

const PATHS = {
  logo: "M12 8.5V21M8 11.500h8M4.500 14c.5 4.500 3.500 7 7.500 7s7-2.500 7.500-7M12 3.500a2.500 2.500 0 1 1 0 5a2.500 2.500 0 1 1 0-5",
  plan: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h4",
  map: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z",
  pending: "M12 3a9 9 0 1 1 0 18a9 9 0 1 1 0-18M12 7.500V12l3 2",
  slider: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  capacity: "M4 20h16M4 20V4M7 16h4v-5h4V7h4",
  playground: "M8 7l-5 5 5 5M16 7l5 5-5 5M13.500 5l-3 14",
  timeline: "M4 6h8M8 12h10M6 18h7M4 3v18",
  gates: "M5 20V9a7 7 0 0 1 14 0v11M9 20v-9M12 20V9.500M15 20v-9M3 20h18",
  sun: "M12 8a4 4 0 1 1 0 8a4 4 0 1 1 0-8M12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  search: "M10.500 4a6.500 6.500 0 1 1 0 13a6.500 6.500 0 1 1 0-13M15.500 15.500L20.500 20.500",
  copy: "M8 8h12v12H8zM4 16V4h12",
  check: "M4.500 12.500l5 5L20 7",
  close: "M5.500 5.500l13 13M18.500 5.500l-13 13",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  table: "M4 5h16v14H4zM4 10h16M4 14.500h16M10 5v14",
  share: "M12 15V4M8 7.500L12 3.500l4 4M5 12v8h14v-8",
  pause: "M8 5v14M16 5v14",
  first: "M6 5v14M19 5l-9 7 9 7z",
  back: "M17 5l-10 7 10 7z",
  forward: "M7 5l10 7-10 7zM18.5 5v14",
  play: "M7 4.500l12 7.500-12 7.500z",
  warning: "M12 3.500L22 20.500H2zM12 10v5M12 17.500v.5",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
};

export function icon(name, { size = 16 } = {}) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] ?? PATHS.map }),
  );
}
