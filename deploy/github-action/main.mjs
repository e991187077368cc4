// The GitHub Action of Coffer. One file without dependencies, so that what runs with the identity of a job can be read in one sitting.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const TIMEOUT_MS = 30_000;
const ATTEMPTS = 4;
const RETRY_MS_MAX = 30_000;
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** GitHub replaces a mask wherever it occurs, so that a shorter one would make the log unreadable and could be guessed from it. */
const MASK_LENGTH_MIN = 4;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** What the runner and programs act on: a secret must not become an order. */
const RESERVED =
  /^(?:GITHUB_|RUNNER_|ACTIONS_|INPUT_|LD_|DYLD_)|^(?:CI|PATH|HOME|SHELL|IFS|ENV|BASH_ENV|NODE_OPTIONS|NODE_PATH)$/i;
const REFERENCE =
  /^coffer:\/\/([A-Za-z0-9][A-Za-z0-9._-]{0,62})\/([A-Za-z0-9._@+=/-]{1,1024})(?:\?version=(\d{1,10}))?(?:#(\/.*)?)?$/;

/** What the author of the workflow has to correct; its message holds no value. */
class Problem extends Error {}

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
const write = (text) => process.stdout.write(`${text}\n`);
/** A line of the runner's own language: a value cannot end it and begin another. */
const escaped = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

function mask(value) {
  const lines = value.split(/\r\n|\r|\n/);
  for (const text of new Set([value, ...lines, ...lines.map((line) => line.trim())])) {
    if (text.length >= MASK_LENGTH_MIN) write(`::add-mask::${escaped(text)}`);
  }
}

function settings() {
  const missing = ['url', 'connection', 'secrets'].filter((name) => input(name) === '');
  if (missing.length > 0) throw new Problem(`Set the input ${missing.join(' and ')}.`);
  const [run, to] = [input('run'), input('export')];
  if ((run === '') === (to === '')) throw new Problem('Set either run, a command that gets the secrets, or export.');
  if (!['', 'env', 'output'].includes(to)) throw new Problem('The input export must be env or output.');
  const url = new URL(input('url'));
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname))) {
    throw new Problem('The input url must begin with https://.');
  }
  if (url.username || url.password || url.search || url.hash || url.pathname !== '/') {
    throw new Problem('The input url must have no user, path or query, as https://coffer.example.com:7443.');
  }
  if (!/^[A-Za-z0-9-]{1,64}$/.test(input('connection')))
    throw new Problem('The input connection must be a client id or number.');
  const ca = input('ca-file') === '' ? undefined : readFileSync(input('ca-file'));
  return { url, run, to, ca, secrets: wanted(input('secrets')) };
}

function wanted(text) {
  const found = [];
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name = '', reference = ''] = /^([^=]*?)\s*=\s*(.*)$/.exec(line) ?? [];
    if (!NAME.test(name) || RESERVED.test(name)) {
      throw new Problem(
        `Line ${found.length + 1} of secrets names no variable that may be set. Write NAME = coffer://vault/path.`,
      );
    }
    const [, vault, path, version, pointer] = REFERENCE.exec(reference) ?? [];
    if (vault === undefined || path.split('/').some((part) => ['', '.', '..'].includes(part))) {
      throw new Problem(`${name} must be coffer://vault/path, with ?version=N or #/pointer after it if needed.`);
    }
    if (found.some((each) => each.name === name)) throw new Problem(`${name} is in secrets twice.`);
    found.push({ name, vault, path, version, pointer });
  }
  if (found.length === 0) throw new Problem('The input secrets is empty.');
  return found;
}

/** One request. A redirect is not followed: it would take the credentials to where nobody said they may go. */
function once(url, options) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const request = (url.protocol === 'https:' ? https : http).request(
    url,
    { timeout: TIMEOUT_MS, ...options },
    (answer) => {
      const chunks = [];
      let size = 0;
      answer.on('data', (chunk) => {
        size += chunk.length;
        if (size > ANSWER_BYTES_MAX) request.destroy(new Problem(`${url.host} answered with too much.`));
        else chunks.push(chunk);
      });
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
      );
    },
  );
  request.on('timeout', () => request.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })));
  request.on('error', reject);
  request.end();
  return promise;
}

/** Repeats what changes nothing, and an exchange that was refused for load, as long as the service asks to wait. */
async function ask(what, url, options) {
  for (let attempt = 1; ; attempt++) {
    let answer;
    try {
      answer = await once(url, options);
    } catch (error) {
      if (error instanceof Problem) throw error;
      const isRepeated = options.method === 'GET' && attempt < ATTEMPTS;
      if (!isRepeated) throw new Problem(`${what}: ${url.host} cannot be reached (${error.code ?? error.message}).`);
    }
    if (answer !== undefined && ![429, 503].includes(answer.status)) return parsed(what, url, answer);
    if (answer !== undefined && attempt === ATTEMPTS) return parsed(what, url, answer);
    const seconds = Number(answer?.headers['retry-after'] ?? 2 ** (attempt - 1));
    await new Promise((resolve) => setTimeout(resolve, Math.min((seconds || 1) * 1000, RETRY_MS_MAX)));
  }
}

