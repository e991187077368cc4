import { DAY_MS, HOUR_MS } from '../../server/src/kernel/clock.ts';
import { addConnection, clientHeaders, type Machine } from '../support/machines.ts';
import { newIssuerKey, publicPem, signed } from '../support/outside-issuer.ts';
import { addColleague, addPerson, addTenant, addToken, logIn, ok, type Person, uniqueName } from '../support/people.ts';
import type { Service } from '../support/service.ts';
import { addSecret, addVault } from '../support/vaults.ts';
import type { Operation } from './document.ts';
import type { Side } from './marks.ts';
import type { Sighting } from './pool.ts';

/** Somebody who asks, and what would be a breach if they got it. */
export interface Caller {
  name: string;
  side: Side;
  /** How likely they are to be the one who asks, beside the others. */
  weight: number;
  headers(): [string, string][];
  /** Whether an answer of success to this would be one that nobody should get. */
  isBreach(operation: Operation): boolean;
  /** May see names, ids and values of their own tenant only as far as they sent them. */
  seesNames: boolean;
  seesValues: boolean;
  /** What they know of, if that is not what their tenant knows of. */
  home: Sighting | null;
  /** Begins anew after what ended the credential; null: it does not end. */
  renew: (() => Promise<void>) | null;
}

/** A service with two tenants, and all who are going to ask. */
export interface Callers {
  all: Caller[];
  /** Ids, names and addresses of who asks, and of what their rights depend on: nothing is to be done to these. */
  protected: Set<string>;
  admins: Record<Side, string>;
}

const bearer = (token: string): [string, string][] => [['authorization', `Bearer ${token}`]];
const needsKind = (kind: string) => (operation: Operation) =>
  !operation.isPublic && !operation.credentials.includes(kind);
const anyOf =
  (...rules: ((operation: Operation) => boolean)[]) =>
  (operation: Operation) =>
    rules.some((rule) => rule(operation));

const locked = (operation: Operation) => !operation.isPublic;
const operatorsOnly = (operation: Operation) => operation.tenant === 'operator';
const demandsRights = ({ permission, resource }: Operation) => permission !== 'none' && !resource.startsWith('self');

/** Lists that show what the caller may see, which may be nothing, and what is about the caller's own tokens. */
const OPEN_TO_MEMBERS = new Set(['listTokens', 'readToken', 'revokeToken', 'listVaults', 'listCollisions']);
const isForMembers = (operation: Operation) => !demandsRights(operation) || OPEN_TO_MEMBERS.has(operation.id);

const VALUES = /^(?:secrets:(?:read|export|search|detokenize|aggregate)|eaas:(?:en|de)crypt|pqc:(?:un)?wrap|pqc:sign)$/;
const isForAuditors = (operation: Operation) =>
  !VALUES.test(operation.permission) && (isForMembers(operation) || operation.effect === 'read');

/** Its own certificate a connection may renew. */
const FOR_MACHINES = /^(?:none|secrets:.*|eso:read|app_connections:rotate)$/;
const SCOPE = ['secrets:read', 'secrets:list'];

