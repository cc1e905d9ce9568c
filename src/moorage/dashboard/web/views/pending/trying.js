/** Tries a change: what the API server says (a dry run), and what the simulation says; applies it once confirmed. */
import { act, embedded } from "../../lib/api.js";
import { cluster } from "../../lib/cluster.js";
import { h, replace } from "../../lib/dom.js";
import { count } from "../../lib/format.js";
import { announce } from "../../lib/notice.js";
import { chip } from "../../parts/chips.js";
import { codeBlock } from "../../parts/code-block.js";
import { openDialog } from "../../parts/dialog.js";
import { loading } from "../../parts/states.js";
import { canTry, tryManifest } from "./asking.js";

const MOST = 10;

export function canBeTried({ verb, manifest }) {
  if (!verb) return false;
  return embedded ? Boolean(manifest) && canTry(manifest) : true;
}

/** Shows in `place` what the server and the simulation say. */
export async function tryRemedy(remedy, explanation, place, { asksServer }) {
  const live = cluster.source.kind === "live" && !embedded;
  const server = h("div", { class: "try-line" }, live && asksServer ? loading("Asking the API server", { height: "2rem" }) : null);
  const simulated = h("div", { class: "try-line" }, remedy.manifest ? loading("Simulating it", { height: "2rem" }) : null);
  replace(place, h("h4", {}, "Tried"), server, simulated);
  await Promise.all([live && asksServer && askServer(remedy, server), remedy.manifest && simulate(remedy, explanation, simulated)]);
}

/** Asks for confirmation with exactly what will be written, and writes it. */
export async function applyRemedy(remedy, suggestion, place) {
  const tried = h("div", { class: "try-line" }, loading("Trying it with a dry run", { height: "3rem" }));
  askServer(remedy, tried);
  const confirmed = await openDialog({
    title: "Apply to the cluster?",
    body: [
      h("p", { class: "wrap" }, `${suggestion.sentence}, in ${cluster.source.context || cluster.source.name}.`),
      codeBlock(remedy.command, { label: "The same as a command", height: "10rem" }),
      remedy.patch?.length ? codeBlock(JSON.stringify(remedy.patch, null, 2), { label: "Patch", height: "14rem" }) : null,
      tried,
    ],
    actions: [
      { text: "Cancel", value: null },
      { text: "Apply", value: "apply", kind: "danger" },
    ],
  });
  if (confirmed !== "apply") return;
  replace(place, loading("Applying", { height: "3rem" }));
  try {
    const answer = await act("apply", request(remedy));
    replace(place, h("h4", {}, answer.ok ? "Applied" : "Not applied"), outcome(answer, "The API server has stored it. The page follows the cluster."));
    announce(answer.ok ? "Applied" : "Not applied");
    place.dispatchEvent(new CustomEvent("applied", { bubbles: true }));
  } catch (error) {
    replace(place, h("h4", {}, "Not applied"), refusal(error.message));
  }
}

async function askServer(remedy, place) {
  try {
    const answer = await act("dry-run", request(remedy));
    replace(place, outcome(answer, "The API server would accept it (dry run)."));
  } catch (error) {
    replace(place, refusal(error.message));
  }
}

function request({ verb, target, patch, patchType }) {
  return verb === "delete" ? { verb, target } : { verb, target, patch, patchType };
}

function outcome(answer, text) {
  if (answer.ok) return h("p", { class: "wrap" }, chip("accepted", "good"), ` ${text}`);
  return (answer.results ?? []).filter((one) => !one.ok).map((one) => refusal(one.message));
}

function refusal(text) {
  return h("p", { class: "wrap" }, chip("refused", "bad"), ` ${text}`);
}

async function simulate(remedy, explanation, place) {
  try {
    const part = await tryManifest(remedy.manifest);
    const [ours, others] = landings(part, explanation);
    const lines = ours.slice(0, MOST).map((one) => h("li", { class: "wrap" }, one.text));
    const landed = ours.filter((one) => one.node).length;
    replace(
      place,
      h(
        "p",
        { class: "wrap" },
        landed ? chip("simulated", "good") : chip("simulated", "warn"),
        landed ? ` ${count(landed, "pod")} would get a node:` : " No pod of this group would get a node.",
      ),
      lines.length > 0 && h("ul", {}, lines, ours.length > MOST && h("li", { class: "muted" }, `${count(ours.length - MOST, "pod")} more`)),
      others && h("p", { class: "muted wrap" }, others),
    );
    announce(landed ? `${count(landed, "pod")} would get a node` : "No pod would get a node");
  } catch (error) {
    replace(place, refusal(error.message));
  }
}

/** Where pods of this workload, or this pod, would land; and one sentence about all others. */
function landings(part, explanation) {
  const own = (one) => (explanation.workload ? one.workload === explanation.workload : key(one) === explanation.pod);
  const placed = (part.placed ?? []).map((one) => ({ mine: own(one), node: one.node, text: `${key(one)} → ${one.node}` }));
  const replaced = [...(part.replaced ?? []), ...(part.evicted ?? [])].map((one) => ({
    mine: own(one),
    node: one.newNode,
    text: `${one.replacedBy || one.pod} → ${one.newNode || (one.replacedBy ? "Pending" : "not replaced")}${one.replacedBy && one.replacedBy !== one.pod ? ` (in the place of ${one.pod})` : ""}`,
  }));
  const all = [...placed, ...replaced].sort((one, other) => Number(!one.node) - Number(!other.node));
  const ours = all.filter((one) => one.mine);
  const others = all.length - ours.length;
  const waiting = (part.pending ?? []).length;
  const said = [
    others && `${count(others, "other pod")} would move or get a node`,
    waiting && `${count(waiting, "further pod")} would be pending`,
  ].filter(Boolean);
  return [ours, said.length ? `${said.join("; ")}.` : ""];
}

function key(one) {
  return one.pod ?? `${one.namespace}/${one.name}`;
}
