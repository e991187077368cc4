import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { ALL_SETTINGS, loadConfig } from '../assembly/settings.ts';
import { defaultPool } from '../kernel/storage/connection-shares.ts';
import { ConfigError } from './config.ts';
import { configurationMarkdown } from './settings.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const PHRASE = 'correct horse battery staple';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError, `${error}`);
    assert.equal(error.message, error.problems.join('\n'));
    return error.problems;
  }
  return [];
}

test('an empty environment is a complete configuration', () => {
  const config = loadConfig({ PATH: '/bin', HOME: '/root' });
  const dataDir = resolve('./data');
  assert.deepEqual(JSON.parse(JSON.stringify(config)), {
    host: '127.0.0.1',
    port: 7400,
    dataDir,
    databaseUrl: null,
    databasePool: defaultPool(availableParallelism(), 1),
    drainMs: 5000,
    workers: 1,
    tls: null,
    tlsPort: { port: 7443, isChosen: false },
    hasBaseUrl: false,
    isDpopNonceRequired: false,
    hosts: [],
    trustedProxies: [],
    connectionsPerAddress: 1000,
    bodyMemoryMib: 128,
    clientCertHeader: null,
    logLevel: 'info',
    logFormat: 'auto',
    rootKey: { provider: 'file', file: join(dataDir, 'root.key') },
    seals: null,
    sharesFile: null,
    newRootKey: null,
    adminEmail: 'admin@localhost',
    outboundAllow: [],
    checkpointDir: null,
    changed: {},
    audiences: [],
    isConsoleOn: true,
    requestTimeoutMs: 20_000,
    otlpUrl: null,
    requestLog: { slowRequestMs: 5000, isAccessLogOn: false },
    metricsToken: null,
  });
  assert.equal(config.baseUrl(7400), 'http://127.0.0.1:7400');
  assert.equal(config.audience(51_234), 'http://127.0.0.1:51234');
});

test('an empty string counts as unset', () => {
  const env = Object.fromEntries(ALL_SETTINGS.map(({ name }) => [name, '']));
  assert.deepEqual(JSON.stringify(loadConfig(env)), JSON.stringify(loadConfig({})));
});

test('workers are a number from 1 to 64, or as many as there are cores', () => {
  const workersOf = (CV_WORKERS: string, more: Record<string, string> = {}) => loadConfig({ CV_WORKERS, ...more });
  const postgres = { CV_DATABASE_URL: 'postgres://u:p@db/coffer' };
  assert.deepEqual([workersOf('1', postgres).workers, workersOf('64', postgres).workers], [1, 64]);
  assert.equal(workersOf('auto', postgres).workers, Math.min(availableParallelism(), 64));
  assert.equal(workersOf('3').workers, 3);
  for (const wrong of ['0', '65', '-1', '1.5', 'all', '2 ', 'AUTO']) {
    assert.deepEqual(problemsOf({ CV_WORKERS: wrong }), ['CV_WORKERS must be a whole number from 1 to 64, or `auto`.']);
  }
});

test('every setting arrives', () => {
  const config = loadConfig({
    CV_HOST: '::1',
    CV_PORT: '0',
    CV_DATA_DIR: '/srv/coffer',
    CV_DATABASE_URL: 'postgresql://u:p@db/coffer',
    CV_DATABASE_POOL: '10',
    CV_BASE_URL: 'HTTPS://Coffer.example.com:443/',
    CV_AUDIENCE: 'coffer',
    CV_AUDIENCES: 'api://coffer, https://other.example',
    CV_TLS_CERT_FILE: '/etc/cert.pem',
    CV_TLS_KEY_FILE: '/etc/key.pem',
    CV_TLS_PORT: '8443',
    CV_TRUSTED_PROXIES: '10.1.2.3/8, 2001:DB8::1',
    CV_CLIENT_CERT_HEADER: 'x-client-cert',
    CV_LOG_LEVEL: 'debug',
    CV_LOG_FORMAT: 'json',
    CV_ROOT_KEY_PROVIDER: 'env',
    CV_ROOT_KEY: KEY,
    CV_NEW_ROOT_KEY: Buffer.alloc(32, 8).toString('base64'),
    CV_ADMIN_EMAIL: 'root@example.com',
    CV_OUTBOUND_ALLOW: 'Issuer.Internal,10.0.0.0/8, ::1',
  });
  assert.equal(config.port, 0);
  assert.equal(config.dataDir, '/srv/coffer');
  assert.equal(config.databaseUrl, 'postgresql://u:p@db/coffer');
  assert.equal(config.databasePool, 10);
  assert.equal(config.baseUrl(1), 'https://coffer.example.com');
  assert.equal(config.audience(1), 'coffer');
  assert.deepEqual(config.audiences, ['api://coffer', 'https://other.example']);
  assert.deepEqual(config.tls, { certFile: '/etc/cert.pem', keyFile: '/etc/key.pem' });
  assert.deepEqual(config.tlsPort, { port: 8443, isChosen: true });
  assert.equal(config.clientCertHeader, 'x-client-cert');
  assert.deepEqual(config.trustedProxies, ['10.0.0.0/8', '2001:db8::1/128']);
  assert.ok(config.rootKey.provider === 'env' && config.rootKey.key.equals(Buffer.alloc(32, 7)));
  assert.ok(config.newRootKey?.provider === 'env' && config.newRootKey.key.equals(Buffer.alloc(32, 8)));
  assert.deepEqual(config.outboundAllow, ['issuer.internal', '10.0.0.0/8', '::1/128']);
});

