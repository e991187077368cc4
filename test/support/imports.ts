import assert from 'node:assert/strict';
import { dirname, join, normalize } from 'node:path';

/** The files of the project that a source imports, loads later or takes a type from. */
export function importsIn(file: string, text: string): string[] {
  const found = [...text.matchAll(/(?:from|import|module) ?\(?'(\.[^']+)'/g)].map((match) => String(match[1]));
  return found.map((path) => normalize(join(dirname(file), path)));
}

/** Fails if something needs itself, through however many others. */
export function refuseCircle(needs: ReadonlyMap<string, Iterable<string>>): void {
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): void => {
    const start = path.indexOf(name);
    assert.equal(start, -1, `a circle: ${[...path.slice(start), name].join(' → ')}`);
    if (done.has(name)) return;
    for (const other of needs.get(name) ?? []) visit(other, [...path, name]);
    done.add(name);
  };
  for (const name of needs.keys()) visit(name, []);
}
