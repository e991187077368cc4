import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  LOCALHOST_CERTIFICATE,
  LOCALHOST_KEY,
  OPENSSH_ECDSA,
  OPENSSH_ED25519,
  OPENSSH_ENCRYPTED,
  OPENSSH_ENCRYPTED_AEAD,
  TEST_CA,
} from '../../../../../test/support/test-keys.ts';
import { KNOWN_TYPES, SECRET_TYPE_PATTERN, VALUE_BYTES_MAX, valueProblem } from './secret-types.ts';

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 200 });

function accepts(type: string, value: string, what = value): void {
  assert.equal(valueProblem(type, value), null, `${type}: ${what}`);
}

function refuses(type: string, value: string, what = value): void {
  assert.match(valueProblem(type, value) ?? 'accepted', /^must be /, `${type}: ${what}`);
}

describe('every type', () => {
  test('the known types have the form of a type', () => {
    for (const type of KNOWN_TYPES) assert.match(type, new RegExp(SECRET_TYPE_PATTERN));
  });

  test('a value may be empty where the type has no rule against it', () => {
    const free = ['generic', 'template', 'anything'];
    for (const type of free) accepts(type, '', 'empty');
    for (const type of KNOWN_TYPES.filter((known) => !free.includes(known))) refuses(type, '', 'empty');
  });

  test('a value is not larger than 1 MiB, counted in bytes of UTF-8', () => {
    accepts('generic', 'x'.repeat(VALUE_BYTES_MAX), 'the most');
    refuses('generic', 'x'.repeat(VALUE_BYTES_MAX + 1), 'one more');
    accepts('generic', 'é'.repeat(VALUE_BYTES_MAX / 2), 'the most, in two bytes each');
    refuses('generic', `${'é'.repeat(VALUE_BYTES_MAX / 2)}x`, 'one more, in bytes');
  });

  test('half of a surrogate pair is refused: it would be another character when read back', () => {
    for (const type of [...KNOWN_TYPES, 'anything']) {
      refuses(type, 'a\ud800b', 'high half');
      refuses(type, '\udc00', 'low half');
    }
    accepts('generic', '\u{1f511}');
  });

  test('no reason repeats the value', () => {
    const marker = 'S3cretMarker';
    const carriers = [
      `${marker}\n`,
      `{"${marker}": 1}`,
      `{"host":"${marker}","port":"${marker}"}`,
      `-----BEGIN ${marker}-----\n${marker}\n-----END ${marker}-----`,
      `-----BEGIN CERTIFICATE-----\n${marker}\n-----END CERTIFICATE-----`,
      marker,
    ];
    for (const type of KNOWN_TYPES) {
      for (const carrier of carriers) assert.ok(!(valueProblem(type, carrier) ?? '').includes(marker), type);
    }
  });

  test('generic and unknown types take anything well-formed', () => {
    fc.assert(
      fc.property(text, fc.constantFrom('generic', 'anything', 'constructor', 'to_string'), (value, type) => {
        assert.equal(valueProblem(type, value), null);
      }),
    );
  });
});

describe('api_key, password, token', () => {
  test('one line of at most 4,096 characters', () => {
    for (const type of ['api_key', 'password', 'token']) {
      accepts(type, 'correct horse battery staple');
      accepts(type, 'ключ 🔑');
      accepts(type, '🔑'.repeat(4096), 'the most, each in two UTF-16 units');
      refuses(type, 'x'.repeat(4097), 'too long');
      for (const odd of ['a\nb', 'a\r', '\tb', 'a\0', 'a\u007f', 'a\u0085b', 'a\u2028b', 'a\u2029b']) {
        refuses(type, odd, JSON.stringify(odd));
      }
    }
  });
});

