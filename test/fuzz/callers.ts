import { DAY_MS, MINUTE_MS } from '../../server/src/kernel/base/clock.ts';
import { type DpopKey, newDpopKey } from '../support/machines.ts';
import { addColleague, addPerson, addTenant, addToken, logIn, ok, type Person } from '../support/people.ts';
import type { Service } from '../support/service.ts';
import { addSecret, addVault } from '../support/vaults.ts';
import { anyOf, type Caller, known, needsOther, stranger, withToken } from './caller.ts';
import { altered, bearer, boundTo, misfits } from './credentials.ts';
import type { Operation } from './document.ts';
import { machineCallers } from './machine-callers.ts';
import type { Side } from './marks.ts';

/** A service with two tenants, and all who are going to ask. */
export interface Callers {
  all: Caller[];
  /** Ids, names and addresses of the caller, and of what their rights depend on: nothing is to be done to these. */
  protected: Set<string>;
  admins: Record<Side, string>;
  close(): void;
}

const operatorsOnly = (operation: Operation) => operation.tenant === 'operator';
const demandsRights = ({ permission, resource }: Operation) => permission !== 'none' && !resource.startsWith('self');

/** Lists that show what the caller may see, which may be nothing, and what is about the caller's own tokens. */
const OPEN_TO_MEMBERS = new Set([
  ...['listTokens', 'readToken', 'revokeToken', 'listVaults', 'listCollisions', 'listAnomalies'],
  ...['findSecrets', 'findKnownValues', 'listDueSecrets'],
]);
const isForMembers = (operation: Operation) => !demandsRights(operation) || OPEN_TO_MEMBERS.has(operation.id);

const VALUES = /^(?:secrets:(?:read|export|search|detokenize|aggregate)|eaas:(?:en|de)crypt|pqc:(?:un)?wrap|pqc:sign)$/;
const isForAuditors = (operation: Operation) =>
  !VALUES.test(operation.permission) && (isForMembers(operation) || operation.effect === 'read');

const SCOPE = ['secrets:read', 'secrets:list'];

export async function makeCallers(service: Service): Promise<Callers> {
  const tenant = await addTenant(service);
  const ownTenant = (await ok(service.call('GET', '/auth/me'))).tenant;
  const leaver = await addPerson(service);
  const expired = (await addToken(service, leaver.token, { ttl_days: 1 })).token;
  service.clock.advance(2 * DAY_MS);
  const revoked = await addToken(service, leaver.token);
  await ok(service.call('DELETE', `/auth/tokens/${revoked.id}`, { token: leaver.token }), 200);

  const room = await addVault(service);
  const { id, secret_id } = await addSecret(service, room, 'db/main');
  const scoped = await addToken(service, service.adminToken, { scope: { vaults: [room], actions: SCOPE } });
  const home = { vault: room, path: 'db/main', name: 'db/main', 'secrets.id': id, secret_id };
  const session = await addPerson(service, { role: 'admin' });
  const colleague = (role: 'owner' | 'admin' | 'auditor' | 'member', side: Side = 'ours', more = {}) =>
    addColleague(service, side === 'ours' ? ownTenant.id : tenant.id, role, more);
  const owner = await colleague('owner');
  const admin = await colleague('admin', 'ours', { mfaAt: service.clock.now() });
  const auditor = await colleague('auditor');
  const member = await colleague('member');
  const foreign = await colleague('admin', 'theirs');
  const foreignOwner = await colleague('owner', 'theirs');
  const key = await newDpopKey();
  const bound = await addToken(service, admin.token, { dpop_jkt: key.jkt });
  const tokens = { adminToken: admin.token, foreignToken: foreign.token };
  const machines = await machineCallers({ service, vault: room, home, ...tokens });

  const theirs = { side: 'theirs' as const, isBreach: anyOf(needsOther(['pat']), operatorsOnly) };
  const all: Caller[] = [
    stranger('nobody', () => []),
    stranger('somebody with garbage', () => bearer('cv_pat_garbage')),
    stranger('somebody with an altered token', () => bearer(altered(service.adminToken))),
    stranger('somebody whose token expired', () => bearer(expired)),
    stranger('somebody whose token was revoked', () => bearer(revoked.token)),
    withToken('an owner', owner.token, { weight: 4 }),
    withToken('an admin with a fresh second factor', admin.token, { weight: 10 }),
    await sessionCaller(service, session),
    ...(await boundCallers(service, bound.token, key)),
    withToken('an auditor', auditor.token, {
      isBreach: anyOf(needsOther(['pat']), (operation) => !operation.isPublic && !isForAuditors(operation)),
      seesValues: false,
    }),
    withToken('a member without rights', member.token, {
      isBreach: anyOf(needsOther(['pat']), (operation) => !operation.isPublic && !isForMembers(operation)),
      seesNames: false,
      seesValues: false,
    }),
    withToken('a token for reading in one vault', scoped.token, {
      isBreach: anyOf(needsOther(['pat']), ({ isPublic, permission }) => {
        return !isPublic && permission !== 'none' && !SCOPE.includes(permission);
      }),
      seesNames: false,
      seesValues: false,
      home,
    }),
    ...machines.all,
    withToken('an admin of another tenant', foreign.token, { ...theirs, weight: 6 }),
    withToken('an owner of another tenant', foreignOwner.token, { ...theirs, weight: 3 }),
  ];
  const me = await ok(service.call('GET', '/auth/me'));
  const people = [leaver, session, owner, admin, auditor, member, foreign, foreignOwner, tenant.owner, me.user];
  const guarded = [
    ...people.flatMap(({ id, email }) => [id, email]),
    ...[tenant.id, tenant.name, ownTenant.id, ownTenant.name, 'colleague', room],
    ...[scoped, bound].flatMap(({ id, name }) => [id, name]),
    ...machines.protected,
  ];
  const admins = { ours: service.adminToken, theirs: foreign.token };
  return { all, protected: new Set(guarded), admins, close: machines.close };
}

async function sessionCaller(service: Service, person: Person): Promise<Caller> {
  let token = await logIn(service, person);
  return known('an admin in a session', 'session', () => bearer(token), {
    renew: async () => {
      // Logins that others failed at are held against the address, and all are at one; but not for longer than this.
      service.clock.advance(6 * MINUTE_MS);
      token = await logIn(service, person);
    },
  });
}

/** A token that is bound to a key, sent with the key and without it. */
async function boundCallers(service: Service, token: string, key: DpopKey): Promise<Caller[]> {
  const prover = { service, key, origin: service.url };
  const otherProver = { ...prover, key: await newDpopKey() };
  const misfit = misfits(service);
  const few = { weight: 0.5 };
  return [
    known('an admin with a key', 'pat', (sent) => boundTo(prover, token, sent), { isOnce: true }),
    stranger('an admin without the key', () => [['authorization', `DPoP ${token}`]], few),
    stranger('an admin who forgets the key', () => bearer(token), few),
    stranger('an admin with another key', (sent) => boundTo(otherProver, token, sent), few),
    stranger('an admin with a proof of something else', (sent) => boundTo(prover, token, sent, misfit(sent)), few),
  ];
}
