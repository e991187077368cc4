import { MINUTE_MS, SECOND_MS } from '../../server/src/kernel/base/clock.ts';
import { newIssuerKey, OutsideIssuer, publicPem, signed } from '../support/external-issuer.ts';
import {
  addConnection,
  clientHeaders,
  type DpopKey,
  type Machine,
  newDpopKey,
  type Shown,
} from '../support/machines.ts';
import { METRICS_TOKEN } from '../support/metrics-token.ts';
import { ok, uniqueName } from '../support/people.ts';
import type { Service } from '../support/service.ts';
import { testAuthority } from '../support/test-authority.ts';
import { addVault } from '../support/vaults.ts';
import { anyOf, type Caller, known, needsOther, type Rule, stranger, withToken } from './caller.ts';
import { clusterCallers } from './cluster-callers.ts';
import { bearer, boundTo, type Credential, type Header, misfits, type Prover, proofOf } from './credentials.ts';
import type { Sighting } from './pool.ts';
import type { Sent } from './request.ts';
import { scimCallers } from './scim-callers.ts';

/** Where machines are at home, and who else is there. */
export interface ChangeHooks {
  service: Service;
  vault: string;
  /** What is in the vault. */
  home: Sighting;
  /** Of an admin there. */
  adminToken: string;
  /** Of somebody who may make connections in another tenant. */
  foreignToken: string;
}

export interface MachineCallers {
  all: Caller[];
  protected: string[];
  close(): void;
}

/** What a connection may do whatever its scopes are: its own certificate it may renew. */
const ANYWAY = ['none', 'app_connections:rotate'];

/** Every kind of credential that machines have, with each proof that can go with it, and each of them with something wrong about it. */
export async function machineCallers(around: ChangeHooks): Promise<MachineCallers> {
  const { service, vault, adminToken } = around;
  const connection = (more = {}) => addConnection(service, vault, more);
  const key = await newDpopKey();
  // The first is number 1, which somebody will try to delete: none of the others may be that.
  const plain = await connection();
  const certified = await connection({ mtls_required: true });
  const proving = await connection({ require_dpop: true, dpop_jkt: key.jkt });
  const workload = await connection();
  const method = uniqueName('method');
  const pipeline = await connection();
  const boundPipeline = await connection({ mtls_required: true });
  const issuer = await OutsideIssuer.start();
  const prover = { service, key, origin: service.url };
  const clusters = await clusterCallers(around);
  const providers = await scimCallers(around);
  const all: Caller[] = [
    machine(around, plain, 'a machine for one vault', 'connection', () => headersOf(plain)),
    // Where a certificate says nothing, it neither adds to a token nor takes from it.
    withToken('an admin who shows a certificate', adminToken, { certificate: () => plain, weight: 1 }),
    strangerTo(around, plain, 'somebody with two credentials', () => [...bearer(adminToken), ...headersOf(plain)]),
    ...(await certifiedCallers(around, certified, plain, key)),
    machine(around, proving, 'a machine with a key', 'connection', withProof(prover, proving), { isOnce: true }),
    ...strangersWithoutKey(around, proving, prover),
    ...(await workloadCallers(around, workload, method, prover)),
    ...(await pipelineCallers(around, issuer, { plain: pipeline, bound: boundPipeline }, key)),
    ...clusters.all,
    ...providers.all,
    known('Prometheus', 'metrics', () => bearer(METRICS_TOKEN), {
      isBreach: needsOther(['metrics']),
      seesNames: false,
      seesValues: false,
      weight: 0.5,
    }),
    stranger('somebody with another token of Prometheus', () => bearer(`${METRICS_TOKEN}x`), { weight: 0.5 }),
  ];
  const machines = [plain, certified, proving, workload, pipeline, boundPipeline];
  const guarded = machines.flatMap((one) => [one.client_id, one.name, ...(one['vault_ids'] as string[])]);
  return {
    all,
    protected: [...guarded, ...clusters.protected, ...providers.protected, method, FEDERATION],
    close: () => issuer.close(),
  };
}

function machine(
  { home }: ChangeHooks,
  own: Machine,
  name: string,
  kind: string,
  credential: Credential,
  rules: Partial<Caller> = {},
): Caller {
  return known(name, kind, credential, {
    isBreach: beyondScopes(own, rules.kinds ?? [kind]),
    seesNames: false,
    seesValues: false,
    home: { ...home, client_id: own.client_id },
    ...rules,
  });
}

function beyondScopes({ scopes }: Machine, kinds: readonly string[]): Rule {
  const allowed = [...ANYWAY, ...(scopes as string[])];
  return anyOf(needsOther(kinds), ({ isPublic, permission }) => !isPublic && !allowed.includes(permission));
}

