import type { Expression, ExpressionBuilder, Kysely, SqlBool } from 'kysely';
import type { MacKey } from '../keys/keyring.ts';
import type { Reader, Tx } from '../storage/database.ts';
import { isRowMac, rowMac } from '../storage/row-keys.ts';
import type { Tables } from '../storage/tables.ts';
import { appendedText, type ColumnValue, fieldText, rowDigest, sealedText } from './row-text.ts';

/** Rows loaded at once when a whole table is walked. */
const WALK_CHUNK = 500;
/** Sealed values may be long. */
const SEALED_WALK_CHUNK = 32;
/** MACs written per statement, each of which adds a condition. */
const MACS_AT_ONCE = 50;

/** Columns with this suffix hold digests as bytes. */
const HASH_SUFFIX = '_hash';

type Column<R> = keyof R & string;

interface Field<R> {
  readonly column: Column<R>;
  readonly isSealed: boolean;
}

interface Shape<R> {
  /** The columns that identify a row inside its tenant. Empty for the tenant's own row. */
  key: readonly Column<R>[];
  /** The columns the MAC covers besides tenant and key. Their order must never change. */
  covered: readonly Column<R>[];
  /** Covered columns that later migrations added, in that order. Each is null in older rows. */
  appended?: readonly Column<R>[];
  /** Sealed columns. Only their head is covered, because the seal itself binds them to the row. */
  sealed?: readonly Column<R>[];
  /** Columns that decide nothing, each with the reason. */
  uncovered?: Partial<Record<Column<R>, string>>;
  /** Whether the audit log records the digest of each row. It is false for tables that only grow and whose rows are bound to a recorded row. */
  isRecorded?: boolean;
  /** Whether rows that existed before they were authenticated are listed in the log one by one. There may be millions of them. */
  isListedAtUpgrade?: boolean;
}

/** Selects rows, like `where` of Kysely. */
export type RowFilter<T extends keyof Tables> = (eb: ExpressionBuilder<Tables, T>) => Expression<SqlBool>;

/** A row with its MAC. */
export type Signed<R> = R & { row_mac: Uint8Array };

/** For statements whose table is known only at run time. */
type AnyTable = Kysely<Record<string, Record<string, ColumnValue>>>;
type AnyExpressions = ExpressionBuilder<Record<string, Record<string, ColumnValue>>, string>;

/**
 * A table whose rows decide who may do what, or what a secret is. Each row carries a MAC over its tenant, its table, its key and every deciding
 * column, under a key that the database stores only wrapped. Each change is registered with the transaction, which records the row's digest in the
 * audit log. Anyone who writes to the database without the root key therefore cannot forge a row, and rows that were deleted or restored are found
 * by comparing them with the log.
 */
export class AuthenticatedTable<T extends keyof Tables & string, R extends { tenant_id: string }> {
  readonly name: T;
  readonly columns: readonly Column<R>[];
  readonly key: readonly Column<R>[];
  readonly uncovered: Readonly<Partial<Record<string, string>>>;
  readonly isRecorded: boolean;
  readonly isListedAtUpgrade: boolean;
  readonly #nameText: string;
  readonly #fields: readonly Field<R>[];
  readonly #appended: readonly Column<R>[];

