import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../server/src/kernel/base/clock.ts';
import { AddressGuard } from '../../server/src/kernel/outbound/address-guard.ts';
import { signedHeaders } from '../../server/src/kernel/outbound/aws-signature.ts';
import { HttpClient } from '../../server/src/kernel/outbound/http-client.ts';
import { openAwsKms } from '../../server/src/kernel/seals/aws-kms.ts';
import { splitReference } from '../../server/src/kernel/seals/reference.ts';
import { machineCalls, type SealSurroundings } from '../../server/src/kernel/seals/surroundings.ts';
import { freePort } from '../support/ports.ts';
import { CONTEXT, conforms, problemOf } from '../support/provider-conformance.ts';
import { RunningProgram } from '../support/running-program.ts';
import { until } from '../support/until.ts';

/** The KMS and the STS of moto, which somebody else wrote after those of AWS. It does not check signatures. */

const INSTALL_TIMEOUT_MS = 5 * 60_000;
const REGION = 'eu-central-1';
const SECRET = 'secret-of-the-test';
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'coffer-moto-kms-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Why the server cannot be had here, or false. */
async function install(): Promise<string | false> {
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pinned = ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements.txt')];
    await run(join(folder, 'bin/pip'), pinned, { timeout: INSTALL_TIMEOUT_MS });
    return false;
  } catch (error) {
    return `moto cannot be had here, which takes Python and PyPI: ${String((error as Error).message).split('\n')[0]}`;
  }
}

const skip = await install();
let origin = '';
before(async () => {
  if (skip !== false) return;
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  const home = mkdtempSync(join(tmpdir(), 'coffer-moto-'));
  new RunningProgram(home, join(folder, 'bin/moto_server'), ['-p', String(port)]);
  await until('moto does not answer', () =>
    fetch(`${origin}/moto-api/`).then(
      () => true,
      () => false,
    ),
  );
});

async function kms(action: string, members: object): Promise<Record<string, Record<string, string>>> {
  const url = `${origin}/`;
  const body = JSON.stringify(members);
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${action}` };
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, sessionToken: null };
  const place = { region: REGION, service: 'kms', now: Date.now() };
  const signed = signedHeaders({ method: 'POST', url, headers, body }, credentials, place);
  const answer = await fetch(url, { method: 'POST', headers: signed, body });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text === '' ? {} : JSON.parse(text);
}

const surroundings = (at: string, env: Record<string, string> = {}): SealSurroundings => ({
  http: new HttpClient(new AddressGuard(['127.0.0.1/32'])),
  machine: machineCalls(),
  env: {
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_ENDPOINT_URL_KMS: at,
    AWS_ENDPOINT_URL_STS: at,
    ...env,
  },
  clock: systemClock,
  owner: 'ten_seals',
});
const makeKey = async () => String((await kms('CreateKey', {}))['KeyMetadata']?.['Arn']);
const open = (name: string, at = origin, env: Record<string, string> = {}) =>
  openAwsKms(splitReference(`aws-kms:${name}`), surroundings(at, env));

conforms(
  'aws-kms of moto',
  async () => {
    const arn = await makeKey();
    const unreachable = open(arn, `http://127.0.0.1:${await freePort()}`);
    return { provider: open(arn), unreachable, secrets: [SECRET], close: async () => {} };
  },
  skip,
);

describe('AWS KMS of moto', { skip }, () => {
  const plaintext = randomBytes(32);

  test('a key is disabled, enabled, about to be deleted, and was another one', async () => {
    const [arn, other] = [await makeKey(), await makeKey()];
    const provider = open(arn);
    const sealed = await provider.seal(plaintext, CONTEXT);
    assert.equal(await problemOf(open(other).open(sealed, CONTEXT)), 'wrong');
    await kms('DisableKey', { KeyId: arn });
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'disabled');
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'disabled');
    await kms('EnableKey', { KeyId: arn });
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
    await kms('ScheduleKeyDeletion', { KeyId: arn, PendingWindowInDays: 7 });
    assert.ok(['deleted', 'disabled'].includes(await problemOf(provider.open(sealed, CONTEXT))));
    const unknown = arn.replace(/[0-9a-f]{12}$/, '0123456789ab');
    assert.equal(await problemOf(open(unknown).seal(plaintext, CONTEXT)), 'deleted');
  });

  test('an alias, the short form, and a key that was rotated open the same', async () => {
    const arn = await makeKey();
    await kms('CreateAlias', { AliasName: 'alias/coffer/seal', TargetKeyId: arn });
    const names = [`//${REGION}/alias/coffer/seal`, `//${REGION}/${arn.split('/').at(-1)}`];
    const sealed = await open(arn).seal(plaintext, CONTEXT);
    await kms('RotateKeyOnDemand', { KeyId: arn });
    for (const name of names) assert.deepEqual(await open(name).open(sealed, CONTEXT), plaintext);
  });

  test('a role is assumed with a web identity', async () => {
    const file = join(folder, 'web-identity');
    writeFileSync(file, 'a.web.identity');
    const env = {
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/coffer',
    };
    const provider = open(await makeKey(), origin, env);
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
  });
});
