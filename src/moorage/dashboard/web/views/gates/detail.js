/** Shows one gate: what it guards, which objects depend on it, and what turning it off or on would do, step by step. */
import { address } from "../../lib/address.js";
import { h } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { chip } from "../../parts/chips.js";
import { codeBlock } from "../../parts/code-block.js";
import { failed, loading } from "../../parts/states.js";
import { breakable, valueCell } from "./matrix.js";

const LISTED = 50;
const QUIET = "Until the next step nothing else goes wrong.";

export function gateDetail({ gate, gates, audit, problem, again }) {
  if (!gate) return loading("Looking for the gates that this cluster uses", { height: "12rem" });
  return h(
    "div",
    { class: "stack" },
    head(gate),
    verdict(gate),
    facts(gate, gates.components),
    dependants(gate, audit, problem, again),
    turningOff(gate, audit),
    runbook(gate),
  );
}

function head(gate) {
  return h(
    "div",
    { class: "gate-title" },
    h("h2", {}, breakable(gate.name)),
    h("a", { class: "button small quiet gate-close", href: address.href("gates", { ...address.params, gate: null }) }, "Close"),
  );
}

/** Whether the components that read the gate agree, in one line. */
function verdict({ values }) {
  const having = (value) => Object.keys(values).filter((name) => values[name] === value);
  const [on, off, silent] = [having(true), having(false), having(null)];
  const unknown = silent.length ? ` ${silent.join(", ")} ${silent.length === 1 ? "does" : "do"} not tell.` : "";
  if (on.length && off.length) return h("p", {}, chip("differs", "warn"), ` On in ${on.join(", ")}; off in ${off.join(", ")}.${unknown}`);
  if (on.length) return h("p", {}, chip("on", "good"), ` On in ${everywhere(on, silent)}.${unknown}`);
  if (off.length) return h("p", {}, chip("off", "info"), ` Off in ${everywhere(off, silent)}.${unknown}`);
  return h("p", {}, chip("not known", "warn"), unknown);
}

function everywhere(names, silent) {
  if (silent.length) return names.join(", ");
  return names.length === 1 ? `${names[0]}, the only component that reads it` : `all ${names.length} components that read it`;
}

function facts(gate, components) {
  const read = components.filter((name) => name in gate.values);
  return h(
    "dl",
    { class: "facts" },
    h("dt", {}, "guards"),
    h("dd", {}, gate.feature),
    h("dt", {}, "stage"),
    h("dd", {}, `${gate.stage.toLowerCase()}, ${gate.default ? "on" : "off"} by default${gate.locked ? ", locked: it cannot be turned off" : ""}`),
    h("dt", {}, "Kubernetes"),
    h("dd", {}, gate.since ? `accepts it since ${gate.since}` : "has no release with it yet"),
    gate.needs.length ? [h("dt", {}, "needs"), h("dd", {}, gate.needs.join(", "))] : null,
    h("dt", {}, "set to"),
    h("dd", { class: "gate-values" }, read.map((name) => h("span", { class: "row" }, valueCell(gate.values[name]), name))),
  );
}

function dependants(gate, audit, problem, again) {
  const title = h("h3", {}, "What depends on it");
  if (problem) return h("section", { class: "stack" }, title, failed(problem, again));
  if (!audit) return h("section", { class: "stack" }, title, loading("Looking at every object"));
  const found = audit.gates.find((one) => one.name === gate.name);
  const findings = found?.findings ?? [];
  const total = audit.totals?.[gate.name] ?? { objects: findings.length, affected: 0 };
  if (!findings.length) return h("section", { class: "stack" }, title, h("p", {}, chip("nothing", "good"), " No object uses what this gate guards."));
  const more = total.objects - findings.length;
  return h(
    "section",
    { class: "stack" },
    title,
    h(
      "p",
      {},
      `${count(total.objects, "object")} ${total.objects === 1 ? "depends" : "depend"} on it; `,
      total.affected ? h("strong", {}, `${total.affected} would notice`) : "none would notice",
      " if it were off in every component now.",
    ),
    consequences(findings).map(group),
    more > 0 ? h("p", { class: "muted" }, `${more} more objects are not listed here.`) : null,
    codeBlock(`moorage gates audit --gate ${gate.name}`, { label: "The same in a terminal" }),
  );
}

