import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';

/** The paths that the specification excludes from forwarding. */
const EXCLUDED = ['/auth', '/admin/tenant-region', '/attestation', '/crdt/sync', '/clusters', '/health', '/metrics'];

const isExcluded = (path: string) => {
  const bare = path.replace(/^\/v1(?=\/)/, '');
  return EXCLUDED.some((prefix) => bare === prefix || bare.startsWith(`${prefix}/`));
};

test('exactly the excluded paths are not forwarded, of those whose caller is known', () => {
  for (const { method, path, region, credentials } of DECLARATIONS) {
    if (credentials === 'public') assert.equal(region, 'local', `${method} ${path} is public`);
    else assert.equal(region === 'local', isExcluded(path), `${method} ${path} is ${region}`);
  }
});

test('every excluded path exists', () => {
  for (const prefix of EXCLUDED) {
    assert.ok(
      DECLARATIONS.some(({ path }) => path.replace(/^\/v1(?=\/)/, '').startsWith(prefix)),
      prefix,
    );
  }
});
