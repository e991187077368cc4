import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  COLUMNS as ACCESS_COLUMNS,
  type AccessPath,
  accessGraph,
  keyOf,
} from '../../console/src/access/build-graph.ts';
import { accessTexts } from '../../console/src/access/texts.ts';
import { type AttackPath, COLUMNS, pathGraph, weakestOf } from '../../console/src/attack-paths/path-graph.ts';
import { onWaysWith } from '../../console/src/plots/build-path-graph.ts';
import { collapse, type GraphEdge, type GraphNode, orderColumns } from '../../console/src/plots/layered.ts';

const node = (id: string, column: number, weight = 0): GraphNode => ({ id, column, weight });

/** How many pairs of edges between neighbouring columns cross. */
function crossings(columns: readonly (readonly GraphNode[])[], edges: readonly GraphEdge[]): number {
  const row = new Map(columns.flatMap((column) => column.map(({ id }, index) => [id, index] as const)));
  const columnOf = new Map(columns.flatMap((column, index) => column.map(({ id }) => [id, index] as const)));
  let count = 0;
  for (const [i, a] of edges.entries()) {
    for (const b of edges.slice(i + 1)) {
      if (columnOf.get(a.from) !== columnOf.get(b.from) || columnOf.get(a.to) !== columnOf.get(b.to)) continue;
      const left = Number(row.get(a.from)) - Number(row.get(b.from));
      const right = Number(row.get(a.to)) - Number(row.get(b.to));
      if (left * right < 0) count++;
    }
  }
  return count;
}

/** Paths as the service lists them, over so many secrets. */
function manyPaths(paths: number, secrets: number): AttackPath[] {
  return Array.from({ length: paths }, (_, i) => ({
    id: `apath_${i}`,
    score: i % 100,
    weakness: 40 + (i % 60),
    steps: [
      { kind: 'principal', type: 'user', id: `user_${i % 180}`, name: `person ${i % 180}`, weakness: null, why: '' },
      {
        kind: 'credential',
        type: i % 3 === 0 ? 'password' : 'token',
        id: i % 3 === 0 ? '' : `t_${i % 400}`,
        name: 'token',
        weakness: 40 + (i % 60),
        why: 'old',
      },
      { kind: 'grant', type: 'policy', id: `p_${i % 30}`, name: `policy ${i % 30}`, weakness: 10, why: '' },
      {
        kind: 'secret',
        type: 'password',
        id: `s_${i % secrets}`,
        name: `vault-${i % 34}/db/${i % secrets}`,
        weakness: null,
        why: '',
      },
    ],
  }));
}

describe('a graph in columns', () => {
  test('is ordered so that ways which belong together do not cross', () => {
    const nodes = [0, 1, 2, 3, 4, 5].flatMap((i) => [node(`a${i}`, 0), node(`b${5 - i}`, 1, i), node(`c${i}`, 2, -i)]);
    const edges = [0, 1, 2, 3, 4, 5].flatMap((i) => [
      { from: `a${i}`, to: `b${i}` },
      { from: `b${i}`, to: `c${i}` },
    ]);
    const columns = orderColumns({ nodes, edges }, 3);
    assert.equal(crossings(columns, edges), 0);
  });

  test('has every node once, in its column, whatever the edges are', () => {
    const edge = fc.record({ from: fc.integer({ min: 0, max: 30 }), to: fc.integer({ min: 0, max: 30 }) });
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 80 }), (pairs) => {
        const nodes = Array.from({ length: 28 }, (_, i) => node(String(i), i % 4));
        const edges = pairs.map(({ from, to }) => ({ from: String(from), to: String(to) }));
        const columns = orderColumns({ nodes, edges }, 4);
        assert.deepEqual(
          columns
            .flat()
            .map(({ id }) => id)
            .sort(),
          nodes.map(({ id }) => id).sort(),
        );
        for (const [index, column] of columns.entries()) assert.ok(column.every((each) => each.column === index));
      }),
    );
  });
});

