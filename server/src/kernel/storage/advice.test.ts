import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adviceFor, BY_CODE } from './advice.ts';

const START = 'test/operator/start-advice.test.ts';
/** The file that makes each fault for real, and what stands there about it. */
const TESTED_BY: Readonly<Record<string, readonly [file: string, phrase: string]>> = {
  '28P01': [START, 'refused the user or the password'],
  '28000': [START, 'does not let this user connect'],
  '3D000': [START, 'does not exist on the server'],
  '42501': [START, 'may not do this in the database'],
  '08P01': [START, "'08P01'"],
  '42704': [START, "'42704'"],
  '22023': [START, "'22023'"],
  '57P03': [START, "'57P03'"],
  ENOTFOUND: [START, 'cannot be resolved'],
  EAI_AGAIN: [START, "'EAI_AGAIN'"],
  ERR_TLS_CERT_ALTNAME_INVALID: [START, 'is not for the host in CV_DATABASE_URL'],
  DEPTH_ZERO_SELF_SIGNED_CERT: [START, 'signed by an authority that is not trusted'],
  SELF_SIGNED_CERT_IN_CHAIN: [START, "'SELF_SIGNED_CERT_IN_CHAIN'"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [START, "'UNABLE_TO_VERIFY_LEAF_SIGNATURE'"],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [START, "'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'"],
  CERT_HAS_EXPIRED: [START, 'is not valid now: renew it'],
  CERT_NOT_YET_VALID: [START, "'CERT_NOT_YET_VALID'"],
  '53300': [START, 'has no connection left'],
  '55P03': [START, "'55P03'"],
  '57014': [START, "'57014'"],
  ENOSPC: ['test/faults/disk.test.ts', 'The disk with the data folder is full'],
  EDQUOT: ['test/faults/disk.test.ts', 'The disk with the data folder is full'],
  EROFS: ['test/faults/disk.test.ts', 'a disk that is read-only'],
  EIO: ['test/faults/disk.test.ts', 'reports errors: check it'],
  '25006': ['test/faults/fail-over.test.ts', 'PostgreSQL accepts no writes: it is a standby'],
  '53100': ['test/faults/disk.test.ts', 'a disk of PostgreSQL that is full'],
  NO_FREE_CONNECTION: ['test/operate/small-pool.test.ts', 'CV_DATABASE_POOL'],
  XX001: ['test/faults/damage.test.ts', 'PostgreSQL reports that its data is damaged'],
  XX002: ['test/faults/damage.test.ts', 'PostgreSQL reports that its data is damaged'],
  UNSAFE_LOGIN: ['test/attacks/fake-database.test.ts', 'The database server requested the password in clear text'],
  NO_WRITABLE_SERVER: ['test/faults/several-servers.test.ts', 'None of the servers in CV_DATABASE_URL accepts writes'],
  NOT_REPLICATED: ['test/faults/several-servers.test.ts', 'a commit that no synchronous standby confirms'],
};
const ROOT = join(import.meta.dirname, '../../../..');

test('each fault that has an advice is made for real somewhere', () => {
  assert.deepEqual(Object.keys(TESTED_BY).toSorted(), [...BY_CODE.keys()].toSorted());
  for (const [code, [file, phrase]] of Object.entries(TESTED_BY)) {
    assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(phrase), `${file} says nothing about ${code}: ${phrase}`);
  }
});

test('an advice names the setting of what is broken, and no other', () => {
  for (const [code, advice] of BY_CODE) {
    assert.doesNotMatch(
      advice,
      /CV_TLS_CERT_FILE|CV_TLS_KEY_FILE/,
      `${code} is not about the certificate of the service`,
    );
    assert.match(advice, /\.$/);
  }
});

test('the reason below an error of ours is found, and what nobody knows has no advice', () => {
  const cause = Object.assign(new Error('x'), { code: '3D000' });
  assert.match(String(adviceFor(new Error('y', { cause }))), /does not exist on the server/);
  assert.equal(adviceFor(new Error('y')), null);
  assert.equal(adviceFor(undefined), null);
});
