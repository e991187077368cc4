import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCommonPassword } from './common-passwords.ts';

test('common passwords are found, also with replaced letters, added digits or repeated', () => {
  const common = [
    'password1234',
    'Password2026!',
    'p@ssw0rd1234',
    'passwordpassword',
    'qwertyuiop123',
    '123456789012',
    '987654321098',
    'abcdefghijkl',
    'aaaaaaaaaaaa',
    'abcabcabcabcabc',
    'iloveyou12345',
    '!!!letmein!!!123',
  ];
  for (const password of common) assert.ok(isCommonPassword(password), password);
});

test('other passwords are not', () => {
  const fine = [
    'correct horse battery',
    'a horse of my own',
    'x8Lw2-qPz71-mmT',
    'tulips-over-zagreb',
    'password of ann@example.com',
  ];
  for (const password of fine) assert.ok(!isCommonPassword(password), password);
});
