/**
 * Shows why pods are Pending: groups of them on the left, one pod explained on the right.
 *
 * Address: #/pending?pod=NAMESPACE/NAME&tab=preemption|scores&node=NAME; `tab` opens a folded section. `pod` may also be
 * deployment/NAMESPACE/NAME and the like: the first of its pods that waits, or the next one it would create.
 */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { asOf, cluster } from "../../lib/cluster.js";
import { h, replace, setText } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { failed, loading } from "../../parts/states.js";
import { explainPod, pendingGroups } from "./asking.js";
import { daemonSet } from "./daemon-set.js";
import { detail, nothingChosen } from "./detail.js";
import { GroupList } from "./groups.js";

/** How soon the groups are asked for again after a change; later where the answer takes long. */
const REFRESH_MILLISECONDS = 2000;
const REST = 4;
const LONGEST_REST_MILLISECONDS = 15000;

export class PendingView extends HTMLElement {
  #groups = new GroupList({ onchoose: (group) => address.go("pending", { pod: group.example }) });
  #lead = h("p", { class: "lead", role: "status" }, "Looking for pods that wait…");
  #another = h("input", {
    class: "input",
    type: "search",
    id: "pending-other",
    placeholder: "default/web-1 or deployment/default/web",
    spellcheck: "false",
    autocomplete: "off",
  });
  #detail = h("section", { class: "panel pending-detail", "aria-label": "Explanation" });
  #asking = null;
  #shown = "";
  #told = null;
  #gone = h("p", { class: "pending-gone", role: "status", hidden: true });
  #stop = null;
  #timer = 0;
  #problem = "";
  #summary = null;
  #took = 0;
  #stale = 0;
  #loads = 0;

  connectedCallback() {
    const form = h(
      "form",
      { class: "pending-other", role: "search", onsubmit: (event) => this.#explainAnother(event) },
      h("label", { for: "pending-other" }, "Explain any pod or workload"),
      h("div", { class: "row" }, this.#another, h("button", { class: "button", type: "submit" }, "Explain")),
    );
    replace(
      this,
      h("div", { class: "view-head" }, h("h1", {}, "Why pending"), this.#lead),
      h("div", { class: "pending-columns" }, h("div", { class: "pending-side stack" }, this.#groups.element, !embedded && form), this.#detail),
    );
    this.#stop = cluster.subscribe((change) => {
      if (change.all || change.pods.size || change.nodes.size) {
        this.#stale = 0;
        this.#reloadSoon();
      }
      if (change.all || change.pods.size) this.#tellIfGone();
      if (change.source) {
        this.#summarize();
        this.#groups.redraw();
      }
    });
    // What was applied is seen at once, not when it is the list's turn.
    this.addEventListener("applied", () => {
      this.#took = 0;
      this.#stale = 0;
      clearTimeout(this.#timer);
      this.#timer = 0;
      this.#reloadSoon();
    });
    this.#load();
    this.addressChanged(address.params);
  }

  disconnectedCallback() {
    this.#stop?.();
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#asking?.abort();
    this.#asking = null;
  }

  addressChanged({ pod = "", node = "" }) {
    this.#groups.selected = pod;
    const wanted = `${pod} ${node}`;
    if (wanted === this.#shown) return;
    this.#shown = wanted;
    this.#explain(pod, node);
  }

  /** While pods come and go all the time, the groups follow, but never keep the server busy. */
  #reloadSoon() {
    const wait = Math.max(REFRESH_MILLISECONDS * (1 + this.#stale), REST * this.#took);
    this.#timer ||= setTimeout(() => this.#load(), Math.min(wait, LONGEST_REST_MILLISECONDS));
  }

  async #load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const began = performance.now();
    this.#loads += 1;
    const mine = this.#loads;
    try {
      const told = await pendingGroups();
      if (mine !== this.#loads) return;
      this.#groups.show(told);
      // What could not be explained may have come, or come back, meanwhile.
      if (this.#problem && !embedded) this.#explain(address.params.pod, address.params.node, { quietly: true });
      // A large cluster is simulated again only now and then: the answer may be about what was before the last change.
      if (told.asked?.seq < cluster.seq) {
        this.#stale += 1;
        this.#reloadSoon();
      }
      this.#summary = told;
      this.#summarize();
      if (!address.params.pod && told.groups.length && matchMedia("(min-width: 60rem)").matches) {
        address.set({ pod: told.groups[0].example });
      }
    } catch (error) {
      // A newer question takes the place of this one.
      if (!this.isConnected || mine !== this.#loads) return;
      setText(this.#lead, "");
      this.#groups.failed(error.message, () => this.#load());
    } finally {
      this.#took = performance.now() - began;
    }
  }

  #summarize() {
    if (!this.#summary) return;
    const { pending, unmade = 0, placed, bound, groups, leftOut } = this.#summary;
    const known = asOf();
    const made = pending - unmade;
    const verb = known ? "waited" : made === 1 ? "waits" : "wait";
    const more = unmade ? `; ${number(unmade)} more ${unmade === 1 ? "does" : "do"} not exist yet` : "";
    const waiting = `${count(made, "pod")} in ${count(groups.filter((group) => !group.unmade).length + leftOut, "group")} ${verb} for a node${more}`;
    const clear = placed + bound ? allClear(placed, known) : `There ${known ? "were" : "are"} no pods`;
    setText(this.#lead, `${pending ? waiting : clear} ${known}`.trim());
  }

  async #explain(pod, node, { quietly = false } = {}) {
    this.#asking?.abort();
    this.#asking = null;
    this.#told = null;
    this.#tellIfGone();
    if (!pod) {
      this.#problem = "";
      replace(this.#detail, nothingChosen());
      return;
    }
    const asking = new AbortController();
    this.#asking = asking;
    if (!quietly) replace(this.#detail, loading(`Explaining ${pod}`, { height: "20rem" }));
    try {
      const told = await explainPod(pod, node, asking.signal);
      if (asking.signal.aborted) return;
      this.#told = told.explanation;
      this.#problem = "";
      if (told.explanation.groups) {
        this.#told = null;
        replace(this.#detail, daemonSet(told, { again: () => this.#explain(pod, node) }));
        announce(`${told.explanation.workload}: ${told.verdict}`);
        return;
      }
      this.#groups.selected = told.explanation.pod;
      replace(this.#detail, this.#gone, detail(told, { again: () => this.#explain(pod, node), group: this.#groups.groupOf(told.explanation.pod) }));
      announce(`${told.explanation.pod}: ${told.explanation.sentence}`);
      this.#tellIfGone();
    } catch (error) {
      if (asking.signal.aborted) return;
      if (quietly && this.#problem === error.message) return;
      this.#problem = error.message;
      replace(this.#detail, failed(error.message, () => this.#explain(pod, node), { height: "20rem" }));
    }
  }

  /** Says that the pod that is explained is not there any more, as after a change of its template. */
  #tellIfGone() {
    const told = this.#told;
    const gone = told && cluster.source.kind === "live" && cluster.past == null && told.known && !cluster.pods.has(told.pod);
    if (told && cluster.pods.has(told.pod)) told.known = true;
    this.#gone.hidden = !gone;
    if (!gone || this.#gone.dataset.pod === told.pod) return;
    this.#gone.dataset.pod = told.pod;
    const workload = told.workload.replace(" ", "/");
    const next = workload && h("a", { href: address.href("pending", { pod: workload, tab: address.params.tab }) }, `Explain ${told.workload}`);
    replace(this.#gone, `${told.pod} is gone meanwhile. `, next);
  }

  #explainAnother(event) {
    event.preventDefault();
    const pod = this.#another.value.trim();
    if (pod) address.go("pending", { pod, tab: address.params.tab });
  }
}

/** That no pod waits for lack of a node. In a live cluster some may not have got theirs yet. */
function allClear(placed, known) {
  if (cluster.source.kind !== "live" || !placed || known) return `Every pod ${known ? "had" : "has"} a node`;
  return `${count(placed, "pod")} ${placed === 1 ? "has" : "have"} no node yet, and would get one`;
}

customElements.define("moorage-pending", PendingView);
