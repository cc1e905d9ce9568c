/**
 * Says what the page lacks: kinds that the kubeconfig may not list, objects that were refused, each with the reason.
 *
 *   const line = new UnreadLine(); header.append(line.element); line.show(cluster.source);
 *   nodesAreUnread(cluster.source)    why there are no nodes, if they may not be read; else ""
 */
import { h, replace } from "../lib/dom.js";
import { count, number } from "../lib/format.js";

/** Leads to the line, and opens it. */
export const UNREAD = "#unread";
const NAMES = 3;
const NODES = "nodes";

export class UnreadLine {
  #shown = "";
  element = h("details", { class: "unread-line", id: UNREAD.slice(1), hidden: true });

  constructor() {
    addEventListener("hashchange", () => {
      if (location.hash !== UNREAD) return;
      this.element.open = true;
      this.element.querySelector("summary")?.focus();
    });
  }

  show({ kind, unread = [] }) {
    const wanted = JSON.stringify(unread);
    if (this.#shown === wanted) return;
    this.#shown = wanted;
    this.element.hidden = unread.length === 0;
    replace(
      this.element,
      unread.length > 0 && h("summary", {}, summary(kind, unread)),
      h("ul", {}, unread.map(({ what, why }) => h("li", { class: "wrap" }, h("strong", {}, what), ` ${why}`))),
    );
  }
}

export function nodesAreUnread({ unread = [] }) {
  return unread.find(({ what }) => what === NODES)?.why ?? "";
}

function summary(kind, unread) {
  const names = unread.slice(0, NAMES).map(({ what }) => what);
  const list = unread.length > NAMES ? `${names.join(", ")} and ${number(unread.length - NAMES)} more` : names.join(", ");
  if (kind === "files") return `${count(unread.length, "object")} could not be read or would be refused, and left out: ${list}`;
  return `The kubeconfig may not list ${list}: what depends on them is missing here`;
}
