/**
 * Asks a what-if again and again while a value is dragged: one question at a time, the newest wins.
 *
 *   const asking = new Asking({part(part, question) {…}, state(name, error) {…}});
 *   asking.ask({changes})      state: "asking" → (first part) "placing" → "done", or "failed"
 *   asking.stop()
 *
 * A question that waits replaces the one that waited before. The one in flight is left alone until its first part is
 * there, which says who would be evicted, then it is aborted for the newer one: so a long drag shows something all
 * along, and the last value is always answered.
 */
import { ask, embedded, isAbort } from "../../lib/api.js";

/** Tells the server which questions come from this tab, so that it can drop the older ones. */
const TAB = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export class Asking {
  #listener;
  #waiting = null;
  #flight = null;

  constructor(listener) {
    this.#listener = listener;
  }

  ask(question) {
    this.#waiting = question;
    // First, since the parts of a saved answer come at once.
    this.#listener.state("asking");
    if (!this.#flight) this.#next();
    else if (this.#flight.parts) this.#flight.controller.abort();
  }

  stop() {
    this.#waiting = null;
    this.#flight?.controller.abort();
    this.#flight = null;
  }

  async #next() {
    const question = this.#waiting;
    if (!question) return;
    this.#waiting = null;
    const flight = { controller: new AbortController(), parts: 0 };
    this.#flight = flight;
    try {
      const args = embedded ? question : { ...question, tab: TAB };
      await ask("what-if", args, { signal: flight.controller.signal, onpart: (part) => this.#part(flight, part, question) });
      if (this.#flight === flight && !this.#waiting) this.#listener.state("done");
    } catch (error) {
      if (this.#flight === flight && !this.#waiting && !isAbort(error)) this.#listener.state("failed", error);
    } finally {
      if (this.#flight === flight) {
        this.#flight = null;
        this.#next();
      }
    }
  }

  #part(flight, part, question) {
    if (this.#flight !== flight) return;
    flight.parts += 1;
    this.#listener.part(part, question, Boolean(this.#waiting));
    if (this.#waiting) flight.controller.abort();
    else if (!part.done) this.#listener.state("placing");
  }
}