/** Somebody who knows of what is the machine's, so that what is requested would be there. */
function strangerTo(
  { home }: ChangeHooks,
  { client_id }: Machine,
  name: string,
  credential: Credential,
  shown: Shown | null = null,
): Caller {
  return stranger(name, credential, { weight: 0.5, certificate: () => shown, home: { ...home, client_id } });
}

function headersOf(connection: Machine): Header[] {
  return Object.entries(clientHeaders(connection));
}

function withProof(prover: Prover, connection: Machine): Credential {
  return async (sent) => [...headersOf(connection), await proofOf(prover, sent)];
}

/** One connection by its secret and certificate, by its certificate alone, and by that and a proof. */
async function certifiedCallers(around: ChangeHooks, own: Machine, other: Machine, key: DpopKey): Promise<Caller[]> {
  const { service, foreignToken } = around;
  const revoked = { certificate: own.certificate, private_key: own.private_key };
  const renew = async () => {
    // One of the requests may have lowered the limits of the tenant to almost nothing.
    service.clock.advance(MINUTE_MS);
    const path = `/v1/app-connections/${own.client_id}/rotate`;
    const { certificate, private_key } = await ok(service.call('POST', path, { body: { certificate: true } }));
    Object.assign(own, { certificate, private_key });
  };
  await renew();
  const foreign = await addConnection(service, await addVault(service, {}, foreignToken), {}, foreignToken);
  const self = await (await testAuthority()).issue({ cn: own.client_id });
  const selfMade = { certificate: self.pem, private_key: await self.keyPem() };
  const prover = { service, key, origin: service.tlsUrl };
  const rules = { certificate: () => own, renew, weight: 1 };
  const secret = () => headersOf(own);
  const named = (): Header[] => [['x-client-id', own.client_id]];
  const namedAndProven = async (sent: Sent) => [...named(), await proofOf(prover, sent)];
  return [
    machine(around, own, 'a machine with its certificate', 'connection', secret, rules),
    machine(around, own, 'a certificate alone', 'certificate', () => [], rules),
    machine(around, own, 'a certificate with a proof', '', async (sent) => [await proofOf(prover, sent)], {
      ...rules,
      kinds: ['certificate', 'bound_certificate'],
      isOnce: true,
    }),
    strangerTo(around, own, 'a machine without its certificate', secret),
    strangerTo(around, own, 'a machine with the certificate of another', secret, other),
    strangerTo(around, own, 'a machine with a certificate of another tenant', secret, foreign),
    strangerTo(around, own, 'a machine with a revoked certificate', secret, revoked),
    strangerTo(around, own, 'a machine with a certificate that it made itself', secret, selfMade),
    strangerTo(around, own, 'a certificate of another machine', namedAndProven, other),
    strangerTo(around, own, 'a certificate of another tenant', namedAndProven, foreign),
    strangerTo(around, own, 'a revoked certificate', namedAndProven, revoked),
    strangerTo(around, own, 'a certificate that nobody issued', namedAndProven, selfMade),
  ];
}

function strangersWithoutKey(around: ChangeHooks, own: Machine, prover: Prover): Caller[] {
  const otherKey = newDpopKey();
  const misfit = misfits(prover.service);
  const wrongKey = async (sent: Sent) => [...headersOf(own), await proofOf({ ...prover, key: await otherKey }, sent)];
  const wrongProof = async (sent: Sent) => {
    const claims = misfit(sent);
    return [...headersOf(own), await proofOf(prover, sent, claims)];
  };
  return [
    strangerTo(around, own, 'a machine without its key', () => headersOf(own)),
    strangerTo(around, own, 'a machine with another key', wrongKey),
    strangerTo(around, own, 'a machine with a proof of something else', wrongProof),
    strangerTo(around, own, 'a machine with a wrong secret', () => [
      ['x-client-id', own.client_id],
      ['x-client-secret', `Svc_${'x'.repeat(43)}`],
    ]),
  ];
}

const SPIFFE_ID = 'spiffe://prod.example/shop';

