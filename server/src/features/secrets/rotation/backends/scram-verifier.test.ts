import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { scramVerifier } from './scram-verifier.ts';

/** The exchange printed in RFC 7677, section 3: user `user`, password `pencil`. */
const SALT = 'W22ZaJ0SNY7soEsUEjb6gQ==';
const NONCE = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
const PROOF = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
const SERVER_SIGNATURE = '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=';
const AUTH_MESSAGE = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${NONCE},s=${SALT},i=4096,c=biws,r=${NONCE}`;

test('a server that stores the verifier accepts the exchange of RFC 7677', async () => {
  const verifier = await scramVerifier('pencil', Buffer.from(SALT, 'base64'));
  const [, salt, storedKey = '', serverKey = ''] = /^SCRAM-SHA-256\$4096:(.+)\$(.+):(.+)$/.exec(verifier) ?? [];
  assert.equal(salt, SALT);
  const sign = (key: string) => createHmac('sha256', Buffer.from(key, 'base64')).update(AUTH_MESSAGE).digest();
  assert.equal(sign(serverKey).toString('base64'), SERVER_SIGNATURE);
  // RFC 5802, 3: the proof is the client's key masked by its signature, and the stored key is the hash of that key.
  const mask = sign(storedKey);
  const clientKey = Buffer.from(PROOF, 'base64').map((byte, index) => byte ^ (mask[index] ?? 0));
  assert.equal(createHash('sha256').update(clientKey).digest('base64'), storedKey);
});

test('each verifier has its own salt, and shows nothing of the password', async () => {
  const [one, other] = [await scramVerifier('pencil'), await scramVerifier('pencil')];
  assert.notEqual(one, other);
  assert.match(one, /^SCRAM-SHA-256\$4096:[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=$/);
});

test('a password that servers would first rewrite is refused, unrepeated', async () => {
  for (const odd of ['', 'pässword', 'a\u00a0b', 'a\nb', 'a\u007f']) {
    await assert.rejects(scramVerifier(odd), /^TypeError: the password must be printable ASCII$/);
  }
});