describe('database', () => {
  const whole = { host: 'db.internal', port: 5432, database: 'app', username: 'app', password: 'pass' };
  const written = (change: object) => JSON.stringify({ ...whole, ...change });

  test('host, port, database, username and password are needed; tls and further texts may be there', () => {
    accepts('database', written({}));
    accepts('database', written({ tls: false }));
    accepts('database', written({ engine: 'postgres', '': '', constructor: 'x' }));
    for (const name of Object.keys(whole)) refuses('database', written({ [name]: undefined }), `no ${name}`);
  });

  test('wrong fields are refused', () => {
    for (const port of [0, -1, 65_536, 1.5, '5432', null, 1e99]) refuses('database', written({ port }));
    for (const tls of ['false', 0, null]) refuses('database', written({ tls }));
    for (const name of ['host', 'database', 'username', 'password']) {
      for (const odd of ['', 5, null, {}, 'a\nb', 'x'.repeat(4097)]) refuses('database', written({ [name]: odd }));
    }
    refuses('database', written({ pool: 5 }));
  });

  test('what is no object, and an object two readers could read differently, is refused', () => {
    for (const odd of ['[]', 'null', '"x"', '{', 'postgres://u:p@h/d', `${written({})}x`]) refuses('database', odd);
    refuses('database', written({}).replace('"password"', '"password":"other","password"'), 'the same key twice');
    refuses('database', `\ufeff${written({})}`, 'a byte order mark');
  });
});

describe('ssh_key', () => {
  const { privateKey: rsa, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const locked = { cipher: 'aes-256-cbc', passphrase: 'passphrase' } as const;
  const opened = {
    'pkcs8 rsa': rsa.export({ format: 'pem', type: 'pkcs8' }),
    'pkcs1 rsa': rsa.export({ format: 'pem', type: 'pkcs1' }),
    'sec1 ec': ec.export({ format: 'pem', type: 'sec1' }),
    'encrypted pkcs8': rsa.export({ format: 'pem', type: 'pkcs8', ...locked }),
    'encrypted pkcs1': rsa.export({ format: 'pem', type: 'pkcs1', ...locked }),
    'encrypted sec1': ec.export({ format: 'pem', type: 'sec1', ...locked }),
    'openssh ed25519': OPENSSH_ED25519,
    'openssh ecdsa': OPENSSH_ECDSA,
    'openssh encrypted': OPENSSH_ENCRYPTED,
    'openssh encrypted, aead': OPENSSH_ENCRYPTED_AEAD,
  };

  test('private keys in every common form, with either line ending, with or without the last one', () => {
    for (const [what, pem] of Object.entries(opened)) {
      const key = String(pem);
      accepts('ssh_key', key, what);
      accepts('ssh_key', key.trim(), what);
      accepts('ssh_key', key.replaceAll('\n', '\r\n'), what);
    }
    const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    accepts('ssh_key', parameters + String(opened['sec1 ec']), 'as openssl ecparam writes it');
  });

  test('public keys, certificates, two keys and torn ones are refused', () => {
    refuses('ssh_key', String(publicKey.export({ format: 'pem', type: 'spki' })));
    refuses('ssh_key', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII me');
    refuses('ssh_key', LOCALHOST_CERTIFICATE);
    refuses('ssh_key', LOCALHOST_CERTIFICATE + LOCALHOST_KEY);
    refuses('ssh_key', OPENSSH_ED25519 + OPENSSH_ED25519);
    refuses('ssh_key', `my key:\n${OPENSSH_ED25519}`, 'ssh reads no text before it');
    for (const [what, pem] of Object.entries(opened)) {
      const lines = String(pem).split('\n');
      refuses('ssh_key', lines.slice(1).join('\n'), `${what} without BEGIN`);
      refuses('ssh_key', lines.slice(0, -2).join('\n'), `${what} without END`);
      refuses('ssh_key', String(pem).replaceAll('PRIVATE KEY', 'STRANGE KEY'), `${what} with another label`);
    }
  });

  test('an OpenSSH key that is changed in its frame does not pass', () => {
    const lines = OPENSSH_ED25519.trim().split('\n');
    const body = Buffer.from(lines.slice(1, -1).join(''), 'base64');
    const armoured = (bytes: Buffer) => [lines[0], bytes.toString('base64'), lines.at(-1)].join('\n');
    accepts('ssh_key', armoured(body));
    for (let length = 0; length < body.length; length++) {
      refuses('ssh_key', armoured(body.subarray(0, length)), `cut to ${length}`);
    }
    refuses('ssh_key', armoured(Buffer.concat([body, Buffer.from([0])])), 'a byte behind it');
    // Only the seed (any 32 bytes) and the comment (any text, also one byte longer or shorter) may change; all else is fixed.
    const comment = body.lastIndexOf('test');
    const seed = comment - 4 - 64;
    for (let at = 0; at < body.length; at++) {
      const isFree = (at >= seed && at < seed + 32) || (at >= comment - 1 && at < comment + 4);
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 1;
      if (!isFree) refuses('ssh_key', armoured(changed), `byte ${at}`);
    }
  });

  test('hostile text is answered, not thrown at', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const body = Buffer.concat([Buffer.from('openssh-key-v1\0'), bytes]).toString('base64');
        refuses('ssh_key', `-----BEGIN OPENSSH PRIVATE KEY-----\n${body}\n-----END OPENSSH PRIVATE KEY-----\n`);
      }),
    );
    refuses('ssh_key', '-----BEGIN '.repeat(90_000), 'many beginnings');
    refuses('ssh_key', '-----BEGIN A-----\n'.repeat(50_000), 'many open blocks');
  });
});

