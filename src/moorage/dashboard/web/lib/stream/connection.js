/**
 * Brings the cluster's changes to this page, over one connection that all pages of the browser share: browsers open six to a host.
 *
 *   const connection = connect({ hear: (message) => …, seq: () => cluster.seq });
 *   connection.look()   tell me all changes after seq(), until …
 *   connection.rest()   … this; a page that is hidden or gone rests by itself, and goes on when it is shown again
 *
 * The connection is held by a SharedWorker; in a browser without it by one of the pages that are looked at; without Web Locks,
 * too, by each of them. `hear` gets the messages of hub.js.
 */
import { Hub } from "./hub.js";

const NAME = "moorage-changes-1"; // another number where messages change: the worker of an older page may still run

export function connect({ hear, seq }) {
  let wants = false;
  let isHeard = false;
  let way = null;
  const listen = (message) => isHeard && hear(message);
  const update = () => {
    const should = wants && !document.hidden;
    if (should === isHeard) return;
    isHeard = should;
    way ??= open(listen, seq, () => {
      way = byLeader(listen, seq);
      if (isHeard) way.look();
    });
    if (should) way.look();
    else way.rest();
  };
  document.addEventListener("visibilitychange", update);
  // A page that is left has no say any more; from the back-forward cache it may come back.
  addEventListener("pagehide", () => isHeard && ((isHeard = false), way.rest()));
  addEventListener("pageshow", update);
  return {
    look() {
      wants = true;
      if (isHeard) way.look();
      else update();
    },
    rest() {
      wants = false;
      update();
    },
  };
}

function open(hear, seq, onfailure) {
  if (typeof SharedWorker !== "function") return byLeader(hear, seq);
  let worker;
  try {
    worker = new SharedWorker("/lib/stream/worker.js", { type: "module", name: NAME });
  } catch {
    return byLeader(hear, seq);
  }
  worker.addEventListener("error", onfailure, { once: true });
  worker.port.addEventListener("message", ({ data }) => hear(data));
  worker.port.start();
  addEventListener("pagehide", ({ persisted }) => !persisted && worker.port.postMessage({ leaves: true }));
  return {
    look: () => worker.port.postMessage({ looks: true, after: seq() }),
    rest: () => worker.port.postMessage({ looks: false }),
  };
}

/** Lets the page that holds a lock have the connection, and tell the others. Only pages that are looked at ask for the lock. */
function byLeader(hear, seq) {
  if (!navigator.locks || typeof BroadcastChannel !== "function") return alone(hear, seq);
  const channel = new BroadcastChannel(NAME);
  const own = crypto.randomUUID();
  let turn = null; // {controller, release}: asked for the lock, or has it
  let seats = null; // while this page has the lock: a place in its hub for each page
  let looks = false;

  const say = (message) => (seats ? seat(own).hear(message) : channel.postMessage({ from: own, message }));
  const look = () => say({ looks: true, after: seq() });

  function seat(id) {
    if (!seats.pages.has(id)) {
      const tell = id === own ? hear : (message) => channel.postMessage({ to: id, message });
      seats.pages.set(id, seats.hub.join(tell));
    }
    return seats.pages.get(id);
  }

  channel.addEventListener("message", ({ data }) => {
    if (data.leads) looks && look();
    else if (data.to === own) hear(data.message);
    else if (data.from && seats) seat(data.from).hear(data.message);
  });

  function lead(granted) {
    // It was granted in the moment in which this page was hidden: let the next one have it.
    if (granted !== turn) return undefined;
    return new Promise((release) => {
      granted.release = release;
      seats = { hub: new Hub(), pages: new Map() };
      look();
      channel.postMessage({ leads: true });
    });
  }

  return {
    look() {
      looks = true;
      look();
      if (turn) return;
      const mine = (turn = { controller: new AbortController(), release: null });
      navigator.locks.request(NAME, { signal: mine.controller.signal }, () => lead(mine)).catch(() => {});
    },
    rest() {
      looks = false;
      say({ looks: false });
      for (const page of seats?.pages.values() ?? []) page.leave();
      seats = null;
      if (turn?.release) turn.release();
      else turn?.controller.abort();
      turn = null;
    },
  };
}

function alone(hear, seq) {
  const page = new Hub().join(hear);
  return { look: () => page.hear({ looks: true, after: seq() }), rest: () => page.hear({ looks: false }) };
}
