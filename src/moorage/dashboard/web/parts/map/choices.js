/** Lists what the map can be coloured by: resources, devices, taints, versions, labels and workloads of this cluster. */
import { count, natural, number } from "../../lib/format.js";
import { labelKeys, taintKeys } from "./grouping.js";

const USUAL = ["cpu", "memory", "pods"];

export function colouringOptions(rows, workloads) {
  const resources = new Set(USUAL);
  const drivers = new Set();
  for (const row of rows) {
    for (const name in row.resources) resources.add(name);
    for (const name in row.devices) drivers.add(name);
  }
  const options = [{ value: "none", text: "nothing" }];
  const add = (group, value, text, hint) => options.push({ value, text, hint, group });
  const more = [...resources].filter((name) => !USUAL.includes(name)).sort(natural);
  for (const name of [...USUAL, ...more]) add("Requested share of", `resource:${name}`, name);
  for (const name of [...drivers].sort(natural)) add("Devices in use of driver", `device:${name}`, name);
  for (const { key, nodes } of taintKeys(rows)) add("Value of taint", `taint:${key}`, key, count(nodes, "node"));
  add("Version", "version", "kubelet version");
  for (const { key, values } of labelKeys(rows)) add("Value of label", `label:${key}`, key, count(values.size, "value"));
  const named = [...workloads].sort((a, b) => natural(a[0], b[0]));
  for (const [name, pods] of named) add("Pods of workload", `workload:${name}`, name, `${number(pods)} pods`);
  return options;
}
