import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { openPkcs11 } from '../../server/src/kernel/seals/pkcs11.ts';
import type { SealProvider } from '../../server/src/kernel/seals/provider.ts';
import { splitReference } from '../../server/src/kernel/seals/reference.ts';
import { CONTEXT, conforms, errorOf, problemOf } from '../support/provider-conformance.ts';
import { PIN, SoftHsm, softHsm } from '../support/soft-hsm.ts';
import { GONE, StandIn } from '../support/stand-in.ts';
import { until } from '../support/until.ts';

/** SoftHSM2, through a real pkcs11js in the process that the service starts for it. */

const tools = softHsm();
const skip = 'missing' in tools ? tools.missing : false;
const { module, program, binding } = 'missing' in tools ? { module: '', program: '', binding: '' } : tools;
const standIn = new StandIn(() => GONE);
const opened: SealProvider[] = [];
let hsm: SoftHsm;

before(async () => {
  if (skip !== false) return;
  await standIn.start();
  hsm = new SoftHsm({ program, binding });
  hsm.makeAesKey(module, 'seal', 1);
  hsm.makeRsaPair(module, 'seal rsa', 2);
});
after(async () => {
  for (const provider of opened) await provider.close();
  hsm?.close();
  if (skip === false) await standIn.close();
});

function open(name: string, change: Record<string, string> = {}, timeoutMs = 20_000): SealProvider {
  const surroundings = { ...standIn.surroundings({ ...hsm.env, ...change }), timeoutMs };
  const provider = openPkcs11(splitReference(`pkcs11:${name}?module-path=${module}`), surroundings);
  opened.push(provider);
  return provider;
}

const subject = (key: string) => async () => {
  const provider = open(`token=coffer%20test;object=${key}`);
  const unreachable = open(`token=another;object=${key}`);
  return { provider, unreachable, secrets: [PIN], close: async () => {} };
};
conforms('pkcs11 with an AES key of SoftHSM2', subject('seal'), skip);
conforms('pkcs11 with an RSA key of SoftHSM2', subject('seal%20rsa'), skip);

describe('pkcs11 with SoftHSM2', { skip }, () => {
  const plaintext = randomBytes(32);
  const NAME = 'token=coffer%20test;object=seal';

  /** The processes of modules that this process has started. */
  const children = () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          const [, parent] = /\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          const variables = readFileSync(`/proc/${pid}/environ`, 'utf8');
          return { pid: Number(pid), parent: Number(parent), command, variables };
        } catch {
          return { pid: 0, parent: 0, command: '', variables: '' };
        }
      })
      .filter(({ parent, command }) => parent === process.pid && command.includes('pkcs11-worker'));

  test('the key is found by label, by id and by slot', async () => {
    const sealed = await open(NAME).seal(plaintext, CONTEXT);
    const names = ['token=coffer%20test;id=%01', 'token=coffer%20test;object=seal;id=%01'];
    for (const name of names) assert.deepEqual(await open(name).open(sealed, CONTEXT), plaintext);
    for (const name of ['token=coffer%20test;object=none', 'token=coffer%20test;object=seal;id=%02'])
      assert.equal(await problemOf(open(name).open(sealed, CONTEXT)), 'deleted');
  });

  test('a process that ends is started again, and no variable or argument of it has the PIN or another credential', async () => {
    for (const provider of opened) await provider.close();
    await until('processes end', () => children().length === 0);
    const provider = open(NAME, { CV_ROOT_KEY: 'a-root-key', AWS_SECRET_ACCESS_KEY: 'an-access-key' });
    const sealed = await provider.seal(plaintext, CONTEXT);
    const [child] = children();
    assert.ok(child !== undefined);
    for (const secret of [PIN, 'a-root-key', 'an-access-key'])
      assert.ok(!child.command.includes(secret) && !child.variables.includes(secret));
    assert.ok(child.variables.includes('SOFTHSM2_CONF='));
    process.kill(child.pid, 'SIGKILL');
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
    await provider.close();
    await until('the process ends', () => children().length === 0);
  });

  test('a module that hangs is ended in time', async () => {
    const provider = open(NAME, {}, 1500);
    const sealed = await provider.seal(plaintext, CONTEXT);
    const [child] = children();
    assert.ok(child !== undefined);
    process.kill(child.pid, 'SIGSTOP');
    // The attempt that hangs is given up, and the second one gets a new process.
    assert.deepEqual(await provider.open(sealed, CONTEXT), plaintext);
    assert.ok(children().every(({ pid }) => pid !== child.pid));
  });

  test('a wrong PIN is tried once, until it is corrected', async () => {
    const file = hsm.file('pin', '00000000\n');
    const provider = open(NAME, { PKCS11_PIN: '', PKCS11_PIN_FILE: file });
    const error = await errorOf(provider.seal(plaintext, CONTEXT));
    assert.equal(error.problem, 'denied');
    assert.match(error.message, /lock/);
    const before = children().length;
    assert.equal(await problemOf(provider.seal(plaintext, CONTEXT)), 'denied');
    assert.equal(children().length, before);
    hsm.file('pin', `${PIN}\n`);
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
  });

  test('the PIN comes from one source, which may be in the reference', async () => {
    const file = hsm.file('pin-of-reference', PIN);
    const withFile = (env: Record<string, string>) => {
      const reference = splitReference(`pkcs11:${NAME}?module-path=${module}&pin-source=file:${file}`);
      const provider = openPkcs11(reference, { ...standIn.surroundings({ ...hsm.env, ...env }), timeoutMs: 20_000 });
      opened.push(provider);
      return provider;
    };
    const provider = withFile({ PKCS11_PIN: '' });
    assert.deepEqual(await provider.open(await provider.seal(plaintext, CONTEXT), CONTEXT), plaintext);
    assert.equal(await problemOf(withFile({}).seal(plaintext, CONTEXT)), 'misconfigured');
    assert.equal(await problemOf(open(NAME, { PKCS11_PIN: '' }).seal(plaintext, CONTEXT)), 'misconfigured');
  });

  test('a key that is deleted, or is there twice, is told', async () => {
    hsm.makeAesKey(module, 'brief', 7);
    const provider = open('token=coffer%20test;object=brief');
    const sealed = await provider.seal(plaintext, CONTEXT);
    await provider.close();
    hsm.makeAesKey(module, 'brief', 8);
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'misconfigured');
    hsm.removeKeys(module, 'brief');
    assert.equal(await problemOf(provider.open(sealed, CONTEXT)), 'deleted');
  });

  test('what is not there says how to get it', async () => {
    const error = await errorOf(open(NAME, { PKCS11JS_FOLDER: '/none' }).seal(plaintext, CONTEXT));
    assert.equal(error.problem, 'misconfigured');
    assert.match(error.message, /node-gyp rebuild/);
    const reference = splitReference(`pkcs11:${NAME}?module-path=/none.so`);
    const provider = openPkcs11(reference, { ...standIn.surroundings(hsm.env), timeoutMs: 20_000 });
    opened.push(provider);
    const { problem, message } = await errorOf(provider.seal(plaintext, CONTEXT));
    assert.deepEqual([problem, /module-path/.test(message)], ['misconfigured', true]);
  });
});
