/**
 * Says in every element with `data-progress` how far the simulated cluster is, while questions wait for it.
 *
 *   const answered = questionWaits(() => getJSON("/api/status")); … answered();
 *   progressText({phase: "Listing pods", done: 12000, total: 50000}) → "Listing pods: 12,000 of 50,000"
 *
 * The server is asked only while an answer takes long, by all questions of the page together.
 */
import { setText } from "./dom.js";

const PATIENCE = 1000;
const PAUSE = 700;
let waiting = 0;
let timer = 0;

/** A question was asked. Returns what to call, once or more often, when the first part of its answer is there. */
export function questionWaits(status) {
  let isOver = false;
  waiting += 1;
  timer ||= setTimeout(() => look(status), PATIENCE);
  return () => {
    if (isOver) return;
    isOver = true;
    waiting -= 1;
    if (waiting) return;
    clearTimeout(timer);
    timer = 0;
    tell("");
  };
}

/** The server, or an answer that takes long, says how far it is. */
export function showProgress(progress) {
  tell(progressText(progress));
}

export function progressText({ phase, done, total }) {
  if (!done) return phase;
  const [some, all] = [done, total].map((one) => one.toLocaleString("en-US"));
  return `${phase}: ${some}${total ? ` of ${all}` : ""}`;
}

async function look(status) {
  let progress = null;
  try {
    ({ progress } = await status());
  } catch {
    // The question itself says what is wrong.
  }
  if (!waiting) return;
  if (progress) showProgress(progress);
  timer = setTimeout(() => look(status), PAUSE);
}

function tell(text) {
  for (const element of document.querySelectorAll("[data-progress]")) setText(element, text);
}