  constructor(name: T, { key, covered, appended = [], sealed = [], uncovered = {}, ...shape }: Shape<R>) {
    this.name = name;
    this.isRecorded = shape.isRecorded ?? true;
    this.isListedAtUpgrade = shape.isListedAtUpgrade ?? this.isRecorded;
    this.key = key;
    this.uncovered = uncovered;
    this.#nameText = fieldText(name);
    this.#fields = [...key, ...covered].map((column) => ({ column, isSealed: sealed.includes(column) }));
    this.#appended = appended;
    const plain = Object.keys(uncovered) as Column<R>[];
    this.columns = ['tenant_id', ...this.#fields.map(({ column }) => column), ...appended, ...plain];
  }

  /** The name of a row in the audit log. */
  keyText(row: R): string {
    return this.key.length === 0 ? row.tenant_id : this.key.map((column) => plainText(row[column])).join(' ');
  }

  /** Everything the MAC covers. */
  text(row: R): string {
    let text = this.#nameText + fieldText(row.tenant_id);
    // By index, because an iterator makes an object for each of the columns.
    for (let at = 0; at < this.#fields.length; at++) {
      const field = this.#fields[at] as Field<R>;
      const value = row[field.column] as ColumnValue;
      text += field.isSealed ? sealedText(value as Uint8Array | null) : fieldText(value);
    }
    if (this.#appended.length === 0) return text;
    return text + appendedText(this.#appended.map((column) => row[column] as ColumnValue));
  }

  digest(row: R): string {
    return rowDigest(this.text(row));
  }

  /** The row with its MAC, for a statement that writes it in this transaction. `before` is the row it replaces, if any. */
  async signed(tx: Tx, row: R, before?: R): Promise<Signed<R>> {
    const key = await keyFor(tx, row.tenant_id);
    const text = this.text(row);
    this.#note(tx, row, rowDigest(text), before);
    return { ...row, row_mac: rowMac(key, text) };
  }

  /** For rows of a new tenant and for the upgrade, where the caller already has the key. */
  mac(key: MacKey, row: R): Buffer {
    return rowMac(key, this.text(row));
  }

  /** Returns the loaded row if the service wrote it, and throws otherwise. */
  async checked<L extends R>(db: Reader, row: L | undefined): Promise<L | undefined> {
    if (row === undefined) return undefined;
    if (!(await this.isAuthentic(db, row))) throw db.rowKeys.refuse(this.name, this.keyText(row));
    return row;
  }

  async checkedAll<L extends R>(db: Reader, rows: L[]): Promise<L[]> {
    for (const row of rows) await this.checked(db, row);
    return rows;
  }

  /** For rows that can only allow something. Forged rows are reported and ignored. */
  async authenticOf<L extends R>(db: Reader, rows: readonly L[]): Promise<L[]> {
    const authentic: L[] = [];
    for (const row of rows) {
      if (await this.isAuthentic(db, row)) authentic.push(row);
      else db.rowKeys.refuse(this.name, this.keyText(row));
    }
    return authentic;
  }

  async isAuthentic(db: Reader, row: R): Promise<boolean> {
    const key =
      ('changes' in db ? (db as Tx).changes.keyOf(row.tenant_id) : undefined) ??
      (await db.rowKeys.keyForCheck(row.tenant_id));
    return key !== null && this.isAuthenticWith(key, row);
  }

  isAuthenticWith(key: MacKey, row: R): boolean {
    return isRowMac(key, this.text(row), (row as { row_mac?: Uint8Array | null }).row_mac);
  }

  async insert(tx: Tx, ...rows: R[]): Promise<void> {
    if (rows.length === 0) return;
    const values = await Promise.all(rows.map(async (row) => this.#stored(await this.signed(tx, row))));
    await anyTable(tx)
      .insertInto(this.name as string)
      .values(values)
      .execute();
  }

  /** Updates a row that was locked and verified in this transaction. */
  async update(tx: Tx, row: R, change: Partial<R>): Promise<R> {
    const changed = { ...row, ...change };
    if (this.keyText(changed) !== this.keyText(row)) throw new Error(`the key of a row of ${this.name} stays`);
    const { row_mac } = await this.signed(tx, changed, row);
    let query = anyTable(tx)
      .updateTable(this.name as string)
      .set({ ...(change as Record<string, ColumnValue>), row_mac })
      .where('tenant_id', '=', row.tenant_id);
    for (const [column, value] of this.#keyOf(row)) query = query.where(column, '=', value);
    await query.execute();
    return changed;
  }

  /** Locks, verifies and updates the rows. Returns them as they were before. */
  async updateWhere(tx: Tx, which: RowFilter<T>, change: Partial<R>): Promise<R[]> {
    const rows = await this.lockedWhere(tx, which);
    for (const row of rows) await this.update(tx, row, change);
    return rows;
  }

  /**
   * Updates the rows of a tenant for which `change` returns new values, and returns their number. Forged rows stay as they are and are refused
   * wherever they are used.
   */
  async changeEach(tx: Tx, tenantId: string, change: (row: R) => Partial<R> | null): Promise<number> {
    let count = 0;
    for await (const rows of this.walk(tx, tenantId)) {
      for (const row of rows) {
        const changed = change(row);
        if (changed === null || !(await this.isAuthentic(tx, row))) continue;
        await this.update(tx, row, changed);
        count++;
      }
    }
    return count;
  }

  /** Forged rows can be deleted too, so the rows are not verified. Returns them as they were before. */
  async deleteWhere(tx: Tx, which: RowFilter<T>, limit?: number): Promise<R[]> {
    const rows = await this.#selectLocked(tx, which, limit);
    for (const row of rows) {
      let query = anyTable(tx)
        .deleteFrom(this.name as string)
        .where('tenant_id', '=', row.tenant_id);
      for (const [column, value] of this.#keyOf(row)) query = query.where(column, '=', value);
      await query.execute();
      this.#note(tx, row, null, row);
    }
    return rows;
  }

  #keyOf(row: R): [column: string, value: ColumnValue][] {
    return this.key.map((column) => [column, row[column] as ColumnValue]);
  }

  #note(tx: Tx, row: R, digest: string | null, before: R | undefined): void {
    if (!this.isRecorded) return;
    const found = before === undefined ? null : this.digest(before);
    tx.changes.note(row.tenant_id, { table: this.name, key: this.keyText(row) }, digest, found);
  }

  async lockedWhere(tx: Tx, which: RowFilter<T>): Promise<R[]> {
    return this.checkedAll(tx, await this.#selectLocked(tx, which));
  }

  async #selectLocked(tx: Tx, which: RowFilter<T>, limit?: number): Promise<R[]> {
    const query = anyTable(tx)
      .selectFrom(this.name as string)
      .select([...this.columns, 'row_mac'])
      .where(which as never)
      .forUpdate();
    return (await (limit === undefined ? query : query.limit(limit)).execute()) as unknown as R[];
  }

  /** Some of the tenants that have such rows. */
  async tenantsWith(db: Reader, which: RowFilter<T>, limit: number): Promise<string[]> {
    const query = anyTable(db)
      .selectFrom(this.name as string)
      .select('tenant_id')
      .distinct()
      .where(which as never)
      .limit(limit);
    return (await query.execute()).map(({ tenant_id }) => String(tenant_id));
  }

  /** Loads every row of a tenant in chunks, in the order of its key. */
  async *walk(db: Reader, tenantId: string): AsyncGenerator<(R & { row_mac: Uint8Array | null })[]> {
    const chunk = this.#fields.some(({ isSealed }) => isSealed) ? SEALED_WALK_CHUNK : WALK_CHUNK;
    for (let last: R | undefined; ; ) {
      let query = anyTable(db)
        .selectFrom(this.name as string)
        .select([...this.columns, 'row_mac'])
        .where('tenant_id', '=', tenantId)
        .limit(chunk);
      for (const column of this.key) query = query.orderBy(column);
      if (last !== undefined) query = query.where(this.#isAfter(last) as never);
      const rows = (await query.execute()) as unknown as (R & { row_mac: Uint8Array | null })[];
      if (rows.length > 0) yield rows;
      last = rows.at(-1);
      if (last === undefined || rows.length < chunk || this.key.length === 0) return;
    }
  }

  /** Finds a row by its name in the audit log. */
  async find(db: Reader, tenantId: string, keyText: string): Promise<R | undefined> {
    const values = this.key.length === 0 ? [] : keyText.split(' ');
    let query = anyTable(db)
      .selectFrom(this.name as string)
      .select([...this.columns, 'row_mac'])
      .where('tenant_id', '=', tenantId);
    for (const [i, column] of (this.key as readonly string[]).entries()) {
      const value = values[i] ?? '';
      query = query.where(column, '=', column.endsWith(HASH_SUFFIX) ? Buffer.from(value, 'hex') : value);
    }
    return (await query.executeTakeFirst()) as unknown as R | undefined;
  }

  /** Matches rows after `last` in key order: greater in the first column that differs. */
  #isAfter(last: R) {
    const key: readonly string[] = this.key;
    const values = last as unknown as Record<string, ColumnValue>;
    return (eb: ExpressionBuilder<Record<string, Record<string, ColumnValue>>, string>) =>
      eb.and([
        // By this alone SQLite begins at the right place of the index. The alternatives below would read the tenant from its first row for each page.
        ...key.slice(0, 1).map((column) => eb(column, '>=', values[column] ?? null)),
        eb.or(
          key.map((column, i) =>
            eb.and([
              ...key.slice(0, i).map((before) => eb(before, '=', values[before] ?? null)),
              eb(column, '>', values[column] ?? null),
            ]),
          ),
        ),
      ]);
  }

  /** Writes the MAC of a row without registering a change, for the upgrade and the rekey, which record in their own way. */
  async writeMac(tx: Tx, row: R, mac: Uint8Array): Promise<void> {
    let query = anyTable(tx)
      .updateTable(this.name as string)
      .set({ row_mac: mac })
      .where('tenant_id', '=', row.tenant_id);
    for (const [column, value] of this.#keyOf(row)) query = query.where(column, '=', value);
    await query.execute();
  }

  /** The same for many rows of one tenant, in few statements. */
  async writeMacs(tx: Tx, written: readonly { row: R; mac: Uint8Array }[]): Promise<void> {
    for (let at = 0; at < written.length; at += MACS_AT_ONCE) {
      const [first, ...others] = written.slice(at, at + MACS_AT_ONCE);
      if (first === undefined) return;
      const some = [first, ...others];
      await anyTable(tx)
        .updateTable(this.name as string)
        .set((eb) => {
          const begun = eb
            .case()
            .when(this.#isRow(eb, first.row))
            .then(first.mac as ColumnValue);
          const cases = others.reduce(
            (all, { row, mac }) => all.when(this.#isRow(eb, row)).then(mac as ColumnValue),
            begun,
          );
          // The `else` branch gives PostgreSQL the type of the values.
          return { row_mac: cases.else(eb.ref('row_mac')).end() };
        })
        .where('tenant_id', '=', first.row.tenant_id)
        .where((eb) => eb.or(some.map(({ row }) => this.#isRow(eb, row))))
        .execute();
    }
  }

  #isRow(eb: AnyExpressions, row: R) {
    return eb.and([
      eb('tenant_id', '=', row.tenant_id),
      ...this.#keyOf(row).map(([column, value]) => eb(column, '=', value)),
    ]);
  }

  /** Keeps only the columns of the table, because rows are often made from others by spreading. */
  #stored(row: Signed<R>): Record<string, ColumnValue> {
    const values: Record<string, ColumnValue> = { row_mac: row.row_mac };
    for (const column of this.columns) values[column] = row[column] as ColumnValue;
    return values;
  }
}

/** A table without its row type, for loops over all tables. */
export type AnyAuthenticatedTable = AuthenticatedTable<keyof Tables & string, { tenant_id: string }>;

function keyFor(tx: Tx, tenantId: string): Promise<MacKey> | MacKey {
  return tx.changes.keyOf(tenantId) ?? tx.rowKeys.key(tenantId);
}

function anyTable(db: Reader): AnyTable {
  return db as unknown as AnyTable;
}

function plainText(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}
