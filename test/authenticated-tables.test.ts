import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUTHENTICATED_TABLES } from '../server/src/assembly/authenticated-tables.ts';
import { FEATURES } from '../server/src/assembly/features.ts';
import { KERNEL_TABLES } from '../server/src/kernel/feature/kernel-tables.ts';
import { openDatabase } from './support/database.ts';
import { onBothDatabases } from './support/service.ts';

/** Tables whose rows carry no MAC, each with the reason. A new table fails here until a feature declares it. */
const PLAIN: Record<string, string> = Object.assign(
  {},
  KERNEL_TABLES.plain,
  ...FEATURES.map((feature) => feature.plainTables),
);

onBothDatabases('every table', (kind) => {
  test('is authenticated, sealed, or listed with the reason why not; and so is every column', async () => {
    const database = await openDatabase(kind);
    const tables = await database.read.introspection.getTables();
    const columnsOf = new Map(tables.map(({ name, columns }) => [name, columns.map((column) => column.name).sort()]));
    const authenticated = AUTHENTICATED_TABLES.map(({ name }) => name);
    const declared = new Set([...authenticated, ...Object.keys(PLAIN)]);
    const undeclared = [...columnsOf.keys()].filter((table) => !declared.has(table));
    assert.deepEqual(undeclared, [], 'add these to `tables` in the feature.ts of the feature that owns them');
    const absent = [...declared].filter((table) => !columnsOf.has(table));
    assert.deepEqual(absent, [], 'a feature declares these tables, and no migration creates them');
    for (const [table, reason] of Object.entries(PLAIN)) assert.ok(reason.length > 0, table);
    for (const table of AUTHENTICATED_TABLES) {
      assert.deepEqual(columnsOf.get(table.name), [...table.columns, 'row_mac'].sort(), table.name);
      assert.equal(new Set(table.columns).size, table.columns.length, `${table.name} names a column twice`);
    }
  });
});
