/** Lists rules to begin with: the stories of the KEPs, each with nodes to try it on, and one made from the cluster. */

import { reading } from "../../lib/readings.js";

const SLA = "ondemand-1 node.kubernetes.io/sla=950:NoExecute\nondemand-2 node.kubernetes.io/sla=999:NoExecute\nspot-1 node.kubernetes.io/sla=800:NoSchedule\nspot-2 node.kubernetes.io/sla=750:NoSchedule\nunrated node.kubernetes.io/sla=unknown:NoSchedule\nplain";
const KERNELS = "old node.example.com/kernel-version=5.4.0:NoSchedule\nlts node.example.com/kernel-version=5.15.0:NoSchedule\nnew node.example.com/kernel-version=6.1.0:NoSchedule\nshort node.example.com/kernel-version=6.8:NoSchedule\nplain";
const VERSIONS = "n1 node.kubernetes.io/kubelet-version=v1.31.4\nn2 node.kubernetes.io/kubelet-version=v1.32.0\nn3 node.kubernetes.io/kubelet-version=v1.36.4-rc.1\nn4 node.kubernetes.io/kubelet-version=custom\nn5";

export const EXAMPLES = [
  {
    group: "Numbers (KEP-5471)",
    title: "Opt in to spot nodes above an SLA",
    kind: "tolerations",
    text: '- key: node.kubernetes.io/sla\n  operator: Gt\n  value: "750"\n  effect: NoSchedule\n',
    taints: SLA,
  },
  {
    group: "Numbers (KEP-5471)",
    title: "At least: Equal and Gt together",
    kind: "tolerations",
    text: '- key: node.kubernetes.io/sla\n  operator: Equal\n  value: "950"\n- key: node.kubernetes.io/sla\n  operator: Gt\n  value: "950"\n',
    taints: SLA,
  },
  {
    group: "Numbers (KEP-5471)",
    title: "Evicted after 30 s although the threshold holds",
    kind: "tolerations",
    text: '- key: node.kubernetes.io/sla\n  operator: Gt\n  value: "900"\n  effect: NoExecute\n  tolerationSeconds: 30\n',
    taints: SLA,
  },
  {
    group: "Versions (KEP-5721)",
    title: "Tolerate an older CNI",
    kind: "tolerations",
    text: '- key: cni.projectcalico.org/version\n  operator: SemverLt\n  value: v3.28.0\n  effect: NoSchedule\n',
    taints: "old-cni-1 cni.projectcalico.org/version=v3.27.2:NoSchedule\nold-cni-2 cni.projectcalico.org/version=v3.9:NoSchedule\nnew-cni cni.projectcalico.org/version=v3.28.0:NoSchedule\nodd cni.projectcalico.org/version=master:NoSchedule",
  },
  {
    group: "Versions (KEP-5721)",
    title: "Kubelet newer than v1.31.99",
    kind: "affinity",
    text: 'nodeAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n    nodeSelectorTerms:\n    - matchExpressions:\n      - key: node.kubernetes.io/kubelet-version\n        operator: SemverGt\n        values: ["v1.31.99"]\n',
    taints: VERSIONS,
  },
  {
    group: "CEL (KEP-5500)",
    title: "A family of taints by the prefix of their key",
    kind: "cel",
    text: "taint.key.startsWith('env.example.com/')",
    taints: "node-1 env.example.com/dev:NoSchedule env.example.com/staging:NoSchedule\nnode-2 env.example.com/testing:NoSchedule\nnode-3 team.example.com/a:NoSchedule",
  },
  {
    group: "CEL (KEP-5500)",
    title: "A kernel above 5.15",
    kind: "cel",
    text: "taint.key == 'node.example.com/kernel-version' &&\n  semver(taint.value).isGreaterThan(semver('5.15.0'))",
    taints: KERNELS,
  },
  {
    group: "CEL (KEP-5500)",
    title: "Racks of two zones by a pattern",
    kind: "tolerations",
    text: "- expression: \"taint.key.matches('^zone-a[12]-rack-[0-9]+$')\"\n",
    taints: "n1 zone-a1-rack-03:NoSchedule\nn2 zone-a2-rack-15:NoSchedule\nn3 zone-b1-rack-07:NoSchedule",
  },
  {
    group: "CEL (KEP-5500)",
    title: "Too complex: the size of a part is unknown",
    kind: "cel",
    text: "taint.key.split('/')[1].contains('spot')",
    taints: "n1 example.com/spot:NoSchedule",
  },
  {
    group: "Pods (KEP-3633)",
    title: "Near pods of the same revision only",
    kind: "affinity",
    text: "podAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n  - labelSelector:\n      matchExpressions:\n      - key: app\n        operator: In\n        values: [database]\n    topologyKey: topology.kubernetes.io/zone\n    matchLabelKeys: [pod-template-hash]\n",
    taints: null,
  },
];

/** A rule about a taint of the cluster: a number or version is compared, anything else is equal. */
export async function fromCluster(nodes) {
  const values = new Map();
  for (const node of nodes) {
    for (const { key, value, effect } of node.taints ?? []) {
      if (key.startsWith("node.kubernetes.io/") || key.startsWith("node-role.kubernetes.io/")) continue;
      if (!values.has(key)) values.set(key, { effect, found: new Set() });
      values.get(key).found.add(value ?? "");
    }
  }
  if (!values.size) return EXAMPLES[0];
  const read = await reading([...values.values()].flatMap(({ found }) => [...found])).catch(() => ({ numbers: new Map(), versions: [] }));
  const forms = [...values].map(([key, { effect, found }]) => {
    const numbers = [...read.numbers.keys()].filter((one) => found.has(one));
    const versions = read.versions.filter((one) => found.has(one));
    if (numbers.length) return { key, effect, found, rank: 2, operator: "Lt", value: numbers[Math.floor(numbers.length / 2)] };
    if (versions.length) return { key, effect, found, rank: 1, operator: "SemverGt", value: versions[0] };
    return { key, effect, found, rank: 0, operator: "Equal", value: [...found].sort()[Math.floor(found.size / 2)] };
  });
  const [{ key, effect, operator, value }] = forms.sort((one, other) => other.rank - one.rank || other.found.size - one.found.size);
  const rest = value === "" ? "  operator: Exists\n" : `  operator: ${operator}\n  value: ${JSON.stringify(value)}\n`;
  return { kind: "tolerations", text: `- key: ${key}\n${rest}  effect: ${effect}\n`, taints: null };
}
