import assert from 'node:assert/strict';
import { readAll } from './load.ts';
import { call } from './service.ts';

type Row = Record<string, unknown>;

/** All that a tenant keeps here, opened, and all that its log says. */
export interface Everything {
  /** By vault, path and version. */
  values: Record<string, string>;
  entries: Row[];
}

/** Reads every secret in every version, and then the log up to that moment. */
export async function everythingOf(url: string, token: string): Promise<Everything> {
  const values: Record<string, string> = {};
  for (const vault of await readAll(url, token, '/v1/vaults', 'vaults')) {
    const secrets = `/v1/vaults/${vault['name']}/secrets`;
    for (const { path } of await readAll(url, token, secrets, 'secrets')) {
      for (const { version } of await readAll(url, token, `${secrets}/${path}/versions`, 'versions')) {
        const read = await call(url, 'GET', `${secrets}/${path}?version=${version}`, { token });
        assert.equal(read.status, 200, read.text);
        values[`${vault['name']} ${path} ${version}`] = read.body.value;
      }
    }
  }
  const known = new Set((await readAll(url, token, '/v1/audit', 'entries')).map(({ id }) => id));
  // After this check each of them has its place in the chain, on PostgreSQL too.
  const verified = await call(url, 'GET', '/v1/audit/verify', { token });
  assert.equal(verified.body.valid, true, verified.text);
  const entries = await readAll(url, token, '/v1/audit', 'entries');
  return { values, entries: entries.filter(({ id }) => known.has(id)) };
}

/** The same secrets, versions and values; of the log every entry as it was, and more only from who reads and from `also`. */
export function assertSameAs(now: Everything, before: Everything, also: RegExp): void {
  assert.deepEqual(now.values, before.values);
  const byId = new Map(now.entries.map((entry) => [entry['id'], entry]));
  for (const entry of before.entries) {
    assert.deepEqual(byId.get(entry['id']), entry, 'an audit entry is not what it was');
    byId.delete(entry['id']);
  }
  for (const { action } of byId.values()) assert.match(String(action), also);
}
