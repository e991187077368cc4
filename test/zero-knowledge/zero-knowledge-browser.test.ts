import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { test } from 'node:test';
import { openZeroKnowledge, sealZeroKnowledge } from '../../client/src/zero-knowledge-index.ts';
import { findBrowser } from '../support/browser.ts';

const HOME = join(import.meta.dirname, '../..');
const PATIENCE_MS = 120_000;
const KEY = randomBytes(32).toString('hex');
const LOCATION = { vault: 'sealed', path: 'db/main', version: 2 };

/** Seals and opens in the browser, and sends what came of it. */
const PAGE = `<!doctype html><script type="importmap">{"imports": {"@noble/": "/node_modules/@noble/"}}</script><script type="module">
const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const report = {};
try {
  const { openZeroKnowledge, sealZeroKnowledge, ZeroKnowledgeClient } = await import('/client/src/zero-knowledge-index.ts');
  const { opens, refused, sealed, location } = await (await fetch('/task')).json();
  const at = ({ vault, path, version }) => ({ vault, path, ...(version !== null && { version }) });
  report.opened = [];
  for (const { envelope, passphrase, key, ...where } of opens) {
    report.opened.push(await openZeroKnowledge(envelope, passphrase ? { passphrase } : { key: bytes(key) }, at(where)));
  }
  report.refused = [];
  for (const { envelope, name, ...where } of refused.envelopes) {
    const failure = await openZeroKnowledge(envelope, { key: bytes(refused.key) }, at(where)).then(() => 'opened', (error) => error.name);
    report.refused.push([name, failure]);
  }
  const client = new ZeroKnowledgeClient({ key: bytes('${KEY}') });
  report.fromNode = (await client.open({ value: sealed, version: location.version }, location)).value;
  report.sealed = [];
  for (const algorithm of ['aes-256-gcm', 'xchacha20-poly1305']) {
    report.sealed.push(await sealZeroKnowledge('by a browser ü', { key: bytes('${KEY}') }, location, { algorithm }));
  }
  report.passphrase = await sealZeroKnowledge('by a browser ü', { passphrase: 'correct horse battery' }, location);
} catch (error) { report.error = String(error?.stack ?? error); }
await fetch('/report', { method: 'POST', body: JSON.stringify(report) });
</script>`;

interface Report {
  error?: string;
  opened: string[];
  refused: [name: string, failure: string][];
  fromNode: string;
  sealed: string[];
  passphrase: string;
}

test('the library seals and opens in a browser what Node opens and sealed', async (t) => {
  const browser = findBrowser();
  if ('missing' in browser) return t.skip(browser.missing);
  const { bound: vectors } = JSON.parse(readFileSync(join(HOME, 'docs/zero-knowledge-vectors.json'), 'utf8'));
  const refused = vectors.refused as { envelopes: { name: string; failure: string }[] };
  // argon2id takes seconds there: one of it is enough.
  const opens = vectors.opens.filter(
    (vector: { kdf: string }, at: number) => vector.kdf !== 'argon2id' || at === 1,
  ) as { plaintext: string }[];
  const secret = { key: new Uint8Array(Buffer.from(KEY, 'hex')) };
  const sealed = await sealZeroKnowledge('by Node', secret, LOCATION);
  const report = await reportOf(browser.path, { opens, refused, sealed, location: LOCATION });
  assert.equal(report.error, undefined);
  assert.deepEqual(
    report.opened,
    opens.map(({ plaintext }) => plaintext),
  );
  assert.deepEqual(
    report.refused,
    refused.envelopes.map(({ name, failure }) => [name, failure === 'location' ? 'TypeError' : 'ZeroKnowledgeError']),
  );
  assert.equal(report.fromNode, 'by Node');
  for (const envelope of report.sealed)
    assert.equal(await openZeroKnowledge(envelope, secret, LOCATION), 'by a browser ü');
  const passphrase = 'correct horse battery';
  assert.equal(await openZeroKnowledge(report.passphrase, { passphrase }, LOCATION), 'by a browser ü');
});

/** Serves the page and the sources to a browser, and answers what it sends back. */
async function reportOf(program: string, task: object): Promise<Report> {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-browser-'));
  const { promise, resolve, reject } = Promise.withResolvers<Report>();
  const server = createServer((request, response) => {
    const path = normalize(request.url ?? '/');
    if (path === '/report') {
      const pieces: Buffer[] = [];
      request.on('data', (piece) => pieces.push(piece));
      request.on('end', () => {
        response.end();
        resolve(JSON.parse(Buffer.concat(pieces).toString('utf8')));
      });
    } else if (path === '/task') response.end(JSON.stringify(task));
    else if (path === '/') response.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE);
    else if (!/^\/(client|node_modules)\/.*\.(ts|js)$/.test(path)) response.writeHead(404).end();
    else {
      const source = readFileSync(join(HOME, path), 'utf8');
      response.setHeader('content-type', 'text/javascript; charset=utf-8');
      response.end(path.endsWith('.ts') ? stripTypeScriptTypes(source) : source);
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    `--user-data-dir=${profile}`,
  ];
  const browser = execFile(program, [...flags, '--remote-debugging-port=0', url], () => {});
  const timer = setTimeout(() => reject(new Error('the browser sent nothing')), PATIENCE_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    const ended = new Promise((done) => browser.once('exit', done));
    browser.kill('SIGKILL');
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
