import assert from 'node:assert/strict';
import type { EndpointDeclaration } from '../../server/src/kernel/endpoint/declaration.ts';
import {
  deleteSecondFactor,
  INPUTS,
  type Input,
  type MakeInput,
  nameOf,
  pathOf,
  TAKES_PROOF,
  type World,
} from './endpoint-inputs.ts';
import { newIssuerKey, OutsideIssuer, signed } from './external-issuer.ts';
import { OUTSIDE_ENV } from './external-logins.ts';
import { addCluster, clusterHeaders } from './fleet.ts';
import { addConnection, clientHeaders } from './machines.ts';
import { addColleague, ok, openSession, uniqueName } from './people.ts';
import { idpOf } from './scim-inputs.ts';
import type { CallOptions } from './service.ts';
import { addVault } from './vaults.ts';

/** A request as a page of the reference shows it: a command for a shell. */
export interface ShownRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: unknown;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The first code of the article of an endpoint. */
export function shownRequest(page: string, { name }: EndpointDeclaration): ShownRequest {
  const article = page.slice(page.indexOf(`<article class="endpoint" id="${name}"`));
  const [, markup = ''] = /<figcaption>Request<\/figcaption><pre><code>([^<]*)<\/code>/.exec(article) ?? [];
  const command = markup.replaceAll(/&([a-z0-9#]+);/g, (_, entity: string) => ENTITIES[entity] ?? assert.fail(entity));
  return requestOf(splitArguments(command));
}

/** As a POSIX shell reads them, for what the pages use of it. */
function splitArguments(command: string): string[] {
  const parts = command.replaceAll('\\\n', ' ').matchAll(/(?:'[^']*'|\\'|"[^"]*"|[^\s'"\\])+/g);
  return [...parts].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(')|"([^"]*)"/g, (_, single, quote, double) => single ?? quote ?? double),
  );
}

function requestOf([curl, ...parts]: string[]): ShownRequest {
  assert.equal(curl, 'curl');
  const request: ShownRequest = { method: 'GET', url: new URL('http://nowhere'), headers: {}, body: undefined };
  while (parts.length > 0) {
    const word = String(parts.shift());
    if (word === '-X') request.method = String(parts.shift());
    else if (word === '-d') request.body = JSON.parse(String(parts.shift()));
    else if (word === '-H') {
      const [name = '', value = ''] = String(parts.shift()).split(': ');
      request.headers[name.toLowerCase()] = value;
    } else request.url = new URL(word);
  }
  return request;
}

/** Fields that name what must be there, or hold what only an earlier answer tells; with the endpoint's name, only there. */
const PREPARED_FIELDS = new Set([
  ...['user', 'user_id', 'principal', 'vault', 'id', 'secret_id', 'app_connection_id', 'method_id', 'key_id'],
  ...[
    'current_password',
    'otp',
    'digest',
    'token',
    'envelope',
    'wrapped',
    'signature',
    'document',
    'jwt_svid',
    'id_token',
    'device_code',
    'user_code',
  ],
  ...['login.email', 'login.password', 'operatorSecretByName.name', 'dualVerify.message'],
  'readAnomalyBaselines.resource',
  'createClusterPolicy.path',
  'summarizePath.attack_path_id',
  'validationTasks.vault_id',
]);

/** What is shown, with what was prepared in place of what has to be there. */
function filled(shown: unknown, prepared: unknown, endpoint: string): unknown {
  if (Array.isArray(shown)) return shown.map((each, at) => filled(each, (prepared as unknown[])?.[at], endpoint));
  if (typeof shown !== 'object' || shown === null) return shown;
  const known = (prepared ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(shown).map(([field, value]) => {
      const isPrepared = PREPARED_FIELDS.has(field) || PREPARED_FIELDS.has(`${endpoint}.${field}`);
      return [field, isPrepared && field in known ? known[field] : filled(value, known[field], endpoint)];
    }),
  );
}

export interface Sendable {
  method: string;
  path: string;
  options: CallOptions;
}

/** What stands in for the machine of an example, and for its cluster. */
interface SendingMachine {
  headers: Record<string, string>;
  clusterHeaders: Record<string, string>;
  input: Input;
}

/** Sends examples as the owner, or as the machine or session that an endpoint takes, with the credential that the page shows. */
export class ExampleSender {
  readonly #world: World;
  readonly #issuer: OutsideIssuer;
  readonly #machine: SendingMachine;

  private constructor(world: World, issuer: OutsideIssuer, machine: SendingMachine) {
    this.#world = world;
    this.#issuer = issuer;
    this.#machine = machine;
  }