test('the base URL follows from what is listened on', () => {
  const tls = { CV_TLS_CERT_FILE: 'c', CV_TLS_KEY_FILE: 'k' };
  assert.equal(loadConfig({ CV_HOST: '::1', ...tls }).baseUrl(8443), 'https://[::1]:8443');
  assert.equal(loadConfig({ CV_HOST: '0.0.0.0' }).baseUrl(7400), 'http://localhost:7400');
  assert.equal(loadConfig({ CV_HOST: 'vault.lan', ...tls }).baseUrl(443), 'https://vault.lan');
});

test('the port for TLS is the usual one, unless it is chosen, off, or the main one is any', () => {
  assert.deepEqual(loadConfig({ CV_PORT: '8000' }).tlsPort, { port: 7443, isChosen: false });
  assert.deepEqual(loadConfig({ CV_PORT: '0' }).tlsPort, { port: 0, isChosen: false });
  assert.deepEqual(loadConfig({ CV_TLS_PORT: '7443' }).tlsPort, { port: 7443, isChosen: true });
  assert.equal(loadConfig({ CV_TLS_PORT: 'off' }).tlsPort, null);
});

test('a value of the wrong form names the variable and what to write', () => {
  const wrong: Record<string, string[]> = {
    CV_TLS_PORT: ['-1', '65536', 'OFF', 'none', '7443 '],
    CV_CLIENT_CERT_HEADER: ['X-Client-Cert', 'x-forwarded-client-cert', 'client-cert,x-client-cert'],
    CV_HOST: ['a b', '127.1', '0x7f.1', 'http://x', 'fe80::1%lo', '-x', '[::1]', 'x..y'],
    CV_PORT: ['-1', '65536', '80.0', '080', '1e3', 'http', ' 80'],
    CV_DATA_DIR: ['a\nb'],
    CV_DATABASE_URL: ['mysql://x', 'postgres:', 'postgres://', 'db', 'POSTGRES://x', 'postgres://a b'],
    CV_BASE_URL: [
      'x',
      'ftp://x',
      'http:x',
      '//x',
      'https://x/path',
      'https://x/?',
      'https://x/#',
      'https://u:p@x',
      ' http://x',
    ],
    CV_AUDIENCE: ['a\u0000b', 'x'.repeat(1025)],
    CV_AUDIENCES: ['a,,b', 'a,', '*', 'api://*', 'a,b\u0000'],
    CV_TRUSTED_PROXIES: ['proxy.lan', '10.0.0.0/33', '10.0.0.1,', '010.0.0.1', 'true', '*', '10.0.0.1,'.repeat(300)],
    CV_LOG_LEVEL: ['verbose', 'INFO'],
    CV_LOG_FORMAT: ['text'],
    CV_ROOT_KEY_PROVIDER: ['kms'],
    CV_ADMIN_EMAIL: ['admin', 'a@b@c', 'a b@c'],
    CV_OUTBOUND_ALLOW: ['http://x', 'x/8', 'a,,b', '*.example.com', 'x:80', '10.0.0.0/99'],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const problems = problemsOf({ [name]: value });
      assert.equal(problems.length, 1, `${name}=${value}: ${problems}`);
      assert.match(problems[0] ?? '', new RegExp(`^${name} must be .*\\.$`));
    }
  }
  assert.match(problemsOf({ CV_DATABASE_POOL: '0', CV_DATABASE_URL: 'postgres://x' })[0] ?? '', /from 1 to 100/);
});

