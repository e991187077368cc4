import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import {
  addColleague,
  addTenant,
  approve,
  type Colleague,
  invalid,
  ok,
  refused,
  type Tenant,
} from '../../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../../test/support/service.ts';
import { addPolicy, addVault, auditOf, readValue, secretUrl } from '../../../../../test/support/vaults.ts';

onBothDatabases('several changes of secrets in one request', (database, { rule }) => {
  let service: Service;
  let tenant: Tenant;
  let vault: string;
  let writer: Colleague;
  let reviewer: Colleague;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());
  beforeEach(async () => {
    tenant = await addTenant(service);
    writer = await addColleague(service, tenant.id, 'member');
    reviewer = await addColleague(service, tenant.id, 'member');
    vault = await addVault(service, {}, tenant.owner.token);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: writer.id, role: 'writer' }), 201);
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: reviewer.id, role: 'manager' }), 201);
    for (const path of ['a', 'b', 'c', 'd', 'e']) await create(path);
  });

  const as = ({ token }: { token: string }, method: string, path: string, body?: unknown, headers = {}) =>
    service.call(method, path, { token, headers, ...(body !== undefined && { body }) });
  const create = (path: string) =>
    ok(as(writer, 'POST', `/v1/vaults/${vault}/secrets`, { path, value: `first ${path}` }), 201);
  const change = (changes: object[], by: { token: string } = writer, more: object = {}) =>
    as(by, 'POST', `/v1/vaults/${vault}/changes`, { changes, ...more });
  const value = (path: string) => readValue(service, vault, path, { token: tenant.owner.token });
  const paths = async () =>
    (await ok(as(tenant.owner, 'GET', `/v1/vaults/${vault}/secrets`))).secrets.map((s: { path: string }) => s.path);
  const reviewed = () => ok(as(reviewer, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'review' }));
  const OF_EACH_KIND = [
    { op: 'create', path: 'new', value: 'made', reason: 'its own' },
    { op: 'update', path: 'a', value: 'second a', expected_version: 1 },
    { op: 'delete', path: 'b', expected_version: 1 },
    { op: 'move', path: 'c', to_path: 'moved/c' },
    { op: 'rotate', path: 'd', generator: { length: 24 } },
    { op: 'rollback', path: 'e', to_version: 1 },
  ];

  test('happen together, each recorded as by itself', async () => {
    const { changes } = await ok(change(OF_EACH_KIND, writer, { reason: 'release 7' }));
    const seen = changes.map(({ op, path, version, status }: Record<string, unknown>) => [op, path, version, status]);
    assert.deepEqual(seen, [
      ['create', 'new', 1, 'completed'],
      ['update', 'a', 2, 'completed'],
      ['delete', 'b', null, 'completed'],
      ['move', 'moved/c', 1, 'completed'],
      ['rotate', 'd', 2, 'completed'],
      ['rollback', 'e', 2, 'completed'],
    ]);
    assert.deepEqual(await paths(), ['a', 'd', 'e', 'moved/c', 'new']);
    assert.deepEqual([await value('new'), await value('a'), (await value('d')).length], ['made', 'second a', 24]);
    const { versions } = await ok(as(writer, 'GET', secretUrl(vault, 'a', 'versions')));
    assert.deepEqual([versions[0].reason, versions[0].author.id], ['release 7', writer.id]);
    const entries = await auditOf(service, `vault=${vault}`, tenant.owner.token);
    const { request_id } = entries.find(({ action }) => action === 'secrets:change') ?? {};
    const ofRequest = entries.filter((entry) => entry.request_id === request_id && entry.decision === 'allow');
    assert.deepEqual(
      ofRequest.map(({ action }) => action).toSorted(),
      [
        'secrets:change',
        'secrets:create',
        'secrets:create',
        'secrets:delete',
        'secrets:move',
        'secrets:rollback',
        'secrets:rotate',
        'secrets:update',
      ],
      'a move is also recorded where the secret arrives',
    );
  });

  test('happen all or none, and the error says which one failed', async () => {
    const before = await paths();
    const failing: [object, number, string][] = [
      [{ op: 'update', path: 'nothing', value: 'x' }, 404, 'SECRET_NOT_FOUND'],
      [{ op: 'create', path: 'c', value: 'x' }, 409, 'SECRET_ALREADY_EXISTS'],
      [{ op: 'update', path: 'c', value: 'x', expected_version: 7 }, 409, 'VERSION_CONFLICT'],
      [{ op: 'rollback', path: 'c', to_version: 9 }, 404, 'VERSION_NOT_FOUND'],
      [{ op: 'move', path: 'c', to_path: 'd' }, 409, 'SECRET_ALREADY_EXISTS'],
      [{ op: 'create', path: 'bad', type: 'json', value: '{' }, 422, 'VALIDATION_FAILED'],
    ];
    for (const [bad, status, code] of failing) {
      const error = await refused(change([...OF_EACH_KIND.slice(0, 2), bad]), status, code);
      assert.equal(error.details.index, 2, code);
    }
    assert.deepEqual(await paths(), before);
    assert.equal(await value('a'), 'first a');
  });

  rule('take the fields of each endpoint alone, and say where one does not belong', async () => {
    await invalid(change([{ op: 'delete', path: 'a', value: 'x' }]), '/body/changes/0/value');
    await invalid(
      change([{ op: 'create', path: 'x', value: 'x', expected_version: 1 }]),
      '/body/changes/0/expected_version',
    );
    await invalid(
      change([
        { op: 'update', path: 'a', value: 'x' },
        { op: 'move', path: 'b' },
      ]),
      '/body/changes/1/to_path',
    );
    await invalid(change([{ op: 'update', path: 'a/../b', value: 'x' }]), '/body/changes/0/path');
    await invalid(change([{ op: 'copy', path: 'a', to_path: 'x' }]), '/body/changes/0/op');
    await invalid(
      change([
        { op: 'update', path: 'a', value: 'x' },
        { op: 'delete', path: 'a' },
      ]),
      '/body/changes/1/path',
    );
    await invalid(
      change([
        { op: 'move', path: 'b', to_path: 'x' },
        { op: 'create', path: 'x', value: 'x' },
      ]),
      '/body/changes/1/path',
    );
    await invalid(change([]), '/body/changes');
    const tooMany = Array.from({ length: 51 }, (_, no) => ({ op: 'create', path: `n/${no}`, value: 'x' }));
    await invalid(change(tooMany), '/body/changes');
    assert.equal((await change(tooMany.slice(1))).status, 200);
  });

  rule('take the permission of each endpoint alone', async () => {
    const narrow = await addColleague(service, tenant.id, 'member');
    const allowed = { action: ['secrets:update'], resource: [`vault/${vault}/**`] };
    await addPolicy(service, { user: narrow.id }, [allowed], tenant.owner.token);
    await ok(change([{ op: 'update', path: 'a', value: 'x' }], narrow));
    for (const bad of OF_EACH_KIND.filter(({ op }) => op !== 'update')) {
      await refused(change([{ op: 'update', path: 'a', value: 'y' }, bad], narrow), 403, 'INSUFFICIENT_PRIVILEGE');
    }
    assert.equal(await value('a'), 'x');
    const stranger = (await addTenant(service)).owner;
    await refused(change(OF_EACH_KIND, stranger), 404, 'VAULT_NOT_FOUND');
    await refused(
      change(OF_EACH_KIND, await addColleague(service, tenant.id, 'member')),
      403,
      'INSUFFICIENT_PRIVILEGE',
    );
  });

  rule('of a fortress secret take its second factor', async () => {
    const made = { op: 'create', path: 'fortress', value: 'x', protection: 'fortress' };
    await refused(change([made]), 403, 'MFA_REQUIRED');
    const { id, token: proven } = await addColleague(service, tenant.id, 'member', { mfaAt: service.clock.now() });
    await ok(as(tenant.owner, 'POST', `/v1/vaults/${vault}/members`, { user: id, role: 'writer' }), 201);
    await ok(change([made], { token: proven }));
    await refused(change([{ op: 'update', path: 'fortress', value: 'y' }]), 403, 'MFA_REQUIRED');
    await ok(change([{ op: 'update', path: 'fortress', value: 'y' }], { token: proven }));
  });

  test('that are repeated with a key happen once', async () => {
    const changes = [{ op: 'create', path: 'once', value: 'x' }];
    const send = () =>
      as(writer, 'POST', `/v1/vaults/${vault}/changes`, { changes }, { 'idempotency-key': 'the-same-key' });
    const [first, second] = [await send(), await send()];
    assert.deepEqual([first.status, second.status, second.body], [200, 200, first.body]);
  });

  test('at the same time leave all of one and then all of the other', async () => {
    const all = (text: string) => change(['a', 'b', 'c'].map((path) => ({ op: 'update', path, value: text })));
    const answers = await Promise.all([all('one'), all('two'), all('three')]);
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
    const left = new Set([await value('a'), await value('b'), await value('c')]);
    assert.equal(left.size, 1);
    const { version } = await ok(as(writer, 'GET', secretUrl(vault, 'a')));
    assert.equal(version, 4);
  });

  test('wait as one approval where changes are reviewed, and happen once it is approved', async () => {
    await reviewed();
    const { approval_id: id, approval, resource } = await ok(change(OF_EACH_KIND), 202);
    assert.deepEqual([approval, resource], ['secret_change', `vault/${vault}`]);
    assert.equal(await value('a'), 'first a');
    const seen = await ok(as(reviewer, 'GET', `/approvals/${id}`));
    assert.equal(seen.can_approve, true);
    assert.deepEqual(
      seen.request.body.changes.map(({ value: shown }: { value?: string }) => shown),
      ['[redacted]', '[redacted]', undefined, undefined, undefined, undefined],
    );
    const what: string[] = seen.request.differences.map((difference: { what: string }) => difference.what);
    for (const [i, { op, path }] of OF_EACH_KIND.entries())
      assert.ok(
        what.some((text) => text.startsWith(`${i}: ${op} ${path}: `)),
        `${op} in ${what.join()}`,
      );
    assert.ok(!JSON.stringify(seen).includes('second a'));
    const listed = await ok(as(reviewer, 'GET', '/approvals?status=pending'));
    assert.equal(listed.approvals[0].can_approve, true);
    await refused(approve(service, id, writer.token), 403, 'INSUFFICIENT_PRIVILEGE');
    const { status, failure } = await ok(approve(service, id, reviewer.token));
    assert.deepEqual([status, failure], ['completed', null]);
    assert.deepEqual(await paths(), ['a', 'd', 'e', 'moved/c', 'new']);
    const entries = await auditOf(service, `vault=${vault}&action=secrets:update`, tenant.owner.token);
    assert.deepEqual([entries[0]?.actor.id, entries[0]?.details.approval_id], [writer.id, id]);
  });

  test('are approved only by a reviewer of every place', async () => {
    await reviewed();
    const narrow = await addColleague(service, tenant.id, 'member');
    const statement = { action: ['secrets:review'], resource: [`vault/${vault}/db/**`] };
    await addPolicy(service, { user: narrow.id }, [statement], tenant.owner.token);
    const inside = [
      { op: 'create', path: 'db/x', value: 'x' },
      { op: 'create', path: 'db/y', value: 'x' },
    ];
    const [all, some, out] = [
      await ok(change(inside), 202),
      await ok(change([...inside, { op: 'update', path: 'a', value: 'x' }]), 202),
      await ok(change([...inside, { op: 'move', path: 'a', to_path: 'db/a' }]), 202),
    ];
    for (const { approval_id } of [some, out])
      await refused(approve(service, approval_id, narrow.token), 404, 'NOT_FOUND');
    await ok(approve(service, all.approval_id, narrow.token));
    assert.equal(await value('db/x'), 'x');
  });

  test('that nobody could review as one, because their paths are too long, are refused', async () => {
    await reviewed();
    const long = Array.from({ length: 8 }, (_, no) => ({
      op: 'create',
      path: `${'x'.repeat(120)}/`.repeat(5) + no,
      value: 'x',
    }));
    await invalid(change(long), '/body/changes');
    await ok(change(long.slice(0, 4)), 202);
  });

  test('of which one conflicts when they are approved fail together, and tell both sides', async () => {
    await reviewed();
    await ok(as(tenant.owner, 'PATCH', `/v1/vaults/${vault}`, { change_control: 'review' }));
    const { approval_id: id } = await ok(change(OF_EACH_KIND), 202);
    const other = await ok(
      as(writer, 'PUT', secretUrl(vault, 'a'), { value: 'between', metadata: { owner: 'Ann' } }),
      202,
    );
    await ok(approve(service, other.approval_id, reviewer.token));
    const { status, failure } = await ok(approve(service, id, reviewer.token));
    assert.deepEqual([status, failure.code], ['failed', 'VERSION_CONFLICT']);
    assert.match(failure.message, /^Change 1 of the list \(update a\)/);
    const { index, expected_version, version, expected, current } = failure.details;
    assert.deepEqual([index, expected_version, version], [1, 1, 2]);
    assert.deepEqual([expected.metadata, current.metadata], [{ tags: [] }, { owner: 'Ann', tags: [] }]);
    assert.deepEqual([expected.operation, current.operation], ['create', 'update']);
    assert.deepEqual((await ok(as(reviewer, 'GET', `/approvals/${id}`))).failure, failure);
    assert.ok(!JSON.stringify(failure).includes('between'));
    assert.equal(await value('b'), 'first b');
  });

  test('do not happen once the requester lost the right to one of them', async () => {
    await reviewed();
    const { approval_id: id } = await ok(change(OF_EACH_KIND), 202);
    await ok(as(tenant.owner, 'DELETE', `/v1/vaults/${vault}/members/${writer.id}`));
    const { status, failure } = await ok(approve(service, id, reviewer.token));
    assert.deepEqual([status, failure.code], ['failed', 'INSUFFICIENT_PRIVILEGE']);
    assert.deepEqual(await paths(), ['a', 'b', 'c', 'd', 'e']);
  });

  test('of a caller who is removed meanwhile do not happen', async () => {
    const removal = as(tenant.owner, 'DELETE', `/v1/vaults/${vault}/members/${writer.id}`);
    const [changed] = await Promise.all([change(OF_EACH_KIND), removal]);
    const isDone = changed.status === 200;
    assert.ok(isDone || [403, 409].includes(changed.status), changed.text);
    assert.equal((await paths()).includes('new'), isDone);
  });

  rule('count as what they are in the limits on requests', async () => {
    await ok(service.call('PATCH', `/v1/tenants/${tenant.id}`, { body: { rate_limits: { rotate: 2 } } }));
    const rotations = ['a', 'b', 'c'].map((path) => ({ op: 'rotate', path, value: 'x' }));
    await refused(change(rotations), 429, 'RATE_LIMIT_EXCEEDED');
    assert.equal(await value('a'), 'first a');
  });
});
