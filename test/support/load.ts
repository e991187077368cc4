import assert, { AssertionError } from 'node:assert/strict';
import { after } from 'node:test';
import { type Answer, type CallOptions, call } from './service.ts';

const PAGE = 200;
const PAUSE_AFTER_FAILURE_MS = 10;
const VAULT = 'load';
const SECRETS = `/v1/vaults/${VAULT}/secrets`;
const VERSIONS_OF_A_SECRET = 8;
const CHECKED_AT_ONCE = 8;

type Action =
  | 'vault_created'
  | 'users:create'
  | 'groups:create'
  | 'secrets:create'
  | 'secrets:update'
  | 'secrets:read'
  | 'auth:me'
  | 'users:list';

/** A version of a secret, and what it must say for ever. */
interface KnownVersion {
  path: string;
  version: number;
  value: string;
}

/** A request whose whole answer arrived: from then on the caller may rely on it. */
export interface Acknowledged {
  action: Action;
  requestId: string;
  /** The e-mail address or the group's name, for users and groups made. */
  name: string;
  /** For secrets made and changed. */
  version?: KnownVersion;
}

export function isWrite({ name, version }: Acknowledged): boolean {
  return name !== '' || version !== undefined;
}

export interface Refused {
  action: Action;
  status: number;
  retryAfter: string | null;
  ms: number;
}

let created = 0;

/** A test that fails leaves its requests running, which would keep the file's process from ending. */
const running = new Set<Load>();
after(async () => {
  for (const load of running) await load.stop().catch(() => {});
});

/** Writes and reads over several connections at once, and keeps account of what was acknowledged. */
export class Load {
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: Refused[] = [];
  /** Requests without an answer: the connection broke. */
  broken = 0;
  longestMs = 0;
  #hasVault = false;
  #latest: KnownVersion | null = null;
  #workers: Promise<void>[] = [];
  #isStopping = false;
  readonly #timeoutMs: number | undefined;

  /** `timeoutMs` is for a service of which a connection may be lost while one of its processes is killed. */
  constructor({ timeoutMs }: { timeoutMs?: number } = {}) {
    this.#timeoutMs = timeoutMs;
  }

  start(url: string, token: string): void {
    this.#isStopping = false;
    running.add(this);
    const workers = [
      this.#createUser,
      this.#createGroup,
      this.#secretWriter(),
      this.#secretWriter(),
      this.#readMe,
      this.#listUsers,
      this.#readSecret,
    ];
    this.#workers = workers.map((worker) => this.#work(worker.bind(this, url, token)));
  }

  /** Requests under way are waited for; a false answer shows here. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    running.delete(this);
    await Promise.all(this.#workers);
  }

  async #work(request: () => Promise<void>): Promise<void> {
    while (!this.#isStopping) {
      try {
        await request();
      } catch (error) {
        if (error instanceof AssertionError) throw error;
        this.broken++;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_FAILURE_MS));
      }
    }
  }

  #call(url: string, method: string, path: string, options: CallOptions): Promise<Answer> {
    return call(url, method, path, {
      ...options,
      ...(this.#timeoutMs !== undefined && { timeoutMs: this.#timeoutMs }),
    });
  }

  async #createUser(url: string, token: string): Promise<void> {
    const email = `user-${process.pid}-${++created}@example.com`;
    await this.#send('users:create', email, () => this.#call(url, 'POST', '/v1/users', { token, body: { email } }));
  }

  async #createGroup(url: string, token: string): Promise<void> {
    const name = `group-${process.pid}-${++created}`;
    await this.#send('groups:create', name, () => this.#call(url, 'POST', '/v1/groups', { token, body: { name } }));
  }

  async #readMe(url: string, token: string): Promise<void> {
    await this.#send('auth:me', '', () => this.#call(url, 'GET', '/auth/me', { token }));
  }

  async #listUsers(url: string, token: string): Promise<void> {
    await this.#send('users:list', '', () => this.#call(url, 'GET', '/v1/users?limit=5', { token }));
  }

  /** Makes secrets one after the other, each with several versions. */
  #secretWriter(): (url: string, token: string) => Promise<void> {
    let last: KnownVersion | null = null;
    return async (url, token) => {
      if (!this.#hasVault) await this.#openVault(url, token);
      if (!this.#hasVault) return;
      const before: KnownVersion | null = last;
      // Whether a write without an answer happened nobody knows: the next one makes another secret.
      last = null;
      const value = `value ${process.pid} ${++created}`;
      if (before === null || before.version >= VERSIONS_OF_A_SECRET) {
        const path = `s${process.pid}/${created}`;
        const make = () => this.#call(url, 'POST', SECRETS, { token, body: { path, value } });
        last = await this.#write('secrets:create', path, value, make);
      } else {
        const { path } = before;
        const change = () => this.#call(url, 'PUT', `${SECRETS}/${path}`, { token, body: { value } });
        last = await this.#write('secrets:update', path, value, change);
      }
    };
  }

  async #openVault(url: string, token: string): Promise<void> {
    const body = { name: VAULT, environment: 'staging' };
    const make = () => this.#call(url, 'POST', '/v1/vaults', { token, body });
    // Another worker, or another load, may have been first.
    this.#hasVault = (await this.#send('vault_created', '', make, { isThere: 409 })) !== null;
  }