export async function makeCallers(service: Service): Promise<Callers> {
  const tenant = await addTenant(service);
  const ownTenant = (await ok(service.call('GET', '/auth/me'))).tenant;
  const leaver = await addPerson(service);
  const expired = (await addToken(service, leaver.token, { ttl_days: 1 })).token;
  service.clock.advance(2 * DAY_MS);
  const revoked = await addToken(service, leaver.token);
  await ok(service.call('DELETE', `/auth/tokens/${revoked.id}`, { token: leaver.token }), 204);

  const room = await addVault(service);
  const { id, secret_id } = await addSecret(service, room, 'db/main');
  const scoped = await addToken(service, service.adminToken, { scope: { vaults: [room], actions: SCOPE } });
  const machine = await addConnection(service, room);
  const home = {
    vault: room,
    path: 'db/main',
    name: 'db/main',
    'secrets.id': id,
    secret_id,
    client_id: machine.client_id,
  };
  const workload = await addConnection(service, room);
  const method = uniqueName('method');
  const session = await addPerson(service, { role: 'admin' });
  const colleague = (role: 'owner' | 'admin' | 'auditor' | 'member', side: Side = 'ours', more = {}) =>
    addColleague(service, side === 'ours' ? ownTenant.id : tenant.id, role, more);
  const owner = await colleague('owner');
  const admin = await colleague('admin', 'ours', { mfaAt: service.clock.now() });
  const auditor = await colleague('auditor');
  const member = await colleague('member');
  const foreign = await colleague('admin', 'theirs');
  const foreignOwner = await colleague('owner', 'theirs');

  const pat = (name: string, token: string, rules: Partial<Caller> = {}): Caller => ({
    name,
    side: 'ours',
    weight: 2,
    headers: () => bearer(token),
    isBreach: needsKind('pat'),
    seesNames: true,
    seesValues: true,
    home: null,
    renew: null,
    ...rules,
  });
  const stranger = (name: string, headers: [string, string][]): Caller => ({
    ...pat(name, ''),
    weight: 1,
    headers: () => headers,
    isBreach: locked,
    seesNames: false,
    seesValues: false,
  });
  const ofMachine = (kind: 'connection' | 'workload') => ({
    isBreach: anyOf(needsKind(kind), ({ isPublic, permission }) => {
      return !isPublic && !FOR_MACHINES.test(permission);
    }),
    seesNames: false,
    seesValues: false,
    home,
  });
  const theirs = { side: 'theirs' as const, isBreach: anyOf(needsKind('pat'), operatorsOnly) };
  const all: Caller[] = [
    stranger('nobody', []),
    stranger('somebody with garbage', bearer('cv_pat_garbage')),
    stranger('somebody with an altered token', bearer(altered(service.adminToken))),
    stranger('somebody whose token expired', bearer(expired)),
    stranger('somebody whose token was revoked', bearer(revoked.token)),
    stranger(
      'a machine with a wrong secret',
      Object.entries({ ...clientHeaders(machine), 'x-client-secret': `Svc_${'x'.repeat(43)}` }),
    ),
    pat('an owner', owner.token, { weight: 4 }),
    pat('an admin with a fresh second factor', admin.token, { weight: 10 }),
    await sessionCaller(service, session),
    pat('an auditor', auditor.token, {
      isBreach: anyOf(needsKind('pat'), (operation) => !operation.isPublic && !isForAuditors(operation)),
      seesValues: false,
    }),
    pat('a member without rights', member.token, {
      isBreach: anyOf(needsKind('pat'), (operation) => !operation.isPublic && !isForMembers(operation)),
      seesNames: false,
      seesValues: false,
    }),
    pat('a token for reading in one vault', scoped.token, {
      isBreach: anyOf(needsKind('pat'), ({ isPublic, permission }) => {
        return !isPublic && permission !== 'none' && !SCOPE.includes(permission);
      }),
      seesNames: false,
      seesValues: false,
      home,
    }),
    pat('a machine for one vault', '', {
      ...ofMachine('connection'),
      headers: () => Object.entries(clientHeaders(machine)),
    }),
    await workloadCaller(service, workload, method, {
      ...pat('a workload for one vault', ''),
      ...ofMachine('workload'),
    }),
    pat('an admin of another tenant', foreign.token, { ...theirs, weight: 6 }),
    pat('an owner of another tenant', foreignOwner.token, { ...theirs, weight: 3 }),
  ];
  const me = await ok(service.call('GET', '/auth/me'));
  const people = [leaver, session, owner, admin, auditor, member, foreign, foreignOwner, tenant.owner, me.user];
  const guarded = [
    ...people.flatMap(({ id, email }) => [id, email]),
    ...[tenant.id, tenant.name, ownTenant.id, ownTenant.name, 'colleague', room, scoped.id, scoped.name],
    ...[machine.client_id, machine.name, ...(machine['vault_ids'] as string[])],
    ...[workload.client_id, workload.name, method],
  ];
  return { all, protected: new Set(guarded), admins: { ours: service.adminToken, theirs: foreign.token } };
}

async function sessionCaller(service: Service, person: Person): Promise<Caller> {
  let token = await logIn(service, person);
  return {
    name: 'an admin in a session',
    side: 'ours',
    weight: 2,
    headers: () => bearer(token),
    isBreach: needsKind('session'),
    seesNames: true,
    seesValues: true,
    home: null,
    renew: async () => {
      // Logins that others failed at are held against the address, and all are at one.
      service.clock.advance(HOUR_MS);
      token = await logIn(service, person);
    },
  };
}

const SPIFFE_ID = 'spiffe://prod.example/shop';

/** A workload with an identity from outside, which it exchanges for a token again and again. */
async function workloadCaller(service: Service, machine: Machine, name: string, like: Caller): Promise<Caller> {
  const key = await newIssuerKey('1');
  const method = {
    name,
    type: 'spiffe',
    app_connection_id: machine.id,
    config: {
      trust_domain: 'prod.example',
      trust_bundle_pem: publicPem(key),
      expected_audience: 'coffer',
      allowed_spiffe_ids: [SPIFFE_ID.replaceAll('.', '\\.')],
    },
  };
  const { id } = await ok(service.call('POST', '/workload-identity/methods', { body: method }), 201);
  const logIn = async () => {
    const exp = Math.floor(service.clock.now() / 1000) + 60;
    const body = { method_id: id, jwt_svid: await signed(key, { sub: SPIFFE_ID, aud: 'coffer', exp }) };
    return (await ok(service.call('POST', '/workload-identity/login', { token: null, body }))).cv_jwt;
  };
  let token = await logIn();
  return {
    ...like,
    headers: () => bearer(token),
    renew: async () => {
      service.clock.advance(HOUR_MS);
      token = await logIn();
    },
  };
}

/** The same, with one letter of its signature changed. */
function altered(token: string): string {
  const at = token.length - 20;
  return `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
}
