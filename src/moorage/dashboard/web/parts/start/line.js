/**
 * Shows the questions that this cluster raises, the most urgent first: three links, and a button for the others.
 *
 *   const line = new StartLine(); view.prepend(line.element); line.start(); … line.stop()
 *
 * Nothing is said before the cluster is there, while it does not answer, or of the past.
 */
import { cluster } from "../../lib/cluster.js";
import { h, setText } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { known, reading } from "../../lib/readings.js";
import { Asking } from "./asking.js";
import { IDEAS } from "./ideas.js";
import { survey } from "./survey.js";
import { tally } from "./tally.js";
import { TROUBLES } from "./troubles.js";

const QUESTIONS = { ...TROUBLES, ...IDEAS };
const SHOWN = 3;
/** From this urgency on something is wrong. */
const WRONG = 70;
/** A cluster that changes all the time is looked over this often, and a large one for a small part of the time. */
const PAUSE = 1000;
const REST = 300;

export class StartLine {
  #list = h("ul", { class: "start-list" });
  #more = h("button", { class: "button small quiet start-more", type: "button", "aria-expanded": "false", hidden: true, onclick: () => this.#toggle() });
  #links = new Map();
  #stops = [];
  #timer = 0;
  #clock = 0;
  #took = 0;
  #isOpen = false;
  #spoke = false;
  #asking = null;
  element = h("nav", { class: "start-line", "aria-label": "Questions that this cluster raises" }, this.#list, this.#more);

  start() {
    this.#asking = new Asking(() => this.#soon());
    this.#stops = [cluster.subscribe(() => this.#soon()), tally.subscribe(() => this.#soon())];
    // Seconds count down between changes.
    this.#clock = setInterval(() => tally.leaving.size && !document.hidden && this.#soon(), 1000);
    this.#soon();
  }

  stop() {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#timer);
    clearInterval(this.#clock);
    this.#asking?.stop();
  }

  #soon() {
    this.#timer ||= setTimeout(() => idle(() => this.#look()), this.#links.size ? Math.max(PAUSE, REST * this.#took) : 0);
  }

  #look() {
    this.#timer = 0;
    if (!this.element.isConnected) return;
    const began = performance.now();
    this.#show();
    this.#took = performance.now() - began;
  }

  #show() {
    // Room is kept for questions that are to come, not for those that there were.
    this.element.classList.toggle("silent", !isKnown() && this.#spoke);
    this.#spoke ||= isKnown();
    if (!isKnown()) {
      this.#asking.forget();
      this.#draw([]);
      return;
    }
    this.#asking.changed();
    this.#draw(questions(this.#facts()));
  }

  #facts() {
    const seen = survey(cluster);
    const values = [...seen.risks.values()].flatMap((risk) => [...risk.values]);
    const read = known(values);
    if (!read) reading(values).then(() => this.#soon(), () => {});
    const now = cluster.source.kind === "live" ? Date.now() / 1000 : 0;
    return { cluster, tally, seen, answers: this.#asking.answers, numbers: read?.numbers ?? new Map(), now };
  }

  #draw(list) {
    const wanted = this.#isOpen ? list : list.slice(0, SHOWN);
    for (const [name, link] of this.#links) {
      if (wanted.some((one) => one.name === name)) continue;
      link.item.remove();
      this.#links.delete(name);
    }
    wanted.forEach((question, at) => {
      const link = this.#link(question.name);
      link.anchor.setAttribute("href", question.href);
      link.anchor.title = question.title ?? "";
      link.anchor.dataset.tone = question.urgency >= WRONG ? "warn" : "";
      setText(link.text, question.text);
      // Moved only where the order differs: the link that has the focus keeps it.
      if (this.#list.children[at] !== link.item) this.#list.insertBefore(link.item, this.#list.children[at] ?? null);
    });
    const rest = list.length - SHOWN;
    this.#more.hidden = rest <= 0;
    this.#more.setAttribute("aria-expanded", String(this.#isOpen));
    setText(this.#more, this.#isOpen ? "Fewer questions" : count(rest, "more question"));
  }

  #link(name) {
    let link = this.#links.get(name);
    if (!link) {
      const text = h("span", {});
      const anchor = h("a", { class: "start-link", href: "#/map" }, h("span", { class: "start-sign", "aria-hidden": "true" }), text);
      link = { item: h("li", { dataset: { question: name } }, anchor), anchor, text };
      this.#links.set(name, link);
    }
    return link;
  }

  #toggle() {
    this.#isOpen = !this.#isOpen;
    this.#show();
  }
}

/** Runs `work` between frames, where the browser can. */
function idle(work) {
  if (globalThis.requestIdleCallback) requestIdleCallback(work, { timeout: PAUSE });
  else work();
}

/** Whether the rows are the cluster's of now. */
export function isKnown() {
  const { source, loaded, streaming, past } = cluster;
  return loaded && tally.ready && past == null && streaming && (source.kind !== "live" || source.connected);
}

/** The questions that the facts raise, the most urgent first. */
export function questions(facts) {
  const raised = Object.entries(QUESTIONS).flatMap(([name, raise]) => {
    const question = raise(facts);
    return question ? [{ name, ...question }] : [];
  });
  return raised.sort((a, b) => b.urgency - a.urgency);
}
