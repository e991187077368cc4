import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StandIn } from '../../../../test/support/stand-in.ts';
import { openPkcs11 } from './pkcs11.ts';
import { splitReference } from './reference.ts';

/** `test/seals/pkcs11.test.ts` has the module. */

const MODULE = '?module-path=/usr/lib/softhsm/libsofthsm2.so';

test('a reference of pkcs11 has one spelling, and no PIN', async () => {
  const standIn = await new StandIn(() => ({})).start();
  const surroundings = standIn.surroundings({ PKCS11_PIN: '1' });
  const open = (name: string) => openPkcs11(splitReference(`pkcs11:${name}`), surroundings);
  for (const name of [
    `token=a;object=b${MODULE}`,
    `token=a%20b;serial=1;slot-id=0;object=b;id=%01%FF${MODULE}&pin-source=file:/run/pin`,
    `serial=1;id=%01${MODULE}`,
    `token=%C3%A4;object=b?module-path=/a%20b.so`,
  ])
    assert.equal(open(name).reference, `pkcs11:${name}`);
  for (const name of [
    '',
    'token=a;object=b',
    `token=a${MODULE}`,
    `object=b${MODULE}`,
    `object=b;token=a${MODULE}`,
    `token=a;token=a;object=b${MODULE}`,
    `token=;object=b${MODULE}`,
    `token=a;object=b;${MODULE}`,
    `token=a;object=b;pin-value=1${MODULE}`,
    `token=%61;object=b${MODULE}`,
    `token=%c3%a4;object=b${MODULE}`,
    `token=%FF;object=b${MODULE}`,
    `token=%00;object=b${MODULE}`,
    `token=a+b;object=b${MODULE}`,
    `token=a;id=1${MODULE}`,
    `token=a;id=%0a${MODULE}`,
    `slot-id=01;object=b${MODULE}`,
    `token=a;object=b?module-path=lib.so`,
    `token=a;object=b?module-path=/lib%2Fa.so`,
    `token=a;object=b${MODULE}&pin-value=1234`,
    `token=a;object=b${MODULE}&pin-source=/run/pin`,
    `token=a;object=b${MODULE}&pin-source=https://example.com/pin`,
  ])
    assert.throws(() => open(name), { name: 'SealError', problem: 'misconfigured' }, name);
  const reference = splitReference(`pkcs11:token=a;object=b${MODULE}`);
  assert.throws(() => openPkcs11(reference, { ...surroundings, machine: null }), { problem: 'misconfigured' });
  await standIn.close();
});
