import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { promptsOf } from '../../../../../evaluate/detection/prompts.ts';
import { KINDS, merged } from './finding.ts';
import { Redaction } from './redaction.ts';
import { scan } from './scan.ts';
import { RedactedStream } from './stream.ts';

const nothingStored = async () => new Set<string>();
const masked = (text: string) => new Redaction(nothingStored).mask(text);
/** Made here, so that no file has one. */
const KEY = ['AKIA', 'Q3EGRIVCZ7AXO4LM'].join('');

describe('findings', () => {
  test('that overlap become one, with the kind that wins', () => {
    const found = merged([
      { start: 5, end: 9, kind: 'email', rule: 'a' },
      { start: 0, end: 6, kind: 'secret', rule: 'b' },
      { start: 20, end: 22, kind: 'phone', rule: 'c' },
    ]);
    assert.deepEqual(found, [
      { start: 0, end: 9, kind: 'secret', rule: 'b' },
      { start: 20, end: 22, kind: 'phone', rule: 'c' },
    ]);
  });

  test('are in order, inside the text and apart, for any text', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        KEY,
        'password: ',
        '"a" + "b"',
        '%41%4b',
        '\\u0041',
        '-----BEGIN PRIVATE KEY-----',
        'a@b.co',
        '\n',
        '10.0.0.1',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        let end = 0;
        for (const finding of scan(text)) {
          assert.ok(finding.start >= end && finding.end > finding.start && finding.end <= text.length);
          assert.ok(KINDS.includes(finding.kind));
          end = finding.end;
        }
      }),
    );
  });

  test('take linear time, whatever the text is', async () => {
    const fillers = [
      'a',
      'A1',
      '"',
      "'a' + ",
      '=',
      'a.',
      '-----BEGIN PRIVATE KEY-----',
      'eyJ',
      '1234 ',
      'password:',
      '@',
      'a@a.',
    ];
    const more = [
      '%41',
      '\\u0041',
      'x/',
      '_-',
      'key is ',
      '\n',
      '0 ',
      'https://a:',
      '?key=',
      '```\n',
      '-----BEGIN CERTIFICATE-----',
    ];
    const texts = [...fillers, ...more].map((filler) => filler.repeat(Math.ceil(32_768 / filler.length)));
    // Encoded many times over, in several ways at once.
    const nested = [`%${'25'.repeat(8000)}`, `&${'amp;'.repeat(8000)}`, `%${'25'.repeat(15)}&${'amp;'.repeat(15)}`];
    for (const text of [...texts, ...nested]) {
      const started = performance.now();
      await masked(text);
      // It takes well below a second; a pattern that backtracks would take minutes.
      assert.ok(performance.now() - started < 60_000, text.slice(0, 40));
    }
  });
});

describe('a secret is found', () => {
  const cases: Record<string, string> = {
    'in base64': Buffer.from(KEY).toString('base64'),
    'in base64 of base64': Buffer.from(Buffer.from(`key ${KEY}`).toString('base64')).toString('base64'),
    'in base64 without padding, for URLs': Buffer.from(`{"k":"${KEY}"}`).toString('base64url'),
    'in hexadecimal': Buffer.from(KEY).toString('hex'),
    'percent-encoded': [...KEY].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
    'in escapes': [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join(''),
    'in entities': [...KEY].map((letter) => `&#${letter.charCodeAt(0)};`).join(''),
    'with invisible characters': [...KEY].join('\u200b'),
    'in full-width letters': [...KEY].map((letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)).join(''),
    'joined by +': `"${KEY.slice(0, 8)}" + "${KEY.slice(8)}"`,
    'joined by .': `'${KEY.slice(0, 8)}' . '${KEY.slice(8)}'`,
    'joined over lines': `("${KEY.slice(0, 8)}"\n  "${KEY.slice(8)}")`,
    'joined from a list': `["${KEY.slice(0, 8)}", "${KEY.slice(8)}"].join("")`,
    'continued by a backslash': `export K=${KEY.slice(0, 8)}\\\n${KEY.slice(8)}`,
  };
  for (const [how, text] of Object.entries(cases)) {
    test(how, async () => {
      const result = await masked(`before ${text} after`);
      assert.match(result, /^before .*\[SECRET_1\].* after$/s);
      for (let start = 0; start + 12 <= text.length; start += 12) {
        const part = text.slice(start, start + 12);
        assert.ok(!result.includes(part) || !/[A-Z0-9]{6}/.test(part), `${part} is left`);
      }
    });
  }

  test('in long runs of base64 and hexadecimal, on one line or many, and in UTF-16', async () => {
    const filler = 'Nothing to see in these words at all. '.repeat(300);
    const bytes = Buffer.from(`${filler}${KEY} ${filler}`);
    const base64 = bytes.toString('base64');
    const spellings = [
      base64,
      base64.replace(/(.{76})/g, '$1\n'),
      base64.replace(/(.{64})/g, '$1\r\n  '),
      bytes.toString('base64url'),
      bytes.toString('hex').slice(0, 31_000),
      Buffer.from(`the key is ${KEY}`, 'utf16le').toString('base64'),
      Buffer.from(`the key is ${KEY}`, 'utf16le').swap16().toString('base64'),
      Buffer.from(`the key is ${KEY}`, 'utf16le').toString('hex'),
    ];
    assert.ok(base64.length > 16_384);
    for (const [at, spelling] of spellings.entries())
      assert.equal(await masked(`before "${spelling}" after`), 'before "[SECRET_1]" after', `spelling ${at}`);
  });

  test('in a private key without the lines around it, and not in a certificate or public key', async () => {
    const pairs = [
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ];
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'of the test' };
    for (const { privateKey, publicKey } of pairs) {
      const keys = [
        privateKey.export({ format: 'der', type: 'pkcs8' }),
        privateKey.export({ format: 'der', type: 'pkcs8', ...cipher }),
      ];
      const { asymmetricKeyType: type } = privateKey;
      if (type === 'ec') keys.push(privateKey.export({ format: 'der', type: 'sec1' }));
      if (type === 'rsa') keys.push(privateKey.export({ format: 'der', type: 'pkcs1' }));
      for (const der of keys) {
        const base64 = der.toString('base64');
        for (const spelling of [
          base64,
          base64.replace(/(.{64})/g, '$1\n').trim(),
          base64.slice(0, -16),
          der.toString('hex'),
        ])
          assert.equal(await masked(`key: ${spelling} .`), 'key: [PRIVATE_KEY_1] .', String(type));
      }
      const harmless = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
      assert.doesNotMatch(await masked(`See ${harmless} .`), /PRIVATE_KEY/);
    }
  });

  test('in a private key without an end', async () => {
    const begin = ['-----BEGIN', 'RSA PRIVATE KEY-----'].join(' ');
    const result = await masked(`key:\n${begin}\nMIIEowIBAAKCAQEAx\nq8Zk3JYf\n`);
    assert.doesNotMatch(result, /MIIEow|q8Zk3/);
  });
});

