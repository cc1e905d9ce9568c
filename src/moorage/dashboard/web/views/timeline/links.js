/**
 * Leads from names in entries to the panel of a pod and the page of a node, where these exist in what is shown; others are text.
 *
 *   linked("created Pod web-1 and 2 more", "shop")    the names of pods of the namespace become links
 *   subject(entry)                                     the pod or node of an entry
 */
import { address } from "../../lib/address.js";
import { cluster } from "../../lib/cluster.js";
import { h } from "../../lib/dom.js";
import { podLink } from "../../parts/pod/link.js";

const NAME = /([a-z0-9](?:[-a-z0-9./]*[a-z0-9])?)/;

export function linked(text, namespace = "") {
  if (!text) return [];
  return text.split(NAME).map((part, index) => (index % 2 ? nameOf(part, namespace) : part));
}

export function subject(entry) {
  if (entry.kind === "node") return nodeLink(entry.subject);
  return isPod(entry.subject) ? podLink(entry.subject) : entry.subject;
}

export function isPod(key) {
  return cluster.pods.has(key);
}

export function podOrText(key, text = key) {
  return isPod(key) ? podLink(key, text) : text;
}

export function nodeLink(name) {
  return cluster.nodes.has(name) ? h("a", { href: address.href("map", { node: name }) }, name) : name;
}

/** In a row that opens by a click: a link in it is followed without that, and Tab goes from row to row. */
export function inRow(content) {
  const box = h("span", { onclick: (event) => event.target.closest("a") && event.stopPropagation() }, content);
  for (const link of box.querySelectorAll("a")) link.tabIndex = -1;
  return box;
}

function nameOf(part, namespace) {
  const key = part.includes("/") ? part : `${namespace}/${part}`;
  return isPod(key) ? podLink(key, part) : part;
}
