/**
 * Shows below the map what node each pool of an autoscaler could start next: outlines, since they are not there.
 *
 * They count nowhere as nodes. Where no pool is known nothing is shown. Whether the row is open is kept in the browser.
 */
import { address } from "../../lib/address.js";
import { ask } from "../../lib/api.js";
import { h, replace } from "../../lib/dom.js";
import { count, number } from "../../lib/format.js";

const CLOSED = "moorage-ghosts-closed";
const MOST = 60;
/** Nodes come in groups: what pools could start next follows some seconds later. */
const AGAIN = 5000;

export class Ghosts {
  element = h("details", { class: "ghosts", hidden: true });
  #timer = 0;

  constructor() {
    this.element.open = !isClosed();
    this.element.addEventListener("toggle", () => keepClosed(!this.element.open));
  }

  /** Asks again a little after nodes came or went, if there are pools. */
  soon() {
    if (this.element.hidden) return;
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      if (this.element.isConnected) this.load();
    }, AGAIN);
  }

  async load() {
    let pools;
    try {
      [{ pools }] = await ask("pools");
    } catch {
      return; // the map is complete without them
    }
    this.element.hidden = !pools.length;
    if (!pools.length) return;
    const left = pools.length - MOST;
    replace(
      this.element,
      h("summary", {}, `Nodes that ${pools.length === 1 ? "a pool" : `${count(pools.length, "pool")}`} could start next`, h("span", { class: "muted" }, " not there, and not counted")),
      h("ul", { class: "ghost-list" }, pools.slice(0, MOST).map(ghost), left > 0 && h("li", {}, `${count(left, "more pool")} in Capacity`)),
    );
  }
}

function isClosed() {
  try {
    return localStorage.getItem(CLOSED) !== null;
  } catch {
    // Without storage it is open whenever the page is.
    return false;
  }
}

function keepClosed(closed) {
  try {
    if (closed) localStorage.setItem(CLOSED, "1");
    else localStorage.removeItem(CLOSED);
  } catch {
    // The choice then lasts as long as the page.
  }
}

function ghost(pool) {
  const { next } = pool;
  const name = h("a", { class: "ghost-pool", href: address.href("capacity") }, pool.name);
  if (next.why) return h("li", { class: "ghost full" }, name, h("span", { class: "ghost-line" }, `starts none: ${next.why}`));
  const { cpu, memory } = next.capacity;
  const size = [cpu && `${cpu} cpu`, memory && `${memory} memory`].filter(Boolean).join(", ");
  return h(
    "li",
    { class: "ghost" },
    name,
    h("span", { class: "ghost-price nums" }, next.price === null ? "no price" : `${next.price}/h`),
    h("span", { class: "ghost-line", title: next.name }, next.name),
    h("span", { class: "ghost-line" }, size),
    h("span", { class: "ghost-line" }, room(pool)),
    pool.taints.length > 0 && h("span", { class: "ghost-line", title: pool.taints.join(", ") }, pool.taints.join(", ")),
  );
}

/** How many more nodes there may be, and what the limits leave. */
function room({ more, next }) {
  const left = Object.entries(next.left).map(([resource, amount]) => `${amount} ${resource}`);
  if (more !== null) left.unshift(`${number(more)} more`);
  return left.length ? `room for ${left.join(", ")}` : "room without bound";
}
