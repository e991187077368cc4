import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../assembly/settings.ts';
import { certificateWarning, presentWarnings, startWarnings } from './start-warnings.ts';

const codes = (env: Record<string, string>) => startWarnings(loadConfig(env)).map(({ code }) => code);
const database = (url: string) => codes({ CV_DATABASE_URL: url });

test('a default start is warned of nothing', () => {
  assert.deepEqual(codes({}), []);
  for (const CV_HOST of ['127.0.0.1', '127.9.9.9', '::1', 'localhost'])
    assert.deepEqual(codes({ CV_HOST }), [], CV_HOST);
});

test('plain http where others reach it is warned of, TLS is not', () => {
  for (const CV_HOST of ['0.0.0.0', '::', '10.0.0.1', 'coffer.internal']) {
    assert.deepEqual(codes({ CV_HOST }), ['plain_http'], CV_HOST);
    assert.deepEqual(codes({ CV_HOST, CV_TLS_CERT_FILE: 'a.pem', CV_TLS_KEY_FILE: 'a.key' }), [], CV_HOST);
  }
});

test('a certificate is warned of once it has expired, until it is replaced', () => {
  let hasExpired = false;
  const warnings = [...startWarnings(loadConfig({ CV_HOST: '0.0.0.0' })), certificateWarning(() => hasExpired)];
  const present = () => presentWarnings(warnings).map(({ code }) => code);
  assert.deepEqual(present(), ['plain_http']);
  hasExpired = true;
  assert.deepEqual(present(), ['plain_http', 'expired_certificate']);
  hasExpired = false;
  assert.deepEqual(present(), ['plain_http']);
});

test('a database elsewhere without verified TLS is warned of', () => {
  for (const query of ['', '?sslmode=disable', '?sslmode=no-verify', '?uselibpqcompat=true&sslmode=require']) {
    assert.deepEqual(database(`postgres://u:p@db.internal/coffer${query}`), ['database_without_tls'], query);
  }
  for (const query of ['?sslmode=verify-full', '?ssl=true']) {
    assert.deepEqual(database(`postgres://u:p@10.0.0.1/coffer${query}`), [], query);
  }
});

test('a database on this machine is not', () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '%2Fvar%2Frun%2Fpostgresql']) {
    assert.deepEqual(database(`postgres://u:p@${host}/coffer`), [], host);
  }
});

test('nobody but the log learns of the database, and no message holds its address', () => {
  const warnings = startWarnings(
    loadConfig({ CV_HOST: '0.0.0.0', CV_DATABASE_URL: 'postgres://u:hush@db.internal/x' }),
  );
  assert.deepEqual(
    warnings.map(({ code, isPublic }) => [code, isPublic]),
    [
      ['plain_http', true],
      ['database_without_tls', false],
    ],
  );
  assert.doesNotMatch(JSON.stringify(warnings), /hush|db\.internal/);
});
