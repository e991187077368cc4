import { canonicalEnvironment } from '../../kernel/authz/environment.ts';
import { timestampOrNull } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Query } from '../../kernel/endpoint/declaration.ts';
import { TimeSlice } from '../../kernel/fairness/time-slice.ts';
import type { Context } from '../../kernel/request/context.ts';
import { cursorAt, openedCursor, type SearchedList, sealedCursor } from '../../kernel/request/sealed-cursor.ts';
import { LIST_LIMIT_DEFAULT } from '../../kernel/wire/wire.ts';
import { type Entry, loadEntries, mayKnowLink } from '../attack-paths/index.ts';
import { loadReaders, type SameRights } from '../risk/index.ts';
import { opens, type Way, waysOf } from './build-paths.ts';
import type * as contract from './contract.ts';
import type { AccessPath } from './contract.ts';
import { type Target, targets } from './targets.ts';

/** How often one request decides whether some rights open a target. A page ends there, and the next one goes on. */
const DECISIONS_MAX = 20_000;

const LIST: SearchedList = { name: 'listAccessPaths', form: /^[A-Za-z0-9._-]{1,63}\n[ -~]{0,1024}\n[ -~]{1,400}$/ };
/** Sorts after the key of every way. */
const AFTER_ALL_WAYS = '~';

type Wanted = Query<typeof contract.listAccessPaths>;

interface FoundWay {
  readonly target: Target;
  readonly way: Way;
}

export async function list(ctx: Context, wanted: Wanted) {
  if (wanted.path !== undefined && wanted.vault === undefined) {
    throw invalidField('/query/path', 'needs vault, the name of the vault that it is in');
  }
  const position = await openedCursor(ctx, LIST, wanted.cursor);
  const readers = await wantedReaders(ctx, wanted);
  const { found, hidden, next_cursor } = await pageOfWays(ctx, wanted, readers, position);
  const entries = await entriesOf(ctx, found);
  return { access_paths: found.map((each) => toWire(ctx, each, entries)), hidden, next_cursor };
}

async function wantedReaders(ctx: Context, { user, app_connection, group }: Wanted): Promise<SameRights[]> {
  const readers = await loadReaders(ctx.database.read, ctx.tenantId, ctx.now);
  const email = user?.toLowerCase();
  return readers.flatMap((rights) => {
    const isInGroup = rights.grants.some(({ kind, id, name }) => kind === 'group' && (id === group || name === group));
    if (group !== undefined && !isInGroup) return [];
    const users = app_connection === undefined ? rights.users : [];
    const connections = user === undefined ? rights.connections : [];
    const narrowed = {
      ...rights,
      users: user === undefined ? users : users.filter((one) => one.user_id === user || one.email === email),
      connections:
        app_connection === undefined
          ? connections
          : connections.filter(({ client_id, connection_no, number, name }) =>
              [client_id, String(number ?? connection_no), name].includes(app_connection),
            ),
    };
    return narrowed.users.length + narrowed.connections.length === 0 ? [] : [narrowed];
  });
}

/** Walks the targets from where the last page ended, until the page is full or enough was decided. */
async function pageOfWays(ctx: Context, wanted: Wanted, readers: readonly SameRights[], position: string | null) {
  const [vault = '', path = '', key = ''] = position?.split('\n') ?? [];
  const limit = wanted.limit ?? LIST_LIMIT_DEFAULT;
  const slice = TimeSlice.of(ctx.tenantId);
  const found: FoundWay[] = [];
  let [hidden, hiddenBeforeLast, decisions] = [0, 0, 0];
  for await (const target of targets(ctx, wanted, { vault, path })) {
    const isFirst = target.vault.name === vault && (target.secret?.path ?? '') === path;
    const ways = target.isSeen ? await waysTo(readers, target, slice) : [];
    for (const way of ways) {
      const pause = slice.pause();
      if (pause !== undefined) await pause;
      if ((isFirst && way.key <= key) || !isWanted(way, wanted)) continue;
      // With somebody or something named, a count would say whether it exists and belongs there.
      if (!mayKnow(ctx, target, way)) hidden += isNarrowed(wanted) ? 0 : 1;
      else if (found.length === limit) {
        return { found, hidden: hiddenBeforeLast, next_cursor: cursorAt(positionOf(found.at(-1))) };
      } else {
        found.push({ target, way });
        hiddenBeforeLast = hidden;
      }
    }
    decisions += 1 + (target.isSeen ? readers.length : 0);
    if (decisions >= DECISIONS_MAX) {
      const end = `${target.vault.name}\n${target.secret?.path ?? ''}\n${AFTER_ALL_WAYS}`;
      return { found, hidden, next_cursor: await sealedCursor(ctx, LIST, end) };
    }
  }
  return { found, hidden, next_cursor: null };
}

