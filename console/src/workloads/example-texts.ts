import type { Example } from '../ui/example.ts';

export type WorkloadType = 'k8s_sa' | 'aws_iam' | 'gcp_iam' | 'azure_msi' | 'oidc_generic' | 'spiffe';

export interface WorkloadFacts {
  readonly url: string;
  readonly methodId: number;
  readonly audience: string;
  readonly vault: string;
}

/** Where the credential of a workload comes from, and the field of the login that it goes into. */
const SOURCES: Readonly<Record<Exclude<WorkloadType, 'aws_iam'>, (audience: string) => [field: string, from: string]>> =
  {
    k8s_sa: () => ['k8s_token', 'cat /var/run/secrets/coffer/token'],
    gcp_iam: (audience) => [
      'gcp_jwt',
      `curl -sS --fail -G -H 'Metadata-Flavor: Google' \\
  -d format=full --data-urlencode 'audience=${audience}' \\
  http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity`,
    ],
    azure_msi: (audience) => [
      'azure_jwt',
      `curl -sS --fail -G -H 'Metadata: true' \\
  -d api-version=2018-02-01 --data-urlencode 'resource=${audience}' \\
  http://169.254.169.254/metadata/identity/oauth2/token | jq -er .access_token`,
    ],
    oidc_generic: () => ['oidc_token', 'cat "$OIDC_TOKEN_FILE"'],
    spiffe: (audience) => [
      'jwt_svid',
      `spire-agent api fetch jwt -audience '${audience}' -output json | jq -er '.[0].svids[0].svid'`,
    ],
  };

export function workloadExamples(type: WorkloadType, facts: WorkloadFacts): Example[] {
  const client = { title: 'Node.js', code: clientCode(type, facts) };
  if (type === 'aws_iam') return [{ title: 'Python', code: awsCode(facts) }];
  const shell = { title: 'Shell', code: shellCode(type, facts) };
  return type === 'k8s_sa' ? [{ title: 'Pod', code: podCode(facts) }, shell, client] : [shell, client];
}

function shellCode(type: Exclude<WorkloadType, 'aws_iam'>, { url, methodId, audience, vault }: WorkloadFacts): string {
  const [field, from] = SOURCES[type](audience);
  return `IDENTITY=$(${from})
TOKEN=$(printf %s "$IDENTITY" | jq -R '{method_id: ${methodId}, ${field}: .}' |
  curl -sS --fail-with-body -H 'Content-Type: application/json' -d @- \\
    '${url}/workload-identity/login' | jq -er .cv_jwt)
printf 'Authorization: Bearer %s' "$TOKEN" |
  curl -sS --fail-with-body -H @- \\
    '${url}/v1/vaults/${vault}/secrets/PATH' | jq -er .value
`;
}

function clientCode(type: WorkloadType, { url, methodId, vault }: WorkloadFacts): string {
  const field = type === 'aws_iam' ? 'aws_signed_url' : SOURCES[type]('')[0];
  return `import { readFile } from 'fs/promises';
import { Coffer } from '@coffer/client';

const coffer = new Coffer({
  url: '${url}',
  auth: {
    workload: {
      methodId: ${methodId},
      credential: async () => ({ ${field}: (await readFile(process.env.IDENTITY_FILE, 'utf8')).trim() }),
    },
  },
});
const { value } = await coffer.secrets.get('${vault}', 'PATH');
`;
}

function podCode({ audience }: WorkloadFacts): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: checkout
  namespace: NAMESPACE
spec:
  serviceAccountName: SERVICE_ACCOUNT
  containers:
    - name: checkout
      image: IMAGE
      volumeMounts:
        - name: coffer
          mountPath: /var/run/secrets/coffer
          readOnly: true
  volumes:
    - name: coffer
      projected:
        sources:
          - serviceAccountToken:
              path: token
              audience: ${audience}
              expirationSeconds: 600
`;
}

function awsCode({ url, methodId, audience, vault }: WorkloadFacts): string {
  return `import boto3
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from coffer import Coffer, workload_auth

def identity():
    session = boto3.Session()
    region = session.region_name
    headers = {"X-Coffer-Audience": "${audience}"}
    request = AWSRequest(
        method="GET",
        url=f"https://sts.{region}.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
        headers=headers,
    )
    SigV4QueryAuth(session.get_credentials(), "sts", region, expires=900).add_auth(request)
    return {"aws_signed_url": request.url, "aws_signed_headers": headers}

with Coffer("${url}", auth=workload_auth(${methodId}, identity)) as coffer:
    value = coffer.secrets.get("${vault}", "PATH").value
`;
}
