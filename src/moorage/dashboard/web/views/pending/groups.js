/**
 * Lists groups of pods that wait for the same reason and ask for the same.
 *
 *   const list = new GroupList({onchoose: (group) => …});
 *   list.element; list.show(answer of `pending`); list.selected = "default/web-1"; list.failed(text, again)
 */
import { asOf } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";
import { empty, failed, loading } from "../../parts/states.js";

const FILTER_FROM = 8;

export class GroupList {
  #list = h("ul", { class: "group-list" }, h("li", {}, loading("Asking the scheduler", { height: "10rem" })));
  #filter = h("input", {
    class: "input",
    type: "search",
    "aria-label": "Filter groups",
    placeholder: "Filter by workload, pod or reason",
    oninput: () => this.#draw(),
    hidden: true,
  });
  #told = null;
  #selected = "";
  #key = "";

  constructor({ onchoose }) {
    this.onchoose = onchoose;
    this.element = h("section", { class: "panel pending-groups", "aria-label": "Groups of pending pods" }, this.#filter, this.#list);
  }

  set selected(pod) {
    if (pod === this.#selected) return;
    this.#selected = pod;
    this.#mark();
  }

  groupOf(pod) {
    return this.#told?.groups.find((group) => group.pods.includes(pod)) ?? null;
  }

  show(told) {
    // An answer that says the same changes nothing: focus and scroll position stay.
    const key = JSON.stringify(told.groups);
    if (key === this.#key) return;
    this.#key = key;
    this.#told = told;
    this.#filter.hidden = told.groups.length < FILTER_FROM;
    this.#draw();
  }

  /** Says it once more: the cluster has stopped answering, or answers again. */
  redraw() {
    if (this.#key) this.#draw();
  }

  failed(text, again) {
    this.#key = "";
    replace(this.#list, h("li", {}, failed(text, again)));
  }

  #draw() {
    const { groups, leftOut } = this.#told;
    const focused = document.activeElement?.dataset?.example;
    const wanted = this.#filter.value.trim().toLowerCase();
    const fits = groups.filter((group) => !wanted || textOf(group).includes(wanted));
    const items = fits.map((group) => h("li", {}, this.#item(group)));
    if (!groups.length) items.push(h("li", {}, empty(asOf() ? `No pod was pending ${asOf()}` : "No pod is pending", "Pods that no node takes appear here.")));
    else if (!fits.length) items.push(h("li", { class: "muted group-more" }, "No group matches."));
    if (leftOut) items.push(h("li", { class: "muted group-more" }, `${count(leftOut, "smaller group")} more`));
    replace(this.#list, items);
    this.#mark();
    if (focused) [...this.#list.querySelectorAll("a")].find((link) => link.dataset.example === focused)?.focus();
  }

  #item(group) {
    const name = group.workloads[0] ?? group.example;
    const more = group.workloads.length + group.moreWorkloads - 1;
    const words = more > 0 ? `${name} and ${number(more)} more` : name;
    return h(
      "a",
      {
        class: "group",
        href: `#/pending?${new URLSearchParams({ pod: group.example })}`,
        dataset: { example: group.example },
        onclick: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          this.onchoose(group);
        },
      },
      h("span", { class: "group-count nums", "aria-label": count(group.count, "pod") }, number(group.count)),
      h(
        "span",
        { class: "group-text" },
        h("span", { class: "group-name cut", title: words }, words),
        h("span", { class: "group-reason" }, why(group)),
      ),
    );
  }

  #mark() {
    for (const link of this.#list.querySelectorAll("a")) {
      const chosen = link.dataset.example === (this.groupOf(this.#selected)?.example ?? this.#selected);
      if (chosen) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}

/** Why they wait, for a person; of groups without a sentence what the scheduler says after "0/5 nodes are available". */
function why(group) {
  if (group.sentence) return group.sentence;
  const said = group.short.replace(/^0\/\d+ nodes are available: /, "").replace(/\.$/, "");
  return group.reason === "Unschedulable" ? said : `${group.reason}: ${said}`;
}

function textOf(group) {
  return `${group.workloads.join(" ")} ${group.pods.join(" ")} ${group.reason} ${group.message} ${group.sentence ?? ""}`.toLowerCase();
}
