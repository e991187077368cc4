import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newIssuerKey, publicPem, signed } from '../test/support/external-issuer.ts';
import { OUTSIDE_ENV } from '../test/support/external-logins.ts';
import { OidcIssuer } from '../test/support/oidc-issuer.ts';
import { presigned, StsServer } from '../test/support/sts.ts';
import { TokenReviewServer } from '../test/support/token-review.ts';
import { CASE_COLUMNS, type Case, measureCases, type Settings } from './cases.ts';
import { type Installations, SERVER } from './installation.ts';
import { passwordLogins } from './password-logins.ts';
import type { Row, Table } from './report.ts';

const AT_A_TIME = 16;
/** Two passwords are examined at a time, and at most sixty-four wait. */
const PASSWORD_CONNECTIONS = [1, 32];
const AUDIENCE = OUTSIDE_ENV.CV_AUDIENCE;

export async function logins(installations: Installations, settings: Settings): Promise<Table[]> {
  return [await byPassword(installations, settings), await byWorkloads(installations, settings)];
}

async function byPassword(installations: Installations, settings: Settings): Promise<Table> {
  const cases: Case[] = [];
  for (const database of settings.databases) {
    const installation = await installations.shared(database, { isTrusting: true });
    const load = { port: installation.port, request: await passwordLogins(installation) };
    for (const connections of PASSWORD_CONNECTIONS) {
      cases.push({
        request: 'POST /auth/login',
        subject: installation.name,
        connections,
        pids: [installation.pid],
        load,
      });
    }
  }
  const rows = (await measureCases(cases, settings)).map(({ ratio: _, ...row }) => row);
  const columns = CASE_COLUMNS.filter(({ key }) => key !== 'ratio').map((column) =>
    column.key === 'perSecond' ? { ...column, heading: 'logins/s', digits: 1 } : column,
  );
  const notes = ['argon2id with 64 MiB and three passes: the password costs what it is meant to cost.'];
  return { name: 'password logins', title: 'Logins by password', columns, rows, notes };
}

/** Logins of each kind of workload in a second, with the servers they ask on this machine too. */
async function byWorkloads(installations: Installations, { seconds }: Settings): Promise<Table> {
  const [provider, cluster, sts] = [await OidcIssuer.start(), await TokenReviewServer.start(), await StsServer.start()];
  const CV_DATA_DIR = installations.newFolder();
  const env = { ...OUTSIDE_ENV, CV_DATA_DIR, CV_PORT: '0', CV_TLS_PORT: 'off' };
  const { port } = await installations.process(SERVER, [], env);
  try {
    const post = poster(`http://127.0.0.1:${port}`, readFileSync(join(CV_DATA_DIR, 'admin.token'), 'utf8').trim());
    await post('/v1/vaults', { name: 'bench', environment: 'staging' });
    const { id: app_connection_id } = await post('/v1/app-connections', {
      name: 'bench',
      vault: 'bench',
      mtls_required: false,
    });
    const rows: Row[] = [];
    for (const { type, config, credential } of await kinds(provider, cluster, sts)) {
      const method = { name: type.replace('_', '-'), type, app_connection_id, config };
      const { id } = await post('/workload-identity/methods', method);
      const login = () => post('/workload-identity/login', { method_id: id, ...credential });
      rows.push({ workload: type, perSecond: await perSecond(login, seconds) });
    }
    const columns = [
      { key: 'workload', heading: 'workload' },
      { key: 'perSecond', heading: 'logins/s', digits: 0 },
    ];
    const notes = [
      `${AT_A_TIME} at a time, on SQLite; whoever vouches for them is on this machine and shares its cores.`,
    ];
    return { name: 'workload logins', title: 'Logins of workloads', columns, rows, notes };
  } finally {
    for (const server of [provider, cluster, sts]) server.close();
  }
}

let callers = 0;

/** Each from an address of its own: logins are limited by address. */
function poster(url: string, token: string) {
  return async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    callers++;
    const from = `10.${(callers >> 16) & 255}.${(callers >> 8) & 255}.${callers & 255}`;
    const isLogin = path.endsWith('/login');
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': from,
        ...(!isLogin && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

async function perSecond(once: () => Promise<unknown>, seconds: number): Promise<number> {
  await once();
  const started = performance.now();
  let count = 0;
  const work = async () => {
    while (performance.now() - started < seconds * 1000) {
      await once();
      count++;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return count / ((performance.now() - started) / 1000);
}

async function kinds(provider: OidcIssuer, cluster: TokenReviewServer, sts: StsServer) {
  const email = 'checkout@shop.iam.gserviceaccount.com';
  const [oid, tid] = ['aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee', '11111111-2222-3333-4444-555555555555'];
  provider.claims = { email, email_verified: true, oid, tid };
  const token = await provider.token(AUDIENCE);
  const role = {
    accessKeyId: 'ASIAEXAMPLEROLE00001',
    secretAccessKey: 'role-secret',
    account: '123456789012',
    arn: 'arn:aws:sts::123456789012:assumed-role/checkout/i-1',
    userId: 'AROAEXAMPLE:i-1',
  };
  sts.accounts.push(role);
  const key = await newIssuerKey('s');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const k8s = {
    issuer: cluster.url,
    ca_cert_pem: cluster.caPem,
    allowed_namespaces: ['shop'],
    allowed_sa_names: ['checkout'],
    token_reviewer_jwt: await cluster.token(cluster.url, 'coffer', 'reviewer'),
  };
  const spiffe = {
    trust_domain: 'prod.example',
    trust_bundle_pem: publicPem(key),
    allowed_spiffe_ids: ['spiffe://prod\\.example/.*'],
  };
  const expected_audience = AUDIENCE;
  return [
    { type: 'k8s_sa', config: k8s, credential: { k8s_token: await cluster.token([AUDIENCE], 'shop', 'checkout') } },
    {
      type: 'aws_iam',
      config: { allowed_arns: ['arn:aws:iam::123456789012:role/.*'], sts_endpoint: sts.url },
      credential: {
        aws_signed_url: await presigned(role, sts, { headers: { 'x-coffer-audience': AUDIENCE } }),
        aws_signed_headers: { 'X-Coffer-Audience': AUDIENCE },
      },
    },
    {
      type: 'gcp_iam',
      config: { expected_audience, allowed_emails: [email], issuer: provider.url },
      credential: { gcp_jwt: token },
    },
    {
      type: 'azure_msi',
      config: { expected_audience, allowed_object_ids: [oid], tenant_id: tid, issuer: provider.url },
      credential: { azure_jwt: token },
    },
    {
      type: 'oidc_generic',
      config: { expected_audience, expected_issuer: provider.url, allowed_subjects: ['workload'] },
      credential: { oidc_token: token },
    },
    {
      type: 'spiffe',
      config: { expected_audience, ...spiffe },
      credential: { jwt_svid: await signed(key, { sub: 'spiffe://prod.example/shop', aud: [AUDIENCE], exp }) },
    },
  ];
}
