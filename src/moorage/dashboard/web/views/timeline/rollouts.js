/**
 * Shows rollouts of a live cluster as they happen, and plays one in the simulation before it is made.
 *
 *   const rollouts = rolloutList(); rollouts.element; rollouts.start(); rollouts.stop()
 */
import { address } from "../../lib/address.js";
import { answerable, ask, embedded, getJSON, isAbort } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { debounce, h, replace } from "../../lib/dom.js";
import { count, duration, natural } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { chip } from "../../parts/chips.js";
import { combobox } from "../../parts/combobox.js";
import { empty, failed, loading } from "../../parts/states.js";
import { linked } from "./links.js";
import { rolloutChart } from "./rollout-chart.js";
import { rolloutWaiting } from "./rollout-waiting.js";
import { when } from "./times.js";

const EVERY = 2000;
const ROLLED = /^(Deployment|StatefulSet|DaemonSet) /;
const STATES = {
  progressing: ["under way", "info"],
  stuck: ["makes no progress", "bad"],
  paused: ["paused", "warn"],
  complete: ["complete", "good"],
  superseded: ["replaced by the next one", ""],
  deleted: ["its workload was deleted", ""],
};

export function rolloutList() {
  const live = h("div", { class: "stack", "aria-live": "off" }, loading("Asking for rollouts"));
  const play = player();
  const element = h("div", { class: "stack rollouts" }, play.element, live);
  const soon = debounce(() => load(), 250);
  const opened = new Set();
  const resized = debounce(() => last && show(last, true), 150);
  const waiting = rolloutWaiting(() => last && show(last, true));
  let last = null;
  let timer = 0;
  let unsubscribe = null;
  let observer = null;
  let states = new Map();
  let drawn = "";

  return {
    element,
    start() {
      unsubscribe = cluster.subscribe((change) => {
        play.update();
        if (change.all || change.pods.size || change.happenings.length) soon();
      });
      observer = new ResizeObserver(resized);
      observer.observe(element);
      timer = setInterval(() => [...states.values()].some((state) => state === "progressing" || state === "stuck") && load(), EVERY);
      play.update();
      load();
    },
    stop() {
      unsubscribe?.();
      observer?.disconnect();
      clearInterval(timer);
      soon.cancel();
      resized.cancel();
      play.stop();
      waiting.stop();
    },
  };

  async function load() {
    if (embedded || cluster.source.kind === "files") {
      replace(live, empty("No cluster to follow", "Files have no rollouts under way. Play one above to see its steps."));
      return;
    }
    try {
      show(await getJSON("/api/rollouts"));
    } catch (error) {
      if (!states.size) replace(live, failed(error.message, load));
    }
  }

  function show(answer, isForced = false) {
    const { rollouts, leftOut, now } = (last = answer);
    for (const rollout of rollouts) {
      const key = `${rollout.uid} ${rollout.generation}`;
      if (states.has(key) && states.get(key) !== rollout.state) announce(`${rollout.workload}: ${STATES[rollout.state]?.[0] ?? rollout.state}`);
    }
    states = new Map(rollouts.map((rollout) => [`${rollout.uid} ${rollout.generation}`, rollout.state]));
    const text = JSON.stringify([rollouts, leftOut]);
    if (!isForced && text === drawn && !rollouts.some((rollout) => rollout.ended === null)) return;
    drawn = text;
    const focused = live.contains(document.activeElement) ? document.activeElement.closest("[data-rollout]")?.dataset.rollout : null;
    replace(
      live,
      rollouts.length ? rollouts.map((rollout) => card(rollout, opened, room(live), waiting, now)) : empty("No rollout yet", "Change a template, or run kubectl rollout restart: its steps appear here as they happen."),
      leftOut ? h("p", { class: "muted" }, `${count(leftOut, "more rollout")} at the same time could not be followed.`) : null,
    );
    if (focused) live.querySelector(`[data-rollout="${CSS.escape(focused)}"] summary`)?.focus({ preventScroll: true });
  }
}

/** How wide a chart can be, without the padding around it. */
function room(element) {
  return Math.max(240, Math.min(1152, (element.clientWidth || 700) - 28));
}

