import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MAX_INDEXED_ACTIONS, MAX_POLICY_DOCUMENT_BYTES } from './limits.ts';
import { compilePolicy, type PolicyDocument, type PolicyStatement } from './policy.ts';

const COPIES = 30;
/** The factor by which an estimate may be too high. With a higher one, the cache would hold far less than its limit. */
const TOO_HIGH = 5;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** The largest policy made of such statements. */
function largest(statementNo: (no: number) => PolicyStatement): string {
  const document: PolicyDocument = { version: '2026-01-01', statement: [] };
  for (let no = 0; no < 100; no++) {
    document.statement.push(statementNo(no));
    if (JSON.stringify(document).length > MAX_POLICY_DOCUMENT_BYTES) document.statement.pop();
  }
  return JSON.stringify(document);
}

const each = (count: number, text: (at: number) => string) => Array.from({ length: count }, (_, at) => text(at));
const allow = { effect: 'allow', action: ['secrets:read'], resource: ['*'] } as const;
const mutable = (statement: object) => ({ ...allow, action: ['secrets:read'], resource: ['*'], ...statement });

const DOCUMENTS: Record<string, string> = {
  'wildcards inside segments': largest((no) => mutable({ resource: each(30, (at) => `vault/a/b${no}*${at}`) })),
  literals: largest((no) => mutable({ resource: each(30, (at) => `vault/a${no}/b${at}`) })),
  'short subtrees': largest(() => mutable({ resource: each(40, (at) => `v${at}/*`) })),
  actions: largest((no) => mutable({ action: each(30, (at) => `a${no}:b${at}`) })),
  'many segments': largest((no) =>
    mutable({ resource: [`${each(100, (at) => `a${(no + at) % 100}`).join('/')}/b*/c`] }),
  ),
  addresses: largest((no) => mutable({ condition: { ip_cidr: each(30, (at) => `10.0.${no}.${at}`) } })),
  tags: largest((no) => mutable({ condition: { tag_equals: each(30, (at) => `${no}-${at}`) } })),
  'statements that all speak of every action': largest(() => mutable({ action: ['*'] })),
};

for (const [what, document] of Object.entries(DOCUMENTS)) {
  test(`a policy takes no more memory than is said: ${what}`, () => {
    const make = () => {
      const policy = compilePolicy('p', JSON.parse(document) as PolicyDocument);
      for (let no = 0; no < 2 * MAX_INDEXED_ACTIONS; no++) policy.statementsFor(`noun${no}:verb`);
      return policy;
    };
    make();
    const before = heapUsed();
    const copies = Array.from({ length: COPIES }, make);
    const bytes = (heapUsed() - before) / COPIES;
    const said = copies[0]?.bytes ?? 0;
    assert.ok(bytes <= said, `${bytes} bytes, said to be ${said}`);
    assert.ok(said <= TOO_HIGH * bytes, `${bytes} bytes, said to be ${said}`);
  });
}
