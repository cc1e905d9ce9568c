/**
 * Lets the reader choose which entries are shown; the choice is in the address: kinds, ns, workload, node, find.
 *
 *   const bar = filterBar(); bar.element; bar.update(entries); entries.filter(bar.accepts())
 */
import { address } from "../../lib/address.js";
import { debounce, h, replace } from "../../lib/dom.js";
import { natural, number } from "../../lib/format.js";
import { combobox } from "../../parts/combobox.js";
import { podLink } from "../../parts/pod/link.js";
import { KINDS } from "./entries.js";
import { isPod } from "./links.js";

const ANY = { value: "", text: "any" };

export function filterBar() {
  const kinds = h("div", { class: "kind-filter", role: "group", "aria-label": "What happened" });
  const namespace = combobox({ label: "Namespace", options: [ANY], onchange: (value) => address.set({ ns: value }) });
  const workload = combobox({ label: "Workload", options: [ANY], onchange: (value) => address.set({ workload: value }) });
  const node = combobox({ label: "Node", options: [ANY], onchange: (value) => address.set({ node: value }) });
  const search = debounce((text) => address.set({ find: text }), 150);
  const find = h("input", { type: "search", class: "input", id: "timeline-find", placeholder: "pod, taint, reason …", oninput: () => search(find.value) });
  const named = h("span", { class: "timeline-named" });
  const clear = h("button", { class: "button quiet", type: "button", onclick: () => address.set({ kinds: null, ns: null, workload: null, node: null, find: null }) }, "Clear");
  const element = h(
    "div",
    { class: "timeline-filters" },
    h("div", { class: "toolbar" }, namespace, workload, node, h("div", { class: "field" }, h("label", { for: "timeline-find" }, "Find"), find), clear, named),
    kinds,
  );
  let known = "";

  return {
    element,
    update(entries) {
      const { ns = "", workload: whose = "", node: where = "", find: text = "" } = address.params;
      const counts = new Map();
      const values = { ns: new Set(), workload: new Set(), node: new Set() };
      for (const one of entries) {
        counts.set(one.kind, (counts.get(one.kind) ?? 0) + 1);
        if (one.namespace) values.ns.add(one.namespace);
        if (one.workload) values.workload.add(one.workload);
        for (const name of one.nodes) values.node.add(name);
      }
      offer(namespace, values.ns, ns);
      offer(workload, values.workload, whose);
      offer(node, values.node, where);
      if (document.activeElement !== find) find.value = text;
      // A pod that is looked for by its whole name, and exists, is one click away.
      replace(named, isPod(text.trim()) ? podLink(text.trim(), `Look at ${text.trim()}`) : null);
      const active = chosen();
      clear.disabled = !(ns || whose || where || text || active.size);
      const drawn = JSON.stringify([[...counts], [...active]]);
      if (drawn === known) return;
      known = drawn;
      const focused = kinds.contains(document.activeElement) ? document.activeElement.dataset.kind : null;
      replace(
        kinds,
        Object.entries(KINDS)
          .filter(([kind]) => counts.has(kind) || active.has(kind))
          .map(([kind, { title, sign, tone }]) =>
            h(
              "button",
              { class: ["button", "small", "kind-button", tone], type: "button", dataset: { kind }, "aria-pressed": active.has(kind), onclick: () => toggle(kind) },
              h("span", { class: "kind-sign", "aria-hidden": "true" }, sign),
              `${title} `,
              h("span", { class: "nums" }, number(counts.get(kind) ?? 0)),
            ),
          ),
      );
      if (focused) kinds.querySelector(`[data-kind="${focused}"]`)?.focus();
    },
    accepts() {
      const { ns, workload: whose, node: where, find: text } = address.params;
      const active = chosen();
      const wanted = text?.trim().toLowerCase();
      return (one) =>
        (!active.size || active.has(one.kind)) &&
        (!ns || one.namespace === ns) &&
        (!whose || one.workload === whose || one.subject === whose) &&
        (!where || one.nodes.includes(where)) &&
        (!wanted || `${one.subject} ${one.workload} ${one.detail} ${one.actor}`.toLowerCase().includes(wanted));
    },
  };
}

function chosen() {
  return new Set((address.params.kinds ?? "").split(",").filter((kind) => Object.hasOwn(KINDS, kind)));
}

function toggle(kind) {
  const active = chosen();
  if (!active.delete(kind)) active.add(kind);
  address.set({ kinds: [...active].join(",") });
}

function offer(box, values, value) {
  if (value) values.add(value);
  const names = [...values].sort(natural);
  if (box.options.length !== names.length + 1 || box.options.some((one, index) => index && one.value !== names[index - 1])) {
    box.options = [ANY, ...names.map((name) => ({ value: name, text: name }))];
  }
  if (box.value !== value) box.value = value;
}