describe('every address is masked', () => {
  test('of mail, whatever its domain', async () => {
    const addresses = [
      'ann.lee@example.org',
      'ann@example.com',
      'bob@corp.example',
      'eva@mail.corp.example',
      'eva@host.test',
      'eva@host.invalid',
      'noreply@github.com',
      'root@db.localhost',
      'app@shop.iam.gserviceaccount.com',
      'ivan@xn--e1afmkfd.xn--p1ai',
      'иван@пример.рф',
      'ann@почта.example.org',
      '佐藤@例え.日本',
      'ann%40example.org',
    ];
    for (const address of addresses) {
      assert.equal(await masked(`Write to ${address}, please.`), 'Write to [EMAIL_1], please.', address);
    }
    assert.equal(await masked('ann@example.org--the owner'), '[EMAIL_1]--the owner');
  });

  test('of a private network, a link or the machine itself, also as a range', async () => {
    const addresses = [
      '169.254.169.254',
      '169.254.0.0',
      '127.0.0.1',
      '127.8.9.10',
      '192.168.0.0',
      '10.0.0.0',
      '172.16.0.0',
      '100.64.0.0',
      '::1',
      '0:0:0:0:0:0:0:1',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '::ffff:a9fe:a9fe',
      '0:0:0:0:0:ffff:c0a8:1',
      'fe80::1',
    ];
    for (const address of addresses) {
      assert.equal(await masked(`at ${address} now`), 'at [INTERNAL_ADDRESS_1] now', address);
      assert.equal(await masked(`range ${address}/16 here`), 'range [INTERNAL_ADDRESS_1]/16 here', address);
      const [host, shown] = address.includes(':')
        ? [`[${address}]`, '[[INTERNAL_ADDRESS_1]]']
        : [address, '[INTERNAL_ADDRESS_1]'];
      assert.equal(await masked(`http://${host}:8080/x`), `http://${shown}:8080/x`, address);
    }
  });

  test('and of a URL with a password only the password', async () => {
    const url = ['mysql://app:', 'Tr0ub4dor', '@db3.example.com:5432/shop'].join('');
    assert.equal(await masked(`url: ${url}`), 'url: mysql://app:[PASSWORD_1]@db3.example.com:5432/shop');
    assert.equal(await masked('see https://ann@example.org/x'), 'see https://[EMAIL_1]/x');
  });

  test('and what only looks like one is left', async () => {
    for (const text of [
      'git clone git@github.com:acme/shop.git',
      'npm i eslint@9.1.0',
      'icon@2x.png',
      '8.8.8.8 and 203.0.113.7',
      '::ffff:808:808',
      'std::1 and a::1b',
      'version 126.0.0.1',
    ]) {
      assert.equal(await masked(text), text);
    }
  });
});

