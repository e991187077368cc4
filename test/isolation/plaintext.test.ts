import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DAY_MS } from '../../server/src/kernel/base/clock.ts';
import { readAll } from '../support/load.ts';
import { addPerson, ok, tryLogIn } from '../support/people.ts';
import { newPostgresDatabase, query } from '../support/postgres.ts';
import { type Answer, onBothDatabases, type Service, startService } from '../support/service.ts';
import { addTotp } from '../support/totp.ts';
import { addSecret, addVault, runJobs, secretUrl } from '../support/vaults.ts';

/** A value that must appear nowhere. No part of it is found anywhere by chance, nor changed by any encoding of text. */
const MARKER = 'Zq7PlaintextMarker9xKw';

/** The marker as it is, in hex, and in base64 at each of the three places it can have in a longer text. */
const FORMS: [string, RegExp][] = [
  ['as it is', new RegExp(MARKER, 'i')],
  ['in hex', new RegExp(Buffer.from(MARKER).toString('hex'), 'i')],
  ['in UTF-16', new RegExp([...MARKER].join('\\x00'))],
  ...[0, 1, 2].map((shift): [string, RegExp] => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(MARKER)]).toString('base64');
    return [
      `in base64, ${shift} bytes on`,
      new RegExp(
        text
          .slice(shift === 0 ? 0 : 4, -4)
          .replaceAll('+', '[-+]')
          .replaceAll('/', '[_/]'),
      ),
    ];
  }),
];

