/**
 * Gives each node a colour code for what the reader wants to see, and the numbers of the legend.
 *
 * A colouring is text: "none", "resource:NAME", "device:DRIVER", "taint:KEY", "version", "label:KEY", "workload:NAME".
 * Codes: 0…23 are steps of the ramp, FIRST_CATEGORY + n categories, NONE is a tile without a value.
 */
import { rampStep } from "../../lib/colour.js";
import { count, natural, number, percent, quantity } from "../../lib/format.js";

export const STEPS = 24;
export const FIRST_CATEGORY = 24;
export const NONE = 255;
const MOST_ENTRIES = 8;
/** What the bars of tiles show where the colour is not of a resource. */
const USUAL_BAR = "cpu";
const TICKS = 4;
const UNREAD = { numbers: new Map(), versions: [] };
let bars = { model: null, key: "", rows: [], shares: [] };

/**
 * Returns {codes: Uint8Array by node number, title, kind: "ramp"|"steps"|"categories"|"none", ticks: [{at: share of the ramp,
 * text}], bins, entries: [{code, text, count}], none: {text, count}, text: (number) → value in words, share: (number) →
 * how full its bar is, -1 without one, shareOf: of what}. `read` returns the numbers and versions among texts
 * (lib/readings.js), or null while they are not known: values are categories then.
 */
export function makeScale(colouring, model, values = null, read = () => null) {
  const [kind, name] = split(colouring);
  const bar = kind === "resource" || kind === "device" ? name : USUAL_BAR;
  const of = kind === "device" ? (row) => row.devices?.[name] : (row) => row.resources?.[bar];
  return { ...colourScale(colouring, model, values, read), share: sharesOf(model, `${kind === "device"} ${bar}`, of), shareOf: bar };
}

/** Every tile in sight asks for its share in every frame: it is kept as long as the row is the same object. */
function sharesOf(model, key, of) {
  if (bars.model !== model || bars.key !== key || bars.shares.length < model.rows.length) {
    bars = { model, key, rows: new Array(model.rows.length), shares: new Float64Array(model.rows.length) };
  }
  const { rows, shares } = bars;
  return (at) => {
    const row = model.rows[at];
    if (rows[at] === row) return shares[at];
    const pair = row && of(row);
    rows[at] = row;
    shares[at] = pair && pair[1] > 0 ? pair[0] / pair[1] : -1;
    return shares[at];
  };
}

function colourScale(colouring, model, values, read) {
  const { rows } = model;
  const codes = new Uint8Array(rows.length).fill(NONE);
  const [kind, name] = split(colouring);
  if (kind === "resource") return share(codes, rows, name, (row) => row.resources?.[name], (value) => quantity(name, value));
  if (kind === "device") return share(codes, rows, name, (row) => row.devices?.[name], number);
  if (kind === "workload") return tally(codes, model, name);
  if (kind === "version") return ordered(codes, rows, "kubelet version", (row) => row.version, "no version", read);
  const changed = (valueOf) => (row) => {
    const one = values?.get(row.name);
    return one && "value" in one ? one.value : valueOf(row);
  };
  if (kind === "label") return ordered(codes, rows, name, changed((row) => row.labels?.[name]), "without the label", read);
  if (kind === "taint") {
    return ordered(codes, rows, name, changed((row) => row.taints?.find((taint) => taint.key === name)?.value), "untainted", read);
  }
  let nodes = 0;
  for (const row of rows) if (row) nodes += 1;
  return { codes, title: "", kind: "none", entries: [], none: { text: "nodes", count: nodes }, text: () => "" };
}

export function split(colouring) {
  const at = colouring.indexOf(":");
  return at < 0 ? [colouring, ""] : [colouring.slice(0, at), colouring.slice(at + 1)];
}

function share(codes, rows, name, amounts, write) {
  const bins = new Uint32Array(STEPS);
  let first = NaN;
  let differ = false;
  let without = 0;
  let having = 0;
  let over = 0;
  rows.forEach((row, at) => {
    if (!row) return;
    const pair = amounts(row);
    if (!pair || !(pair[1] > 0)) {
      without += 1;
      return;
    }
    const part = pair[0] / pair[1];
    codes[at] = rampStep(part);
    bins[codes[at]] += 1;
    if (part > 1) over += 1;
    having += 1;
    if (having === 1) first = part;
    else if (part !== first && Math.trunc(part * 100) !== Math.trunc(first * 100)) differ = true;
  });
  const entries = over ? [{ code: STEPS - 1, text: "more requested than there is", count: over }] : [];
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: percent(at) }));
  // One value is a swatch: a ramp would say that there are others.
  const swatch = having && !differ ? { code: rampStep(first), text: percent(first), count: having } : null;
  const scale = swatch ? { kind: "steps", entries: [swatch] } : { kind: "ramp", ticks, bins, entries };
  return {
    ...{ codes, title: `${name} requested`, ...scale },
    none: { text: `without ${name}`, count: without },
    text: (at) => {
      const pair = rows[at] && amounts(rows[at]);
      return pair && pair[1] > 0 ? `${percent(pair[0] / pair[1])} (${write(pair[0])} of ${write(pair[1])})` : `no ${name}`;
    },
    short: (at) => {
      const pair = rows[at] && amounts(rows[at]);
      return pair && pair[1] > 0 ? percent(pair[0] / pair[1]) : "";
    },
  };
}

