import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { openProvider, SEAL_KINDS } from './open-provider.ts';
import { machineCalls } from './surroundings.ts';

const EXAMPLES: Record<string, string> = {
  '<region>': 'eu-central-1',
  '<account>': '111122223333',
  '<id>': '1234abcd-12ab-34cd-56ef-1234567890ab',
  '<name>': 'coffer',
  '<project>': 'coffer-test',
  '<location>': 'europe-west3',
  '<ring>': 'seals',
  '<vault>': 'coffer-seals',
  '<version>': '1'.repeat(32),
  '<key>': 'root',
  '<label>': 'seal',
  '<serial>': '42',
  '<path>': '/opt/module.so',
  '<host>': 'vault.example.com',
  '<port>': '8200',
  '<mount>': 'transit',
};
const machine = machineCalls();
const surroundings = { http: machine, machine, env: { VAULT_TOKEN: 'token' }, clock: systemClock, owner: 'ten_seals' };

test('every form that is documented opens, and keeps its reference', async () => {
  for (const { forms } of SEAL_KINDS) {
    for (const form of forms) {
      const reference = form.replace(/<[a-z]+>/g, (name) => String(EXAMPLES[name]));
      const provider = openProvider(reference, surroundings);
      assert.equal(provider.reference, reference);
      await provider.close();
    }
  }
});

test('another kind, and text that is no reference, are refused with the choices', () => {
  assert.throws(
    () => openProvider('kmip:a', surroundings),
    /Choose of: aws-kms, gcp-kms, azure-keyvault, pkcs11, transit\.$/,
  );
  for (const text of [
    '',
    'aws-kms',
    'AWS-KMS:a',
    ' aws-kms:a',
    'aws-kms:a b',
    'aws-kms:ä',
    `aws-kms:${'a'.repeat(1100)}`,
  ])
    assert.throws(() => openProvider(text, surroundings), { name: 'SealError', problem: 'misconfigured' }, text);
});

test('options and variables have a text, and are named once', () => {
  for (const { kind, doc, options, variables } of SEAL_KINDS) {
    for (const one of [{ name: kind, doc }, ...options, ...variables]) assert.match(one.doc, /\.$/, one.name);
    const names = [...options, ...variables].map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
    // They are listed in the order in which a reference has them.
    assert.deepEqual(
      options.map(({ name }) => name),
      options.map(({ name }) => name).sort(),
    );
  }
});
