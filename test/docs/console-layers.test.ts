import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { importsIn, refuseCircle } from '../support/imports.ts';

/** The rooms of the console, and which may know which. */

const FOLDER = 'console/src/';
/** A door with more names than these is a wall that is missing. */
const NAMES_MAX = 10;
const EXPORTED = /export \{([^}]*)\}|export const (\w+)/g;

const files = globSync(`${FOLDER}**/*.{ts,tsx}`);
const imports = new Map(files.map((file) => [file, importsIn(file, readFileSync(file, 'utf8'))]));
const roomOf = (file: string) => file.slice(FOLDER.length).split('/')[0] ?? '';
const isNoun = (room: string) => !['app', 'ui', 'plots', 'shell'].includes(room);

/** app ← ui ← plots ← nouns ← shell. A noun sees another one only through its door. */
function mayImport(file: string, target: string): boolean {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (from === to) return !target.endsWith('/index.ts');
  if (from === 'shell') return true;
  if (to === 'app') return true;
  if (to === 'ui') return from !== 'app';
  if (to === 'plots') return isNoun(from);
  return isNoun(from) && isNoun(to) && target === `${FOLDER}${to}/index.ts`;
}

function namesOf(door: string): string[] {
  return [...readFileSync(door, 'utf8').matchAll(EXPORTED)].flatMap(([, list, single]) =>
    (list ?? single ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
  );
}

describe('rooms of the console', () => {
  test('what every page uses knows no part, a part no page, and a noun another only through its door', () => {
    const refused = [...imports].flatMap(([file, targets]) =>
      targets.filter((target) => !mayImport(file, target)).map((target) => `${file} imports ${target}`),
    );
    assert.deepEqual(refused, []);
  });

  test('such imports are found', () => {
    const of = (from: string, to: string) => mayImport(FOLDER + from, FOLDER + to);
    assert.ok(of('vaults/list.tsx', 'people/index.ts'));
    assert.ok(of('shell/layout.tsx', 'people/list.tsx'));
    assert.ok(!of('vaults/list.tsx', 'people/list.tsx'));
    assert.ok(!of('vaults/list.tsx', 'vaults/index.ts'));
    assert.ok(!of('vaults/list.tsx', 'shell/layout.tsx'));
    assert.ok(!of('ui/notice.tsx', 'fortress/index.ts'));
    assert.ok(of('audit/histogram.tsx', 'plots/columns.tsx'));
    assert.ok(!of('ui/table.tsx', 'plots/columns.tsx'));
    assert.ok(!of('plots/columns.tsx', 'audit/list.tsx'));
    assert.ok(!of('app/api.ts', 'ui/texts.ts'));
  });

  test('no files import each other in a circle, not for a type and not later', () => {
    refuseCircle(imports);
  });

  test('no rooms import each other in a circle', () => {
    const rooms = new Map<string, Set<string>>();
    for (const [file, targets] of imports) {
      const others = targets.map(roomOf).filter((room) => room !== roomOf(file));
      rooms.set(roomOf(file), new Set([...(rooms.get(roomOf(file)) ?? []), ...others]));
    }
    refuseCircle(rooms);
  });

  test(`a door has at most ${NAMES_MAX} names`, () => {
    const doors = files.filter((file) => file.endsWith('/index.ts'));
    assert.ok(doors.length > 0);
    for (const door of doors) assert.ok(namesOf(door).length <= NAMES_MAX, `${door} has ${namesOf(door).length} names`);
  });
});
