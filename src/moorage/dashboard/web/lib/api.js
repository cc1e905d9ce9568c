/**
 * Asks the dashboard's server, or, in an exported page, the answers that are in the page.
 *
 *   const parts = await ask("explain", {pod: "default/web-1"}, {onpart: (part) => …, signal});
 *   const result = await act("taint", {…, dryRun: true});
 *   const node = await getJSON("/api/node/n1");
 *
 * All three throw a `Problem` whose message is one sentence for the reader (`.status` has the HTTP status).
 * An aborted `signal` throws an AbortError: `isAbort(error)`.
 * `embedded` is null on a server, else {state, answers, view, moments, moment}: answers of the moment that is shown
 * (lib/moments.js) come first. `answerable(question, args)` says whether an answer can be had, and `NOT_HERE` why not.
 */
import { questionWaits, showProgress } from "./waiting.js";

export const NOT_HERE = "This is a saved page: only the answers that were saved in it can be shown.";
const GONE = "The dashboard does not answer. Is `moorage dashboard` still running?";
const ENDED = "The dashboard was restarted. Open the new address that it has printed in its terminal.";

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.name = "Problem";
    this.status = status;
  }
}

export const embedded = readEmbedded();

export function isAbort(error) {
  return error?.name === "AbortError";
}

/** Writes JSON with sorted keys and no spaces: the same arguments always give the same text. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((one) => canonical(one ?? null)).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

export function answerable(question, args = {}) {
  return !embedded || saved(`${question} ${canonical(args)}`) !== undefined;
}

export async function ask(question, args = {}, { onpart, signal } = {}) {
  if (embedded) return recall(`${question} ${canonical(args)}`, onpart);
  const answered = questionWaits(() => getJSON("/api/status"));
  const parts = [];
  try {
    const response = await request(`/api/ask/${encodeURIComponent(question)}`, post(args, signal));
    for await (const line of lines(response)) {
      const part = parse(line);
      if (part.progress) {
        showProgress(part.progress);
        continue;
      }
      answered();
      if (part.error) throw new Problem(part.error, part.status ?? 422);
      parts.push(part);
      onpart?.(part);
    }
  } finally {
    answered();
  }
  if (!parts.at(-1)?.done) throw new Problem("The answer broke off. Try again.");
  return parts;
}

export async function act(action, body = {}, { signal } = {}) {
  if (embedded) throw new Problem(NOT_HERE);
  const response = await request(`/api/act/${encodeURIComponent(action)}`, post(body, signal));
  const answer = parse(await response.text());
  if (answer.error) throw new Problem(answer.error, response.status);
  return answer;
}

export async function getJSON(path, { signal } = {}) {
  if (embedded) return (await recall(`GET ${path}`))[0];
  const response = await request(path, { signal });
  return parse(await response.text());
}

export async function postJSON(path, body) {
  if (embedded) throw new Problem(NOT_HERE);
  const response = await request(path, post(body));
  return parse(await response.text());
}

function post(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    throw isAbort(error) ? error : new Problem(GONE);
  }
  if (response.ok) return response;
  throw new Problem(await reason(response), response.status);
}

async function reason(response) {
  const text = await response.text().catch(() => "");
  if (response.status === 401) return ENDED;
  try {
    const body = JSON.parse(text);
    if (typeof body.error === "string") return body.error;
    if (typeof body.message === "string") return body.message;
  } catch {
    // Not JSON: the first line of the text is the best there is.
  }
  const line = text.split("\n", 1)[0].slice(0, 300);
  return line || `The dashboard answered with an error (${response.status}).`;
}

async function* lines(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw isAbort(error) ? error : new Problem(GONE);
      });
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      let start = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
        if (end > start) yield rest.slice(start, end);
        start = end + 1;
      }
      rest = rest.slice(start);
      if (done) break;
    }
    if (rest.trim()) yield rest;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem("The dashboard's answer could not be read. Reload the page.", 200);
  }
}

async function recall(key, onpart) {
  const parts = saved(key);
  if (parts === undefined) throw new Problem(NOT_HERE);
  for (const part of parts) {
    if (part.error) throw new Problem(part.error);
    onpart?.(part);
  }
  return parts;
}

function saved(key) {
  const own = [embedded.moment?.answers ?? {}, embedded.answers].find((answers) => Object.hasOwn(answers, key));
  return own?.[key];
}

function readEmbedded() {
  const element = document.getElementById("embedded");
  if (!element) return null;
  const read = JSON.parse(element.textContent);
  return { state: read.state ?? null, answers: read.answers ?? {}, view: read.view ?? "", moments: read.moments ?? [], moment: null };
}
