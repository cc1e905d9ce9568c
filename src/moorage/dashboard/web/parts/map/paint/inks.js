/** Mixes the colours of the map once per theme, as the 32-bit words that pixels are. */
import { colours } from "../../../lib/colour.js";
import { FIRST_CATEGORY, NONE, STEPS } from "../scale.js";

const DIM = 0.8;

/** Returns {page, tile, dot, softDot, stripe, dimTile, dimDot, dimStripe: Uint32Array by code, and mark, bad, good, … as single words}. */
export function mixInks() {
  const palette = colours();
  const page = parse(palette.page);
  const inks = { page: pack(page) };
  for (const name of ["tile", "dot", "softDot", "stripe", "dimTile", "dimDot", "dimStripe"]) inks[name] = new Uint32Array(256);
  for (let code = 0; code < 256; code += 1) {
    const tile = parse(codeColour(palette, code));
    const dot = mix(tile, light(tile) > 0.42 ? [16, 26, 36] : [255, 255, 255], 0.72);
    const stripe = mix(tile, light(tile) > 0.42 ? [16, 26, 36] : [255, 255, 255], 0.34);
    inks.tile[code] = pack(tile);
    inks.dot[code] = pack(dot);
    inks.softDot[code] = pack(mix(tile, dot, 0.6));
    inks.stripe[code] = pack(stripe);
    inks.dimTile[code] = pack(mix(tile, page, DIM));
    inks.dimDot[code] = pack(mix(dot, page, DIM));
    inks.dimStripe[code] = pack(mix(stripe, page, DIM));
  }
  for (const name of ["mark", "bad", "good", "warn", "info", "accent", "faint", "surface"]) inks[name] = pack(parse(palette[name]));
  inks.dimBad = pack(mix(parse(palette.bad), page, DIM));
  inks.line = pack(parse(palette["tile-line"]));
  inks.soft = pack(parse(palette["dot-soft"]));
  return inks;
}

/** The colour of a code, for legends too. */
export function codeColour(palette, code) {
  if (code === NONE) return palette.tile;
  if (code >= FIRST_CATEGORY) return palette.category(code - FIRST_CATEGORY);
  return palette.steps[Math.min(code, STEPS - 1)];
}

function parse(text) {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(text);
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  return (text.match(/[\d.]+/g) ?? [128, 128, 128]).slice(0, 3).map(Number);
}

function pack([r, g, b]) {
  return ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;
}

function mix(from, to, share) {
  return from.map((part, index) => part + (to[index] - part) * share);
}

function light([r, g, b]) {
  return (0.3 * r + 0.59 * g + 0.11 * b) / 255;
}
