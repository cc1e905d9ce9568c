/**
 * Finds what a value can be moved over: the keys of the cluster, and for one key a range of integers, an ordered list
 * of versions, or free text, with the thresholds that pods name as ticks.
 *
 *   keysOf("taint", cluster.nodes, facts)       → [{key, on, pods}], those that pods compare with thresholds first
 *   domainOf("taint", key, cluster.nodes, facts) → {form: "number", min, max, ticks, values, turns}
 *                                                | {form: "version", stops, ticks, values} | {form: "text", values}
 *
 * `facts` is the answer to the question `thresholds`. `ticks` are [{value, operator, pods, workloads}]; `turns` are the
 * values at which a comparison turns, on both sides of each threshold; `values` is a Map value → nodes (or devices)
 * that have it.
 */
import { natural } from "../../lib/format.js";

const INTEGER = /^(?:0|[1-9]\d{0,14})$/;
/** What pods may name; a node's value is a label value, and cannot be negative. */
const THRESHOLD = /^(?:0|-?[1-9]\d{0,18})$/;
const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:[+_].*)?$/;
const NUMERIC = new Set(["Gt", "Lt"]);
const VERSIONED = new Set(["SemverGt", "SemverLt", "SemverEq"]);
const MOST_STOPS = 200;

export function keysOf(kind, nodes, facts) {
  const on = new Map();
  if (kind === "deviceTaint") {
    for (const one of facts?.devicesTainted ?? []) on.set(one.key, (on.get(one.key) ?? 0) + one.devices);
  } else {
    for (const row of nodes.values()) {
      const keys = kind === "label" ? Object.keys(row.labels) : new Set(row.taints.map((one) => one.key));
      for (const key of keys) on.set(key, (on.get(key) ?? 0) + 1);
    }
  }
  const named = thresholdsOf(kind, facts);
  if (kind !== "untaint") for (const key of Object.keys(named)) if (key && !on.has(key)) on.set(key, 0);
  const rows = [...on].map(([key, count]) => {
    const rules = named[key] ?? [];
    return { key, on: count, pods: sum(rules), compared: rules.some((one) => isComparison(one.operator)) };
  });
  return rows.sort((a, b) => b.compared - a.compared || b.pods - a.pods || natural(a.key, b.key));
}

export function domainOf(kind, key, nodes, facts) {
  const values = valuesOf(kind, key, nodes, facts);
  const rules = thresholdsOf(kind, facts)[key] ?? [];
  const ticks = rules.filter((one) => isComparison(one.operator)).sort((a, b) => b.pods - a.pods || natural(a.value, b.value));
  const texts = [...new Set([...values.keys(), ...rules.map((one) => one.value)])].filter(Boolean);
  if (isForm(texts, ticks, NUMERIC, isInteger, isThreshold)) return numbers(texts, ticks.filter((one) => isInteger(one.value)), values);
  if (isForm(texts, ticks, VERSIONED, isVersion) && texts.some((text) => text.includes("."))) {
    return versions(texts, ticks.filter((one) => isVersion(one.value)), values);
  }
  return { form: "text", values, ticks, suggestions: texts.sort(natural) };
}

export function isInteger(text) {
  return INTEGER.test(text);
}

export function isVersion(text) {
  return VERSION.test(text);
}

/** Compares versions as SemVer does: what follows + does not count. */
export function compareVersions(a, b) {
  const [, ...left] = VERSION.exec(a);
  const [, ...right] = VERSION.exec(b);
  for (let at = 0; at < 3; at += 1) {
    const difference = Number(left[at] ?? 0) - Number(right[at] ?? 0);
    if (difference) return difference;
  }
  return comparePreReleases(left[3], right[3]);
}

/** What a threshold asks of the value, as an inequality. */
export function inequality({ operator, value }) {
  const signs = { Gt: ">", SemverGt: ">", Lt: "<", SemverLt: "<", SemverEq: "=", Equal: "=", In: "=" };
  return `${signs[operator] ?? operator} ${value}`;
}

function valuesOf(kind, key, nodes, facts) {
  const values = new Map();
  const add = (value, count) => values.set(value, (values.get(value) ?? 0) + count);
  if (kind === "deviceTaint") {
    for (const one of facts?.devicesTainted ?? []) if (one.key === key) add(one.value, one.devices);
  } else if (kind === "label") {
    for (const row of nodes.values()) if (Object.hasOwn(row.labels, key)) add(row.labels[key], 1);
  } else {
    for (const row of nodes.values()) for (const one of row.taints) if (one.key === key) add(one.value ?? "", 1);
  }
  return values;
}

function thresholdsOf(kind, facts) {
  if (!facts) return {};
  if (kind === "deviceTaint") return facts.deviceTaints ?? {};
  return (kind === "label" ? facts.labels : facts.taints) ?? {};
}

function isComparison(operator) {
  return NUMERIC.has(operator) || VERSIONED.has(operator);
}

function isThreshold(text) {
  return THRESHOLD.test(text);
}

/** Whether the values are of a form: pods compare them so, or all that there are can be read so. */
function isForm(texts, ticks, operators, reads, compares = reads) {
  if (ticks.some((one) => operators.has(one.operator) && compares(one.value))) return true;
  return ticks.length === 0 && texts.length > 0 && texts.every(reads);
}

function numbers(texts, ticks, values) {
  const known = texts.filter(isInteger).map(Number);
  const all = known.length ? known : [0, 10];
  const low = Math.min(...all);
  const high = Math.max(...all);
  const room = Math.max(1, Math.ceil((high - low || high) * 0.15));
  const turns = new Set();
  for (const { operator, value } of ticks) {
    turns.add(Number(value));
    turns.add(Number(value) + (operator === "Lt" ? -1 : 1));
  }
  const reached = [...turns].filter((one) => one >= 0).sort((a, b) => a - b);
  return { form: "number", min: Math.max(0, low - room), max: high + room, ticks, values, turns: reached };
}

function versions(texts, ticks, values) {
  const known = texts.filter(isVersion);
  // Beside each threshold a version on its other side, so that the slider can be moved across it.
  for (const { value } of ticks) {
    const [, major, minor = "0", patch = "0"] = VERSION.exec(value);
    const prefix = value.startsWith("v") ? "v" : "";
    known.push(`${prefix}${major}.${minor}.${Number(patch) + 1}`);
    if (Number(patch)) known.push(`${prefix}${major}.${minor}.${Number(patch) - 1}`);
    else if (Number(minor)) known.push(`${prefix}${major}.${Number(minor) - 1}.0`);
    else if (Number(major)) known.push(`${prefix}${Number(major) - 1}.0.0`);
  }
  const stops = [...new Set(known)].sort((a, b) => compareVersions(a, b) || natural(a, b));
  return { form: "version", stops: stops.slice(0, MOST_STOPS), ticks, values };
}

function comparePreReleases(a, b) {
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  const [left, right] = [a.split("."), b.split(".")];
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    if (left[at] === undefined || right[at] === undefined) return left[at] === undefined ? -1 : 1;
    const [isNumber, isOther] = [/^\d+$/.test(left[at]), /^\d+$/.test(right[at])];
    if (isNumber !== isOther) return isNumber ? -1 : 1;
    const difference = isNumber ? Number(left[at]) - Number(right[at]) : left[at] < right[at] ? -1 : Number(left[at] > right[at]);
    if (difference) return difference;
  }
  return 0;
}

function sum(rules) {
  return rules.reduce((total, one) => total + one.pods, 0);
}