function tally(codes, model, workload) {
  const { rows, slots, pods } = model;
  const found = new Uint32Array(rows.length);
  let most = 0;
  let without = 0;
  rows.forEach((row, at) => {
    if (!row) return;
    for (const pod of slots[at]) if (pod >= 0 && pods[pod].workload === workload) found[at] += 1;
    most = Math.max(most, found[at]);
    if (!found[at]) without += 1;
  });
  const bins = new Uint32Array(STEPS);
  const place = (pods) => (most > 1 ? 0.25 + (0.75 * (pods - 1)) / (most - 1) : 0.8);
  const nodes = new Map();
  for (let at = 0; at < rows.length; at += 1) {
    if (!found[at]) continue;
    codes[at] = rampStep(place(found[at]));
    bins[codes[at]] += 1;
    nodes.set(found[at], (nodes.get(found[at]) ?? 0) + 1);
  }
  const words = (value) => count(value, "pod");
  const few = [...nodes].sort(([a], [b]) => a - b).map(([pods, count]) => ({ code: rampStep(place(pods)), text: words(pods), count }));
  const scale = few.length <= MOST_ENTRIES ? { kind: "steps", entries: few } : { kind: "ramp", bins, entries: [], ticks: round(1, most).map((pods) => ({ at: place(pods), text: String(pods) })) };
  return {
    ...{ codes, title: `pods of ${workload}`, ...scale },
    none: { text: "without its pods", count: without },
    text: (at) => words(found[at]),
    short: (at) => (found[at] ? String(found[at]) : ""),
  };
}

/** Numbers get a ramp from least to most, versions their order, other text categories by how common it is. */
function ordered(codes, rows, title, valueOf, noneText, read) {
  const found = new Map();
  let without = 0;
  const values = rows.map((row) => {
    const value = row ? valueOf(row) : undefined;
    if (value === undefined || value === null) {
      if (row) without += 1;
      return null;
    }
    found.set(value, (found.get(value) ?? 0) + 1);
    return value;
  });
  const distinct = [...found.keys()];
  const known = read(distinct) ?? UNREAD;
  const numeric = [...known.numbers.keys()].filter((value) => found.has(value));
  const result = {
    ...{ codes, title, none: { text: noneText, count: without } },
    text: (at) => (values[at] == null ? noneText : values[at] === "" ? "no value" : values[at]),
    short: (at) => values[at] ?? "",
  };
  const versions = known.versions.filter((value) => found.has(value));
  if (numeric.length && numeric.length >= distinct.length - 1) return numbers(result, values, found, numeric, known.numbers);
  if (versions.length && versions.length >= distinct.length - 1) return ranks(result, values, found, versions);
  return categories(result, values, found);
}

function numbers(result, values, found, numeric, sizes) {
  const [least, most] = [sizes.get(numeric[0]), sizes.get(numeric.at(-1))];
  const place = (value) => (most > least ? 0.12 + (0.88 * (sizes.get(value) - least)) / (most - least) : 0.5);
  const ticks = round(least, most).map((size) => ({ at: 0.12 + (0.88 * (size - least)) / (most - least || 1), text: number(size) }));
  return ramp(result, values, found, numeric, place, "not a number", ticks);
}

function ranks(result, values, found, sorted) {
  const rank = new Map(sorted.map((value, index) => [value, sorted.length > 1 ? 0.1 + (0.9 * index) / (sorted.length - 1) : 0.6]));
  // Versions have an order and no size: a mark at every fourth of them.
  const marked = new Set(Array.from({ length: TICKS + 1 }, (_, at) => sorted[Math.round((at * (sorted.length - 1)) / TICKS)]));
  const ticks = [...marked].map((text) => ({ at: rank.get(text), text }));
  return ramp(result, values, found, sorted, (value) => rank.get(value), "not a version", ticks);
}

/** A ramp from the first of the sorted values to the last; one value outside of it gets a colour of its own. */
function ramp(result, values, found, sorted, place, otherwise, ticks) {
  const code = new Map(sorted.map((value) => [value, rampStep(place(value))]));
  const bins = new Uint32Array(STEPS);
  let others = 0;
  values.forEach((value, at) => {
    if (value == null) return;
    result.codes[at] = code.get(value) ?? FIRST_CATEGORY + 7;
    if (code.has(value)) bins[result.codes[at]] += 1;
    else others += 1;
  });
  const entries = others ? [{ code: FIRST_CATEGORY + 7, text: otherwise, count: others }] : [];
  if (sorted.length > MOST_ENTRIES) return { ...result, kind: "ramp", ticks, bins, entries };
  return { ...result, kind: "steps", entries: [...sorted.map((value) => ({ code: code.get(value), text: value, count: found.get(value) })), ...entries] };
}

/** The two ends and round numbers between them, which are not too near to either. */
function round(least, most) {
  if (!(most > least)) return [least];
  const rough = (most - least) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(least / step) * step;
  const between = Array.from({ length: TICKS + 1 }, (_, at) => first + at * step);
  return [least, ...between.filter((value) => value - least >= step / 2 && most - value >= step / 2), most];
}

function categories(result, values, found) {
  const common = [...found].sort((a, b) => b[1] - a[1] || natural(a[0], b[0]));
  const named = common.length > MOST_ENTRIES ? MOST_ENTRIES - 1 : common.length;
  const code = new Map(common.map(([value], index) => [value, FIRST_CATEGORY + Math.min(index, named === common.length ? index : named)]));
  values.forEach((value, at) => {
    if (value != null) result.codes[at] = code.get(value);
  });
  const entries = common.slice(0, named).map(([value, nodes]) => ({ code: code.get(value), text: value === "" ? "no value" : value, count: nodes }));
  const rest = common.slice(named);
  if (rest.length) {
    entries.push({ code: FIRST_CATEGORY + named, text: `${rest.length} other values`, count: rest.reduce((sum, [, nodes]) => sum + nodes, 0) });
  }
  return { ...result, kind: "categories", entries };
}