function card(rollout, opened, width, waiting, now) {
  const key = `${rollout.uid} ${rollout.generation}`;
  const last = rollout.steps.at(-1);
  const [word, tone] = STATES[rollout.state] ?? [rollout.state, ""];
  const until = rollout.ended ?? Math.max(last.time, now);
  const details = h(
    "details",
    { dataset: { rollout: key }, open: opened.has(key), ontoggle: () => (details.open ? opened.add(key) : opened.delete(key)) },
    h("summary", {}, count(rollout.steps.length, "step")),
    stepTable(rollout.steps, rollout.workload, `Steps of ${rollout.workload}, generation ${rollout.generation}, from ${when(rollout.began)}`),
  );
  return h(
    "article",
    { class: "panel rollout", dataset: { workload: rollout.workload, generation: rollout.generation, state: rollout.state } },
    h(
      "div",
      { class: "panel-head" },
      h("h2", {}, rollout.workload),
      chip(word, tone),
      h("span", { class: "muted nums rollout-when" }, `${rollout.sawStart ? "began" : "first seen"} ${when(rollout.began)}${rollout.ended ? `, took ${duration(Math.max(0.001, rollout.ended - rollout.began))}` : ""}`),
    ),
    h(
      "div",
      { class: "rollout-body" },
      figures(rollout, last),
      h("figure", { class: "rollout-figure" }, rolloutChart({ steps: rollout.steps, budgets: rollout.budgets, until, width, label: sentence(rollout.workload, rollout.steps) }), legend(rollout.budgets.length > 0)),
      waiting.of(rollout),
      details,
    ),
  );
}

function figures(rollout, last) {
  const strategy = rollout.strategy || "its strategy";
  return h(
    "dl",
    { class: "rollout-figures" },
    fact("updated", `${last.updated} of ${last.wanted}`),
    fact("available", last.available),
    fact("old", last.old),
    fact("surge, at its peak", `${rollout.peakSurge} of ${last.maxSurge} allowed`, rollout.peakSurge > last.maxSurge ? "bad" : ""),
    fact("unavailable, at its peak", `${rollout.peakUnavailable} of ${last.maxUnavailable} allowed`, rollout.peakUnavailable > last.maxUnavailable ? "warn" : ""),
    fact("strategy", rollout.partition ? `${strategy}, partition ${rollout.partition}` : strategy),
    rollout.budgets.map((budget) => fact(`budget ${budget.name}`, `${count(budget.disruptionsAllowed, "disruption")} allowed; ${budget.currentHealthy} healthy, ${budget.desiredHealthy} needed`)),
  );
}

function fact(name, value, tone = "") {
  return h("div", {}, h("dt", {}, name), h("dd", { class: ["nums", tone] }, String(value)));
}

/** A table of steps in a region of its own: several are on one page, so `label` says whose steps they are. */
function stepTable(steps, workload, label) {
  const namespace = namespaceOf(workload);
  const heads = ["Time", "What was done", "Updated", "Old", "Available", "Surge", "Unavailable"];
  return h(
    "div",
    { class: "scroll rollout-steps", tabindex: "0", role: "region", "aria-label": label },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, heads.map((title, index) => h("th", { scope: "col", class: index > 1 ? "end" : "" }, title)))),
      h(
        "tbody",
        {},
        steps.map((step, index) =>
          h(
            "tr",
            {},
            h("td", { class: "nums" }, step.time === undefined ? index + 1 : when(step.time)),
            h("td", { class: "wrap" }, linked(step.message, namespace)),
            [step.updated, step.old, step.available, `${step.surge}/${step.maxSurge}`, `${step.unavailable}/${step.maxUnavailable}`].map((value) => h("td", { class: "end nums" }, String(value))),
          ),
        ),
      ),
    ),
  );
}

function legend(hasBudgets) {
  const keys = [
    ["rollout-new", "new"],
    ["rollout-old", "old"],
    ["rollout-available", "available"],
    ["rollout-limit", "most and fewest that the strategy allows"],
  ];
  if (hasBudgets) keys.push(["rollout-budget", "healthy pods that a budget needs"]);
  return h("figcaption", { class: "rollout-legend muted" }, keys.map(([name, text]) => h("span", {}, h("span", { class: ["rollout-key", name], "aria-hidden": "true" }), text)));
}

