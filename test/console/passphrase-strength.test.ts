import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strengthOf } from '../../console/src/secrets/passphrase-strength.ts';

test('repetitions, sequences and few words are weak, random words and characters strong', () => {
  const cases: Record<string, string> = {
    '': 'none',
    elevenchars: 'short',
    aaaaaaaaaaaaaaaa: 'weak',
    abcdefghijklmnop: 'weak',
    '123456789012': 'weak',
    'my secret vault': 'weak',
    'horse horse horse horse horse': 'weak',
    'correct horse battery staple': 'fair',
    'correct horse battery staple anchor lemon': 'strong',
    'k3!vQz7#mP2w': 'strong',
  };
  for (const [passphrase, strength] of Object.entries(cases))
    assert.equal(strengthOf(passphrase), strength, passphrase);
});
