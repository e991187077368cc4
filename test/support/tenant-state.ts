import { sql } from 'kysely';
import { newId } from '../../server/src/kernel/base/ids.ts';
import { sha256 } from '../../server/src/kernel/crypto/digest.ts';
import type { App } from '../../server/src/start/app.ts';
import type { Input } from './endpoint-inputs.ts';
import type { Service } from './service.ts';

type Row = Record<string, unknown>;
export type TenantRows = ReadonlyMap<string, readonly Row[]>;

/** What the service writes about its own work, for any caller and with any outcome. */
const OWN_ACCOUNT = [
  'audit_segments',
  'audit_heads',
  'audit_nodes',
  'audit_verified',
  'audit_compaction',
  'audit_checkpoints',
  'hourly_counts',
  'hourly_activity',
  'hourly_actors',
  'user_activity',
  'rollup_progress',
  'anomaly_scans',
  'connection_uses',
  'risk_runs',
  'secret_reads',
  'idempotency_keys',
  'rate_windows',
  'job_leases',
];

/** Everything a tenant has, by table: also what features to come will keep. */
export async function rowsOf(service: Service, tenantId: string): Promise<TenantRows> {
  const { read, kind } = service.app.kernel.database;
  if (kind === 'postgres') return rowsInOneQuery(service, tenantId);
  const rows = new Map<string, Row[]>();
  for (const name of await tablesOf(service)) {
    const found = await sql<Row>`select * from ${sql.table(name)} where tenant_id = ${tenantId}`.execute(read);
    rows.set(name, found.rows);
  }
  return rows;
}

/** Walks do this thousands of times, and a query for each table would be most of what they wait for. */
async function rowsInOneQuery(service: Service, tenantId: string): Promise<TenantRows> {
  const columns = (await tablesOf(service)).map(
    (name) =>
      sql`(select coalesce(json_agg(t), '[]') from ${sql.table(name)} t where tenant_id = ${tenantId}) as ${sql.ref(name)}`,
  );
  const { rows } = await sql<Record<string, Row[]>>`select ${sql.join(columns)}`.execute(
    service.app.kernel.database.read,
  );
  return new Map(Object.entries(rows[0] ?? {}));
}

const tables = new WeakMap<App, Promise<string[]>>();

function tablesOf({ app }: Service): Promise<string[]> {
  const known = tables.get(app);
  if (known !== undefined) return known;
  const found = app.kernel.database.read.introspection
    .getTables()
    .then((all) => all.filter(({ columns }) => columns.some(({ name }) => name === 'tenant_id')))
    .then((all) => all.map(({ name }) => name).filter((name) => !OWN_ACCOUNT.includes(name)));
  tables.set(app, found);
  return found;
}

/** One text for each table: two that are equal say that nothing changed, two that differ in what. */
export async function stateOf(service: Service, tenantId: string): Promise<Record<string, string>> {
  const rows = await rowsOf(service, tenantId);
  return Object.fromEntries(
    [...rows].map(([table, all]) => [table, `${all.length} rows, ${digest(all.map(rowText).sort().join('\n'))}`]),
  );
}

function digest(text: string): string {
  return sha256(text).toString('hex').slice(0, 16);
}

function rowText(row: Row): string {
  let text = '';
  for (const column in row) {
    const value = row[column];
    // How often a key was used is counted ahead, in blocks, also for the audit log.
    if (column !== 'uses') text += `${value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value}\0`;
  }
  return text;
}

/** An id, name, path, number or address by which something of a tenant can be requested. */
export interface Identifier {
  text: string;
  /** Two of a kind can stand in each other's place. */
  kind: string;
}

const IDENTIFYING = /(?:_id|_no)$|^(?:name|path|email|serial)$/;
/** What people call their tokens, and what the service calls its counters. */
const NOT_IDENTIFYING = ['tokens.name', 'users.name', 'counters.name', 'keys.wrapping_key'];
const ID_FORM = /^([a-z]+)_[0-9a-z]{26}$/;

/** All by which a tenant's things can be requested, read from its rows. */
export class Identifiers {
  readonly #byText = new Map<string, Identifier>();

  constructor(rows: TenantRows) {
    for (const [table, all] of rows) {
      for (const row of all) {
        for (const [column, value] of Object.entries(row)) {
          if (!IDENTIFYING.test(column) || NOT_IDENTIFYING.includes(`${table}.${column}`)) continue;
          if (value === null || value === '' || value instanceof Uint8Array) continue;
          this.#add(String(value), column === 'name' ? `${table} name` : column);
        }
      }
    }
  }

  #add(text: string, column: string): void {
    const [, prefix] = ID_FORM.exec(text) ?? [];
    if (!this.#byText.has(text)) this.#byText.set(text, { text, kind: prefix ?? column });
  }

  find(text: string): Identifier | undefined {
    return this.#byText.get(text);
  }

  /** Those that stand in a text. Only long ones: a short one may stand anywhere by chance. */
  within(text: string, except: readonly string[] = []): string[] {
    const pieces = new Set(text.split(/[^A-Za-z0-9._@/=+-]+/));
    return [...pieces].filter((word) => word.length >= 10 && this.#byText.has(word) && !except.includes(word));
  }
}

/** An identifier in an input, and the field it stands in, such as `body.principal.user`. */
export interface Reference extends Identifier {
  field: string;
}

export function referencesIn(input: Input, known: Identifiers): Reference[] {
  const found: Reference[] = [];
  mapTexts(input, (text, field) => {
    const isNumber = /^\d+$/.test(text);
    const identifier = isNumber && !field.endsWith('_id') ? undefined : known.find(text);
    if (identifier !== undefined) found.push({ ...identifier, field });
    return text;
  });
  return found;
}

/** The input with other texts in place of some; what stands for itself stays. */
export function replaced(input: Input, by: ReadonlyMap<string, string>): Input {
  return mapTexts(input, (text) => by.get(text) ?? text) as Input;
}

/** Strings, whole numbers and the names of what is listed by name (`{}`), each with its field. */
function mapTexts(value: unknown, change: (text: string, field: string) => string, field = ''): unknown {
  if (typeof value === 'string') return change(value, field);
  if (typeof value === 'number') return Number(change(String(value), field));
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, field));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const at = field === '' ? key : `${field}.${key}`;
    return [change(key, `${field}{}`), mapTexts(item, change, at)];
  });
  return Object.fromEntries(entries);
}

/** One of the same form and length that never was. */
export function neverWas({ text }: Identifier, known: Identifiers): string {
  const [, prefix] = ID_FORM.exec(text) ?? [];
  for (;;) {
    const other = prefix === undefined ? scrambled(text) : newId(prefix);
    if (other !== text && known.find(other) === undefined) return other;
  }
}

const CLASSES = ['0123456789', 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];

const HEXADECIMAL = /^[0-9a-f-]*[a-f][0-9a-f-]*$/;

/** Letters become other letters and digits other digits; a number keeps its length, a hexadecimal one its letters, and all else its place. */
function scrambled(text: string): string {
  const classes = HEXADECIMAL.test(text) ? ['0123456789', 'abcdef'] : CLASSES;
  return [...text].map((character, i) => (i === 0 ? character : like(character, classes))).join('');
}

function like(character: string, classes: readonly string[]): string {
  const all = classes.find((characters) => characters.includes(character)) ?? character;
  return all[Math.floor(Math.random() * all.length)] ?? character;
}
