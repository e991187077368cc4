import { COPILOT_ENV } from './copilot-inputs.ts';
import type { World } from './endpoint-inputs.ts';
import { newIssuerKey, OutsideIssuer, publicPem, signed } from './external-issuer.ts';
import { exchange, logInWith, OUTSIDE_ENV } from './external-logins.ts';
import { addCluster, callAsCluster } from './fleet.ts';
import { clientHeaders, type DpopKey, type Machine, newDpopKey, proofBy, tlsAgent, tlsCall } from './machines.ts';
import { approved, ok, uniqueName } from './people.ts';
import { idpOf } from './scim-inputs.ts';
import type { Answer } from './service.ts';
import { POLICY_VERSION } from './vaults.ts';

/** How a machine says who it is: `certificate` without client headers, `dpop` with headers, a certificate and a proof, `cluster` and `scim` by their tokens. */
export const MACHINE_CALLERS = ['headers', 'certificate', 'dpop', 'federation', 'workload', 'cluster', 'scim'] as const;
export type MachineCallerKind = (typeof MACHINE_CALLERS)[number];

export interface MachineCaller {
  /** What it is itself, by the names that paths have for it. */
  own: Readonly<Record<string, string>>;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
}

export type MachineCallers = Record<MachineCallerKind, MachineCaller> & { close(): void };

/** What the service must be started with: it calls the issuer, and takes certificates from its callers themselves, not from a proxy. */
export const MACHINE_CALLERS_ENV = {
  CV_OUTBOUND_ALLOW: OUTSIDE_ENV.CV_OUTBOUND_ALLOW,
  CV_AUDIENCE: OUTSIDE_ENV.CV_AUDIENCE,
  ...COPILOT_ENV,
};

const SUBJECT = 'repo:acme/app:ref:refs/heads/main';
const SPIFFE_ID = 'spiffe://prod.example/machine';
const ISSUER_KEY = await newIssuerKey('machine-callers');

/** One machine of each kind, whose policy allows everything in its tenant. The service must have been started with `MACHINE_CALLERS_ENV`. */
export async function makeMachineCallers(world: World): Promise<MachineCallers> {
  const issuer = await OutsideIssuer.start();
  issuer.keys = [ISSUER_KEY.jwk];
  const vault = uniqueName('vault');
  await ok(world.service.call('POST', '/v1/vaults', { body: { name: vault, environment: 'development' } }), 201);
  const policy = await everythingPolicy(world);
  const connect = async (more: Record<string, unknown> = {}) => {
    const { service, owner } = world;
    const machine = await ok(
      service.call('POST', '/v1/app-connections', {
        body: { name: uniqueName('connection'), vault, mtls_required: false, ...more },
      }),
      201,
    );
    const body = { principal: { app_connection: machine.client_id } };
    await approved(service, service.call('POST', `/v1/policies/${policy}/attach`, { body }), owner.token);
    return machine as Machine;
  };
  const dpopKey = await newDpopKey();
  const strict = await connect({ mtls_required: true, require_dpop: true, dpop_jkt: dpopKey.jkt });
  return {
    headers: withHeaders(world, await connect()),
    certificate: withCertificate(world, await connect({ mtls_required: true })),
    dpop: withCertificate(world, strict, dpopKey),
    federation: await withFederation(world, await connect(), issuer),
    workload: await withWorkload(world, await connect()),
    cluster: await withClusterToken(world),
    scim: await withScimToken(world),
    close: () => issuer.close(),
  };
}

async function withClusterToken({ service }: World): Promise<MachineCaller> {
  const cluster = await addCluster(service);
  return {
    own: { cluster_id: cluster.id },
    call: (method, path, body) => callAsCluster(service, cluster, method, path, { body }),
  };
}

async function withScimToken(world: World): Promise<MachineCaller> {
  const { token } = await idpOf(world);
  return {
    own: {},
    call: (method, path, body) => world.service.call(method, path, { token, ...(body !== undefined && { body }) }),
  };
}

function namesOf({ client_id }: Machine): MachineCaller['own'] {
  return { client_id, connection: client_id };
}

async function everythingPolicy({ service }: World): Promise<string> {
  const name = uniqueName('everything');
  const statement = [{ effect: 'allow', action: ['*'], resource: ['*'] }];
  await ok(
    service.call('POST', '/v1/policies', { body: { name, document: { version: POLICY_VERSION, statement } } }),
    201,
  );
  return name;
}

function withHeaders({ service }: World, connection: Machine): MachineCaller {
  return {
    own: namesOf(connection),
    call: (method, path, body) =>
      service.call(method, path, {
        token: null,
        headers: clientHeaders(connection),
        ...(body !== undefined && { body }),
      }),
  };
}

function withCertificate({ service }: World, connection: Machine, key?: DpopKey): MachineCaller {
  const agent = tlsAgent(service, connection);
  return {
    own: namesOf(connection),
    async call(method, path, body) {
      const htu = `${service.tlsUrl}${path.replace(/\?.*/, '')}`;
      const proven = key && {
        ...clientHeaders(connection),
        dpop: await proofBy(key, { htm: method, htu, at: service.clock.now() }),
      };
      const answer = await tlsCall(service, null, path, {
        method,
        agent,
        headers: { ...proven },
        ...(body !== undefined && { body: body as object }),
      });
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      const headers = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
      return { status: answer.status, body: answer.body, text, headers };
    },
  };
}

/** A token lives for minutes, and tests move the clock: one that is over is fetched anew. */
function withToken({ service }: World, connection: Machine, fetchToken: () => Promise<Answer>): MachineCaller {
  let token = '';
  let endsAt = 0;
  return {
    own: namesOf(connection),
    async call(method, path, body) {
      if (service.clock.now() >= endsAt) {
        const { access_token, cv_jwt = access_token, expires_at } = await ok(fetchToken());
        token = cv_jwt;
        endsAt = Date.parse(expires_at);
      }
      return service.call(method, path, { token, ...(body !== undefined && { body }) });
    },
  };
}

async function withFederation(world: World, connection: Machine, issuer: OutsideIssuer): Promise<MachineCaller> {
  const { service } = world;
  const body = {
    name: uniqueName('federation'),
    provider: 'custom',
    issuer: issuer.url,
    jwks_url: issuer.jwksUrl,
    subject_pattern: SUBJECT,
  };
  await ok(service.call('POST', `/app-connections/${connection.client_id}/federations`, { body }), 201);
  return withToken(world, connection, async () => {
    const now = Math.floor(service.clock.now() / 1000);
    const claims = { iss: issuer.url, aud: OUTSIDE_ENV.CV_AUDIENCE, sub: SUBJECT, iat: now, exp: now + 300 };
    return exchange(service, connection.client_id, await signed(ISSUER_KEY, claims));
  });
}

async function withWorkload(world: World, connection: Machine): Promise<MachineCaller> {
  const { service } = world;
  const body = {
    name: uniqueName('method'),
    type: 'spiffe',
    app_connection_id: connection.id,
    config: {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(ISSUER_KEY),
      expected_audience: 'coffer',
      allowed_spiffe_ids: [SPIFFE_ID.replaceAll('.', '\\.')],
    },
  };
  const method = await ok(service.call('POST', '/workload-identity/methods', { body }), 201);
  return withToken(world, connection, async () => {
    const exp = Math.floor(service.clock.now() / 1000) + 60;
    const jwt_svid = await signed(ISSUER_KEY, { sub: SPIFFE_ID, aud: 'coffer', exp });
    return logInWith(service, { method_id: method.id, jwt_svid });
  });
}