describe('placeholders', () => {
  test('are the same for the same value, in the whole conversation', async () => {
    const redaction = new Redaction(nothingStored);
    assert.equal(await redaction.mask('ann@acme.io and bob@acme.io'), '[EMAIL_1] and [EMAIL_2]');
    assert.equal(await redaction.mask('bob@acme.io, then 10.1.2.3'), '[EMAIL_2], then [INTERNAL_ADDRESS_1]');
    assert.deepEqual(redaction.counts, { email: 3, internal_address: 1 });
  });

  test('that stand in the text already are not given to another value', async () => {
    const redaction = new Redaction(nothingStored);
    assert.equal(await redaction.mask('see [EMAIL_4] and eva@acme.io'), 'see [EMAIL_4] and [EMAIL_5]');
  });

  test('stand for a value also where nothing says what it is', async () => {
    assert.equal(
      await masked('hex is 1f0e. password: Tr0ub4dor&3; again Tr0ub4dor&3 here'),
      'hex is 1f0e. password: [PASSWORD_1]; again [PASSWORD_1] here',
    );
  });

  test('stand for stored values, which are counted apart', async () => {
    const redaction = new Redaction(async (values) => new Set(values.filter((value) => value === 'plain words')));
    assert.equal(
      await redaction.mask('say plain words, "plain words" or plain'),
      'say [SECRET_1], "[SECRET_1]" or plain',
    );
    assert.deepEqual([redaction.counts, redaction.stored], [{ secret: 2 }, 2]);
  });
});

describe('a stream', () => {
  test('lets no planted value pass, wherever it is cut', async () => {
    const prose = `${'Some words before it, and more of them, so that parts are released. '.repeat(10)}\n\n`;
    for (const [at, { text, planted, kind }] of promptsOf(51).entries()) {
      const whole = `${prose}\n${text}\n${prose}`;
      const stream = new RedactedStream(new Redaction(nothingStored));
      let shown = '';
      const length = 1 + ((at * 37) % 301);
      for (let start = 0; start < whole.length; start += length)
        shown += await stream.push(whole.slice(start, start + length));
      shown += await stream.end();
      const alone = await masked(whole);
      const isMasked = !planted.some((piece) => alone.includes(piece));
      // What the rules do not find in the whole text, they do not find in parts of it either.
      if (isMasked) assert.ok(!planted.some((piece) => shown.includes(piece)), `${kind}, parts of ${length}`);
      assert.ok(shown.startsWith(prose.slice(0, 60)) && shown.endsWith(prose.slice(-60)));
    }
  });

  test('costs as much as the text is long, also if it arrives one character at a time', async () => {
    class Measured extends Redaction {
      scanned = 0;
      override find(text: string) {
        this.scanned += text.length;
        return super.find(text);
      }
    }
    const fillers = [
      'a',
      'A1',
      '%41',
      'word ',
      'a line\n',
      'a paragraph\n\n',
      '```\n',
      'password: ',
      '-----BEGIN PRIVATE KEY-----',
    ];
    for (const filler of fillers) {
      const text = filler.repeat(Math.ceil(32_768 / filler.length)).slice(0, 32_768);
      const redaction = new Measured(nothingStored);
      const stream = new RedactedStream(redaction);
      let shown = '';
      for (const letter of text) shown += await stream.push(letter);
      shown += await stream.end();
      assert.ok(redaction.scanned <= 6 * text.length, `${filler}: ${redaction.scanned}`);
      if (!filler.includes('KEY')) assert.equal(shown, text);
    }
  });

  test('that is cut off shows nothing of what might have been a secret', async () => {
    const prose = 'Some words before it, so that parts are released. '.repeat(20);
    for (let length = 4; length < KEY.length; length++) {
      const stream = new RedactedStream(new Redaction(nothingStored));
      const shown = (await stream.push(`${prose}\n\n${prose}${KEY.slice(0, length)}`)) + (await stream.cut());
      assert.ok(shown.startsWith(prose.slice(0, 60)) && !shown.includes(KEY.slice(0, 4)));
    }
  });

  test('shows nothing of a stored value of many lines, wherever it is cut', async () => {
    const lines = Array.from({ length: 40 }, (_, no) => `setting_${no} = an ordinary line of a stored file`);
    const value = lines.join('\n');
    const prose = 'Some words before it, so that parts are released. '.repeat(20);
    for (const around of [
      ['', ''],
      ['```ini\n', '\n```'],
    ]) {
      for (const length of [1, 50, 700, 4096]) {
        const whole = `${prose}\n\n${around.join(value)}\n\n${prose}`;
        const stream = new RedactedStream(
          new Redaction(async (texts) => new Set(texts.filter((text) => text === value))),
        );
        let shown = '';
        for (let start = 0; start < whole.length; start += length)
          shown += await stream.push(whole.slice(start, start + length));
        shown += await stream.end();
        assert.equal(shown, whole.replace(value, '[SECRET_1]'), `parts of ${length}`);
      }
    }
  });

  test('releases what is harmless before its end, and all of it at the end', async () => {
    const prose = 'Nothing here needs to be masked at all.\n\n'.repeat(50);
    const stream = new RedactedStream(new Redaction(nothingStored));
    const parts = [];
    for (const word of prose.match(/\S+\s*/g) ?? []) parts.push(await stream.push(word));
    assert.ok(parts.filter((part) => part !== '').length > 2);
    assert.equal(parts.join('') + (await stream.end()), prose);
  });
});
