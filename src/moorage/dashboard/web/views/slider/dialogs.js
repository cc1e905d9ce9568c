/** Opens the slider's dialogs: the changes as commands, applying them, sharing the address. */
import { act } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { chip } from "../../parts/chips.js";
import { codeBlock, copy } from "../../parts/code-block.js";
import { openDialog } from "../../parts/dialog.js";
import { failed, loading } from "../../parts/states.js";
import { describe, kindOf } from "./changes.js";

/** The changes as commands: those of kubectl that make them, and that of Moorage that asks the same question. */
export function showCommands(answer) {
  const commands = (answer.kubectl ?? []).join("\n");
  const remarks = answer.kubectlRemarks ?? [];
  return openDialog({
    title: "As commands",
    body: [
      commands
        ? codeBlock(commands, { label: "kubectl: makes these changes", height: "18rem" })
        : h("p", { class: "muted" }, "kubectl has no commands for these changes."),
      remarks.length ? h("ul", { class: "command-remarks" }, remarks.map((text) => h("li", {}, text))) : null,
      answer.plan ? codeBlock(answer.plan, { label: "moorage: asks the same question", height: "12rem" }) : null,
    ],
  });
}

const LEFT_TO_KUBECTL = { drain: "A drain", evict: "An eviction", remove: "The removal of a node", apply: "Applying manifests", addNodes: "Adding nodes" };

/** Why the changes cannot be applied here; "" where they can. */
export function whyNotApply(changes) {
  if (cluster.source.kind !== "live") return "The cluster is in files: change the files.";
  if (cluster.past != null) return "You are looking at the past.";
  if (!cluster.changes.allowed) return "Start the dashboard with --allow-changes to apply changes.";
  const left = changes.map((change) => LEFT_TO_KUBECTL[kindOf(change)]).find(Boolean);
  return left ? `${left} is left to kubectl: see the commands.` : "";
}

/** Tries the changes with a dry run, lists what will be written, and writes it once that is confirmed. */
export async function applyChanges(changes) {
  const tried = h("div", { class: "apply-tried" }, loading("Trying it with a dry run", { height: "8rem" }));
  const list = h("ul", { class: "apply-list" }, changes.map((change) => h("li", {}, describe(change))));
  const trial = act("dry-run", { changes }).then(
    (answer) => replace(tried, h("p", {}, "The API server would take:"), resultTable(answer)),
    (error) => replace(tried, failed(error.message)),
  );
  const confirmed = await openDialog({
    title: "Apply to the cluster?",
    body: [h("p", {}, `${cluster.source.context || cluster.source.name}: ${count(changes.length, "change")}`), list, tried],
    actions: [
      { text: "Cancel", value: null },
      { text: "Apply", value: "apply", kind: "danger" },
    ],
  });
  if (confirmed !== "apply") return;
  await trial;
  const done = h("div", {}, loading("Writing", { height: "8rem" }));
  const shown = openDialog({ title: "Applying the changes", body: [done] });
  try {
    const answer = await act("apply", { changes });
    replace(done, resultTable(answer));
    announce(summary(answer));
  } catch (error) {
    replace(done, failed(error.message));
  }
  await shown;
}

/** Copies the address, which holds all changes. */
export async function share(button) {
  await copy(location.href, button);
}

function resultTable(answer) {
  const rows = (answer.results ?? []).map((one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "wrap" }, targetText(one.target)),
      h("td", {}, one.ok ? chip(answer.dryRun ? "accepted" : "written", "good") : chip("refused", "bad")),
      h("td", { class: "wrap" }, one.message || (one.changes ?? []).map(operationText).join("; ") || one.command || ""),
    ),
  );
  const left = (answer.of ?? rows.length) - rows.length;
  return [
    h(
      "table",
      { class: "apply-results" },
      h("thead", {}, h("tr", {}, ["Object", "Result", "What"].map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", {}, rows.length ? rows : h("tr", {}, h("td", { colspan: 3, class: "muted" }, "Everything is so already: nothing is to be written."))),
    ),
    left > 0 ? h("p", { class: "warn" }, `${count(left, "object")} after the refused one: not written.`) : null,
  ];
}

function targetText({ kind, namespace, name }) {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** An operation of a JSON patch in one line. */
function operationText({ op, path, value }) {
  const field = path.slice(1).split("/").map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~")).join(".");
  return op === "remove" ? `${field}: removed` : `${field}: ${JSON.stringify(value)}`;
}

function summary(answer) {
  const refused = (answer.results ?? []).filter((one) => !one.ok).length;
  return refused ? `${count(refused, "object")} could not be written` : "Everything was written";
}
