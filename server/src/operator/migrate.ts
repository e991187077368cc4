import type { Config } from '../kernel/platform/config.ts';
import { withStorage } from './with-kernel.ts';

/** Runs the migrations that every start runs first, for operators who want to change the schema before nodes of a new release start. */
export function bringUpToDate(config: Config): Promise<string> {
  return withStorage(config, async (_, applied) => {
    if (applied.length === 0) return 'The schema is up to date; no migrations were applied.';
    return `The schema is up to date; ${applied.length} ${applied.length === 1 ? 'migration was' : 'migrations were'} applied: ${applied.join(', ')}.`;
  });
}