test('all problems are told at once, one line each', () => {
  const problems = problemsOf({ CV_PORT: 'x', CV_LOG_LEVEL: 'x', CV_PROT: '1', CV_TLS_CERT_FILE: 'c' });
  assert.equal(problems.length, 4);
  for (const problem of problems) assert.doesNotMatch(problem, /\n/);
});

test('an unknown name stops the start and suggests the closest', () => {
  assert.deepEqual(problemsOf({ CV_PROT: '1' }), [
    'CV_PROT is not a setting. Remove it, or correct it: did you mean CV_PORT?',
  ]);
  assert.match(problemsOf({ CV_DATABASE_URI: 'MARKER' })[0] ?? '', /did you mean CV_DATABASE_URL\?/);
  assert.match(problemsOf({ CV_ROOTKEY: 'MARKER' })[0] ?? '', /did you mean CV_ROOT_KEY\?/);
  assert.equal(problemsOf({ [`CV_${'X'.repeat(100_000)}`]: '' }).length, 1);
});

test('settings that need or exclude each other', () => {
  const passphrase = { CV_ROOT_KEY_PROVIDER: 'passphrase' };
  const cases: [Record<string, string>, RegExp | null][] = [
    [{ CV_CLIENT_CERT_HEADER: 'client-cert' }, /^CV_CLIENT_CERT_HEADER has no effect here: .* set CV_TRUSTED_PROXIES/],
    [{ CV_TLS_CERT_FILE: 'c' }, /^CV_TLS_KEY_FILE must be set too/],
    [{ CV_TLS_KEY_FILE: 'k' }, /^CV_TLS_CERT_FILE must be set too/],
    [{ CV_DATABASE_POOL: '2' }, /^CV_DATABASE_POOL has no effect/],
    [{ CV_ROOT_KEY: KEY }, /^CV_ROOT_KEY has no effect here: remove it, or set CV_ROOT_KEY_PROVIDER=env/],
    [{ CV_ROOT_KEY_PROVIDER: 'env' }, /^CV_ROOT_KEY must be the base64/],
    [{ CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: KEY, CV_ROOT_KEY_FILE: 'f' }, /^CV_ROOT_KEY_FILE has no effect/],
    [{ CV_ROOT_PASSPHRASE: PHRASE }, /^CV_ROOT_PASSPHRASE has no effect/],
    [{ CV_ROOT_PASSPHRASE_FILE: 'f' }, /^CV_ROOT_PASSPHRASE_FILE has no effect/],
    [passphrase, /set exactly one/],
    [{ ...passphrase, CV_ROOT_PASSPHRASE: PHRASE, CV_ROOT_PASSPHRASE_FILE: 'f' }, /set exactly one/],
    [{ ...passphrase, CV_ROOT_PASSPHRASE: PHRASE }, null],
    [{ ...passphrase, CV_ROOT_PASSPHRASE_FILE: 'f' }, null],
    [{ CV_ROOT_KEY_PROVIDER: 'file', CV_ROOT_KEY_FILE: 'f' }, null],
    [{ CV_NEW_ROOT_KEY: KEY }, /^CV_NEW_ROOT_KEY has no effect here/],
    [{ CV_NEW_ROOT_PASSPHRASE: PHRASE }, /^CV_NEW_ROOT_PASSPHRASE has no effect here/],
    [{ CV_NEW_ROOT_PASSPHRASE_FILE: 'f' }, /^CV_NEW_ROOT_PASSPHRASE_FILE has no effect here/],
    [{ ...passphrase, CV_ROOT_PASSPHRASE: PHRASE, CV_NEW_ROOT_PASSPHRASE: PHRASE }, null],
    [{ ...passphrase, CV_ROOT_PASSPHRASE: PHRASE, CV_NEW_ROOT_PASSPHRASE_FILE: 'f' }, null],
    [
      {
        ...passphrase,
        CV_ROOT_PASSPHRASE: PHRASE,
        CV_NEW_ROOT_PASSPHRASE: PHRASE,
        CV_NEW_ROOT_PASSPHRASE_FILE: 'f',
      },
      /exclude each other/,
    ],
    [{ CV_ROOT_KEY_PROVIDER: 'nonsense', CV_ROOT_KEY: KEY }, /^CV_ROOT_KEY_PROVIDER must be one of/],
  ];
  for (const [env, expected] of cases) {
    const problems = problemsOf(env);
    assert.equal(problems.length, expected === null ? 0 : 1, `${JSON.stringify(env)}: ${problems}`);
    if (expected !== null) assert.match(problems[0] ?? '', expected);
  }
  const { rootKey } = loadConfig({ ...passphrase, CV_ROOT_PASSPHRASE_FILE: '/run/phrase' });
  assert.ok(rootKey.provider === 'passphrase');
  assert.deepEqual(rootKey.passphrase, { file: '/run/phrase' });
});

