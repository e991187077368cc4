import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { ERROR_CODES } from '../../kernel/base/errors.ts';
import { ANY_TOKEN, endpoint, errorCodes } from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';
import { endpointsMarkdown, errorsMarkdown, whoMayCall } from './reference-docs.ts';

const BASE = {
  method: 'GET',
  summary: 'Something',
  credentials: ANY_TOKEN,
  tenant: 'own',
  rate: 'read',
  tier: 'none',
  region: 'local',
  approval: 'none',
  plaintext: false,
  effect: 'read',
  params: 'none',
  query: 'none',
  body: 'none',
  bodyBytesMax: 64,
  status: 200,
  output: Type.Object({}),
  raw: 'none',
  errors: [],
} as const;

const me = endpoint({
  ...BASE,
  name: 'getMe',
  path: '/auth/me',
  noun: 'authentication',
  permission: 'none',
  resource: 'none',
  audit: 'self:read',
});
const vault = endpoint({
  ...BASE,
  name: 'getVault',
  path: '/v1/vaults/{name}',
  noun: 'vaults',
  permission: 'vaults:read',
  resource: 'vault/{name}',
  audit: 'vaults:read',
  params: object({ name: Type.String() }),
  tier: 'enterprise',
  errors: ['NOT_FOUND'],
});
const removal = endpoint({
  ...BASE,
  name: 'deleteVault',
  method: 'DELETE',
  path: '/v1/vaults/{name}',
  noun: 'vaults',
  permission: 'vaults:delete',
  resource: 'vault/{name}',
  audit: 'vaults:delete',
  effect: 'change',
  approval: 'vault_delete',
  params: object({ name: Type.String() }),
});
const tenants = endpoint({
  ...BASE,
  name: 'listTenants',
  path: '/admin/tenants',
  noun: 'vaults',
  tenant: 'operator',
  permission: 'tenants:list',
  resource: 'loaded',
  loads: ['vault/{vault}'],
  audit: 'a|b',
});

test('callers are named as text', () => {
  assert.equal(whoMayCall(me), 'any personal access token or session token');
  assert.equal(whoMayCall(vault), 'any personal access token or session token with `vaults:read` on `vault/{name}`');
  assert.equal(
    whoMayCall(tenants),
    'any personal access token or session token of the operator tenant with `tenants:list` on the requested resource',
  );
});

test('every endpoint has one row, under its noun, with its codes', () => {
  const declarations = [me, vault, removal, tenants];
  const text = endpointsMarkdown(declarations);
  const common = text.split('\n').find((line) => line.startsWith('Every endpoint can')) ?? '';
  for (const e of declarations) {
    const rows = text.split('\n').filter((line) => line.startsWith(`| ${e.method} | \`${e.path}\` |`));
    assert.equal(rows.length, 1, e.name);
    for (const code of errorCodes(e)) assert.ok(`${common}${rows}`.includes(`\`${code}\``), `${e.name} ${code}`);
  }
  assert.deepEqual(text.match(/^## .*$/gm), ['## authentication', '## vaults']);
  assert.match(text, /`a\\\|b`/);
  assert.match(text, /enterprise plan/);
  assert.match(text, /\| change; may require approval \(`vault_delete`\) \|/);
});

test('every error code has one row', () => {
  const rows = errorsMarkdown()
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  assert.equal(rows.length, Object.keys(ERROR_CODES).length);
  for (const [code, [status, meaning]] of Object.entries(ERROR_CODES)) {
    assert.ok(rows.includes(`| \`${code}\` | ${status} | ${meaning} |`), code);
  }
});
