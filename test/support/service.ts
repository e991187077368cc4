import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, describe, type TestFn, test } from 'node:test';
import { Compile, type Validator } from 'typebox/compile';
import { loadConfig } from '../../server/src/assembly/settings.ts';
import { SCIM } from '../../server/src/features/scim/schemas.ts';
import { FORWARD_STATUS } from '../../server/src/kernel/auth/region-gate.ts';
import type { ErrorCode } from '../../server/src/kernel/base/errors.ts';
import { CofferError } from '../../server/src/kernel/base/errors.ts';
import type { Argon2Cost } from '../../server/src/kernel/crypto/argon2-cost.ts';
import { setPasswordCost } from '../../server/src/kernel/crypto/passwords.ts';
import { PENDING_STATUS, PendingApproval } from '../../server/src/kernel/endpoint/approval.ts';
import {
  type EndpointDeclaration,
  EVENT_STREAM,
  errorCodes,
  NONE,
  NOT_MODIFIED_STATUS,
} from '../../server/src/kernel/endpoint/declaration.ts';
import { createLogger } from '../../server/src/kernel/observability/log.ts';
import type { LogLevel } from '../../server/src/kernel/observability/log-levels.ts';
import type { Database } from '../../server/src/kernel/storage/database.ts';
import { databaseNow, type TimeSources } from '../../server/src/kernel/time/sources.ts';
import { formatAt, statusIn } from '../../server/src/kernel/wire/wire-format.ts';
import { type App, startApp } from '../../server/src/start/app.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { copyMigratedFile } from './migrated-file.ts';
import { newMigratedDatabase, stopOwnServer } from './postgres.ts';
import { wasEditedPastTheLog } from './rows.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

/** Set by the quick suite, which has no PostgreSQL. */
export const DATABASES = (process.env['COFFER_TEST_DATABASES']?.split(',') ?? ['sqlite', 'postgres']) as DatabaseKind[];

/** Whether rules are tested on every database, and in every way, as `npm run test:walks` and `npm run test:console` do, or once, as at landing. */
export const ARE_RULES_ON_BOTH = process.env['COFFER_TEST_BOTH'] === '1';
const databasesOfRules = ARE_RULES_ON_BOTH ? DATABASES : DATABASES.slice(0, 1);

/** What declares the tests of rules within `onBothDatabases`. */
interface Rules {
  /** As `test`. */
  rule: (name: string, body: TestFn) => unknown;
  /** As `describe`. */
  rules: (name: string, body: () => void) => unknown;
}

const LEFT_OUT: Rules = { rule: () => {}, rules: () => {} };

/**
 * Declares the same tests once for each database. A test stays on both at landing if what it tests depends on the database: SQL with locks,
 * conflicts, branches or an order of text; changes at the same time; stores, plans, pages and filters of lists; nodes and leases; the links of the
 * audit log; attacks. A test of a rule that TypeScript decides, such as permissions, validation and the life of a row, is declared with `rule`, and
 * a group of them with `rules`: at landing it runs on SQLite alone, and in `npm run test:walks` on both.
 */
export function onBothDatabases(name: string, tests: (database: DatabaseKind, rules: Rules) => void): void {
  for (const database of DATABASES) {
    const rules = databasesOfRules.includes(database) ? { rule: test, rules: describe } : LEFT_OUT;
    describe(`${name}, ${database}`, () => tests(database, rules));
  }
}

/** For files that have only tests of rules, or walk over every endpoint or page: at landing on SQLite alone, in a suite of its own on both. */
export function onSqliteAtLanding(name: string, tests: (database: DatabaseKind) => void): void {
  for (const database of databasesOfRules) {
    describe(`${name}, ${database}`, () => tests(database));
  }
}

/**
 * Time that tests move, for the service and its database alike. It runs with real time, shifted, and stands still while it is held. What only
 * `set` was told is a clock that is wrong.
 */
export class TestClock implements TimeSources {
  #offset = 0;
  #heldAt: number | null = null;
  #wrongBy = { node: 0, database: 0 };
  #advancedTo = 0;
  #suspendedMs = 0;

  now(): number {
    return this.elapsed() + this.#wrongBy.node;
  }

  elapsed(): number {
    return this.#heldAt ?? Date.now() + this.#offset;
  }

  uptime(): number {
    return this.elapsed() + this.#suspendedMs;
  }

  /** As if the machine had been suspended for so long: the monotonic clock has not counted it. */
  suspend(ms: number): void {
    this.#suspendedMs += ms;
  }

  async ofDatabase(database: Database): Promise<number | null> {
    const now = await databaseNow(database);
    return now === null ? null : now + this.elapsed() - Date.now() + this.#wrongBy.database;
  }

  /** As somebody may set the clock of one machine, or of both. No time passes by it. */
  set(wrongBy: { node?: number; database?: number }): void {
    this.#wrongBy = { node: 0, database: 0, ...wrongBy };
  }

  advance(ms: number): void {
    this.#offset += ms;
    this.#advancedTo = this.now();
  }

