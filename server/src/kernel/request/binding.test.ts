import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpoint, NONE } from '../endpoint/declaration.ts';
import { object } from '../wire/wire.ts';
import { bindContract } from './binding.ts';

const base = {
  noun: 'things',
  method: 'GET',
  summary: 'A thing',
  credentials: 'public',
  tenant: NONE,
  permission: NONE,
  resource: NONE,
  rate: 'none',
  tier: NONE,
  region: 'local',
  approval: NONE,
  plaintext: false,
  audit: NONE,
  effect: 'read',
  params: NONE,
  query: NONE,
  body: NONE,
  bodyBytesMax: 0,
  status: 200,
  output: object({}),
  raw: NONE,
  errors: [],
} as const;

/** Like a contract module: two endpoints, and exports that are none. */
const contract = {
  readOne: endpoint({ ...base, name: 'readOne', path: '/one' }),
  readTwo: endpoint({ ...base, name: 'readTwo', path: '/two' }),
  Thing: object({}),
  THINGS_MAX: 7,
};

const handle = async () => ({});

test('a contract is bound in the order of its handlers, with what a handler prefetches', () => {
  const prefetch = () => null;
  const [two, one, ...others] = bindContract(contract, { readTwo: { handle, prefetch }, readOne: handle });
  assert.deepEqual(two, { declaration: contract.readTwo, handler: handle, prefetch });
  assert.deepEqual(one, { declaration: contract.readOne, handler: handle, prefetch: null });
  assert.deepEqual(others, []);
});

test('a declaration without a handler, or a handler without a declaration, does not compile', () => {
  // @ts-expect-error readTwo has no handler.
  assert.equal(bindContract(contract, { readOne: handle }).length, 1);
  // @ts-expect-error no endpoint is called readThree.
  assert.equal(bindContract(contract, { readOne: handle, readTwo: handle, readThree: handle }).length, 3);
  // @ts-expect-error a schema takes no handler.
  assert.equal(bindContract(contract, { readOne: handle, readTwo: handle, Thing: handle }).length, 3);
});
