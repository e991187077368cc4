import { BearerToken, type IssuedToken, issuedToken } from './bearer-token.ts';
import { SealError } from './provider.ts';
import { misconfigured } from './reference.ts';
import { ServiceCalls } from './service-calls.ts';
import {
  credentialFile,
  METADATA_ADDRESS,
  type SealSurroundings,
  type SealVariable,
  variable,
} from './surroundings.ts';

export const AZURE_VARIABLES: readonly SealVariable[] = [
  { name: 'AZURE_TENANT_ID', doc: 'Directory of the application.', secret: false },
  {
    name: 'AZURE_CLIENT_ID',
    doc: 'Id of the application, or of the managed identity if the machine has several.',
    secret: false,
  },
  {
    name: 'AZURE_FEDERATED_TOKEN_FILE',
    doc: 'File with the token of the workload, as AKS sets it for workload identity.',
    secret: false,
  },
  { name: 'AZURE_CLIENT_SECRET', doc: 'Secret of the application.', secret: true },
  {
    name: 'AZURE_CLIENT_SECRET_FILE',
    doc: 'File with that secret. Without a token or a secret, the managed identity of the machine is used.',
    secret: false,
  },
];

const ID = /^[A-Za-z0-9.-]{1,128}$/;

/** Where tokens are given for a resource. */
export interface AzureCloud {
  /** Such as `https://login.microsoftonline.com`. */
  readonly login: string;
  /** Such as `https://vault.azure.net`. */
  readonly resource: string;
}

/** The access token of this workload for Azure. */
export function azureToken(surroundings: SealSurroundings, cloud: AzureCloud): BearerToken {
  const value = (name: string) => variable(surroundings, name);
  const [token, secret, file] = ['AZURE_FEDERATED_TOKEN_FILE', 'AZURE_CLIENT_SECRET', 'AZURE_CLIENT_SECRET_FILE'].map(
    value,
  );
  if ([token, secret, file].filter((one) => one != null).length > 1)
    throw misconfigured('Set one of AZURE_FEDERATED_TOKEN_FILE, AZURE_CLIENT_SECRET and AZURE_CLIENT_SECRET_FILE.');
  return new BearerToken(surroundings.clock, async () => {
    if (secret != null) return fromApplication(surroundings, cloud, { client_secret: secret });
    if (file != null) {
      const text = credentialFile(surroundings, 'AZURE_CLIENT_SECRET_FILE', file);
      return fromApplication(surroundings, cloud, { client_secret: text });
    }
    if (token == null) return fromMachine(surroundings, cloud);
    return fromApplication(surroundings, cloud, {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: credentialFile(surroundings, 'AZURE_FEDERATED_TOKEN_FILE', token),
    });
  });
}

async function fromApplication(
  surroundings: SealSurroundings,
  { login, resource }: AzureCloud,
  proof: Record<string, string>,
): Promise<IssuedToken> {
  const [tenant, client] = [variable(surroundings, 'AZURE_TENANT_ID'), variable(surroundings, 'AZURE_CLIENT_ID')];
  if (tenant === null || client === null || !ID.test(tenant) || !ID.test(client))
    throw misconfigured('An application of Azure needs its ids in AZURE_TENANT_ID and AZURE_CLIENT_ID.');
  const calls = new ServiceCalls('The sign-in of Azure', surroundings);
  const form = { grant_type: 'client_credentials', client_id: client, scope: `${resource}/.default`, ...proof };
  const answer = await calls.send({
    url: `${login}/${tenant}/oauth2/v2.0/token`,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });
  if (answer.status >= 400 && answer.status < 500 && answer.status !== 429)
    throw new SealError(
      'denied',
      'Azure refused to sign this workload in. Check AZURE_TENANT_ID and AZURE_CLIENT_ID, that the secret has not expired, and that the federated credential names the issuer and subject of the token.',
    );
  if (answer.status !== 200) throw calls.refusal(answer.status);
  return issuedToken(calls, calls.json(answer));
}

async function fromMachine(surroundings: SealSurroundings, { resource }: AzureCloud): Promise<IssuedToken> {
  const { machine } = surroundings;
  if (machine === null)
    throw misconfigured('The credentials for Azure need AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET.');
  const calls = new ServiceCalls('The managed identity of Azure', { ...surroundings, http: machine });
  const client = variable(surroundings, 'AZURE_CLIENT_ID');
  const query = new URLSearchParams({
    'api-version': '2018-02-01',
    resource,
    ...(client !== null && { client_id: client }),
  });
  const answer = await calls.send({
    url: `http://${METADATA_ADDRESS}/metadata/identity/oauth2/token?${query}`,
    method: 'GET',
    headers: { metadata: 'true' },
  });
  if (answer.status === 400)
    throw new SealError(
      'denied',
      'This machine has no such managed identity. Assign one, and name it in AZURE_CLIENT_ID if there are several.',
    );
  // It is documented to be away for up to 70 seconds, and to say so with 404 and 410.
  if (answer.status === 404 || answer.status === 410) throw calls.refusal(503);
  if (answer.status !== 200) throw calls.refusal(answer.status);
  return issuedToken(calls, calls.json(answer));
}