  /** The time just after it was last advanced. */
  get advancedTo(): number {
    return this.#advancedTo;
  }

  hold(): void {
    this.#heldAt = this.elapsed();
  }

  /** Goes on from where it was held, a little later. */
  release(ms: number): void {
    if (this.#heldAt === null) return;
    this.#offset = this.#heldAt + ms - Date.now();
    this.#heldAt = null;
  }
}

/** A test that fails leaves its service open, which would keep the file's process from ending. */
const open = new Set<App>();
after(async () => {
  for (const app of open) await app.close();
  await stopOwnServer();
});

export interface CallOptions {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  /** After which the caller gives up; without it the caller waits. */
  timeoutMs?: number;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape; each is checked against its schema
  body: any;
  text: string;
  headers: Headers;
}

export interface Service {
  app: App;
  url: string;
  /** Where client certificates are accepted, with a certificate that `ca.pem` in the data folder vouches for. */
  tlsUrl: string;
  clock: TestClock;
  adminToken: string;
  dataDir: string;
  /** Everything the service logged, as text. */
  logs: string[];
  /** Sends as the admin unless a token is given (`null`: none), and checks the answer against its declaration. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Log lines of level error that a test expects; any other fails it at the end. */
  expectErrorLogs(pattern: RegExp): void;
  close(): Promise<void>;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  /** Reuse a folder or database of an earlier service. */
  dataDir?: string;
  databaseUrl?: string;
  keepData?: boolean;
  logLevel?: LogLevel;
  /** What its clock says when it starts, in epoch milliseconds; now unless given. */
  at?: number;
}

/** What passwords cost to hash, unless a test is about that. */
export const CHEAP_PASSWORDS: Argon2Cost = { memory: 8, passes: 1, parallelism: 1 };
setPasswordCost(CHEAP_PASSWORDS);

export async function startService(database: DatabaseKind, options: ServiceOptions = {}): Promise<Service> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'coffer-test-'));
  if (database === 'sqlite' && options.dataDir === undefined) copyMigratedFile(dataDir);
  const databaseUrl = database === 'postgres' ? (options.databaseUrl ?? (await newMigratedDatabase())) : undefined;
  const config = loadConfig({
    CV_PORT: '0',
    CV_TLS_PORT: '0',
    CV_DATA_DIR: dataDir,
    // Most tests need no console, and building one for each would take longer than they do.
    CV_CONSOLE: 'off',
    // What methods and federations of tests expect, unless the test is about the audience.
    CV_AUDIENCES: 'coffer',
    ...(databaseUrl !== undefined && { CV_DATABASE_URL: databaseUrl }),
    ...options.env,
  });
  const logs: string[] = [];
  const stream = { write: (line: string) => void logs.push(line) };
  const log = createLogger({ level: options.logLevel ?? 'info', format: 'json', stream, ownErrors: [CofferError] });
  const clock = new TestClock();
  if (options.at !== undefined) clock.advance(options.at - clock.now());
  const app = await startApp(config, log, clock);
  open.add(app);
  // A node that comes later has none of its own.
  const tokenFile = join(dataDir, 'admin.token');
  const adminToken = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : '';
  const expected: RegExp[] = [];
  return {
    app,
    url: app.baseUrl,
    tlsUrl: app.tlsUrl ?? '',
    clock,
    adminToken,
    dataDir,
    logs,
    call: (method, path, callOptions = {}) => call(app.baseUrl, method, path, { token: adminToken, ...callOptions }),
    expectErrorLogs: (pattern) => void expected.push(pattern),
    async close() {
      if (wasEditedPastTheLog(app.kernel.database)) expected.push(/the audit log of a tenant fails verification/);
      open.delete(app);
      await app.close();
      if (options.keepData !== true) rmSync(dataDir, { recursive: true, force: true });
      const errors = logs.filter((line) => /"level":"(error|fatal)"/.test(line));
      const surprises = errors.filter((line) => !expected.some((pattern) => pattern.test(line)));
      assert.deepEqual(surprises, [], 'the service logged errors');
    },
  };
}

/** Requests of tests are many and short: this costs a third less than `fetch`. */
const agent = new Agent({ keepAlive: true });

export async function call(baseUrl: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { token, body, headers, timeoutMs } = options;
  const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(new URL(`${baseUrl}${path}`), {
      method,
      agent,
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
      headers: {
        ...(token != null && { authorization: `Bearer ${token}` }),
        ...(sent !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
        ...headers,
      },
    });
    request.once('response', resolve).once('error', reject).end(sent);
  });
  const text = await readText(response);
  const received = new Headers();
  for (let i = 0; i < response.rawHeaders.length; i += 2) {
    received.append(response.rawHeaders[i] ?? '', response.rawHeaders[i + 1] ?? '');
  }
  const isJson = /^application\/(scim\+)?json/.test(received.get('content-type') ?? '');
  const status = response.statusCode ?? 0;
  const answer = { status, text, headers: received, body: isJson ? JSON.parse(text) : undefined };
  checkAgainstDeclaration(method, path, answer);
  return answer;
}