describe('certificate', () => {
  test('one or more certificates, with the key before or after them', () => {
    accepts('certificate', TEST_CA);
    accepts('certificate', LOCALHOST_CERTIFICATE + TEST_CA);
    accepts('certificate', LOCALHOST_CERTIFICATE + TEST_CA + LOCALHOST_KEY);
    accepts('certificate', LOCALHOST_KEY + LOCALHOST_CERTIFICATE + TEST_CA);
    accepts('certificate', `subject=localhost\n${LOCALHOST_CERTIFICATE}`, 'RFC 7468 permits text around it');
    accepts('certificate', LOCALHOST_CERTIFICATE.replaceAll('\n', '\r\n'));
  });

  test('anything else is refused', () => {
    refuses('certificate', LOCALHOST_KEY);
    refuses('certificate', LOCALHOST_KEY + LOCALHOST_CERTIFICATE + LOCALHOST_KEY, 'two keys');
    refuses('certificate', LOCALHOST_CERTIFICATE + LOCALHOST_KEY + TEST_CA, 'a key between them');
    refuses('certificate', LOCALHOST_CERTIFICATE + OPENSSH_ED25519, 'a key no TLS server reads');
    refuses('certificate', TEST_CA.replace('MIIB', 'MIIC'), 'not DER');
    refuses('certificate', TEST_CA.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST'));
    refuses('certificate', TEST_CA.slice(0, -10), 'torn');
    refuses('certificate', 'a certificate');
    const der = Buffer.from(TEST_CA.split('\n').slice(1, -2).join(''), 'base64');
    const longer = Buffer.concat([der, Buffer.from('hidden')]).toString('base64');
    refuses('certificate', `-----BEGIN CERTIFICATE-----\n${longer}\n-----END CERTIFICATE-----\n`, 'bytes behind it');
  });
});

describe('json', () => {
  test('whatever JSON.parse reads', () => {
    fc.assert(fc.property(fc.json(), (value) => accepts('json', value)));
    for (const odd of ['{', "{'a':1}", 'undefined', '{"a":1}}', '01', '\ufeff{}']) refuses('json', odd);
    accepts('json', `${'['.repeat(500_000)}${']'.repeat(500_000)}`, 'nested deeply');
  });
});
