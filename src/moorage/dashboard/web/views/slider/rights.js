/**
 * Asks whether the kubeconfig may write what the changes need: what it may not do is not offered.
 *
 *   const why = await whyForbidden(changes);    "" where everything is allowed
 */
import { act } from "../../lib/api.js";
import { kindOf } from "./changes.js";

/** So many nodes are asked about by name; of more, whether any node may be changed. */
const BY_NAME = 20;
const GROUPS = { replicationcontroller: ["v1", "ReplicationController"], deployment: ["apps/v1", "Deployment"], statefulset: ["apps/v1", "StatefulSet"], replicaset: ["apps/v1", "ReplicaSet"] };

export async function whyForbidden(changes) {
  const asks = changes.flatMap(needed);
  if (!asks.length) return "";
  try {
    const answer = await act("rights", { asks: asks.slice(0, 100) });
    return answer.rights.find((one) => !one.allowed)?.reason ?? "";
  } catch (error) {
    return error.message;
  }
}

function needed(change) {
  const kind = kindOf(change);
  const what = change[kind];
  if (kind === "scale") {
    const [word, namespace, name] = what.workload.split("/");
    const [apiVersion, workload] = GROUPS[word] ?? GROUPS.deployment;
    return [{ verb: "patch", apiVersion, kind: workload, namespace, name }];
  }
  if (kind === "deviceTaint") {
    const rule = { apiVersion: "resource.k8s.io/v1beta2", kind: "DeviceTaintRule" };
    return ["create", "patch"].map((verb) => ({ verb, ...rule }));
  }
  const names = what.nodes;
  const node = { verb: "patch", apiVersion: "v1", kind: "Node" };
  return Array.isArray(names) && names.length <= BY_NAME ? names.map((name) => ({ ...node, name })) : [node];
}
