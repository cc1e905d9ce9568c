/**
 * Shows one pod: where it is and why, what if it had to move, what it asks for and tolerates, what happened to it.
 *
 *   const panel = new PodPanel("shop/web-1", () => leave()); panel.element; panel.focus(); panel.close()
 *
 * What the map knows is there at once. The object is asked for again when its row changes, at most once a second; the
 * simulation when it got another node or its node other taints, and by Refresh. Of the past and in a saved page there
 * are rows only. A pod that goes while it is looked at keeps its last facts.
 */
import { address } from "../../lib/address.js";
import { ask, embedded, getJSON, isAbort } from "../../lib/api.js";
import { cluster, deadlineText } from "../../lib/cluster.js";
import { freshId, h, replace, setText } from "../../lib/dom.js";
import { age } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { encode } from "../../views/slider/changes.js";
import { chip, phaseChip } from "../chips.js";
import { events, facts, labels, nodeLink, resources, scores, section, sectionWith, tolerations, wrong } from "./sections.js";

const AGAIN = 1000;
/** A pod that is newer than the simulated copy of the cluster is asked about again, less often after these tries. */
const TRIES = 30, SELDOM = 10_000;
const UNKNOWN = "there is no pod ";
const ENDED = new Set(["Succeeded", "Failed", "Terminating"]);
const THINKING = "Asking the simulated cluster…";

export class PodPanel {
  #details = null;
  #problem = "";
  #asking = null;
  #questions = null;
  #asked = "";
  #answers = {};
  #timer = 0;
  #later = 0;
  #tries = 0;
  #clock = 0;
  #stop = null;
  #row = null;
  #parts = {};

  constructor(key, onclose) {
    this.key = key;
    this.titleId = freshId("pod");
    this.element = this.#build(onclose);
    this.#stop = cluster.subscribe((change) => this.#changed(change));
    this.#clock = setInterval(() => this.#tick(), AGAIN);
    this.#show();
    this.#load();
  }

  focus() {
    this.#parts.title.focus({ preventScroll: true });
  }

