import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, invalid, ok, refused } from '../../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../../test/support/service.ts';
import { addPolicy, addSecret, addVault, pathsIn, secretUrl } from '../../../../test/support/vaults.ts';

onBothDatabases('entries that an import leaves out', (database, { rule }) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  const bring = (vault: string, body: object, token = service.adminToken) =>
    service.call('POST', `/v1/vaults/${vault}/import`, { token, body });

  test('are named by their path, and the rest is written', async () => {
    const vault = await addVault(service);
    const file = { dotenv: 'A=1\nB=2\nB=3\nC=4\n', prefix: 'api' };
    const preview = await ok(bring(vault, { ...file, dry_run: true, leave_out: ['api/B'] }));
    assert.deepEqual([preview.created, preview.warnings, preview.problems], [2, [], []]);
    const done = await ok(bring(vault, { ...file, leave_out: ['api/B'] }));
    assert.equal(done.created, 2);
    assert.deepEqual(await pathsIn(service, vault), ['api/A', 'api/C']);
    const json = await ok(bring(vault, { secrets: { x: '1', y: '2' }, leave_out: ['x'] }));
    assert.deepEqual(json.changes, [{ path: 'y', change: 'create', version: 1 }]);
  });

  rule('are refused if there is no such entry, and if nothing is left', async () => {
    const vault = await addVault(service);
    const file = { dotenv: 'A=1\nB=2\n', prefix: 'api' };
    await invalid(bring(vault, { ...file, leave_out: ['A'] }), '/body/leave_out/0');
    await invalid(bring(vault, { ...file, leave_out: ['api/A', 'api/A'] }), '/body/leave_out/1');
    await invalid(bring(vault, { ...file, leave_out: ['api/A', 'api/B'] }), '/body');
    await invalid(bring(vault, { ...file, leave_out: [''] }), '/body/leave_out/0');
    await invalid(bring(vault, { ...file, leave_out: Array(1001).fill('api/A') }), '/body/leave_out');
    assert.deepEqual(await pathsIn(service, vault), []);
  });

  rule('are those that a preview finds wrong, if it is to go on after errors', async () => {
    const vault = await addVault(service);
    await addSecret(service, vault, 'THERE', { value: 'hidden-value' });
    await addSecret(service, vault, 'DATA', { type: 'json', value: '{}' });
    const file = { dotenv: 'A=1\nTHERE=2\nversions=3\nDATA=not-json\n' };
    await refused(bring(vault, { ...file, dry_run: true }), 422, 'VALIDATION_FAILED');
    await invalid(bring(vault, { ...file, keep_going: true }), '/body/keep_going');
    const preview = { ...file, dry_run: true, keep_going: true };
    const updating = await ok(bring(vault, preview));
    assert.deepEqual(
      updating.changes.map(({ path, change }: { path: string; change: string }) => [path, change]),
      [
        ['A', 'create'],
        ['THERE', 'update'],
      ],
    );
    const failing = await bring(vault, { ...preview, on_existing: 'fail' });
    const { problems, created } = await ok(Promise.resolve(failing));
    assert.deepEqual(
      [...updating.problems, ...problems].map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
      [
        'versions VALIDATION_FAILED',
        'DATA VALIDATION_FAILED',
        'versions VALIDATION_FAILED',
        'DATA SECRET_ALREADY_EXISTS',
        'THERE SECRET_ALREADY_EXISTS',
      ],
    );
    assert.match(updating.problems[0].message, /reserved segment/);
    assert.equal(created, 1);
    assert.doesNotMatch(failing.text, /not-json|hidden-value/);
    const leave_out = updating.problems.map(({ path }: { path: string }) => path);
    await ok(bring(vault, { ...file, leave_out }));
    assert.deepEqual(await pathsIn(service, vault), ['A', 'DATA', 'THERE']);
    assert.equal((await ok(service.call('GET', secretUrl(vault, 'DATA')))).version, 1);
  });

  rule('do not show what looks like no path, nor which path one may not write', async () => {
    const vault = await addVault(service);
    const odd = await bring(vault, { secrets: { 'pass word?': 'x', a: 'y' }, dry_run: true, keep_going: true });
    assert.equal(odd.body.problems[0].path, '?');
    assert.ok(!odd.text.includes('pass word'));
    const person = await addPerson(service);
    await addPolicy(service, { user: person.id }, [
      { action: ['secrets:import'], resource: [`vault/${vault}`] },
      { action: ['secrets:create'], resource: [`vault/${vault}/mine/*`] },
    ]);
    const body = { secrets: { 'mine/a': 'x', 'theirs/b': 'x' }, dry_run: true, keep_going: true };
    await refused(bring(vault, body, person.token), 403, 'INSUFFICIENT_PRIVILEGE');
    await ok(bring(vault, { secrets: body.secrets, leave_out: ['theirs/b'] }, person.token));
    assert.deepEqual(await pathsIn(service, vault), ['mine/a']);
  });

  rule('obey the rules of the vault all the same', async () => {
    const vault = await addVault(service, { environment: 'production' });
    const body = { secrets: { a: 'x' }, dry_run: true, keep_going: true };
    await refused(bring(vault, body), 409, 'VAULT_ENV_PROMOTE_REQUIRED');
    const sealed = await addVault(service, { is_zero_knowledge: true });
    await refused(bring(sealed, body), 409, 'ZkBoundaryViolation');
  });
});
