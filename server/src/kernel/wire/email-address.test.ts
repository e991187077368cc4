import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalEmail, EMAIL_PATTERN } from './wire.ts';

const FORM = new RegExp(EMAIL_PATTERN);

test('the local part may have letters of one script, and the domain ASCII', () => {
  for (const address of [
    "o'neil+1@acme.example",
    'jörg@acme.example',
    'Łukasz.Żak@acme.example',
    'иван@acme.example',
    'γιώργος@acme.example',
    'דוד@acme.example',
    '山田.taro@acme.example',
    '用户@xn--fsqu00a.example',
  ]) {
    assert.match(address, FORM);
  }
  for (const address of [
    'iv\u0430n@acme.example',
    'jo\u0308rg@acme.example',
    'ann@ä.example',
    'a\u202eb@acme.example',
    'a\u200bb@acme.example',
    'a\u00a0b@acme.example',
    'ａnn@acme.example',
    'ann＠acme.example',
    'ﬁ@acme.example',
    '\u0130@acme.example',
  ]) {
    assert.doesNotMatch(address, FORM, JSON.stringify(address));
  }
});

test('each letter that passes has one composed form, and one in lower case that passes too', () => {
  for (let code = 0x80; code < 0x10000; code++) {
    const address = `${String.fromCharCode(code)}@acme.example`;
    if (!FORM.test(address)) continue;
    const lower = canonicalEmail(address);
    assert.equal(address.normalize('NFKC'), address, code.toString(16));
    assert.equal(lower.normalize('NFKC'), lower, code.toString(16));
    assert.match(lower, FORM, code.toString(16));
    assert.equal(canonicalEmail(lower), lower);
  }
});
