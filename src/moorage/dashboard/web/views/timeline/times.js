/** Writes times as the timeline shows them: with the date where it is not today's. */
import { clock, duration, seconds } from "../../lib/format.js";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const YEAR = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MINUTES = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** "14:03:11" today, "17 Nov 14:03" this year, "17 Nov 2025" before. */
export function when(time, now = Date.now() / 1000) {
  const then = seconds(time);
  if (!Number.isFinite(then)) return "–";
  const [day, today] = [new Date(then * 1000), new Date(now * 1000)];
  if (day.toDateString() === today.toDateString()) return clock(then);
  return day.getFullYear() === today.getFullYear() ? `${DAY.format(day)} ${MINUTES.format(day)}` : YEAR.format(day);
}

/** The time of an entry: of the day, or since the beginning of a simulation. */
export function timeText(time, virtual) {
  if (!virtual) return when(time);
  return time ? `+${duration(time)}` : "0s";
}
