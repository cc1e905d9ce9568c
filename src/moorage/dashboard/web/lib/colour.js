/**
 * Gives colours of theme.css to canvases: sequential, categorical and status colours that differ in lightness too, so
 * that they are told apart without seeing hue.
 *
 *   const palette = colours();     palette.ink, palette.line, palette.surface, palette.accent, palette.bad …
 *   palette.ramp(0.37)             one of 24 steps from empty to full
 *   palette.category(3)            one of 8, repeating
 *   palette.pod(3)                 one of 8 for dots on a surface
 *   const stop = onTheme(() => …)  when light or dark changes
 */

const STEPS = 24;
const NAMES = [
  ...["black", "white", "page", "surface", "sunken", "line", "line-strong", "ink", "muted", "faint", "accent", "accent-soft"],
  ...["good", "warn", "bad", "info", "mark", "tile", "tile-line", "dot", "dot-soft"],
];
const CATEGORIES = 8;
const STOPS = 5;
/** A colour of the style sheet: that of the light theme, then that of the dark one. */
const PAIR = /^light-dark\(\s*(.+?)\s*,\s*(.+?)\s*\)$/;
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");
const PAPER = matchMedia("print");
const readers = new Set();
let palette = null;
/** White or near-black by colour: thousands of names are written in each frame while the map is zoomed. */
const inks = new Map();
const MOST_INKS = 200;

export function colours() {
  palette ??= read();
  return palette;
}

export function onTheme(reader) {
  readers.add(reader);
  return () => readers.delete(reader);
}

/** Chooses "light", "dark" or "" (as the system has it). */
export function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  changed();
}

/** Says which theme is shown; paper is light. */
export function isDark() {
  const theme = document.documentElement.dataset.theme;
  return !PAPER.matches && (theme ? theme === "dark" : SYSTEM.matches);
}

/** White or near-black: what can be read on a colour "rgb(r, g, b)" or "#rrggbb". */
export function inkOn(colour) {
  let ink = inks.get(colour);
  if (!ink) {
    if (inks.size >= MOST_INKS) inks.clear();
    inks.set(colour, (ink = contrasting(colour)));
  }
  return ink;
}

function contrasting(colour) {
  const [r, g, b] = rgb(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? colours().black : colours().white;
}

function read() {
  const style = getComputedStyle(document.documentElement);
  const half = isDark() ? 2 : 1;
  const variable = (name) => {
    const text = style.getPropertyValue(`--${name}`).trim();
    return PAIR.exec(text)?.[half] ?? text;
  };
  const result = Object.fromEntries(NAMES.map((name) => [name, variable(name)]));
  const stops = Array.from({ length: STOPS }, (_, index) => rgb(variable(`ramp-${index}`)));
  const ramp = Array.from({ length: STEPS }, (_, step) => blend(stops, step / (STEPS - 1)));
  const categories = Array.from({ length: CATEGORIES }, (_, index) => variable(`category-${index}`));
  result.steps = ramp;
  const pods = Array.from({ length: CATEGORIES }, (_, index) => variable(`pod-${index}`));
  result.categories = categories;
  result.ramp = (share) => ramp[rampStep(share)];
  result.pod = (index) => pods[index % CATEGORIES];
  result.category = (index) => categories[((index % CATEGORIES) + CATEGORIES) % CATEGORIES];
  return result;
}

/** The step of the ramp that a share between 0 and 1 has. */
export function rampStep(share) {
  return Math.max(0, Math.min(STEPS - 1, Math.floor(share * STEPS)));
}

function blend(stops, share) {
  const at = Math.min(stops.length - 2, Math.floor(share * (stops.length - 1)));
  const within = share * (stops.length - 1) - at;
  const mix = stops[at].map((part, index) => Math.round(part + (stops[at + 1][index] - part) * within));
  return `rgb(${mix.join(", ")})`;
}

/** "#rrggbb" or "rgb(r, g, b)" → [r, g, b]. */
export function rgb(text) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(text);
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  return (text.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

function changed() {
  palette = null;
  inks.clear();
  for (const reader of [...readers]) reader();
}

for (const medium of [SYSTEM, PAPER]) medium.addEventListener("change", changed);
