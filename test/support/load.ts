import assert, { AssertionError } from 'node:assert/strict';
import { after } from 'node:test';
import { type Answer, call } from './service.ts';

const WRITERS = 4;
const READERS = 3;
const PAGE = 200;
const PAUSE_AFTER_FAILURE_MS = 10;

type Action = 'users:create' | 'groups:create' | 'auth:me' | 'users:list';

/** A request whose whole answer arrived: from then on the caller may rely on it. */
interface Acknowledged {
  action: Action;
  requestId: string;
  /** The e-mail address or the group's name, for writes. */
  name: string;
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
  #workers: Promise<void>[] = [];
  #isStopping = false;

  start(url: string, token: string): void {
    this.#isStopping = false;
    running.add(this);
    const workers = [
      ...Array.from({ length: WRITERS }, (_, i) => () => (i % 2 === 0 ? this.#createUser : this.#createGroup)),
      ...Array.from({ length: READERS }, (_, i) => () => (i % 2 === 0 ? this.#readMe : this.#listUsers)),
    ];
    this.#workers = workers.map((worker) => this.#work(worker().bind(this, url, token)));
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

  #createUser(url: string, token: string): Promise<void> {
    const email = `user-${process.pid}-${++created}@example.com`;
    return this.#send('users:create', email, () => call(url, 'POST', '/v1/users', { token, body: { email } }));
  }

  #createGroup(url: string, token: string): Promise<void> {
    const name = `group-${process.pid}-${++created}`;
    return this.#send('groups:create', name, () => call(url, 'POST', '/v1/groups', { token, body: { name } }));
  }

  #readMe(url: string, token: string): Promise<void> {
    return this.#send('auth:me', '', () => call(url, 'GET', '/auth/me', { token }));
  }

  #listUsers(url: string, token: string): Promise<void> {
    return this.#send('users:list', '', () => call(url, 'GET', '/v1/users?limit=5', { token }));
  }

  async #send(action: Action, name: string, request: () => Promise<Answer>): Promise<void> {
    const started = performance.now();
    const { status, headers } = await request();
    const ms = performance.now() - started;
    this.longestMs = Math.max(this.longestMs, ms);
    if (status < 300) {
      this.acknowledged.push({ action, name, requestId: headers.get('x-request-id') ?? '' });
      return;
    }
    this.refused.push({ action, status, retryAfter: headers.get('retry-after'), ms });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_FAILURE_MS));
  }
}

interface Entry {
  action: string;
  decision: string;
  request_id: string;
  details: { user?: string; group?: string };
}

/** Everything acknowledged is there with exactly one entry in the log, and nothing is half there. */
export async function assertNothingLost(
  url: string,
  token: string,
  acknowledged: readonly Acknowledged[],
): Promise<void> {
  const users = await readAll(url, token, '/v1/users', 'users');
  const groups = await readAll(url, token, '/v1/groups', 'groups');
  const entries = (await readAll(url, token, '/v1/audit', 'entries')) as unknown as Entry[];
  const allowed = entries.filter((entry) => entry.decision === 'allow');

  const present = new Set([...users.map((u) => String(u['email'])), ...groups.map((g) => String(g['name']))]);
  const lost = acknowledged.filter(({ name }) => name !== '' && !present.has(name));
  assert.deepEqual(lost, [], 'acknowledged writes that are not there');

  const byRequest = Map.groupBy(allowed, (entry) => entry.request_id);
  const unrecorded = acknowledged.filter(({ requestId, action }) => {
    const recorded = byRequest.get(requestId) ?? [];
    return recorded.length !== 1 || recorded[0]?.action !== action;
  });
  assert.deepEqual(unrecorded, [], 'acknowledged requests without exactly one audit entry');

  const made = users.filter((user) => !String(user['email']).startsWith('admin@'));
  assertSame(idsOf(made), detailsOf(allowed, 'users:create', 'user'), 'users and the entries of their creation');
  assertSame(idsOf(groups), detailsOf(allowed, 'groups:create', 'group'), 'groups and the entries of their creation');
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

function detailsOf(entries: Entry[], action: string, field: 'user' | 'group'): string[] {
  return entries.filter((entry) => entry.action === action).map((entry) => String(entry.details[field]));
}

function assertSame(left: string[], right: string[], what: string): void {
  assert.deepEqual(left.sort(), right.sort(), what);
}
