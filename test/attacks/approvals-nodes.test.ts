import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { PENDING_BY_REQUESTER_MAX } from '../../server/src/features/approvals/approval-queue.ts';
import { ok, refused, uniqueName } from '../support/people.ts';
import { newPostgresDatabase } from '../support/postgres.ts';
import { newDataDir, type ServiceProcess, spawnService } from '../support/process.ts';
import { type Answer, call } from '../support/service.ts';

const PASSWORD = 'a long enough passphrase for a test';
const ROUNDS = 5;
const DOCUMENT = {
  version: '2026-01-01',
  statement: [{ effect: 'allow', action: ['audit:read'], resource: ['audit'] }],
};

interface Colleague {
  id: string;
  token: string;
  tokenId: string;
}

/** The same as on one node, where people decide through different nodes, at the same moment. */
describe('what approvals on two nodes must not let anybody achieve', () => {
  let a: ServiceProcess;
  let b: ServiceProcess;
  let owner: Colleague;
  let ada: Colleague;
  let bob: Colleague;
  let mia: Colleague;
  let managed: string;

  before(async () => {
    const databaseUrl = await newPostgresDatabase();
    a = await spawnService({ databaseUrl });
    const dataDir = newDataDir();
    mkdirSync(dataDir, { mode: 0o700 });
    copyFileSync(join(a.dataDir, 'root.key'), join(dataDir, 'root.key'));
    b = await spawnService({ databaseUrl, dataDir });
    const token = a.adminToken();
    const { user } = await ok(as(a, token, 'GET', '/auth/me'));
    owner = { id: user.id, token, tokenId: '' };
    mia = await newPerson('member');
    // While there is one admin alone, a change of members passes at once.
    managed = await productionVault();
    await ok(as(a, token, 'POST', `/v1/vaults/${managed}/members`, { user: mia.id, role: 'manager' }), 201);
    ada = await newPerson('admin');
    bob = await newPerson('admin');
  });

  const as = (node: ServiceProcess, token: string, method: string, path: string, body?: unknown) =>
    call(node.url, method, path, { token, ...(body !== undefined && { body }) });

  async function approve(node: ServiceProcess, id: string, { token }: Colleague): Promise<Answer> {
    const { digest } = (await as(node, token, 'GET', `/approvals/${id}`)).body;
    return as(node, token, 'POST', `/approvals/${id}/approve`, { digest });
  }

  async function newPerson(role: 'admin' | 'member'): Promise<Colleague> {
    const email = `${uniqueName(role)}@example.com`;
    const made = await as(a, owner.token, 'POST', '/v1/users', { email, password: PASSWORD, role });
    if (made.status === 202) await ok(approve(a, made.body.approval_id, ada));
    const session = (await ok(call(a.url, 'POST', '/auth/login', { token: null, body: { email, password: PASSWORD } })))
      .token;
    const { token, id: tokenId } = await ok(as(a, session, 'POST', '/auth/tokens', { name: 'work' }), 201);
    return { id: (await ok(as(a, token, 'GET', '/auth/me'))).user.id, token, tokenId };
  }

  async function productionVault(): Promise<string> {
    const name = uniqueName('live');
    await ok(as(a, owner.token, 'POST', '/v1/vaults', { name, environment: 'production' }), 201);
    return name;
  }

  /** Asks to attach a policy to Mia, which takes another admin. */
  async function askToAttach({ token }: Pick<Colleague, 'token'>) {
    const name = uniqueName('policy');
    await ok(as(a, owner.token, 'POST', '/v1/policies', { name, document: DOCUMENT }), 201);
    const requested = as(a, token, 'POST', `/v1/policies/${name}/attach`, { principal: { user: mia.id } });
    const { approval_id: id } = await ok(requested, 202);
    const isAttached = async () => (await ok(as(b, owner.token, 'GET', `/v1/policies/${name}`))).attachments.length > 0;
    return { id: String(id), name, isAttached };
  }

  const entriesOf = async (action: string, resource: string): Promise<Answer['body'][]> =>
    (await ok(as(b, owner.token, 'GET', `/v1/audit?limit=1000&action=${action}&resource=${resource}`))).entries;

  test('carrying out a request twice, by approving it through both at the same moment', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { id, name, isAttached } = await askToAttach(ada);
      const answers = await Promise.all([approve(a, id, owner), approve(b, id, bob)]);
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [200, 409], answers.map(({ text }) => text).join('\n'));
      assert.equal(await isAttached(), true);
      const done = (await entriesOf('policies:attach', `policy/${name}`)).filter(({ decision, status }) => {
        return decision === 'allow' && status < 300 && status !== 202;
      });
      assert.equal(done.length, 1, JSON.stringify(done));
    }
  });

  test('approving one’s own request through the other node', async () => {
    const { id, isAttached } = await askToAttach(ada);
    for (const node of [a, b]) await refused(approve(node, id, ada), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal(await isAttached(), false);
  });

  test('deciding both levels of a deletion through both nodes', async () => {
    const { approval_id: id } = await ok(as(a, owner.token, 'DELETE', `/v1/vaults/${managed}`), 202);
    for (const node of [a, b]) await refused(approve(node, id, ada), 403, 'INSUFFICIENT_PRIVILEGE');
    const tries = await Promise.all([approve(a, id, mia), approve(b, id, mia)]);
    assert.equal(tries.filter(({ status }) => status === 200).length, 1, tries.map(({ text }) => text).join('\n'));
    for (const node of [a, b]) await refused(approve(node, id, mia), 403, 'INSUFFICIENT_PRIVILEGE');
    assert.equal((await ok(as(b, owner.token, 'GET', `/approvals/${id}`))).status, 'pending');
    assert.equal((await ok(as(b, owner.token, 'GET', `/v1/vaults/${managed}`))).status, 'pending_deletion');
    await ok(as(a, owner.token, 'POST', `/approvals/${id}/reject`, {}));
  });

  test('having a request of a revoked token carried out through the other node', async () => {
    const stolen = await ok(as(a, ada.token, 'POST', '/auth/tokens', { name: 'stolen' }), 201);
    const { id, isAttached } = await askToAttach(stolen);
    await ok(as(b, ada.token, 'DELETE', `/auth/tokens/${stolen.id}`), 200);
    const { status } = await approve(a, id, bob);
    assert.equal(status, 409);
    assert.equal(await isAttached(), false);
    assert.equal((await ok(as(a, owner.token, 'GET', `/approvals/${id}`))).status, 'cancelled');
  });

  test('having it carried out by an approval at the moment of the revocation, once that is answered', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const stolen = await ok(as(a, ada.token, 'POST', '/auth/tokens', { name: 'stolen' }), 201);
      const { id, isAttached } = await askToAttach(stolen);
      let wasAttached = false;
      const revoking = as(b, ada.token, 'DELETE', `/auth/tokens/${stolen.id}`).then(async (answer) => {
        wasAttached = await isAttached();
        return answer;
      });
      const [approval, revoked] = await Promise.all([approve(a, id, bob), revoking]);
      assert.equal(revoked.status, 200, revoked.text);
      assert.ok([200, 409].includes(approval.status), approval.text);
      assert.equal(await isAttached(), approval.status === 200 && approval.body.status === 'completed');
      assert.equal(await isAttached(), wasAttached, 'it was carried out after the revocation was answered');
    }
  });

  test('filling the queue beyond one’s share, by asking through both', async () => {
    const name = uniqueName('policy');
    await ok(as(a, owner.token, 'POST', '/v1/policies', { name, document: DOCUMENT }), 201);
    const { token } = await newPerson('admin');
    const requested = await Promise.all(
      Array.from({ length: PENDING_BY_REQUESTER_MAX + 20 }, (_, i) =>
        as(i % 2 === 0 ? a : b, token, 'POST', '/v1/users', {
          email: `${uniqueName('puppet')}@example.com`,
          role: 'admin',
        }),
      ),
    );
    const waiting = requested.filter(({ status }) => status === 202).length;
    assert.ok(waiting <= PENDING_BY_REQUESTER_MAX, `${waiting} wait`);
    const { approvals } = await ok(as(a, owner.token, 'GET', '/approvals?status=pending&limit=1000'));
    const me = (await ok(as(a, token, 'GET', '/auth/me'))).user.id;
    const own = approvals.filter((one: { requested_by: { id: string } }) => one.requested_by.id === me);
    assert.equal(own.length, waiting);
  });
});
