/** Writes quantities, durations, times and counts the way Kubernetes engineers do. */

import { embedded } from "./api.js";

const SAVED = embedded?.state?.source?.time;
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const NUMBERS = new Intl.NumberFormat("en-US");
const CLOCK = once(() => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }));
const MINUTES = once(() => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }));
const DAY = once(() => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" }));

/** 1234 → "1,234". */
export function number(value) {
  // Most numbers are small, and some views write hundreds of them several times a second.
  return Number.isInteger(value) && value >= 0 && value < 1000 ? String(value) : NUMBERS.format(value);
}

/** (1, "node") → "1 node", (2, "node") → "2 nodes"; a third argument is an irregular plural. */
export function count(value, singular, plural = `${singular}s`) {
  return `${number(value)} ${value === 1 ? singular : plural}`;
}

/** Thousandths of a CPU: 250 → "250m", 1500 → "1.5", 64000 → "64". */
export function cpu(milli) {
  return Math.abs(milli) < 1000 && milli !== 0 ? `${Math.round(milli)}m` : trim(milli / 1000);
}

/** Bytes: 1610612736 → "1.5Gi". */
export function bytes(value) {
  let step = 0;
  let rest = Math.abs(value);
  while (rest >= 1024 && step < BINARY.length - 1) {
    rest /= 1024;
    step += 1;
  }
  return `${value < 0 ? "-" : ""}${trim(rest)}${BINARY[step]}`;
}

/** An amount of a resource, as the state has it: CPU in thousandths, memory in bytes. */
export function quantity(resource, value) {
  if (resource === "cpu") return cpu(value);
  if (isBytes(resource)) return bytes(value);
  return number(value);
}

export function isBytes(resource) {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

/** 0.5 → "50%", 0.289 → "28%": cut off as kubectl describe node does it. */
export function percent(share) {
  return Number.isFinite(share) ? `${Math.trunc(share * 100)}%` : "–";
}

/** Seconds: 5 → "5s", 65 → "1m5s", 3700 → "1h1m", 90000 → "1d1h". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "forever";
  const sign = seconds < 0 ? "-" : "";
  const rest = Math.abs(seconds);
  if (rest < 1 && rest > 0) return `${sign}${Math.round(rest * 1000)}ms`;
  const [d, hours, m, s] = [rest / 86400, (rest / 3600) % 24, (rest / 60) % 60, rest % 60].map(Math.floor);
  if (d) return `${sign}${d}d${hours ? `${hours}h` : ""}`;
  if (hours) return `${sign}${hours}h${m ? `${m}m` : ""}`;
  if (m) return `${sign}${m}m${s ? `${s}s` : ""}`;
  return `${sign}${s}s`;
}

/** Seconds since 1970, or an RFC 3339 time → seconds since 1970; NaN where there is none. */
export function seconds(time) {
  return typeof time === "number" ? time : Date.parse(time ?? "") / 1000;
}

/** How long ago a time was: "3m12s"; on a saved page, how long before it was saved. */
export function age(time, now = SAVED ?? Date.now() / 1000) {
  const then = seconds(time);
  return Number.isFinite(then) ? duration(Math.max(0, Math.floor(now - then))) : "–";
}

/** A time as "14:03:11". */
export function clock(time) {
  const then = seconds(time);
  return Number.isFinite(then) ? CLOCK().format(then * 1000) : "–";
}

/** A time as "14:03". */
export function clockMinutes(time) {
  const then = seconds(time);
  return Number.isFinite(then) ? MINUTES().format(then * 1000) : "–";
}

/** How long ago a time was, as people say it: "just now", "40 s ago", "2 min ago", "3 h ago", "2 days ago". */
export function ago(time, now = Date.now() / 1000) {
  const rest = Math.floor(now - seconds(time));
  if (!Number.isFinite(rest)) return "–";
  if (rest < 5) return "just now";
  if (rest < 60) return `${rest} s ago`;
  if (rest < 3600) return `${Math.floor(rest / 60)} min ago`;
  return rest < 86400 ? `${Math.floor(rest / 3600)} h ago` : `${count(Math.floor(rest / 86400), "day")} ago`;
}

/** A time as "17 Nov 2026 14:03:11". */
export function moment(time) {
  const then = seconds(time);
  return Number.isFinite(then) ? `${DAY().format(then * 1000)} ${CLOCK().format(then * 1000)}` : "–";
}

/** A taint as kubectl writes it: key=value:Effect. */
export function taint({ key, value, effect }) {
  return `${key}${value ? `=${value}` : ""}:${effect}`;
}

/** Compares as people read: "n2" before "n10". */
export const natural = new Intl.Collator("en", { numeric: true }).compare;

/** Formats of times take milliseconds to make: each is made when it is first used, not before the first paint. */
function once(make) {
  let format;
  return () => (format ??= make());
}

function trim(value) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}
