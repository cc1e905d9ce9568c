/** Mixes the colours of the map once per theme, as the 32-bit words that pixels are. */
import { colours, rgb } from "../../../lib/colour.js";
import { DOT_COLOURS, NEUTRAL } from "../dots.js";
import { FIRST_CATEGORY, NONE, STEPS } from "../scale.js";

const DIM = 0.8;

/**
 * Returns {page, tile, dot, softDot, stripe, track, dimTile, dimDot, dimStripe, dimTrack: Uint32Array by code of the tile, pods,
 * dimPods: by code of the pod, and mark, bad, good, … as single words}.
 */
export function mixInks() {
  const palette = colours();
  const [page, black, white] = [palette.page, palette.black, palette.white].map(rgb);
  const inks = { page: pack(page) };
  for (const name of ["tile", "dot", "softDot", "stripe", "track", "dimTile", "dimDot", "dimStripe", "dimTrack"]) inks[name] = new Uint32Array(256);
  for (let code = 0; code < 256; code += 1) {
    const tile = rgb(codeColour(palette, code));
    const ink = light(tile) > 0.42 ? black : white;
    const dot = mix(tile, ink, 0.72);
    const stripe = mix(tile, ink, 0.34);
    const track = mix(tile, ink, 0.16);
    inks.tile[code] = pack(tile);
    inks.dot[code] = pack(dot);
    inks.softDot[code] = pack(mix(tile, dot, 0.6));
    inks.stripe[code] = pack(stripe);
    inks.track[code] = pack(track);
    inks.dimTrack[code] = pack(mix(track, page, DIM));
    inks.dimTile[code] = pack(mix(tile, page, DIM));
    inks.dimDot[code] = pack(mix(dot, page, DIM));
    inks.dimStripe[code] = pack(mix(stripe, page, DIM));
  }
  for (const name of ["mark", "bad", "good", "warn", "info", "accent", "faint", "muted", "surface"]) inks[name] = pack(rgb(palette[name]));
  inks.pods = new Uint32Array(DOT_COLOURS + 1);
  inks.dimPods = new Uint32Array(DOT_COLOURS + 1);
  for (let code = 0; code <= NEUTRAL; code += 1) {
    const colour = rgb(podColour(palette, code));
    inks.pods[code] = pack(colour);
    inks.dimPods[code] = pack(mix(colour, page, DIM));
  }
  inks.dimPlate = pack(mix(rgb(palette.surface), page, DIM));
  inks.dimBad = pack(mix(rgb(palette.bad), page, DIM));
  return inks;
}

/** The colour of a pod's code, for names and legends too. */
export function podColour(palette, code) {
  return code < DOT_COLOURS ? palette.pod(code) : palette["line-strong"];
}

/** The colour of a code, for legends too. */
export function codeColour(palette, code) {
  if (code === NONE) return palette.tile;
  if (code >= FIRST_CATEGORY) return palette.category(code - FIRST_CATEGORY);
  return palette.steps[Math.min(code, STEPS - 1)];
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
