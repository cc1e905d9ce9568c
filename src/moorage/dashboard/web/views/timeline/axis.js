/**
 * Places entries on an axis of time or of order: axisOf(entries, {byOrder, virtual, from, to}) → {place(entry), ticks, forced}.
 * Where everything happens at one time, which is usual in a simulation, it is an axis of order (`forced`).
 */
import { clock, duration } from "../../lib/format.js";
import { when } from "./times.js";

const STEPS = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const ROOM = 90;

export function axisOf(entries, { byOrder, virtual, from, to }) {
  const first = entries[0]?.time ?? 0;
  const last = entries.at(-1)?.time ?? 0;
  const width = Math.max(1, to - from);
  const atOnce = last - first < 0.05;
  if (byOrder || atOnce) return { ...ordered(entries, from, width), forced: atOnce && !byOrder };
  const scale = width / (last - first);
  const step = STEPS.find((one) => one * scale >= ROOM) ?? STEPS.at(-1);
  const ticks = [];
  for (let time = Math.ceil(first / step) * step; time <= last && ticks.length < 40; time += step) {
    ticks.push({ x: from + (time - first) * scale, text: virtual ? duration(time) : step < 1 ? `${clock(time)}${tenths(time)}` : when(time) });
  }
  return { place: (one) => from + (one.time - first) * scale, ticks, byTime: true };
}

function ordered(entries, from, width) {
  const numbers = new Map(entries.map((one, index) => [one.id, index]));
  const scale = width / Math.max(1, entries.length - 1);
  const step = nice(ROOM / scale);
  const ticks = [];
  for (let number = 0; number < entries.length && ticks.length < 40; number += step) {
    ticks.push({ x: from + number * scale, text: number ? `${number + 1}.` : "first" });
  }
  return { place: (one) => from + (numbers.get(one.id) ?? 0) * scale, ticks };
}

function nice(least) {
  const base = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return Math.max(1, [1, 2, 5, 10].map((one) => one * base).find((one) => one >= least));
}

function tenths(time) {
  return `.${Math.floor((time % 1) * 10 + 0.001)}`;
}
