import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as contract from './contract.ts';
import { referenceFeature } from './index.ts';

const REFERENCE_ENDPOINTS = [contract.getOpenApi, contract.getDocs, contract.getDocsStyle, contract.getDocsScript];

test('every declared file is served, and made once, when it is first asked for', async () => {
  let asked = 0;
  const declarations = () => {
    asked++;
    return REFERENCE_ENDPOINTS;
  };
  const feature = referenceFeature({ declarations, version: '0.1.0', serverUrl: () => 'http://127.0.0.1:7400' });
  assert.deepEqual(
    feature.endpoints.map((each) => each.declaration),
    [...REFERENCE_ENDPOINTS],
  );
  assert.equal(asked, 0);
  for (const { declaration, handler } of feature.endpoints) {
    const [first, second] = [await handler(null as never, null as never), await handler(null as never, null as never)];
    assert.ok(typeof first === 'string' && first.length > 0, declaration.name);
    assert.equal(first, second);
  }
  assert.equal(asked, 2);
});
