/**
 * Gives colours of theme.css to canvases: sequential, categorical and status colours that differ in lightness too, so
 * that they are told apart without seeing hue.
 *
 *   const palette = colours();     palette.ink, palette.line, palette.surface, palette.accent, palette.bad …
 *   palette.ramp(0.37)             one of 24 steps from empty to full
 *   palette.category(3)            one of 8, repeating
 *   const stop = onTheme(() => …)  when light or dark changes
 */

const STEPS = 24;
const NAMES = [
  ...["page", "surface", "sunken", "line", "ink", "muted", "faint", "accent", "accent-soft"],
  ...["good", "warn", "bad", "info", "mark", "tile", "tile-line", "dot", "dot-soft"],
];
const CATEGORIES = 8;
const STOPS = 5;
const readers = new Set();
let palette = null;

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

export function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** White or near-black: what can be read on a colour "rgb(r, g, b)" or "#rrggbb". */
export function inkOn(colour) {
  const [r, g, b] = rgb(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#10161d" : "#ffffff";
}

function read() {
  const style = getComputedStyle(document.documentElement);
  const variable = (name) => style.getPropertyValue(`--${name}`).trim();
  const result = Object.fromEntries(NAMES.map((name) => [name, variable(name)]));
  const stops = Array.from({ length: STOPS }, (_, index) => rgb(variable(`ramp-${index}`)));
  const ramp = Array.from({ length: STEPS }, (_, step) => blend(stops, step / (STEPS - 1)));
  const categories = Array.from({ length: CATEGORIES }, (_, index) => variable(`category-${index}`));
  result.steps = ramp;
  result.categories = categories;
  result.ramp = (share) => ramp[rampStep(share)];
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

function rgb(text) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(text);
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  const parts = text.match(/[\d.]+/g);
  return parts ? parts.slice(0, 3).map(Number) : [128, 128, 128];
}

function changed() {
  palette = null;
  for (const reader of [...readers]) reader();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
