/**
 * Shows the view "Capacity": what each value of a taint or of a threshold does and costs, pools, what autoscalers do.
 * Points of the curve are drawn as they come. Address: key=KEY, form=taint|threshold|share, workload=KIND/NAMESPACE/NAME.
 */
import { address } from "../../lib/address.js";
import { ask, isAbort } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { combobox } from "../../parts/combobox.js";
import { empty, failed, loading } from "../../parts/states.js";
import { keysOf, scaleOf } from "../slider/scales.js";
import { AutoscalingPanel } from "./autoscaling-panel.js";
import { curveChart } from "./curve-chart.js";
import { curveTable } from "./curve-table.js";
import { horizontalPanel } from "./horizontal-panel.js";
import { poolsPanel } from "./pools-panel.js";

const FORMS = [
  ["taint", "the value of the taint"],
  ["threshold", "a workload's threshold"],
  ["share", "how many pods accept it"],
];

export class CapacityView extends HTMLElement {
  #facts = null;
  #asking = null;
  #parts = {};

  connectedCallback() {
    this.#build();
    this.#load();
  }

  disconnectedCallback() {
    this.#asking?.abort();
    this.#parts.autoscaling?.stop();
  }

  addressChanged() {
    this.#choose();
  }

  #build() {
    const p = this.#parts;
    p.key = combobox({ label: "Taint", placeholder: "a key of taints", onchange: (key) => address.set({ key, workload: null }) });
    p.form = h("select", { id: "curve-form", onchange: () => address.set({ form: p.form.value === "taint" ? null : p.form.value, workload: null }) }, FORMS.map(([value, text]) => h("option", { value }, text)));
    p.workload = combobox({ label: "Workload", placeholder: "all Deployments", onchange: (workload) => address.set({ workload }) });
    p.curve = h("section", { class: "panel padded capacity-curve", "aria-label": "Curve", "aria-live": "polite" }, loading("Reading what can be varied", { height: "20rem" }));
    p.pools = h("section", { class: "panel capacity-pools", "aria-label": "Pools" }, loading("Reading pools"));
    p.autoscaling = new AutoscalingPanel();
    p.horizontal = h("section", { class: "panel capacity-horizontal", "aria-label": "Autoscalers of pods" }, loading("Reading autoscalers"));
    replace(
      this,
      h("div", { class: "view-head" }, h("h1", {}, "Capacity"), h("p", { class: "lead" }, "What each value does and costs: every value at which something changes is played on the whole cluster.")),
      h("div", { class: "toolbar" }, p.key, h("div", { class: "field" }, h("label", { for: "curve-form" }, "Vary"), p.form), p.workload),
      p.curve,
      p.pools,
      p.autoscaling.element,
      p.horizontal,
    );
  }

  async #load() {
    const p = this.#parts;
    ask("pools").then(
      ([pools]) => replace(p.pools, poolsPanel(pools)),
      (error) => replace(p.pools, failed(error.message)),
    );
    ask("horizontal").then(
      ([found]) => replace(p.horizontal, horizontalPanel(found)),
      (error) => replace(p.horizontal, failed(error.message)),
    );
    p.autoscaling.load();
    try {
      this.#facts = (await ask("thresholds")).at(-1);
      this.#choose();
    } catch (error) {
      replace(p.curve, failed(error.message, () => this.#load()));
    }
  }

  /** Shows what the address names; without a key the one that pods compare most. */
  #choose() {
    if (!this.#facts || !this.isConnected) return;
    const p = this.#parts;
    const keys = keysOf("taint", this.#facts);
    const key = address.params.key ?? keys.find((one) => one.compared && one.on)?.key ?? keys[0]?.key ?? "";
    const form = FORMS.some(([value]) => value === address.params.form) ? address.params.form : "taint";
    p.key.options = keys.map((one) => ({ value: one.key, text: one.key, hint: `on ${count(one.on, "node")}` }));
    p.key.value = key;
    p.form.value = form;
    const workloads = this.#workloads(key, form);
    const workload = address.params.workload ?? (form === "threshold" ? workloads[0] : undefined) ?? "";
    p.workload.hidden = form === "taint";
    p.workload.options = workloads.map((value) => ({ value, text: value }));
    p.workload.value = workload;
    this.#draw({ key, form, ...(form !== "taint" && workload ? { workload } : {}) });
  }

  /** Workloads that compare the key, or all that can be split, as `kind/namespace/name`. */
  #workloads(key, form) {
    if (form === "share") return this.#facts.workloads.filter((one) => one.kind === "Deployment").map((one) => `deployment/${one.namespace}/${one.name}`);
    const named = scaleOf("taint", key, this.#facts).ticks ?? [];
    return [...new Set(named.flatMap((one) => one.workloads).map(asArgument).filter(Boolean))];
  }

  async #draw(args) {
    const { curve } = this.#parts;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    if (!args.key) return replace(curve, empty("No node has a taint, and no pod names one", "Taint nodes, and values at which something changes appear here."));
    if (args.form === "threshold" && !args.workload) return replace(curve, empty(`No workload compares ${args.key}`, "A toleration with Lt, Gt or a version has a threshold."));
    replace(curve, loading("Playing values", { height: "20rem" }));
    const shown = { points: [] };
    try {
      await ask("curve", args, {
        signal: asking.signal,
        onpart: (part) => {
          if (part.part === "axis") shown.axis = part;
          else if (part.part === "before") shown.before = part;
          else if (part.part === "point") shown.points.push(part);
          else if (part.part === "end") shown.complete = part.complete;
          if (shown.before) this.#show(shown);
        },
      });
    } catch (error) {
      if (!isAbort(error)) replace(curve, failed(error.message));
    }
    return undefined;
  }

  #show(shown) {
    const { axis, points } = shown;
    const isOver = shown.complete !== undefined;
    const state = isOver ? "" : `${points.length} of ${count(axis.steps, "value")} played…`;
    const short = [isOver && !shown.complete && "Not all values were played: the cluster is too large for that many.", axis.leftOut > 0 && `${count(axis.leftOut, "value")} between these were left out.`].filter(Boolean);
    replace(
      this.#parts.curve,
      h("h2", {}, `Curve of ${axis.what}`),
      points.length > 0 && curveChart(shown),
      curveTable(shown),
      state && h("p", { class: "muted", role: "status" }, state),
      short.map((text) => h("p", { class: "muted" }, text)),
    );
  }
}

/** "Deployment shop/web" → "deployment/shop/web"; pods of their own have no template to vary. */
function asArgument(text) {
  const [kind, name] = text.split(" ");
  return name ? `${kind.toLowerCase()}/${name}` : "";
}

customElements.define("moorage-capacity", CapacityView);
