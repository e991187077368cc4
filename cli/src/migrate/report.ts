import { note, printJson, printTable } from '../output.ts';
import type { Applied } from './apply.ts';
import type { Step } from './plan.ts';
import type { Skipped } from './source.ts';

export interface Report {
  source: string;
  vault: string;
  isJson: boolean;
  steps: readonly Step[];
  skipped: readonly Skipped[];
  /** Null for a dry run. */
  applied: Applied | null;
  isStopped: boolean;
}

const CHANGES = ['create', 'update', 'unchanged', 'leave'] as const;

/** What becomes what, and what is skipped. It never has a value. */
export function printReport({ source, vault, isJson, steps, skipped, applied, isStopped }: Report): void {
  const left = steps.flatMap(({ change, secret, reason }) =>
    change === 'leave' ? [{ from: secret.from, reason }] : [],
  );
  const all = [...skipped, ...left, ...(applied?.refused ?? [])];
  const counts = Object.fromEntries(
    CHANGES.map((change) => [change, steps.filter((step) => step.change === change).length]),
  );
  const rows = steps.map(({ secret, change, done }) => ({
    from: secret.from,
    path: secret.path,
    renamed: secret.isRenamed,
    change,
    versions: change === 'create' || change === 'update' ? secret.values.length - done : 0,
    ...(applied !== null && { written: applied.written.has(secret.path) }),
  }));
  if (isJson) {
    const written =
      applied === null ? {} : { secrets_written: applied.written.size, versions_written: applied.versions };
    const state = { dry_run: applied === null, stopped: isStopped || (applied !== null && applied.failure !== null) };
    printJson({ source, vault, ...state, counts, ...written, secrets: rows, skipped: all });
    return;
  }
  printTable(
    rows,
    [
      { title: 'FROM', of: (row) => row.from, isFlexible: true },
      { title: 'PATH', of: (row) => `${row.path}${row.renamed ? ' (renamed)' : ''}`, isFlexible: true },
      { title: 'CHANGE', of: (row) => row.change },
      { title: 'VERSIONS', of: (row) => row.versions, isNumber: true },
    ],
    `${source} has nothing that can be taken.`,
  );
  if (all.length > 0) {
    note(`\nNot imported (${all.length}):`);
    for (const { from, reason } of all) note(`  ${from}: ${reason}`);
  }
  note(`\n${vault}: ${CHANGES.map((change) => `${counts[change]} ${LABELS[change]}`).join(', ')}.`);
  if (applied === null) note('Nothing was written. Add --apply to write it.');
  else note(`Wrote ${applied.versions} versions; ${applied.written.size} secrets are complete.`);
}

const LABELS = { create: 'to create', update: 'to update', unchanged: 'unchanged', leave: 'left as they are' } as const;
