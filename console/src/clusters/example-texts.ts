import type { Example } from '../ui/example.ts';

/** How the operator of a cluster, or the agent of a host, is started with the token of the cluster. */
export function clusterExamples(kind: 'kubernetes' | 'hosts', url: string, clusterId: string): Example[] {
  if (kind === 'hosts') {
    return [
      {
        title: 'systemd',
        code: `# /etc/coffer-agent/environment
CV_URL=${url}
CV_CLUSTER_ID=${clusterId}

# Then, with the token in /etc/coffer-agent/cluster-token (mode 0600):
#   systemctl enable --now coffer-agent
`,
      },
    ];
  }
  return [
    {
      title: 'Helm',
      code: `kubectl create namespace coffer
kubectl -n coffer create secret generic coffer-cluster-token --from-file=cluster-token=cluster.token
helm -n coffer install coffer-operator deploy/operator/chart \\
  --set url=${url},clusterId=${clusterId} \\
  --set 'namespaces={default}' --set image=REGISTRY/coffer-agent:TAG
`,
    },
  ];
}
