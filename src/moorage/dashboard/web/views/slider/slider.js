/**
 * Shows the view "What if": changes of taints, labels, device taints, nodes and workloads, and at once who would be
 * evicted, when, where they would land and who would wait. It is the simulation of `moorage plan`.
 */
import { address } from "../../lib/address.js";
import { ask, embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, h, replace, setText } from "../../lib/dom.js";
import { ago } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import { Asking } from "./asking.js";
import { MOST, asked, decode, encode, missing } from "./changes.js";
import { applyChanges, share, showCommands, whyNotApply } from "./dialogs.js";
import { ChangeEditor } from "./editor.js";
import { overlayOf } from "./overlay.js";
import { propose } from "./proposals.js";
import { TipList } from "./tips.js";
import { nextValue } from "./scales.js";
import { Results, sentence } from "./results.js";
import { whyForbidden } from "./rights.js";
import { whatIfMap } from "./what-if-map.js";

const ADDRESS_PAUSE = 250;
/** A cluster that changes all the time is asked about again this often. */
const ASK_AGAIN = 4000;

export class SliderView extends HTMLElement {
  #editors = [];
  #facts = null;
  #results = null;
  #map = null;
  #answer = null;
  #answered = 0;
  #half = false;
  #tips = new TipList((change) => this.#try(change));
  #rights = null;
  #asked = "";
  #parts = {};
  #stops = [];
  #timer = 0;
  #asking = new Asking({
    part: (part, question, isOld) => this.#take(part, question, isOld),
    state: (name, error) => this.#tell(name, error),
  });
  #writeAddress = debounce(() => address.set({ changes: encode(this.#changes) }), ADDRESS_PAUSE);
  #again = 0;

  connectedCallback() {
    this.#build();
    this.#stops.push(cluster.subscribe((change) => this.#clusterChanged(change)));
    this.#timer = setInterval(() => this.#tellAge(), 1000);
    cluster.ready.then(() => this.isConnected && this.#begin());
  }

  disconnectedCallback() {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    clearInterval(this.#timer);
    this.#asking.stop();
    this.#writeAddress.cancel();
    clearTimeout(this.#again);
    this.#again = 0;
  }

  addressChanged(params) {
    if (embedded || params.changes === undefined || params.changes === encode(this.#changes)) return;
    const changes = decode(params.changes);
    if (changes) this.#setChanges(changes);
    else this.#tell("failed", new Error("The address holds changes that cannot be read."));
  }

  get #changes() {
    return this.#editors.map((one) => one.change);
  }

  #build() {
    this.#results = new Results();
    this.#map = whatIfMap();
    const button = (name, sign, text, onclick) => (this.#parts[name] = h("button", { type: "button", class: "button", onclick }, icon(sign), text));
    this.#parts.list = h("ol", { class: "change-list", "aria-label": "Changes" });
    this.#parts.status = h("p", { class: "slider-status", role: "status" });
    this.#parts.age = h("p", { class: "slider-age muted" });
    this.#parts.progress = h("p", { class: "slider-progress muted nums", "aria-hidden": "true", dataset: { progress: "" } });
    this.#parts.note = h("p", { class: "slider-note muted" });
    replace(
      this,
      h(
        "div",
        { class: "view-head" },
        h("h1", {}, "What if"),
        h("p", { class: "lead grow" }, "Move a value and see who would have to leave, and where they would go. Nothing is changed."),
        h(
          "div",
          { class: "row" },
          button("commands", "playground", "Show as kubectl commands", () => this.#answer && showCommands(this.#answer)),
          button("apply", "check", "Apply…", () => applyChanges(this.#complete())),
          button("share", "share", "Share", () => this.#share()),
        ),
      ),
      h(
        "div",
        { class: "slider-columns" },
        h(
          "section",
          { class: "slider-changes", "aria-label": "Changes" },
          this.#parts.list,
          button("add", "plus", "Add a change", () => this.#add()),
          this.#tips.element,
          this.#parts.note,
        ),
        h(
          "div",
          { class: "slider-answer" },
          (this.#parts.state = h("div", { class: "panel slider-state" }, h("div", { class: "slider-lines" }, this.#parts.status, this.#parts.age, this.#parts.progress), this.#results.numbers)),
          h("section", { class: "panel slider-map", "aria-label": "Map of the nodes" }, this.#map.element),
        ),
      ),
      this.#results.tables,
    );
    this.#enable();
  }

  async #begin() {
    this.#map.refresh();
    if (embedded) return this.#showSaved();
    const given = decode(address.params.changes ?? "");
    if (address.params.changes && !given) setText(this.#parts.note, "The address holds changes that cannot be read: these are proposed instead.");
    if (given) this.#setChanges(given);
    else this.#tell("looking");
    const tipped = this.#tips.read();
    await this.#readFacts();
    if (!this.isConnected) return undefined;
    if (given) this.#editors.forEach((one) => one.refresh());
    else await this.#open(tipped);
    return undefined;
  }

  /** Opens on the change that does something and moves a value least; where none does, on one that changes nothing. */
  async #open(tipped) {
    const tip = await tipped;
    if (!this.isConnected || this.#editors.length) return;
    this.#setChanges([tip?.change ?? propose("taint", cluster.nodes, this.#facts)]);
  }

  #try(change) {
    this.#setChanges(decode(encode([change])) ?? [change]);
    this.#writeAddress();
  }

  /** A saved page has the answer to one question: it is shown, and nothing can be moved. */
  #showSaved() {
    const key = Object.keys(embedded.answers).find((one) => one.startsWith("what-if "));
    this.#facts = embedded.answers["thresholds {}"]?.at(-1) ?? null;
    const why = "This is a saved page: it shows one answer, and values cannot be moved.";
    if (!key) {
      this.#tell("failed", new Error("This saved page has no answer to a what-if."));
    } else {
      const question = JSON.parse(key.slice("what-if ".length));
      this.#place(question.changes ?? []);
      this.#map.changed(question.changes ?? []);
      this.#asking.ask(question);
    }
    for (const editor of this.#editors) editor.element.firstChild.disabled = true;
    this.#parts.add.disabled = true;
    this.#parts.add.title = why;
    setText(this.#parts.note, why);
    this.#enable();
  }

  async #readFacts() {
    try {
      this.#facts = (await ask("thresholds")).at(-1);
    } catch {
      // Without it the slider has no ticks; what is wrong with the server, the question itself will say.
    }
  }

  #setChanges(changes) {
    this.#place(changes);
    this.#askNow();
  }

  #place(changes) {
    while (this.#editors.length > changes.length) this.#editors.pop().element.parentElement.remove();
    changes.forEach((change, at) => {
      if (this.#editors[at]) this.#editors[at].set(change);
      else this.#append(change);
    });
    this.#renumber();
  }

  #append(change) {
    const editor = new ChangeEditor(change, {
      nodes: () => cluster.nodes,
      facts: () => this.#facts,
      onchange: () => this.#edited(),
      onremove: () => this.#remove(editor),
      next: (one, direction, signal) => {
        const at = this.#editors.filter(({ change }) => !missing(change)).indexOf(one);
        return nextValue(this.#complete(), at, direction, signal);
      },
    });
    this.#editors.push(editor);
    this.#parts.list.append(h("li", { class: "change-item" }, editor.element));
    return editor;
  }

  #add() {
    this.#append(propose("taint", cluster.nodes, this.#facts)).focus();
    this.#renumber();
    this.#edited();
  }

  #remove(editor) {
    const at = this.#editors.indexOf(editor);
    this.#editors.splice(at, 1);
    editor.element.parentElement.remove();
    this.#renumber();
    (this.#editors[Math.min(at, this.#editors.length - 1)] ?? this.#parts.add).focus();
    this.#edited();
  }

  #renumber() {
    this.#editors.forEach((one, at) => (one.number = at + 1));
    this.#parts.add.disabled = this.#editors.length >= MOST;
  }

  #edited() {
    this.#writeAddress();
    this.#askNow();
  }

  #complete() {
    return this.#changes
      .filter((change) => !missing(change))
      .map((change) => asked(change, cluster.nodes))
      .filter((change) => !missing(change));
  }

  #askNow(again = false) {
    const changes = this.#complete();
    const asked = JSON.stringify(changes);
    if (!again && asked === this.#asked && this.#answer) return;
    this.#asked = asked;
    this.#map.changed(changes);
    if (!changes.length) {
      this.#asking.stop();
      this.#answer = null;
      this.#results.none();
      this.#results.stale = false;
      this.#map.overlay(null);
      this.#tell("idle");
      this.#enable();
      return;
    }
    this.#asking.ask({ changes, until: null });
  }

  #take(part, question, isOld) {
    this.#results.stale = isOld;
    if (part.done) {
      this.#answer = part;
      // Of a live cluster the answer is as old as the state that was simulated.
      this.#answered = cluster.source.kind === "live" ? (part.asked?.time ?? Date.now() / 1000) : Date.now() / 1000;
      this.#results.last(part);
      setText(this.#parts.status, sentence(part));
    } else if (part.part === "evictions") {
      this.#results.first(part);
    }
    this.#half = !part.done;
    this.#map.overlay(overlayOf(part, question.changes, cluster.nodes));
  }

  #tell(name, error) {
    if (name === "asking") {
      this.#half = false;
      this.#results.stale = true;
      setText(this.#parts.age, "Asking…");
    } else if (name === "placing") {
      setText(this.#parts.age, "Computing placements…");
    } else if (name === "failed") {
      setText(this.#parts.status, error.message);
      setText(this.#parts.age, this.#failure());
    } else if (name === "looking") {
      setText(this.#parts.status, "Looking for a change that does something…");
      setText(this.#parts.age, "");
    } else if (name === "idle") {
      setText(this.#parts.status, cluster.nodes.size ? "Choose what to change." : "The cluster has no nodes.");
      setText(this.#parts.age, "");
    } else {
      this.#tellAge(true);
    }
    this.#parts.status.classList.toggle("bad", name === "failed");
    this.#parts.state.classList.toggle("failed", name === "failed");
    this.#parts.age.classList.toggle("warn", name === "done" && Boolean(this.#answer?.stopped));
    this.state = name;
    this.dataset.state = name;
    this.#enable();
  }

  #failure() {
    if (this.#half) return "Who would be evicted is shown; where they would go is not known.";
    return this.#answer ? "What is shown answers an earlier question." : "";
  }

  #tellAge(now = false) {
    if (!now && this.state !== "done") return;
    const when = embedded ? "As saved" : `As of ${ago(this.#answered).replace("just ", "")}`;
    setText(this.#parts.age, this.#answer?.stopped ? `${when}: ${this.#answer.stopped}` : when);
  }

  #enable() {
    const isDone = this.state === "done";
    const isKnown = this.#rights?.asked === this.#asked;
    const why = embedded ? "This is a saved page." : whyNotApply(this.#changes) || (isKnown ? this.#rights.why : "");
    this.#parts.commands.disabled = !this.#answer || !isDone;
    this.#parts.apply.disabled = !isDone || !isKnown || Boolean(why);
    this.#parts.apply.title = why;
    if (isDone && !why && !isKnown) this.#askRights();
    this.#parts.share.disabled = Boolean(embedded) || !this.#editors.length;
  }

  /** Offers to apply the changes once it is known that the kubeconfig may write them. */
  async #askRights() {
    const asked = this.#asked;
    const why = await whyForbidden(this.#complete());
    if (asked !== this.#asked) return;
    this.#rights = { asked, why };
    this.#enable();
  }

  #share() {
    this.#writeAddress.cancel();
    const changes = encode(this.#changes);
    address.set({ changes });
    if (changes) share(this.#parts.share);
    else setText(this.#parts.note, "The changes are too long for an address: share the manifests as a file.");
  }

  #clusterChanged(change) {
    if (embedded || !this.#editors.length) return;
    if (change.source) this.#enable();
    if (!change.all && !change.nodes.size && !change.pods.size) return;
    if (change.all || change.nodes.size) this.#editors.forEach((one) => one.refresh());
    if (change.all) this.#map.refresh();
    this.#again ||= setTimeout(() => this.#askAgain(), ASK_AGAIN);
  }

  /** Asks of the cluster as it is now; a page that is not in sight waits until it is. */
  #askAgain() {
    this.#again = 0;
    if (document.hidden) document.addEventListener("visibilitychange", () => this.isConnected && this.#askAgain(), { once: true });
    else if (this.#complete().length && cluster.past == null) {
      this.#askNow(true);
      this.#readFacts().then(() => this.isConnected && this.#editors.forEach((one) => one.refresh()));
    }
  }
}

customElements.define("moorage-slider", SliderView);
