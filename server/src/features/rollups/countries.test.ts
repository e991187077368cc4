import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { Countries } from './countries.ts';

const folder = mkdtempSync(join(tmpdir(), 'coffer-countries-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function countries(geoipFile: string | null) {
  const errors: string[] = [];
  const config = loadConfig(geoipFile === null ? {} : { CV_GEOIP_FILE: geoipFile });
  const log = { error: (_: object, message: string) => void errors.push(message) };
  return { errors, countries: new Countries({ config, log } as unknown as Kernel) };
}

test('public addresses of both kinds have a country', () => {
  const { countries: known } = countries(null);
  assert.deepEqual(
    ['193.0.6.139', '::ffff:193.0.6.139', '2001:67c:2e8:22::c100:68b', '200.160.2.3', '2001:12ff:0:2::3'].map((ip) =>
      known.of(ip),
    ),
    ['NL', 'NL', 'NL', 'BR', 'BR'],
  );
});

test('private, special and malformed addresses have none', () => {
  const { countries: known, errors } = countries(join(folder, 'missing.mmdb'));
  const without = [
    '10.1.2.3',
    '192.168.0.1',
    '127.0.0.1',
    '169.254.1.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    'fe80::1%eth0',
  ];
  for (const ip of [...without, '', 'localhost', '1.2.3', '0x7f.1']) assert.equal(known.of(ip), null, ip);
  assert.deepEqual(errors, [], 'the data is not read for them');
});

test('a file that is missing or no MMDB is reported once, and then nothing has a country', () => {
  const text = join(folder, 'text.mmdb');
  writeFileSync(text, 'not an MMDB file');
  for (const file of [join(folder, 'missing.mmdb'), text]) {
    const { countries: known, errors } = countries(file);
    assert.deepEqual([known.of('193.0.6.139'), known.of('200.160.2.3')], [null, null]);
    assert.deepEqual(errors, ['the data of countries cannot be read']);
  }
});