/** Every answer that any test sees is held against what the endpoint declares, and against the shape of errors. */
function checkAgainstDeclaration(method: string, path: string, answer: Answer): void {
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9a-z]{26}$/, `${method} ${path}: request id`);
  const declaration = declarationOf(method, path);
  if (answer.status === FORWARD_STATUS) {
    assert.equal(declaration?.region, 'forward', `${method} ${path} was forwarded but is declared local`);
    assert.equal(answer.text, '', `${method} ${path}: a redirect with a body`);
    return;
  }
  if (declaration !== undefined) checkRateHeaders(declaration, answer);
  const format = formatAt([SCIM], path);
  if (answer.status >= 400 && format !== undefined) {
    const { body } = answer;
    assert.ok(scimErrorValidator.Check(body), `${method} ${path}: ${answer.text.slice(0, 300)}`);
    assert.equal((body as { status: string }).status, String(answer.status));
    const statuses = declaration && errorCodes(declaration).map((code) => statusIn(SCIM, code));
    assert.ok(statuses?.includes(answer.status) ?? true, `${method} ${path} answered ${answer.status} undeclared`);
    return;
  }
  if (answer.status >= 400) {
    const { error } = answer.body ?? {};
    assert.equal(typeof error?.message, 'string', `${method} ${path}: error body`);
    assert.equal(error.request_id, answer.headers.get('x-request-id'));
    if (declaration === undefined) return;
    const codes: readonly ErrorCode[] = errorCodes(declaration);
    assert.ok(codes.includes(error.code), `${declaration.name} answered ${error.code}, which it does not declare`);
    return;
  }
  assert.ok(declaration !== undefined, `${method} ${path} answered ${answer.status} but is not declared`);
  if (answer.status === PENDING_STATUS && declaration.approval !== NONE) {
    assert.ok(pendingValidator.Check(answer.body), `${declaration.name}: ${answer.text.slice(0, 300)}`);
    return;
  }
  if (answer.status === NOT_MODIFIED_STATUS && declaration.ifNoneMatch === true) {
    assert.equal(answer.text, '', `${declaration.name}: 304 with a body`);
    return;
  }
  assert.equal(answer.status, declaration.status, `${declaration.name}: status`);
  if (declaration.output === NONE) return;
  if (declaration.events === true && answer.headers.get('content-type') === EVENT_STREAM) return;
  const validator = validatorOf(declaration);
  assert.ok(
    validator.Check(answer.body),
    `${declaration.name}: ${JSON.stringify(validator.Errors(answer.body))} in ${answer.text.slice(0, 300)}`,
  );
}

/** Statuses of refusals before the caller is identified. */
const BEFORE_KNOWN: readonly number[] = [400, 401, 413, 421, 429, 431, 500, 503, 508];
const NOT_PROVEN: readonly ErrorCode[] = [
  'REGION_FENCED',
  'CERTIFICATE_REQUIRED',
  'DPOP_REQUIRED',
  'SESSION_LIMIT',
  'IP_NOT_ALLOWED',
];

function checkRateHeaders({ name, credentials }: EndpointDeclaration, { status, body, headers }: Answer): void {
  if (credentials === 'public' || BEFORE_KNOWN.includes(status) || NOT_PROVEN.includes(body?.error?.code)) return;
  for (const header of ['limit', 'remaining', 'reset']) {
    assert.match(
      headers.get(`x-ratelimit-${header}`) ?? '',
      /^\d+$/,
      `${name} answered ${status} without rate headers`,
    );
  }
}

const pendingValidator = Compile(PendingApproval);
const scimErrorValidator = Compile(SCIM.errorSchema);
const validators = new Map<string, Validator>();

function validatorOf(declaration: EndpointDeclaration): Validator {
  let validator = validators.get(declaration.name);
  if (validator === undefined) {
    assert.ok(declaration.output !== NONE);
    validator = Compile(declaration.output) as unknown as Validator;
    validators.set(declaration.name, validator);
  }
  return validator;
}

/** Static routes win over parameters, and a verb after a secret's path over a longer path, as in the router. */
export function declarationOf(method: string, path: string): EndpointDeclaration | undefined {
  const bare = stripVersion(decodedOnce(path.split('?')[0] ?? ''));
  const fits = DECLARATIONS.filter((_, i) => PATTERNS[i]?.test(bare));
  const [best] = fits.toSorted(
    (a, b) => a.path.split('{').length - b.path.split('{').length || b.path.length - a.path.length,
  );
  return fits.find((d) => d.method === method && d.path === best?.path);
}

const PATTERNS = DECLARATIONS.map(({ path }) => {
  const escaped = stripVersion(path).replace(/[.]/g, '\\.');
  return new RegExp(`^${escaped.replace(/\{[a-z_]+\*\}/g, '.+').replace(/\{[a-z_]+\}/g, '[^/]+')}$`);
});

/** As the router does it; what it refuses to decode is left as it is. */
function decodedOnce(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function stripVersion(path: string): string {
  return path.startsWith('/v1/') ? path.slice(3) : path;
}