function assertAbsent(where: string, bytes: Buffer | string): void {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1');
  for (const [form, pattern] of FORMS) {
    const found = pattern.exec(text);
    assert.equal(
      found,
      null,
      `${where} has the value ${form}: ${text.slice((found?.index ?? 0) - 80, (found?.index ?? 0) + 80)}`,
    );
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Everything in the database, each value as the bytes it is. */
async function dump(url: string): Promise<string> {
  const tables = await query(url, `select tablename from pg_tables where schemaname = 'public'`);
  const parts: string[] = [];
  for (const { tablename } of tables) {
    for (const row of await query(url, `select * from "${tablename}"`)) {
      for (const [column, value] of Object.entries(row)) {
        const text = Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value);
        parts.push(`${tablename}.${column}: ${text}`);
      }
    }
  }
  assert.ok(tables.length > 10 && parts.length > 100);
  return parts.join('\n');
}

onBothDatabases('a value', (database) => {
  test('is found in no file, table, log, audit entry or metric, whatever was done with it', async () => {
    const databaseUrl = database === 'postgres' ? await newPostgresDatabase() : undefined;
    const options = databaseUrl === undefined ? {} : { databaseUrl };
    const service = await startService(database, { ...options, keepData: true });
    await useEverywhere(service);
    await sendWrongly(service);
    await runJobs(service);

    const entries = await readAll(service.url, service.adminToken, '/v1/audit', 'entries');
    assert.ok(entries.length > 50);
    assertAbsent('the audit log', JSON.stringify(entries));
    assertAbsent('the metrics', (await service.call('GET', '/metrics')).text);
    if (databaseUrl !== undefined) assertAbsent('the database', await dump(databaseUrl));
    for (const file of filesIn(service.dataDir)) assertAbsent(file, readFileSync(file));
    await service.close();
    assertAbsent('the logs', service.logs.join(''));
    const left = filesIn(service.dataDir);
    assert.ok(left.length >= 2, left.join());
    for (const file of left) assertAbsent(file, readFileSync(file));
    rmSync(service.dataDir, { recursive: true });
  });

  test('would be found by these tests if it were there', () => {
    const text = `{"value":"x${MARKER}y"}`;
    const forms = [text, Buffer.from(text), Buffer.from(text).toString('hex'), Buffer.from(text, 'utf16le')];
    for (const shift of [0, 1, 2]) forms.push(Buffer.from(' '.repeat(shift) + text).toString('base64'));
    forms.push(Buffer.from(text).toString('base64url'));
    for (const form of forms) assert.throws(() => assertAbsent('here', form), /has the value/);
  });
});

/** Everything the API takes values for, as it is meant. */
async function useEverywhere(service: Service): Promise<void> {
  const vault = await addVault(service);
  const other = await addVault(service);
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.call(method, path, { headers, ...(body !== undefined && { body }) });
  const reads = async (path: string, where = vault) => {
    const { value } = await ok(send('GET', secretUrl(where, path)));
    assert.ok(value.includes(MARKER), path);
  };
  const key = (name: string) => ({ 'idempotency-key': name });

  for (const name of ['first', 'first']) {
    const body = { path: 'made', value: MARKER, reason: 'r' };
    await ok(send('POST', `/v1/vaults/${vault}/secrets`, body, key(name)), 201);
  }
  await ok(send('PUT', secretUrl(vault, 'made'), { value: `${MARKER} two` }, key('second')));
  await ok(send('POST', secretUrl(vault, 'made', 'rotate'), { value: `x${MARKER}`, reason: 'r' }, key('third')));
  await ok(send('POST', secretUrl(vault, 'made', 'rollback'), { to_version: 2 }, key('fourth')));
  await reads('made');
  await ok(send('GET', `${secretUrl(vault, 'made')}?version=1`));
  const types: [string, string][] = [
    ['json', JSON.stringify({ deep: [MARKER] })],
    ['database', JSON.stringify({ host: 'h', port: 1, database: 'd', username: 'u', password: MARKER })],
    ['password', MARKER],
    ['note', `${'long '.repeat(2000)}${MARKER}`],
  ];
  for (const [type, value] of types) {
    await addSecret(service, vault, type, { type, value });
    await reads(type);
  }
  await ok(send('POST', `/v1/vaults/${vault}/import`, { secrets: { 'imp/json': MARKER } }, key('fifth')));
  await ok(send('POST', `/v1/vaults/${vault}/import`, { secrets: { 'imp/json': MARKER }, dry_run: true }));
  await ok(send('POST', `/v1/vaults/${vault}/import`, { dotenv: `IMP_ENV='${MARKER} #1'\n`, prefix: 'env' }));
  for (const path of ['imp/json', 'env/IMP_ENV']) await reads(path);
  const { token } = await ok(send('POST', `/v1/vaults/${vault}/tokenize`, { value: MARKER }, key('sixth')), 201);
  assert.equal((await ok(send('POST', `/v1/vaults/${vault}/detokenize`, { token }))).value, MARKER);
  const { matches } = await ok(send('POST', `/v1/vaults/${vault}/search`, { query: MARKER }));
  assert.ok(matches.length > 5);
  await ok(send('GET', `/v1/vaults/${vault}/aggregate`));
  await ok(send('GET', `/v1/vaults/${vault}/export`));
  await ok(send('GET', `/v1/vaults/${vault}/export?format=dotenv`));
  await ok(send('POST', secretUrl(vault, 'made', 'copy'), { to_vault: other, to_path: 'copied' }), 201);
  await ok(send('POST', secretUrl(vault, 'json', 'move'), { to_vault: other, to_path: 'moved' }));
  for (const path of ['copied', 'moved']) await reads(path, other);
  await ok(send('GET', '/vaults/collisions'));
  assert.ok((await ok(send('POST', '/v1/secrets/known', { values: [MARKER] }))).known.length > 0);
  await ok(send('DELETE', secretUrl(vault, 'password')));
  await fortress(service, vault);
}

async function fortress(service: Service, vault: string): Promise<void> {
  const person = await addPerson(service, { role: 'admin' });
  const { code } = await addTotp(service, person.id);
  service.clock.advance(DAY_MS);
  const { token } = await ok(tryLogIn(service, person, { otp: code() }));
  await addSecret(service, vault, 'gold', { protection: 'fortress', value: MARKER }, token);
  await ok(service.call('PUT', secretUrl(vault, 'gold'), { token, body: { value: `${MARKER}!` } }));
  await ok(service.call('GET', secretUrl(vault, 'gold'), { token }));
}

/** The same value in every wrong place: each is refused, and no answer repeats it. */
async function sendWrongly(service: Service): Promise<void> {
  const vault = await addVault(service);
  await addSecret(service, vault, 'there');
  const stranger = await addPerson(service);
  const secrets = `/v1/vaults/${vault}/secrets`;
  const there = secretUrl(vault, 'there');
  const imports = `/v1/vaults/${vault}/import`;
  const tries: [string, string, unknown, object?][] = [
    ['POST', secrets, { path: 'there', value: MARKER }],
    ['POST', secrets, { path: 'x', type: 'json', value: MARKER }],
    ['POST', secrets, { path: 'x', type: 'database', value: `{"${MARKER}":1}` }],
    ['POST', secrets, { path: 'x', type: 'certificate', value: `-----BEGIN ${MARKER}-----` }],
    ['POST', secrets, { path: 'x', type: 'api_key', value: `${MARKER}\n` }],
    ['POST', secrets, { path: 'x', value: MARKER, [MARKER]: 'x' }],
    ['POST', secrets, { path: 'x', value: { value: MARKER } }],
    ['POST', secrets, { path: `${MARKER} ?`, value: 'x' }],
    ['POST', secrets, { path: 'x', value: 'x', type: MARKER }],
    ['POST', secrets, { path: 'x', value: 'x', metadata: { [`${MARKER} ?`]: 'x' } }],
    ['POST', secrets, { path: 'x', value: 'x', metadata: { tags: [`${MARKER}\n`] } }],
    ['POST', secrets, { path: 'x', value: 'x', reason: `${MARKER}\n` }],
    ['POST', secrets, { path: 'x', value: 'x', environment: MARKER }],
    ['POST', secrets, { path: 'x', value: MARKER.repeat(60_000) }],
    ['POST', secrets, { path: 'x', value: MARKER.repeat(400_000) }],
    ['POST', secrets, `{"path":"x","value":"${MARKER}`],
    ['POST', secrets, `{"path":"x","value":"${MARKER}","value":"${MARKER}"}`],
    ['POST', secrets, `{"path":"x","value":"${MARKER}\\ud800"}`],
    ['POST', secrets, `{"path":"x","value":"${MARKER}\u0001"}`],
    ['POST', secrets, `${MARKER}`],
    ['POST', secrets, `["${MARKER}"]`],
    ['POST', secrets, `"${MARKER}"`],
    ['POST', secrets, `value=${MARKER}`, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['POST', secrets, { path: 'x', value: MARKER }, { headers: { 'content-encoding': 'gzip' } }],
    ['POST', secrets, { path: 'x', value: MARKER }, { headers: { 'idempotency-key': ` ${'k'.repeat(300)}` } }],
    ['POST', secrets, { path: 'x', value: MARKER }, { token: null }],
    ['POST', secrets, { path: 'x', value: MARKER }, { token: stranger.token }],
    ['POST', '/v1/vaults/no-such/secrets', { path: 'x', value: MARKER }],
    ['POST', '/v1/vaults/no-such/anything', { value: MARKER }],
    ['PATCH', secrets, { value: MARKER }],
    ['PUT', there, { value: MARKER, expected_version: 9 }],
    ['PUT', there, { value: MARKER }, { headers: { 'if-match': MARKER } }],
    ['PUT', secretUrl(vault, 'missing'), { value: MARKER }],
    ['POST', `${there}/rotate`, { generator: { prefix: `${MARKER} ?` } }],
    ['POST', `${there}/rotate`, { value: MARKER, expected_version: 9 }],
    ['POST', `${there}/rollback`, { to_version: MARKER }],
    ['POST', imports, { secrets: { 'a b': MARKER } }],
    ['POST', imports, { secrets: { [`${MARKER} ?`]: 'x' } }],
    ['POST', imports, { secrets: { a: [MARKER] } }],
    ['POST', imports, { secrets: { there: MARKER }, on_existing: 'fail' }],
    ['POST', imports, { dotenv: `${MARKER}` }],
    ['POST', imports, { dotenv: `A='${MARKER}` }],
    ['POST', imports, { dotenv: `A=1\nB=\`${MARKER}` }],
    ['POST', imports, { dotenv: `A=1\n..='${MARKER}'` }],
    ['POST', imports, { dotenv: `A="${MARKER}" ${MARKER}` }],
    ['POST', `/v1/vaults/${vault}/search`, { query: MARKER, [MARKER]: 1 }],
    ['POST', `/v1/vaults/${vault}/search`, { query: MARKER }, { token: stranger.token }],
    ['POST', `/v1/vaults/${vault}/tokenize`, { value: MARKER, ttl_days: 0 }],
    ['POST', `/v1/vaults/${vault}/detokenize`, { token: MARKER }],
    ['GET', `${secrets}?value=${MARKER}`, undefined],
    ['GET', `${secrets}?${MARKER}=1`, undefined],
    ['GET', `${secrets}?limit=${MARKER}`, undefined],
    ['GET', `${secrets}?cursor=${MARKER}`, undefined],
    ['GET', `${there}?version=${MARKER}`, undefined],
    ['GET', `${secrets}?prefix=${MARKER}%20`, undefined],
    ['GET', '/auth/me', undefined, { headers: { authorization: `Bearer ${MARKER}` } }],
  ];
  for (const [method, path, body, more] of tries) {
    const answer: Answer = await service.call(method, path, { ...(body !== undefined && { body }), ...more });
    assert.ok(answer.status >= 400 && answer.status < 500, `${method} ${path}: ${answer.status}`);
    // A plain name of a field is told back to who sent it, so that a slip is seen.
    const isName = path.includes(`?${MARKER}=`) || (typeof body === 'object' && body !== null && MARKER in body);
    if (isName) continue;
    assertAbsent(`the answer to ${method} ${path} ${JSON.stringify(body)?.slice(0, 60)}`, answer.text);
  }
}