describe('the graph of attack paths', () => {
  const paths = manyPaths(2000, 600);
  const graph = pathGraph(paths);

  test('has each thing once, also of 2,000 paths to 600 secrets', () => {
    const count = (column: (typeof COLUMNS)[number]) =>
      graph.nodes.filter((each) => each.column === COLUMNS.indexOf(column)).length;
    assert.equal(count('principal'), 180);
    assert.equal(count('grant'), 30);
    assert.equal(count('vault'), 34);
    assert.ok(count('secret') >= 600);
    assert.ok(graph.edges.length < paths.length * 4);
    assert.equal(new Set(graph.nodes.map(({ id }) => id)).size, graph.nodes.length);
  });

  test('a password is drawn for each person, because it has no id', () => {
    const passwords = graph.nodes.filter(({ detail }) => detail.startsWith('password') && graph.edges.length > 0);
    assert.ok(passwords.filter(({ column }) => column === 1).length > 1);
  });

  test('is collapsed to the most important of each column, with the chosen path in any case', () => {
    const chain = graph.chains.get('apath_3') ?? [];
    const { graph: small, left } = collapse(graph, () => 8, new Set(chain));
    for (const [column, name] of COLUMNS.entries()) {
      const shown = small.nodes.filter((each) => each.column === column);
      assert.ok(shown.length <= 8, name);
      assert.equal(shown.length + Number(left[column]), graph.nodes.filter((each) => each.column === column).length);
    }
    for (const id of chain) assert.ok(small.nodes.some((each) => each.id === id));
    assert.ok(small.nodes.some(({ weight }) => weight === 99));
    const ids = new Set(small.nodes.map(({ id }) => id));
    assert.ok(small.edges.every(({ from, to }) => ids.has(from) && ids.has(to)));
    assert.equal(orderColumns(small, COLUMNS.length).flat().length, small.nodes.length);
  });

  test('shows what is on a path with what was chosen, and not what only shares a vault with it', () => {
    const [first, second] = manyPaths(2, 2);
    assert.ok(first !== undefined && second !== undefined);
    const inOneVault = [first, second].map((path, i): AttackPath => {
      const secret = path.steps.at(-1);
      assert.ok(secret !== undefined);
      return { ...path, steps: [...path.steps.slice(0, -1), { ...secret, name: `shop/key-${i}` }] };
    });
    const shop = pathGraph(inOneVault);
    const named = (ids: Iterable<string>) => [...ids].map((id) => shop.nodes.find((each) => each.id === id)?.name);
    const policy = shop.nodes.find(({ name }) => name === 'policy 0');
    assert.ok(policy !== undefined);
    const reached = named(onWaysWith(shop, new Set([policy.id])));
    assert.ok(reached.includes('key-0') && reached.includes('person 0'));
    assert.ok(!reached.includes('key-1') && !reached.includes('person 1'));
    const vault = shop.nodes.find(({ name }) => name === 'shop');
    assert.ok(vault !== undefined);
    assert.equal(onWaysWith(shop, new Set([vault.id])).size, shop.nodes.length);
  });

  test('names the weakest step', () => {
    const [path] = paths;
    assert.ok(path !== undefined);
    assert.deepEqual(weakestOf(path)?.index, 1);
    assert.equal(weakestOf({ ...path, weakness: 101 }), null);
  });
});

/** Ways as the service lists them: of people in groups, by policies, to secrets. */
function manyWays(count: number, secrets: number): AccessPath[] {
  return Array.from({ length: count }, (_, i) => ({
    principal: { kind: 'user', id: `user_${i % 180}`, name: `person ${i % 180}` },
    credentials: [
      { type: 'token', id: `token_${i % 300}`, name: `token ${i % 300}`, weakness: 60 + (i % 30), why: 'old' },
      { type: 'password', id: '', name: '', weakness: 30, why: 'with a second factor' },
    ],
    group: { id: `group_${i % 12}`, name: `group ${i % 12}` },
    grant: { kind: 'policy', name: `policy-${i % 30}`, until: null },
    vault: `vault-${i % 34}`,
    environment: 'production',
    path: `db/${i % secrets}-${Math.floor(i / secrets)}`,
  }));
}

describe('the graph of access', () => {
  const ways = manyWays(2000, 600);
  const texts = accessTexts.nodes;

  test('has each thing once, of 2,000 ways, within a moment', () => {
    const started = performance.now();
    const graph = accessGraph(ways, true, texts);
    const { graph: small } = collapse(graph, () => 8, new Set());
    orderColumns(small, ACCESS_COLUMNS.length);
    assert.ok(performance.now() - started < 1000);
    const count = (name: (typeof ACCESS_COLUMNS)[number]) =>
      graph.nodes.filter(({ column }) => column === ACCESS_COLUMNS.indexOf(name)).length;
    assert.deepEqual(ACCESS_COLUMNS.map(count), [180, count('credential'), 12, 30, 34, count('secret')]);
    // Everybody has a password of their own.
    assert.ok(count('credential') >= 180 + 300);
    assert.equal(new Set(graph.nodes.map(({ id }) => id)).size, graph.nodes.length);
  });

  test('leads from a person by what gives the right to the secret, and back', () => {
    const [way] = ways;
    assert.ok(way !== undefined);
    const { nodes, chains } = accessGraph([way], true, texts);
    const names = (chains.get(keyOf(way)) ?? []).map((id) => nodes.find((node) => node.id === id)?.name);
    assert.deepEqual(names, ['person 0', 'token 0', 'group 0', 'policy-0', 'vault-0', 'db/0-0']);
    assert.equal(chains.size, 2, 'one for each credential');
    const graph = accessGraph(ways, true, texts);
    const secret = graph.nodes.find(({ fullName }) => fullName === 'vault-0/db/0-0');
    assert.ok(secret !== undefined);
    const reached = onWaysWith(graph, new Set([secret.id]));
    const people = graph.nodes.filter(({ id, column }) => column === 0 && reached.has(id));
    assert.deepEqual(
      people.map(({ name }) => name),
      ['person 0'],
    );
  });

  test('leaves credentials and groups out where there are none', () => {
    const [way] = ways;
    assert.ok(way !== undefined);
    const direct = { ...way, group: null, path: null };
    const { nodes, chains } = accessGraph([direct], false, texts);
    assert.deepEqual(
      nodes.map(({ column }) => ACCESS_COLUMNS[column]),
      ['principal', 'grant', 'vault'],
    );
    assert.equal(chains.get(keyOf(direct))?.length, 3);
  });

  test('the same role in two vaults is two rights, and one policy is one', () => {
    const [way] = ways;
    assert.ok(way !== undefined);
    const elsewhere = { ...way, vault: 'another' };
    const as = (grant: AccessPath['grant']) =>
      accessGraph(
        [way, elsewhere].map((each) => ({ ...each, grant })),
        false,
        texts,
      ).nodes.filter(({ column }) => ACCESS_COLUMNS[column] === 'grant').length;
    assert.equal(as({ kind: 'membership', name: 'reader', until: null }), 2);
    assert.equal(as({ kind: 'policy', name: 'readers', until: null }), 1);
  });
});
