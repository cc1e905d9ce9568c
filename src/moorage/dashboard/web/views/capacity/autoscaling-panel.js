/** Shows what an autoscaler would do from now on: nodes that come and go, and the pods for which none comes. Nothing is started. */
import { ask, isAbort } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count, duration, number } from "../../lib/format.js";
import { empty, failed, loading } from "../../parts/states.js";

const SPANS = [
  [1800, "30 minutes"],
  [7200, "2 hours"],
  [43200, "12 hours"],
];
const NAMES = { karpenter: "Karpenter", "cluster-autoscaler": "Cluster Autoscaler" };
const SIGNS = { added: ["+", "comes"], removed: ["−", "goes"], kept: ["=", "stays after all"] };
const MOST = 3;

export class AutoscalingPanel {
  element = h("section", { class: "panel capacity-autoscaling", "aria-label": "Autoscaling" });
  #body = h("div", { class: "padded stack", "aria-live": "polite" });
  #choices = h("div", { class: "toolbar" });
  #asked = { autoscaler: "", seconds: SPANS[0][0] };
  #asking = null;

  constructor() {
    replace(this.element, h("div", { class: "panel-head" }, h("h2", {}, "Autoscaling"), h("span", { class: "muted" }, "Played from now on. Nothing is started.")), this.#choices, this.#body);
  }

  stop() {
    this.#asking?.abort();
  }

  async load() {
    this.stop();
    const asking = new AbortController();
    this.#asking = asking;
    const { autoscaler, seconds } = this.#asked;
    replace(this.#body, loading("Letting the autoscaler work"));
    try {
      const [answer] = await ask("autoscaling", { seconds, ...(autoscaler && { autoscaler }) }, { signal: asking.signal });
      this.#show(answer);
    } catch (error) {
      if (!isAbort(error)) replace(this.#body, failed(error.message, () => this.load()));
    }
  }

  #show(answer) {
    if (!answer.autoscalers.length) {
      replace(this.#choices);
      replace(this.#body, empty("No pool, so nothing scales", "With NodePools or NodeGroups among the files, or in the cluster, this shows which nodes come and go."));
      return;
    }
    this.#asked.autoscaler = answer.autoscaler;
    this.#choose(answer.autoscalers);
    replace(
      this.#body,
      h("p", {}, `${answer.summary}.`),
      answer.stopped && h("p", { class: "warn" }, answer.stopped),
      table("Nodes that come and go", ["After", "Node", "Why"], answer.steps.map(stepRow)) ?? h("p", { class: "muted" }, "No node comes or goes."),
      answer.stepsLeftOut > 0 && h("p", { class: "muted" }, `${count(answer.stepsLeftOut, "more step")}.`),
      table("No node is started for", ["Pods", "Pool", "Why not"], answer.notHelped.map(helplessRow)),
      table("CapacityBuffers", ["Buffer", "Room and conditions"], answer.buffers.map(namedRow)),
      table("Pools in this time", ["Pool", "Nodes and cost"], answer.pools.map(namedRow)),
    );
  }

  #choose(autoscalers) {
    if (this.#choices.childElementCount) return;
    const pick = (id, label, options, onchange) =>
      h("div", { class: "field" }, h("label", { for: id }, label), h("select", { id, onchange: (event) => onchange(event.target.value) }, options.map(([value, text]) => h("option", { value }, text))));
    replace(
      this.#choices,
      autoscalers.length > 1 &&
        pick("autoscaler", "Autoscaler", autoscalers.map((one) => [one, NAMES[one] ?? one]), (value) => {
          this.#asked.autoscaler = value;
          this.load();
        }),
      pick("autoscaling-span", "For", SPANS, (value) => {
        this.#asked.seconds = Number(value);
        this.load();
      }),
    );
  }
}

function table(title, heads, rows) {
  if (!rows.length) return null;
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    h("table", { class: "scaling-table" }, h("caption", {}, title), h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows)),
  );
}

function stepRow({ seconds, did, what, why, nodes }) {
  const [sign, text] = SIGNS[did] ?? ["", did];
  return h(
    "tr",
    { class: did },
    h("td", { class: "nums" }, seconds ? duration(seconds) : "at once"),
    h("td", {}, h("span", { class: "scaling-sign", role: "img", "aria-label": text }, sign), " ", what, h("span", { class: "muted scaling-nodes" }, some(nodes))),
    h("td", { class: "wrap" }, why),
  );
}

function helplessRow({ pods, pools, reason, event }) {
  return h("tr", {}, h("td", { class: "wrap" }, `${count(pods.length, "pod")}: ${some(pods)}`), h("td", {}, pools), h("td", { class: "wrap" }, reason, event && h("span", { class: "muted scaling-nodes" }, `Event: ${event}`)));
}

function namedRow({ name, text }) {
  return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "wrap" }, text));
}

function some(names) {
  const more = names.length - MOST;
  return names.slice(0, MOST).join(", ") + (more > 0 ? ` and ${number(more)} more` : "");
}