function parsed(what, url, { status, text }) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem(`${what}: ${url.host} answered ${status}, and no JSON.`);
  }
  if (status === 200 || status === 201) return body;
  const { code = 'no code', message = '', request_id = '' } = body?.error ?? {};
  throw new Problem(`${what}: ${url.host} answered ${status} ${code}. ${message} ${request_id}`.trim());
}

async function identity(audience) {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token } = process.env;
  if (!address || !token) {
    throw new Problem(
      'This job has no identity. Give it the permission: "permissions: id-token: write" (and contents: read).',
    );
  }
  const url = new URL(address);
  url.searchParams.set('audience', audience);
  const { value } = await ask('The identity of the job', url, {
    method: 'GET',
    headers: { authorization: `Bearer ${token}` },
  });
  if (typeof value !== 'string' || value === '') throw new Problem('The runner gave no identity.');
  mask(value);
  return value;
}

async function exchange({ url, ca }) {
  const token = await identity(input('audience') || url.origin);
  const target = new URL(`/app-connections/${input('connection')}/federated-token`, url);
  const headers = { authorization: `Bearer ${token}`, 'content-length': '0' };
  const issued = await ask('The exchange', target, { method: 'POST', ca, headers });
  for (const credential of [issued.access_token, issued.private_key]) mask(String(credential));
  return issued;
}

async function read(secret, { url, ca }, issued) {
  const path = secret.path.split('/').map(encodeURIComponent).join('/');
  const target = new URL(`/v1/vaults/${secret.vault}/secrets/${path}`, url);
  if (secret.version !== undefined) target.searchParams.set('version', secret.version);
  const headers = { authorization: `Bearer ${issued.access_token}` };
  const shown = { cert: issued.certificate, key: issued.private_key };
  const { value } = await ask(secret.name, target, { method: 'GET', ca, headers, ...shown });
  if (typeof value !== 'string') throw new Problem(`${secret.name} has no value that could be read.`);
  mask(value);
  const part = secret.pointer === undefined ? value : partOf(value, secret);
  mask(part);
  if (part.includes('\0')) throw new Problem(`${secret.name} has a zero byte, which no variable can hold.`);
  if (part.length < MASK_LENGTH_MIN) write(`::warning::${secret.name} is too short to be hidden in the log.`);
  return part;
}

/** RFC 6901. */
function partOf(value, { name, pointer }) {
  let part;
  try {
    part = JSON.parse(value);
  } catch {
    throw new Problem(`${name} is no JSON, so it has no part ${pointer}.`);
  }
  for (const key of pointer
    .slice(1)
    .split('/')
    .map((each) => each.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key))
      throw new Problem(`${name} has no part ${pointer}.`);
    part = part[key];
  }
  return typeof part === 'string' ? part : JSON.stringify(part);
}

/** The delimiter is random, so no value can contain it and set further variables. */
function handOver(values, to) {
  const file = process.env[to === 'env' ? 'GITHUB_ENV' : 'GITHUB_OUTPUT'];
  if (!file) throw new Problem(`The runner names no file for export: ${to}.`);
  for (const [name, value] of Object.entries(values)) {
    const delimiter = `coffer_${randomUUID()}`;
    appendFileSync(file, `${name}<<${delimiter}\n${value}\n${delimiter}\n`);
  }
}

/** The command has the variables of the step and the secrets, but not what could ask for another identity. */
function runWith(values, command) {
  const env = { ...process.env, ...values };
  for (const name of Object.keys(env))
    if (/^INPUT_|^ACTIONS_(?:ID_TOKEN|RUNTIME|RESULTS|CACHE)_/.test(name)) delete env[name];
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', command], { env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(new Problem(`bash cannot be started (${error.code}).`)));
  child.on('close', (code, signal) => process.exit(signal === null ? code : 1));
}

function fail(error) {
  // An unexpected error is named by its kind alone: its text could hold what it failed on.
  write(
    `::error::${escaped(error instanceof Problem ? error.message : `unexpected ${error?.name} ${error?.code ?? ''}`)}`,
  );
  process.exit(1);
}

try {
  const given = settings();
  const issued = await exchange(given);
  const values = {};
  // All are read before anything gets one: a job never runs with half of its secrets.
  for (const secret of given.secrets) values[secret.name] = await read(secret, given, issued);
  if (given.run === '') handOver(values, given.to);
  else runWith(values, given.run);
} catch (error) {
  fail(error);
}
