/** Holds the one connection of all pages of this browser: the script of a SharedWorker. */
import { Hub } from "./hub.js";

const hub = new Hub();

addEventListener("connect", ({ ports: [port] }) => {
  const page = hub.join((message) => port.postMessage(message));
  port.addEventListener("message", ({ data }) => (data.leaves ? page.leave() : page.hear(data)));
  // Not every browser has it: pages also say that they leave.
  port.addEventListener("close", () => page.leave());
  port.start();
});