function sentence(workload, steps) {
  const last = steps.at(-1);
  const surge = Math.max(...steps.map((step) => step.surge));
  const low = Math.max(...steps.map((step) => step.unavailable));
  return `${workload}: ${last.updated} of ${last.wanted} updated, ${last.available} available, ${last.old} old after ${count(steps.length, "step")}; at most ${surge} too many (${last.maxSurge} allowed) and ${low} unavailable (${last.maxUnavailable} allowed)`;
}

function namespaceOf(workload) {
  return workload.slice(workload.indexOf(" ") + 1, workload.indexOf("/"));
}

/** Plays a restart in the simulation: `moorage plan --rollout`. */
function player() {
  const box = combobox({ label: "Play a restart of", options: [], placeholder: "choose a workload", onchange: (workload) => address.set({ play: workload }) });
  const result = h("div", { "aria-live": "polite" });
  let asked = "";
  let asking = null;
  const element = h("section", { class: "panel padded stack", "aria-label": "Play a rollout" }, h("div", { class: "toolbar" }, box, h("p", { class: "muted rollout-hint" }, "In the simulation: nothing in the cluster changes. Like moorage plan --rollout.")), result);
  return {
    element,
    stop: () => asking?.abort(),
    update() {
      const names = [...cluster.workloads.keys()].filter((name) => ROLLED.test(name)).sort(natural);
      if (names.length !== box.options.length || names.some((name, index) => name !== box.options[index].value)) box.options = names.map((name) => ({ value: name, text: name }));
      const wanted = address.params.play ?? "";
      if (box.value !== wanted) box.value = wanted;
      if (wanted !== asked) run(wanted);
    },
  };

  async function run(workload) {
    asked = workload;
    asking?.abort();
    if (!workload) return void replace(result);
    const [kind, name] = workload.split(" ");
    const args = { workload: `${kind.toLowerCase()}/${name}` };
    box.disabled = Boolean(embedded);
    if (!answerable("rollout", args)) return void replace(result, empty("This is a saved page", "A rollout can be played where moorage dashboard runs."));
    replace(result, loading(`Playing a restart of ${workload}`, { height: "8rem" }));
    asking = new AbortController();
    try {
      const parts = await ask("rollout", args, { signal: asking.signal });
      replace(result, played(workload, parts.find((part) => part.rollout).rollout, room(result)));
    } catch (error) {
      if (!isAbort(error)) replace(result, failed(error.message));
    }
    return undefined;
  }
}

/** Shows a rollout that was played: whether it completes, a chart and a table of its steps, and what would help. */
export function played(workload, rollout, width) {
  const replicas = cluster.workloads.get(workload) ?? 0;
  const steps = rollout.steps.map((step) => ({
    message: [step.action, ...step.placed, step.message && `waits: ${step.message}`].filter(Boolean).join("; "),
    wanted: replicas,
    updated: step.new,
    old: step.old,
    available: step.available,
    surge: Math.max(0, step.new + step.old - replicas),
    maxSurge: rollout.maxSurge,
    unavailable: Math.max(0, replicas - step.available),
    maxUnavailable: rollout.maxUnavailable,
  }));
  return h(
    "div",
    { class: "stack" },
    h("p", {}, rollout.completes ? chip("completes", "good") : chip("stops", "bad"), ` ${workload}: ${count(steps.length, "step")}. ${[rollout.message, rollout.room].filter(Boolean).join(" ")}`),
    steps.length ? h("figure", { class: "rollout-figure" }, rolloutChart({ steps, unit: "step", width, label: sentence(workload, steps) }), legend(false)) : null,
    steps.length ? h("details", {}, h("summary", {}, "The steps"), stepTable(steps, workload, `Steps of ${workload}, as played`)) : null,
    rollout.fix ? h("div", {}, h("p", {}, "With this it would complete:"), h("pre", { class: "rollout-fix" }, rollout.fix)) : null,
  );
}