  static async start(world: World): Promise<ExampleSender> {
    const issuer = await OutsideIssuer.start();
    issuer.keys = [ISSUER_KEY.jwk];
    const { service } = world;
    const vault = await addVault(service);
    const name = 'database/main';
    const { id } = await ok(
      service.call('POST', `/v1/vaults/${vault}/secrets`, { body: { path: name, value: 'x' } }),
      201,
    );
    const machine = await addConnection(service, vault);
    const params = { client_id: machine.client_id, vault, secret: name };
    const cluster = await addCluster(service);
    return new ExampleSender(world, issuer, {
      headers: clientHeaders(machine),
      input: { params: { ...params, cluster_id: cluster.id }, query: { id: String(id), vault, name } },
      clusterHeaders: clusterHeaders(cluster),
    });
  }

  close(): void {
    this.#issuer.close();
  }

  async prepare(declaration: EndpointDeclaration, shown: ShownRequest): Promise<Sendable> {
    const input = await this.#inputFor(declaration);
    const query = filled(Object.fromEntries(shown.url.searchParams), input.query, declaration.name);
    const given = { ...input, query: query as Record<string, string> };
    const path = pathOf(declaration, shown.url.search === '' ? { params: given.params ?? {} } : given);
    const body = filled(shown.body, input.body, declaration.name);
    const options = { ...(await this.#credential(declaration, shown)), ...(shown.body !== undefined && { body }) };
    return { method: shown.method, path, options };
  }

  async #inputFor(declaration: EndpointDeclaration): Promise<Input> {
    if (isForMachinesOnly(declaration) && declaration.format === undefined) return this.#machine.input;
    const name = nameOf(declaration);
    const make: MakeInput | undefined = this.#ownInputs[name] ?? INPUTS[name];
    return (await make?.(this.#world, { isKnown: true, person: this.#world.owner })) ?? {};
  }

  /** Where the input of other tests is another than an example needs. */
  readonly #ownInputs: Record<string, MakeInput> = {
    'POST /v1/policies/simulate': async ({ owner }) => ({ body: { principal: { user: owner.email } } }),
    'POST /app-connections/{connection}/federated-token': async ({ service }) => {
      const connection = (await addConnection(service, await addVault(service))).client_id;
      const sub = 'repo:acme/payments:ref:refs/heads/main';
      const { url: issuer, jwksUrl: jwks_url } = this.#issuer;
      const body = { name: uniqueName('federation'), provider: 'custom', issuer, jwks_url, subject_pattern: sub };
      await ok(service.call('POST', `/app-connections/${connection}/federations`, { body }), 201);
      const iat = Math.floor(service.clock.now() / 1000);
      const claims = { iss: issuer, aud: OUTSIDE_ENV.CV_AUDIENCE, sub, iat, exp: iat + 300 };
      return { params: { connection }, body: { id_token: await signed(ISSUER_KEY, claims) } };
    },
  };

  /** The shell would put the credential in where the command names it. */
  async #credential(declaration: EndpointDeclaration, { headers }: ShownRequest): Promise<CallOptions> {
    if (headers['x-client-id'] === '$COFFER_CLIENT_ID') {
      assert.equal(headers['x-client-secret'], '$COFFER_CLIENT_SECRET');
      return { token: null, headers: this.#machine.headers };
    }
    if (headers['x-cluster-token'] === '$COFFER_CLUSTER_TOKEN') {
      return { token: null, headers: this.#machine.clusterHeaders };
    }
    const { authorization } = headers;
    assert.equal(authorization === undefined, declaration.credentials === 'public', declaration.name);
    if (authorization === undefined) return { token: null };
    if (authorization === 'Bearer $COFFER_SCIM_TOKEN') return { token: (await idpOf(this.#world)).token };
    assert.equal(authorization, 'Bearer $COFFER_TOKEN');
    return { token: await this.#tokenFor(declaration) };
  }

  async #tokenFor({ name, credentials }: EndpointDeclaration): Promise<string> {
    const { service, owner, tenant } = this.#world;
    const withFactor = { mfaAt: service.clock.now() };
    // It requires a second factor of everybody in the tenant, so it is sent in one where nobody else sends anything.
    if (name === 'updateTenantSettings') return (await addColleague(service, tenant.id, 'admin', withFactor)).token;
    if (name === 'trustMfa') {
      const own = await ok(service.call('GET', '/auth/me'));
      return (await addColleague(service, own.tenant.id, 'owner', withFactor)).token;
    }
    if (TAKES_PROOF.has(name)) return openSession(service, owner.id, { isFactorShown: true });
    if (credentials.includes('pat')) return owner.token;
    // Earlier examples may have enrolled one, and changed the password.
    await deleteSecondFactor(service, owner.id);
    return openSession(service, owner.id);
  }
}

const ISSUER_KEY = await newIssuerKey('reference-examples');

function isForMachinesOnly({ credentials }: EndpointDeclaration): boolean {
  return credentials !== 'public' && !credentials.some((kind) => kind === 'pat' || kind === 'session');
}