/** A workload with an identity from outside, which it exchanges for a token again and again. */
async function workloadCallers(around: ChangeHooks, own: Machine, name: string, prover: Prover): Promise<Caller[]> {
  const { service } = around;
  const key = await newIssuerKey('1');
  const method = {
    name,
    type: 'spiffe',
    app_connection_id: own.id,
    config: {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(key),
      expected_audience: 'coffer',
      allowed_spiffe_ids: [SPIFFE_ID.replaceAll('.', '\\.')],
    },
  };
  const { id } = await ok(service.call('POST', '/workload-identity/methods', { body: method }), 201);
  const path = '/workload-identity/login';
  const logIn = async (...headers: Header[]) => {
    const exp = Math.floor(service.clock.now() / SECOND_MS) + 60;
    const body = { method_id: id, jwt_svid: await signed(key, { sub: SPIFFE_ID, aud: 'coffer', exp }) };
    const options = { token: null, body, headers: Object.fromEntries(headers) };
    return (await ok(service.call('POST', path, options))).cv_jwt as string;
  };
  const token = await renewed(service, () => logIn());
  const bound = await renewed(service, async () => logIn(await proofOf(prover, { method: 'POST', path })));
  return [
    machine(around, own, 'a workload for one vault', 'workload', () => bearer(token.current), { renew: token.renew }),
    machine(around, own, 'a workload with a key', 'workload', (sent) => boundTo(prover, bound.current, sent), {
      renew: bound.renew,
      isOnce: true,
      weight: 1,
    }),
    strangerTo(around, own, 'a workload without its key', () => bearer(bound.current)),
  ];
}

const FEDERATION = 'pipelines-of-callers';
const AUDIENCE = 'coffer';
const SUBJECT = 'repo:acme/app:ref:refs/heads/main';

interface Exchanged extends Shown {
  access_token: string;
}

/** Pipelines that exchange the id_token of their CI system: for a token that opens alone, and for one that takes the certificate and the key too. */
async function pipelineCallers(
  around: ChangeHooks,
  issuer: OutsideIssuer,
  { plain, bound }: { plain: Machine; bound: Machine },
  key: DpopKey,
): Promise<Caller[]> {
  const { service } = around;
  const issuerKey = await newIssuerKey('ci');
  issuer.keys = [issuerKey.jwk];
  const federation = {
    name: FEDERATION,
    provider: 'custom',
    issuer: issuer.url,
    jwks_url: issuer.jwksUrl,
    audience: AUDIENCE,
    subject_pattern: SUBJECT,
    token_ttl_seconds: 3600,
  };
  const exchange = async ({ client_id }: Machine, ...headers: Header[]): Promise<Exchanged> => {
    const iat = Math.floor(service.clock.now() / SECOND_MS);
    const claims = { iss: issuer.url, aud: AUDIENCE, sub: SUBJECT, iat, exp: iat + 60 };
    const body = { id_token: await signed(issuerKey, claims) };
    const options = { token: null, body, headers: Object.fromEntries(headers) };
    return ok(service.call('POST', exchangeOf(client_id), options));
  };
  for (const { id } of [plain, bound]) {
    await ok(service.call('POST', `/app-connections/${id}/federations`, { body: federation }), 201);
  }
  const atExchange = { service, key, origin: service.url };
  const prover = { service, key, origin: service.tlsUrl };
  const run = await renewed(service, () => exchange(plain));
  const boundRun = await renewed(service, async () =>
    exchange(bound, await proofOf(atExchange, { method: 'POST', path: exchangeOf(bound.client_id) })),
  );
  const certificate = () => boundRun.current;
  const whole: Credential = (sent) => boundTo(prover, boundRun.current.access_token, sent);
  const onMain: Credential = (sent) => boundTo(atExchange, boundRun.current.access_token, sent);
  const rules = { renew: boundRun.renew, weight: 1, certificate };
  return [
    machine(around, plain, 'a pipeline', 'federation', () => bearer(run.current.access_token), { renew: run.renew }),
    machine(around, bound, 'a pipeline with certificate and key', 'federation', whole, { ...rules, isOnce: true }),
    machine(around, bound, 'the certificate of a pipeline alone', 'certificate', () => [], {
      ...rules,
      // What ends with the run must not become something that outlives it.
      isBreach: anyOf(beyondScopes(bound, ['certificate']), ({ id }) => id === 'rotateConnection'),
    }),
    strangerTo(around, bound, 'a pipeline without its certificate', onMain),
    strangerTo(around, bound, 'a pipeline with the certificate of its connection', whole, bound),
    {
      ...strangerTo(around, bound, 'a pipeline without its key', () => bearer(boundRun.current.access_token)),
      certificate,
    },
  ];
}

function exchangeOf(clientId: string): string {
  return `/app-connections/${clientId}/federated-token`;
}

interface Renewed<T> {
  current: T;
  renew(): Promise<void>;
}

async function renewed<T>(service: Service, get: () => Promise<T>): Promise<Renewed<T>> {
  const held: Renewed<T> = {
    current: await get(),
    renew: async () => {
      // Exchanges are counted by the minute and address, and all are at one.
      service.clock.advance(MINUTE_MS);
      held.current = await get();
    },
  };
  return held;
}