  close() {
    this.#stop?.();
    clearTimeout(this.#timer);
    clearTimeout(this.#later);
    clearInterval(this.#clock);
    this.#asking?.abort();
    this.#questions?.abort();
  }

  get #isGone() {
    return cluster.loaded && !cluster.pods.has(this.key);
  }

  /** Whether the server can be asked: not of the past, not in a saved page, not about a pod that is gone. */
  get #canAsk() {
    return !embedded && cluster.past == null && cluster.loaded && !this.#isGone;
  }

  #changed(change) {
    if (!change.all && !change.source && !change.pods.has(this.key) && !(this.#row && change.nodes.has(this.#row.node))) return;
    this.#show();
    if (change.all || change.pods.has(this.key)) this.#timer ||= setTimeout(() => this.#load(), this.#details ? AGAIN : 0);
    this.#ask();
  }

  async #load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#canAsk) return;
    this.#asking?.abort();
    this.#asking = new AbortController();
    try {
      const [namespace, name] = this.key.split("/", 2);
      this.#details = await getJSON(`/api/pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name ?? "")}`, { signal: this.#asking.signal });
      this.#problem = "";
    } catch (error) {
      if (isAbort(error)) return;
      this.#problem = error.status === 404 ? "" : error.message;
    }
    this.#show();
    this.#ask();
  }

  /** Asks the simulated cluster, where the pod's place or its node's taints are others than those asked about. */
  #ask(again = false) {
    const row = cluster.pods.get(this.key);
    if (!this.#canAsk || !row) return;
    const about = JSON.stringify([row.node, row.phase, cluster.nodes.get(row.node)?.taints]);
    if (about === this.#asked && !again) return;
    if (about !== this.#asked) this.#tries = 0;
    this.#asked = about;
    clearTimeout(this.#later);
    this.#later = 0;
    this.#questions?.abort();
    this.#questions = new AbortController();
    const { signal } = this.#questions;
    this.#answers = {};
    const put = (name, question, args) => {
      ask(question, args, { signal })
        .then((parts) => (this.#answers[name] = parts.at(-1)))
        .catch((error) => {
          if (isAbort(error)) return;
          if (error.message.startsWith(UNKNOWN)) this.#askLater();
          else this.#answers[name] = { problem: error.message };
        })
        .finally(() => signal.aborted || this.#showAnswers());
    };
    put("tolerations", "tolerations", { pod: this.key, node: row.node });
    if (row.node && !ENDED.has(row.phase)) {
      put("placement", "placement", { pod: this.key });
      put("move", "move", { pod: this.key });
    } else if (!row.node) put("waiting", "waiting", { pod: this.key });
    this.#showAnswers();
  }

  /** Asks again soon: the simulated copy of the cluster does not have the pod yet. */
  #askLater() {
    if (this.#later) return;
    this.#tries += 1;
    this.#later = setTimeout(() => this.#ask(true), this.#tries > TRIES ? SELDOM : AGAIN);
  }

  #build(onclose) {
    const p = this.#parts;
    const [namespace, name = ""] = this.key.split("/", 2);
    p.title = h("h2", { id: this.titleId, tabindex: "-1", class: "wrap" }, h("span", { class: "muted" }, `${namespace}/`), name);
    p.state = h("p", { class: "row pod-state" });
    p.where = h("p", { class: "wrap" });
    p.deadline = h("p", { class: "bad wrap", hidden: true });
    p.note = h("p", { class: "muted wrap", hidden: true });
    p.wrong = h("div", { class: "pod-part" });
    p.why = h("div", { class: "pod-part" });
    p.move = h("div", { class: "pod-part" });
    p.resources = h("div", { class: "pod-part" });
    p.tolerations = h("div", { class: "pod-part" });
    p.about = h("div", { class: "pod-part" });
    p.events = h("div", { class: "pod-part" });
    return h(
      "div",
      { class: "pod-panel" },
      h("div", { class: "pod-head" }, p.title, h("button", { class: "icon-button", type: "button", "aria-label": "Close the pod's panel", onclick: onclose }, icon("close"))),
      h("div", { class: "pod-body", tabindex: "-1" }, p.state, p.where, p.deadline, p.note, p.wrong, p.why, p.move, p.resources, p.tolerations, p.about, p.events),
    );
  }

  #show() {
    const p = this.#parts;
    this.#row = cluster.pods.get(this.key) ?? this.#row;
    const isGone = this.#isGone;
    this.element.classList.toggle("gone", isGone && Boolean(this.#row));
    p.state.hidden = false;
    if (!this.#row) {
      update(p.state, [cluster.loaded, cluster.past], () => (cluster.loaded ? chip(cluster.past == null ? "There is no such pod" : "There was no such pod then", "bad") : "Reading the cluster…"));
      return;
    }
    const row = this.#row;
    update(p.state, [isGone, cluster.past, row.phase], () => [isGone ? chip(cluster.past == null ? "This pod is gone: these are its last facts" : "There was no such pod then", "bad") : phaseChip(row.phase)]);
    const note = this.#problem || (embedded ? "A saved page has no more about this pod." : cluster.past != null ? "Of the past, no more is kept about this pod." : "");
    p.note.hidden = !note;
    setText(p.note, note);
    const details = cluster.past == null ? this.#details : null;
    this.#tick();
    update(p.wrong, [details?.wrong, row.node], () => wrong((details?.wrong ?? []).filter((one) => row.node || !one.what.startsWith("PodScheduled"))));
    update(p.resources, details && [details.requests, details.limits, details.devices, details.priority], () => (details ? section("Resources", resources(details)) : null));
    update(p.about, [row.workload, details?.labels, details?.created, Boolean(details)], () => section("Object", facts([["Owner", row.workload || (details ? "none: no controller makes it again" : "–")], ["Created", details?.created ? `${age(details.created)} ago` : ""], ["Labels", details ? labels(details.labels) : null]])));
    update(p.events, cluster.source.kind === "live" ? details?.events : null, (list) => (list ? section("Events", events(list)) : null));
    this.#showAnswers();
  }

  /** What changes with the time: since when it is there, and when it has to leave. */
  #tick() {
    const p = this.#parts;
    const row = this.#row;
    if (!row) return;
    const since = cluster.past == null ? this.#details?.since : "";
    update(p.where, [row.node, since ? age(since) : "", cluster.nodes.has(row.node)], () => (row.node ? ["On ", nodeLink(row.node), since ? ` for ${age(since)}` : ""] : "On no node"));
    const text = this.#isGone ? "" : deadlineText(row);
    p.deadline.hidden = !text;
    setText(p.deadline, text);
  }

  #showAnswers() {
    const p = this.#parts;
    const { placement, move, waiting, tolerations: matched } = this.#answers;
    const row = this.#row;
    const now = this.#asked && cluster.past == null && row;
    const places = now && row.node && !ENDED.has(row.phase);
    update(p.why, [now && !row.node, places, placement, waiting, this.#isGone], () => {
      if (places) return sectionWith("Why here", this.#refresh(), this.#sentence(placement), placement?.scored ? scores(placement) : null, placement?.scored?.length && !placement.isDecision ? h("p", { class: "muted small" }, "What the scheduler saw when it decided is not recorded.") : null);
      if (now && !row.node) return section("Why it waits", this.#waiting(waiting));
      return null;
    });
    update(p.move, [places, move, this.#isGone], () => (places ? section("If it had to move", this.#sentence(move), move?.changes ? h("p", {}, h("a", { href: address.href("slider", { changes: encode(move.changes) }) }, "Look at it in What if")) : null) : null));
    update(p.tolerations, [now && row.node, matched], () => (now ? section("Tolerations", matched?.tolerations ? tolerations(matched, row.node) : this.#sentence(matched)) : null));
  }

  #waiting(answer) {
    const text = answer?.node ? { sentence: `The simulated cluster would put it on ${answer.node}.` } : answer;
    return [this.#sentence(text), h("p", {}, h("a", { href: address.href("pending", { pod: this.key }) }, "Every node's reasons, and what would help"))];
  }

  #sentence(answer) {
    if (!answer) return h("p", { class: "muted", role: "status" }, THINKING);
    return h("p", { class: answer.problem ? "muted wrap" : "wrap" }, answer.problem ?? answer.sentence);
  }

  #refresh() {
    return h("button", { class: "button small quiet", type: "button", disabled: this.#isGone, onclick: () => this.#ask(true) }, "Refresh");
  }
}

const shown = new WeakMap();

/** Rebuilds a part only where its data differ, so that a selection of its text and the focus in it survive. */
function update(part, data, build) {
  const text = JSON.stringify(data ?? null);
  if (shown.get(part) === text) return;
  shown.set(part, text);
  replace(part, build(data));
}
