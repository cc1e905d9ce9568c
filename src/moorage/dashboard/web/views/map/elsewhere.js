/** Shows why pods of other nodes, and pods that wait, are not on this one: what `moorage explain node/NAME` tells. */
import { address } from "../../lib/address.js";
import { answerable, ask, isAbort, NOT_HERE } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { chip } from "../../parts/chips.js";
import { leaving } from "../../parts/leaving.js";
import { empty, failed, loading } from "../../parts/states.js";

const MOST = 200;

export class Elsewhere {
  #asking = null;

  constructor(node) {
    this.node = node;
    this.body = h("div", { class: "padded" });
    this.element = h("section", { class: "panel", hidden: true }, h("div", { class: "panel-head" }, h("h2", { tabindex: "-1" }, "Why other pods are not here")), this.body);
    const can = answerable("node", { node });
    const shown = () => address.set({ why: this.element.hidden ? "1" : null });
    this.button = h("button", { class: "button", type: "button", "aria-expanded": "false", disabled: !can, title: can ? null : NOT_HERE, onclick: shown }, "Why are other pods not here");
  }

  close() {
    this.#asking?.abort();
  }

  show(wanted) {
    if (wanted === !this.element.hidden) return;
    this.element.hidden = !wanted;
    this.button.setAttribute("aria-expanded", String(wanted));
    if (wanted) this.#load();
    else this.close();
  }

  async #load() {
    this.#asking?.abort();
    this.#asking = new AbortController();
    replace(this.body, loading("Asking the scheduler"));
    try {
      const parts = await ask("node", { node: this.node }, { signal: this.#asking.signal });
      const { elsewhere, deadlines } = Object.assign({}, ...parts).explanation;
      replace(this.body, leaving(deadlines ?? []), table(elsewhere));
      announce(`${count(elsewhere.length, "workload")} elsewhere`);
    } catch (error) {
      if (!isAbort(error)) replace(this.body, failed(error.message, () => this.#load()));
    }
  }
}

function table(elsewhere) {
  if (!elsewhere.length) return empty("All pods are here", "");
  const heads = ["Workload", "Pods elsewhere", "Why"];
  const more = elsewhere.length - MOST;
  return [
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "stacks" },
        h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, elsewhere.slice(0, MOST).map(line)),
      ),
    ),
    more > 0 ? h("p", { class: "muted" }, `and ${count(more, "workload")} more`) : null,
  ];
}

function line({ workload, pods, pending, fits, refusals }) {
  const first = pods[0] ?? "";
  const name = workload || first;
  const waits = pending ? h("a", { href: address.href("pending", { pod: first }) }, chip("pending", "warn")) : null;
  const why = fits
    ? chip("would fit; another node suited better", "good")
    : refusals.flatMap(({ plugin, details, reasons }) => (details.length ? details : reasons).map((text) => h("li", { class: "wrap" }, h("span", { class: "muted" }, `${plugin}: `), text)));
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "wrap" }, name),
    h("td", {}, h("span", { class: "row" }, h("span", { class: "nums", title: pods.slice(0, 20).join("\n") }, count(pods.length, "pod")), waits)),
    h("td", {}, fits ? why : h("ul", { class: "plain" }, why)),
  );
}