test('a root key has one spelling and one length', () => {
  const url = Buffer.alloc(32, 0xff).toString('base64url');
  for (const key of [KEY.slice(0, -1), `${KEY}=`, ` ${KEY}`, `${KEY}\n`, url, KEY.replace(/c=$/, 'd='), 'AAAA', 'x']) {
    assert.match(problemsOf({ CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: key })[0] ?? '', /^CV_ROOT_KEY must be/, key);
  }
  assert.match(
    problemsOf({ CV_ROOT_KEY_PROVIDER: 'passphrase', CV_ROOT_PASSPHRASE: 'fifteen letters' })[0] ?? '',
    /16 to/,
  );
});

test('no problem repeats a value', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ALL_SETTINGS.map(({ name }) => name)), fc.string(), (name, junk) => {
      const problems = problemsOf({ [name]: `MARKER ${junk}\u0000` });
      assert.ok(problems.length > 0);
      assert.doesNotMatch(problems.join('\n'), /MARKER/);
    }),
  );
});

test('a printed configuration shows no secret, nor does a copy of it', () => {
  const database = { CV_DATABASE_URL: 'postgres://user:MARKER@db/x' };
  const secrets = [
    loadConfig({ ...database, CV_ROOT_KEY_PROVIDER: 'env', CV_ROOT_KEY: KEY, CV_NEW_ROOT_KEY: KEY }),
    loadConfig({
      ...database,
      CV_ROOT_KEY_PROVIDER: 'passphrase',
      CV_ROOT_PASSPHRASE: 'MARKER MARKER MARKER',
      CV_NEW_ROOT_PASSPHRASE: 'MARKER MARKER MARKER',
    }),
  ];
  const hidden = /MARKER|BwcHBwcH|7,\s*7,\s*7|07 07 07/;
  for (const config of secrets) {
    for (const printed of [
      config,
      { ...config },
      { config },
      [config.rootKey, config.newRootKey],
      { ...config.rootKey },
    ]) {
      assert.doesNotMatch(JSON.stringify(printed), hidden);
      assert.doesNotMatch(inspect(printed, { depth: 9, showHidden: true }), hidden);
    }
    assert.match(inspect(config), /\[hidden\]/);
  }
});

test('a configuration cannot be changed', () => {
  const config = loadConfig({ CV_TRUSTED_PROXIES: '10.0.0.1', CV_TLS_CERT_FILE: 'c', CV_TLS_KEY_FILE: 'k' });
  for (const part of [config, config.tls, config.rootKey, config.trustedProxies, config.outboundAllow]) {
    assert.ok(Object.isFrozen(part));
  }
});

test('every default parses, names are unique, and the docs list them all', () => {
  const markdown = configurationMarkdown(ALL_SETTINGS);
  const rows = markdown.split('\n').filter((line) => /^\| `(?:CV|ANOMALY)_/.test(line));
  assert.equal(rows.length, ALL_SETTINGS.length);
  assert.equal(new Set(ALL_SETTINGS.map(({ name }) => name)).size, ALL_SETTINGS.length);
  for (const [index, setting] of ALL_SETTINGS.entries()) {
    assert.ok(setting.default === null || setting.kind.parse(setting.default) !== undefined, setting.name);
    assert.equal(rows[index]?.match(/\|/g)?.length, 4, setting.name);
  }
  assert.match(markdown, /\| `CV_PORT` \| Port to listen on; 0 uses any free one\. \| `7400` \|/);
  assert.match(markdown, /\| `CV_DATABASE_URL` \|.* Secret\. \| none: SQLite/);
});