function isNarrowed({ user, app_connection, group, policy }: Wanted): boolean {
  return [user, app_connection, group, policy].some((one) => one !== undefined);
}

function positionOf(last: FoundWay | undefined): string {
  return `${last?.target.vault.name}\n${last?.target.secret?.path ?? ''}\n${last?.way.key}`;
}

async function waysTo(readers: readonly SameRights[], target: Target, slice: TimeSlice): Promise<Way[]> {
  const ways = new Map<string, Way>();
  for (const rights of readers) {
    const pause = slice.pause();
    if (pause !== undefined) await pause;
    for (const way of waysOf(rights, target)) ways.set(way.key, way);
  }
  return [...ways.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function isWanted({ group, grant }: Way, wanted: Wanted): boolean {
  const isThrough = wanted.group === undefined || group?.id === wanted.group || group?.name === wanted.group;
  return isThrough && (wanted.policy === undefined || (grant.kind === 'policy' && grant.name === wanted.policy));
}

/** Whether the caller may read about the principal, the group, and what gives the right. */
function mayKnow(ctx: Context, { vault }: Target, { principal, resources, group, grant }: Way): boolean {
  const isUser = principal.kind === 'user';
  const links = [
    { kind: 'principal' as const, type: isUser ? 'user' : 'service', id: principal.id, name: principal.name },
    ...(isUser ? [] : [{ kind: 'grant' as const, type: 'connection', id: principal.id, name: '' }]),
    ...(group === null ? [] : [{ kind: 'grant' as const, type: 'group', ...group }]),
    {
      kind: 'grant' as const,
      type: grant.kind === 'access' ? 'membership' : grant.kind,
      id: grant.name,
      name: grant.name,
    },
  ];
  return links.every((link) => mayKnowLink(ctx, vault, link, resources));
}

/** The credentials of people on the page, and of nobody else. */
async function entriesOf(ctx: Context, found: readonly FoundWay[]): Promise<Map<SameRights, Entry[]>> {
  const shown = [...Map.groupBy(found, ({ way }) => way.rights)].map(([rights, ways]) => {
    const ids = new Set(ways.map(({ way }) => way.principal.id));
    return { rights, part: { ...rights, users: rights.users.filter(({ user_id }) => ids.has(user_id)) } };
  });
  const parts = shown.map(({ part }) => part);
  const entries = await loadEntries(ctx.database.read, ctx.tenantId, parts, ctx.now);
  return new Map(shown.map(({ rights, part }) => [rights, entries.get(part) ?? []]));
}

function toWire(ctx: Context, { target, way }: FoundWay, entries: ReadonlyMap<SameRights, Entry[]>): AccessPath {
  const { rights, principal, resources, group, grant } = way;
  const { vault, secret } = target;
  const credentials = (entries.get(rights) ?? [])
    .filter((entry) => principal.kind !== 'user' || entry.principal.id === principal.id)
    .filter(({ ceilings }) => ceilings.length === 0 || opens({ ceilings, policies: rights.policies }, target))
    .filter(({ credential }) => mayKnowLink(ctx, vault, { kind: 'credential', ...credential }, resources))
    .map(({ credential, weakness, why }) => ({ ...credential, weakness, why }));
  return {
    principal,
    credentials,
    group,
    grant: { ...grant, until: timestampOrNull(grant.until) },
    vault: vault.name,
    environment: canonicalEnvironment(vault.environment),
    path: secret?.path ?? null,
  };
}
