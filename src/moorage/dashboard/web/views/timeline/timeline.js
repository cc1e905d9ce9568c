/**
 * Shows the view "Timeline": what happened, newest first and as lanes, rollouts, and moments of the past.
 * Address: tab=list|lanes|rollouts|moments, the filters (kinds, ns, workload, node, find), at=NUMBER.
 */
import { address } from "../../lib/address.js";
import { embedded } from "../../lib/api.js";
import { h, perFrame, replace } from "../../lib/dom.js";
import { tabs } from "../../parts/tabs.js";
import { EntryFeed } from "./entries.js";
import { filterBar } from "./filters.js";
import { laneChart } from "./lanes.js";
import { newestFirst } from "./list.js";
import { momentBrowser } from "./moments.js";
import { rolloutList } from "./rollouts.js";

/** A saved page has the story of the plan; its rollout is shown with the plan, and it has no other moments. */
const TABS = [
  ["list", "Newest first"],
  ["lanes", "Lanes"],
  ...(embedded ? [] : [["rollouts", "Rollouts"], ["moments", "Back in time"]]),
];

export class TimelineView extends HTMLElement {
  #feed = new EntryFeed();
  #filters = filterBar();
  #tabs = null;
  #built = {};
  #update = perFrame(() => this.#show());

  connectedCallback() {
    this.#tabs = tabs({
      label: "Ways to look at what happened",
      selected: this.#tab(),
      onselect: (tab) => address.set({ tab: tab === "list" ? null : tab }),
      tabs: TABS.map(([id, title]) => ({ id, title, build: () => this.#build(id) })),
    });
    replace(
      this,
      h("div", { class: "view-head" }, h("h1", {}, "Timeline"), h("p", { class: "lead" }, embedded ? "What scheduler and controllers do while the cluster comes to rest, before any changes." : "What scheduler and controllers did, and how the cluster was before.")),
      this.#tabs,
    );
    this.#feed.start(this.#update);
    this.#update();
  }

  disconnectedCallback() {
    this.#feed.stop();
    this.#update.cancel();
    for (const part of Object.values(this.#built)) part.stop?.();
  }

  addressChanged() {
    const tab = this.#tab();
    if (this.#tabs.querySelector('[aria-selected="true"]')?.textContent !== TABS.find(([id]) => id === tab)[1]) this.#tabs.select(tab);
    for (const part of Object.values(this.#built)) part.addressChanged?.();
    this.#update();
  }

  #tab() {
    if (address.params.at !== undefined && !embedded) return "moments";
    const { tab } = address.params;
    return TABS.some(([id]) => id === tab) ? tab : "list";
  }

  #build(id) {
    if (id === "rollouts" || id === "moments") {
      const part = id === "rollouts" ? rolloutList() : momentBrowser();
      this.#built[id] = part;
      part.start();
      return part.element;
    }
    const part = id === "lanes" ? laneChart({ feed: this.#feed, filters: this.#filters }) : newestFirst({ feed: this.#feed, filters: this.#filters, travel: (time) => this.#travel(time) });
    this.#built[id] = part;
    // The filters are one element, which is where it is needed.
    const place = h("div", { class: "stack" }, part.element);
    place.takesFilters = true;
    this.#update();
    return place;
  }

  #travel(time) {
    this.#tabs.select("moments");
    this.#built.moments.travel(time);
  }

  #show() {
    if (!this.isConnected) return;
    const place = this.#tabs.querySelector(".tab-panel")?.firstElementChild;
    if (!place?.takesFilters) {
      this.#built.rollouts?.addressChanged?.();
      return;
    }
    if (this.#filters.element.parentElement !== place) place.prepend(this.#filters.element);
    this.#filters.update(this.#feed.entries);
    this.#built.list?.update();
    this.#built.lanes?.update();
  }
}

customElements.define("moorage-timeline", TimelineView);
