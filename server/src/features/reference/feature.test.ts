import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../assembly/settings.ts';
import { CofferError } from '../../kernel/base/errors.ts';
import { Addresses } from '../../kernel/base/service-urls.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import * as contract from './contract.ts';
import { referenceFeature } from './feature.ts';

const REFERENCE_ENDPOINTS = [
  contract.getOpenApi,
  contract.getDocs,
  contract.getDocsPage,
  contract.getGuide,
  contract.getGuidePage,
  contract.getDocsStyle,
  contract.getDocsScript,
];

let asked = 0;
const { handlers } = referenceFeature.build({
  version: '0.1.0',
  addresses: new Addresses(loadConfig({})),
  endpoints: {
    get declarations() {
      asked++;
      return REFERENCE_ENDPOINTS;
    },
  },
});
const endpoints = bindContract(contract, handlers as never);
const inputOf = (page: string) => ({ params: { page }, query: undefined, body: undefined }) as never;

test('every declared file is served, and made once, when it is first requested', async () => {
  assert.deepEqual(
    endpoints.map((each) => each.declaration),
    [...REFERENCE_ENDPOINTS],
  );
  assert.equal(asked, 0);
  for (const { declaration, handler } of endpoints) {
    const input = inputOf(declaration.name === 'getGuidePage' ? 'first-hour' : 'reference');
    const [first, second] = [await handler(null as never, input), await handler(null as never, input)];
    assert.ok(typeof first === 'string' && first.length > 0, declaration.name);
    assert.equal(first, second);
  }
  assert.equal(asked, 2);
});

test('what is no page is not found, whatever its name is like', async () => {
  for (const { declaration, handler } of endpoints.filter((each) => each.declaration.params !== 'none')) {
    for (const page of ['nothing', 'constructor', 'readme', 'package', 'style']) {
      await assert.rejects(
        handler(null as never, inputOf(page)),
        (error) => error instanceof CofferError && error.code === 'NOT_FOUND',
        `${declaration.name} ${page}`,
      );
    }
  }
});
