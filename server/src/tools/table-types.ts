import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** In which stores declare their tables, by the name of each. */
const DECLARES_TABLES = /^export interface (\w+Tables) \{$/gm;
/** It declares no table of its own: it is the type that all others extend, and `FeatureTables` is a field of a declaration. */
const OTHERS = ['kernel/storage/tables.ts', 'kernel/feature/declaration.ts'];

/** The type of the database: every `…Tables` interface of a feature or of the kernel, in one file. */
export function tableTypes(sourceFolder: string): string {
  const declared = globSync(['features/**/*.ts', 'kernel/**/*.ts'], { cwd: sourceFolder })
    .filter((file) => !file.endsWith('.test.ts') && !OTHERS.includes(file))
    .toSorted()
    .flatMap((file) => {
      const names = [...readFileSync(join(sourceFolder, file), 'utf8').matchAll(DECLARES_TABLES)];
      return names.map(([, name = '']) => ({ file, name }));
    });
  const imports = declared.map(({ file, name }) => `import type { ${name} } from '../${file}';\n`);
  const [first = '', ...others] = declared.map(({ name }) => name).toSorted();
  return `${imports.join('')}
/**
 * Generated from the code by \`npm run generate\`; do not edit. All tables that are typed beside their store, of features and of the kernel. Queries
 * are typed by them.
 */
declare module '../kernel/storage/tables.ts' {
  interface Tables
    extends ${[first, ...others].join(',\n      ')} {}
}
`;
}