/** Groups the findings by what would happen: those with a visible effect first, then by how many objects. */
function consequences(findings) {
  const groups = new Map();
  for (const finding of findings) {
    const list = finding.consequences.length ? finding.consequences : [{ component: "", text: "nothing changes", breaks: false }];
    for (const { component, text, breaks } of list) {
      const key = `${breaks} ${component} ${text}`;
      if (!groups.has(key)) groups.set(key, { component, text, breaks, findings: [] });
      groups.get(key).findings.push(finding);
    }
  }
  return [...groups.values()].sort((a, b) => b.breaks - a.breaks || b.findings.length - a.findings.length);
}

function group({ component, text, breaks, findings }) {
  const shown = findings.slice(0, LISTED);
  return h(
    "details",
    { class: ["gate-group", breaks ? "breaks" : ""], open: breaks && findings.length <= 5 },
    h(
      "summary",
      {},
      breaks ? chip("would notice", "bad") : chip("no effect", ""),
      h("span", { class: "gate-what wrap" }, component && h("span", { class: "gate-who" }, `${component}: `), text),
      h("span", { class: "gate-number nums" }, count(findings.length, "object")),
    ),
    h("ul", { class: "gate-objects" }, shown.map(object), findings.length > shown.length ? h("li", { class: "muted" }, `and ${findings.length - shown.length} more`) : null),
  );
}

function object(finding) {
  const name = `${finding.kind} ${finding.namespace ? `${finding.namespace}/` : ""}${finding.name}`;
  return h("li", {}, h("span", { class: "gate-object" }, name), " ", h("code", { class: "muted wrap" }, finding.fields.join(", ")));
}

function turningOff(gate, audit) {
  if (!gate.locked && isOffEverywhere(gate)) return turningOn(gate);
  const title = h("h3", {}, "Turning it off");
  if (gate.locked) return h("section", { class: "stack" }, title, h("p", {}, "It is locked to its default: no component can turn it off."));
  const total = audit?.totals?.[gate.name];
  return h(
    "section",
    { class: "stack" },
    title,
    total?.affected ? h("p", {}, chip("first", "warn"), ` Take its use out of the ${count(total.affected, "object")} above that would notice, or accept what is said there.`) : null,
    h("ol", { class: "gate-steps" }, gate.disabling.map((step, index) => offStep(gate, step, index))),
    h("p", { class: "muted" }, "One component at a time, in this order; turn it on in the reverse order. Nothing that is stored is lost: once it is on again, pods that wait are scheduled and workloads make the pods they lack."),
  );
}

function isOffEverywhere({ values }) {
  const all = Object.values(values);
  return all.length > 0 && all.every((value) => value === false);
}

/** The order of turning it off, from its end. Before a step the components of the later steps have it off, as after that of turning it off. */
function turningOn(gate) {
  const steps = [...gate.disabling].reverse();
  const after = (index) => gate.disabling[gate.disabling.length - 2 - index];
  return h(
    "section",
    { class: "stack" },
    h("h3", {}, "Turning it on"),
    h("ol", { class: "gate-steps" }, steps.map((step, index) => gateStep(gate, step.component, true, after(index)?.happens ?? [], index === steps.length - 1 ? "It is on everywhere." : QUIET))),
    h("p", { class: "muted" }, "One component at a time, in this order; turn it off in the reverse order."),
  );
}

function offStep(gate, step, index) {
  const last = index === gate.disabling.length - 1;
  return gateStep(gate, step.component, false, step.happens, last ? "It is off everywhere: what is said above happens." : QUIET);
}

function gateStep(gate, component, value, happens, otherwise) {
  return h(
    "li",
    {},
    h("p", {}, h("strong", {}, component), " ", h("code", {}, `--feature-gates=${gate.name}=${value}`)),
    happens.length
      ? h("ul", {}, happens.map((text) => h("li", { class: "warn" }, `until the next step: ${text}`)))
      : h("p", { class: "muted" }, otherwise),
  );
}

function runbook(gate) {
  return h(
    "p",
    { class: "muted" },
    gate.runbook ? ["The runbook ", h("code", {}, gate.runbook), " has every command, what to observe in between, and how to go back."] : ["Moorage's ", h("code", {}, "docs/gates.md"), " says more about gates that are half enabled."],
  );
}
