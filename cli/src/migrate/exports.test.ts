import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runImport, startImport } from '../../../test/support/import-command.ts';
import { addPerson } from '../../../test/support/people.ts';
import { onBothDatabases, type Service, startService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-exports-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
function fileWith(content: unknown): string {
  const file = join(folder, `export-${++files}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

onBothDatabases('import from exports', (database) => {
  let service: Service;
  before(async () => {
    service = await startService(database);
  });
  after(() => service.close());

  let vaults = 0;
  const newVault = async (more: object = {}) => {
    const name = `vault-${++vaults}`;
    const body = { name, environment: 'development', ...more };
    assert.equal((await service.call('POST', '/v1/vaults', { body })).status, 201);
    return name;
  };
  const env = (more: Record<string, string> = {}) => ({
    COFFER_URL: service.url,
    COFFER_TOKEN: service.adminToken,
    ...more,
  });
  const run = async (args: string[], input = '', more: Record<string, string> = {}) => {
    const exit = await runImport([...args, '--json'], env(more), input);
    const report = exit.stdout === '' ? null : JSON.parse(exit.stdout);
    return { ...exit, report };
  };
  const read = async (vault: string, path: string) =>
    (await service.call('GET', `/v1/vaults/${vault}/secrets/${path}`)).body;
  const count = async (vault: string) =>
    (await service.call('GET', `/v1/vaults/${vault}`)).body.secrets_count as number;

  test('Doppler: from standard input, then again with a change here and there', async () => {
    const vault = await newVault();
    const before = { DOPPLER_PROJECT: 'p', API_KEY: 'doppler-1', URL: 'https://x' };
    const first = await run(['doppler', '-', '--vault', vault, '--prefix', 'api', '--apply'], JSON.stringify(before));
    assert.equal(first.code, 0, first.stderr);
    assert.deepEqual(first.report.counts, { create: 2, update: 0, unchanged: 0, leave: 0 });
    assert.deepEqual(
      first.report.skipped.map(({ from }: { from: string }) => from),
      ['DOPPLER_PROJECT'],
    );
    assert.equal((await read(vault, 'api/API_KEY')).value, 'doppler-1');

    await service.call('PUT', `/v1/vaults/${vault}/secrets/api/URL`, { body: { value: 'https://changed-in-coffer' } });
    const file = fileWith({ ...before, API_KEY: 'doppler-2' });
    const second = await run(['doppler', file, '--vault', vault, '--prefix', 'api', '--apply']);
    // The export has no history, so the old value is one that this export never had.
    assert.deepEqual(second.report.counts, { create: 0, update: 0, unchanged: 0, leave: 2 });
    assert.equal((await read(vault, 'api/URL')).value, 'https://changed-in-coffer');
    const third = await run(['doppler', file, '--vault', vault, '--prefix', 'api', '--apply', '--overwrite']);
    assert.equal(third.report.versions_written, 2);
    assert.equal((await read(vault, 'api/API_KEY')).value, 'doppler-2');
    for (const { stdout, stderr } of [first, second, third])
      assert.doesNotMatch(stdout + stderr, /doppler-[12]|changed-in/);
  });

  test('Doppler and Infisical: by their APIs, with a token from the environment', async () => {
    const requests: string[] = [];
    let busy = 1;
    const api = createServer((request, response) => {
      requests.push(`${request.headers.authorization} ${request.url}`);
      const send = (status: number, body: object, headers = {}) =>
        response.writeHead(status, headers).end(JSON.stringify(body));
      if (busy-- > 0) return send(429, {}, { 'retry-after': '0' });
      if (request.url?.startsWith('/v3/configs/config/secrets')) {
        const secrets = {
          A: { raw: 'as it was written', computed: 'computed-a', note: 'for the shop' },
          HIDDEN: { raw: null, computed: null, note: '' },
        };
        return send(200, { secrets });
      }
      if (request.url?.startsWith('/api/v4/')) return send(404, { message: 'not found' });
      const secret = {
        secretKey: 'KEY',
        secretValue: 'v',
        secretPath: '/web/api',
        secretComment: 'c',
        type: 'shared',
        tags: [{ slug: 'blue' }],
        secretMetadata: [{ key: 'team', value: 'x' }],
      };
      return send(200, {
        secrets: [secret, { ...secret, type: 'personal' }, { ...secret, secretKey: 'NO', secretValueHidden: true }],
        imports: [],
      });
    });
    await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    try {
      const vault = await newVault();
      const doppler = await run(['doppler', '--vault', vault, '--apply'], '', {
        DOPPLER_TOKEN: 'dt',
        DOPPLER_API_HOST: address,
      });
      assert.equal(doppler.code, 0, doppler.stderr);
      assert.equal((await read(vault, 'A')).value, 'computed-a');
      assert.equal((await read(vault, 'A')).metadata.description, 'for the shop');
      assert.deepEqual(
        doppler.report.skipped.map(({ from }: { from: string }) => from),
        ['HIDDEN'],
      );
      const infisical = await run(
        ['infisical', '--project', 'p1', '--environment', 'prod', '--vault', vault, '--apply'],
        '',
        { INFISICAL_TOKEN: 'it', INFISICAL_API_URL: `${address}/api` },
      );
      assert.equal(infisical.code, 0, infisical.stderr);
      const { value, metadata } = await read(vault, 'web/api/KEY');
      assert.deepEqual([value, metadata], ['v', { description: 'c', team: 'x', tags: ['blue'] }]);
      assert.equal(infisical.report.skipped.length, 2);
      assert.ok(
        requests.some((line) => line.startsWith('Bearer it /api/v3/secrets/raw?') && line.includes('workspaceId=p1')),
      );
    } finally {
      api.closeAllConnections();
      api.close();
    }
    const gone = await run(['doppler', '--vault', await newVault()], '', {
      DOPPLER_TOKEN: 'dt',
      DOPPLER_API_HOST: address,
    });
    assert.equal(gone.code, 2, gone.stderr);
  });

  test('Infisical: folders become paths', async () => {
    const vault = await newVault();
    const file = fileWith([
      {
        key: 'DB_URL',
        workspace: 'w',
        value: 'postgres://x',
        type: 'shared',
        _id: '1',
        secretPath: '/',
        tags: [],
        comment: '',
      },
      {
        key: 'KEY',
        workspace: 'w',
        value: '',
        type: 'shared',
        _id: '2',
        secretPath: '/api/eu',
        tags: [],
        comment: 'note',
      },
    ]);
    const { code, stderr } = await run(['infisical', file, '--vault', vault, '--apply']);
    assert.equal(code, 0, stderr);
    assert.equal((await read(vault, 'DB_URL')).value, 'postgres://x');
    assert.equal((await read(vault, 'api/eu/KEY')).value, '');
  });

  test('AWS: versions, binary values, keys, errors and pages', async () => {
    const vault = await newVault();
    const one = (more: object) => ({ ARN: 'arn:aws:secretsmanager:eu:1:secret:x', CreatedDate: 1700000000.5, ...more });
    const documents = [
      {
        SecretValues: [
          one({
            Name: 'prod/db',
            VersionId: 'v2',
            SecretString: '{"user":"u","port":5432}',
            VersionStages: ['AWSCURRENT'],
            CreatedDate: '2026-01-02T00:00:00+00:00',
          }),
        ],
        Errors: [{ SecretId: 'prod/denied', ErrorCode: 'AccessDeniedException', Message: 'm' }],
      },
      one({
        Name: 'prod/db',
        VersionId: 'v1',
        SecretString: '{"user":"old","port":5432}',
        VersionStages: ['AWSPREVIOUS'],
        CreatedDate: '2026-01-03T00:00:00+00:00',
      }),
      one({ Name: '/plain', VersionId: 'v1', SecretString: 'just text', VersionStages: ['AWSCURRENT'] }),
      one({ Name: 'bin', VersionId: 'v1', SecretBinary: 'AAEC', VersionStages: ['AWSCURRENT'] }),
      one({ Name: 'bin', VersionId: 'v9', SecretBinary: 'AAED', VersionStages: ['AWSPENDING'] }),
    ];
    const text = documents.map((document) => JSON.stringify(document, null, 4)).join('\n');
    const { code, stderr, report } = await run(['aws-sm', fileWith(text), '--vault', vault, '--apply']);
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      [(await read(vault, 'prod/db/user')).value, (await read(vault, 'prod/db/user')).version],
      ['u', 2],
    );
    assert.equal((await service.call('GET', `/v1/vaults/${vault}/secrets/prod/db/user?version=1`)).body.value, 'old');
    assert.equal((await read(vault, 'prod/db/port')).version, 1);
    assert.equal((await read(vault, 'plain')).value, 'just text');
    assert.deepEqual(
      [(await read(vault, 'bin')).value, (await read(vault, 'bin')).metadata.encoding],
      ['AAEC', 'base64'],
    );
    assert.deepEqual(report.skipped, [
      { from: 'prod/denied', reason: 'AWS did not give it out: AccessDeniedException' },
      { from: 'bin, version v9', reason: 'its rotation is not finished (AWSPENDING)' },
    ]);
    const pages = await run(['aws-sm', fileWith({ SecretValues: [], NextToken: 'more' }), '--vault', vault]);
    assert.match(pages.report.skipped[0].reason, /NextToken/);
  });

  /** Two versions for each of so many secrets, so that there is time to stop it. */
  const many = (total: number) =>
    Array.from({ length: total }, (_, i) => [
      { Name: `s/${i}`, VersionId: 'a', SecretString: `old-${i}`, VersionStages: ['AWSPREVIOUS'], CreatedDate: 1 },
      { Name: `s/${i}`, VersionId: 'b', SecretString: `new-${i}`, VersionStages: ['AWSCURRENT'], CreatedDate: 2 },
    ])
      .flat()
      .map((document) => JSON.stringify(document))
      .join('\n');

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`an import that ${signal} ends goes on when it is repeated, and no version is there twice`, async () => {
      const vault = await newVault();
      const total = 400;
      const file = fileWith(many(total));
      const args = ['aws-sm', file, '--vault', vault, '--apply'];
      const { child, exited } = startImport(args, env());
      await until('something is written', async () => (await count(vault)) > 0);
      child.kill(signal);
      const { code, stderr } = await exited;
      if (signal === 'SIGTERM') {
        assert.equal(code, 130, stderr);
        assert.match(stderr, /Repeat the command/);
      }
      assert.ok((await count(vault)) < total, 'it was stopped before its end');
      const again = await run(args);
      assert.equal(again.code, 0, again.stderr);
      assert.equal(await count(vault), total);
      const versions = [];
      for (let i = 0; i < total; i += 97) versions.push((await read(vault, `s/${i}`)).version);
      assert.deepEqual(new Set(versions), new Set([2]));
      const third = await run(args);
      assert.deepEqual([third.report.counts.unchanged, third.report.versions_written], [total, 0]);
    });
  }

  test('what must not be written is not', async () => {
    const file = fileWith({ A: 'value-a' });
    const production = await newVault({ environment: 'production' });
    const dry = await runImport(['doppler', file, '--vault', production], env());
    assert.match(dry.stderr, /--apply needs --promote/);
    const refused = await run(['doppler', file, '--vault', production, '--apply']);
    assert.equal(refused.code, 1);
    assert.equal(await count(production), 0);
    const promoted = await run(['doppler', file, '--vault', production, '--apply', '--promote']);
    assert.equal(promoted.code, 0, promoted.stderr);
    assert.equal((await read(production, 'A')).environment, 'production');

    const twofold = await run(['doppler', file, '--vault', production, '--apply', '--promote', '--dry-run']);
    assert.match(twofold.stderr, /--dry-run or --apply/);
    const forFiles = await run(['doppler', file, '--vault', production, '--on-existing', 'skip']);
    assert.match(forFiles.stderr, /are for files/);

    const sealed = await newVault({ is_zero_knowledge: true });
    const zeroKnowledge = await run(['doppler', file, '--vault', sealed, '--apply']);
    assert.equal(zeroKnowledge.code, 1);
    assert.match(zeroKnowledge.stderr, /zero-knowledge/);

    for (const content of ['[]', '"text"', 'not json']) {
      const wrong = await run(['doppler', fileWith(content), '--vault', production, '--apply']);
      assert.equal(wrong.code, 1, content);
    }
    const missing = await run(['infisical', join(folder, 'none.json'), '--vault', production]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /no such file/);
    const nothing = await run(['infisical', '--vault', production]);
    assert.match(nothing.stderr, /set INFISICAL_TOKEN/);
  });

  test('a token that may only write in one place writes there, and the rest is reported', async () => {
    const vault = await newVault();
    const document = {
      version: '2026-01-01',
      statement: [
        { effect: 'allow', action: ['vaults:read', 'secrets:list'], resource: [`vault/${vault}`, `vault/${vault}/**`] },
        { effect: 'allow', action: ['secrets:create', 'secrets:read'], resource: [`vault/${vault}/web/*`] },
      ],
    };
    const person = await addPerson(service);
    const name = `import-${database}`;
    assert.equal((await service.call('POST', '/v1/policies', { body: { name, document } })).status, 201);
    const body = { principal: { user: person.id } };
    assert.equal((await service.call('POST', `/v1/policies/${name}/attach`, { body })).status, 200);
    const file = fileWith([
      { key: 'IN', value: 'x', secretPath: '/web' },
      { key: 'OUT', value: 'y', secretPath: '/db' },
    ]);
    const exit = await run(['infisical', file, '--vault', vault, '--apply'], '', { COFFER_TOKEN: person.token });
    assert.equal(exit.code, 3, exit.stderr);
    assert.match(exit.report.skipped[0].reason, /db\/OUT was refused: INSUFFICIENT_PRIVILEGE/);
    assert.equal(await count(vault), 1);
  });
});