  async #write(
    action: Action,
    path: string,
    value: string,
    request: () => Promise<Answer>,
  ): Promise<KnownVersion | null> {
    const versionOf = ({ body }: Answer) => ({ path, value, version: body.version });
    const answer = await this.#send(action, '', request, { versionOf });
    if (answer === null) return null;
    this.#latest = { path, value, version: answer.body.version };
    return this.#latest;
  }

  async #readSecret(url: string, token: string): Promise<void> {
    const known = this.#latest;
    if (known === null) return new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_FAILURE_MS));
    const answer = await this.#send('secrets:read', '', () =>
      this.#call(url, 'GET', `${SECRETS}/${known.path}`, { token }),
    );
    if (answer === null) return;
    const { version, value } = answer.body;
    assert.ok(version >= known.version, `${known.path} is older than what was acknowledged`);
    if (version === known.version) assert.equal(value, known.value);
  }

  async #send(
    action: Action,
    name: string,
    request: () => Promise<Answer>,
    { versionOf, isThere }: { versionOf?: (answer: Answer) => KnownVersion; isThere?: number } = {},
  ): Promise<Answer | null> {
    const started = performance.now();
    const answer = await request();
    const { status, headers } = answer;
    const ms = performance.now() - started;
    this.longestMs = Math.max(this.longestMs, ms);
    if (status < 300) {
      const version = versionOf === undefined ? {} : { version: versionOf(answer) };
      this.acknowledged.push({ action, name, requestId: headers.get('x-request-id') ?? '', ...version });
      return answer;
    }
    if (status === isThere) return answer;
    this.refused.push({ action, status, retryAfter: headers.get('retry-after'), ms });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_FAILURE_MS));
    return null;
  }
}

interface Entry {
  action: string;
  decision: string;
  request_id: string;
  details: { user?: string; group?: string; secret?: string };
}

/** Everything acknowledged is there with exactly one entry in the log, and nothing is half there. */
export async function assertNothingLost(
  url: string,
  token: string,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  const users = await readAll(url, token, '/v1/users', 'users');
  const groups = await readAll(url, token, '/v1/groups', 'groups');
  const isVaultThere = acknowledged.some(({ version }) => version !== undefined);
  const secrets = isVaultThere ? await readAll(url, token, SECRETS, 'secrets') : [];
  const entries = (await readAll(url, token, '/v1/audit', 'entries')) as unknown as Entry[];
  const allowed = entries.filter((entry) => entry.decision === 'allow');

  const present = new Set([...users.map((u) => String(u['email'])), ...groups.map((g) => String(g['name']))]);
  const lost = acknowledged.filter(({ name }) => name !== '' && !present.has(name));
  assert.deepEqual(lost, [], 'acknowledged writes that are not there');
  await assertVersions(url, token, acknowledged);

  const byRequest = Map.groupBy(allowed, (entry) => entry.request_id);
  const unrecorded = acknowledged.filter(({ requestId, action }) => {
    const recorded = byRequest.get(requestId) ?? [];
    return recorded.length !== 1 || recorded[0]?.action !== action;
  });
  assert.deepEqual(unrecorded, [], 'acknowledged requests without exactly one audit entry');

  const made = users.filter((user) => !String(user['email']).startsWith('admin@'));
  assertSame(idsOf(made), detailsOf(allowed, 'users:create', 'user'), 'users and the entries of their creation');
  assertSame(idsOf(groups), detailsOf(allowed, 'groups:create', 'group'), 'groups and the entries of their creation');
  if (isVaultThere)
    assertSame(idsOf(secrets), detailsOf(allowed, 'secrets:create', 'secret'), 'secrets and their entries');
}

/** Every version that was acknowledged says what it said. */
async function assertVersions(url: string, token: string, acknowledged: readonly Acknowledged[]): Promise<void> {
  const left = acknowledged.flatMap(({ version }) => (version === undefined ? [] : [version]));
  const check = async () => {
    for (let known = left.pop(); known !== undefined; known = left.pop()) {
      const { path, version, value } = known;
      const read = await call(url, 'GET', `${SECRETS}/${path}?version=${version}`, { token });
      assert.equal(read.status, 200, `version ${version} of ${path}: ${read.text}`);
      assert.equal(read.body.value, value, `version ${version} of ${path}`);
    }
  };
  await Promise.all(Array.from({ length: CHECKED_AT_ONCE }, check));
}

export async function assertChainValid(url: string, token: string): Promise<number> {
  const { status, body, text } = await call(url, 'GET', '/v1/audit/verify', { token });
  assert.equal(status, 200, text);
  assert.equal(body.valid, true, text);
  return body.entries;
}

export async function readAll(
  url: string,
  token: string,
  path: string,
  plural: string,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  let cursor = '';
  do {
    const { status, body, text } = await call(url, 'GET', `${path}?limit=${PAGE}&cursor=${cursor}`, { token });
    assert.equal(status, 200, text);
    rows.push(...body[plural]);
    cursor = body.next_cursor ?? '';
  } while (cursor !== '');
  return rows;
}

function idsOf(rows: Record<string, unknown>[]): string[] {
  return rows.map((row) => String(row['id']));
}

function detailsOf(entries: Entry[], action: string, field: 'user' | 'group' | 'secret'): string[] {
  return entries.filter((entry) => entry.action === action).map((entry) => String(entry.details[field]));
}

function assertSame(left: string[], right: string[], what: string): void {
  assert.deepEqual(left.sort(), right.sort(), what);
}
