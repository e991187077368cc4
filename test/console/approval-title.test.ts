import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalOperations } from '../../console/src/approvals/operation-texts.ts';
import { approvalTitle } from '../../console/src/approvals/title.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';

test('each request that can need approval has a description', () => {
  const waiting = DECLARATIONS.filter(({ approval }) => approval !== 'none').map(({ name }) => name);
  assert.deepEqual(Object.keys(approvalOperations).toSorted(), waiting.toSorted());
});

test('the title of an approval has the name of what it is about, and no id', () => {
  const id = 'user_01m7nn1a0900073nbrz5asvvp5';
  const title = (operation: string, resource: string, names = {}) => approvalTitle({ operation, resource }, names);
  assert.equal(title('deleteVault', 'vault/shop'), 'Delete a vault: shop');
  assert.equal(title('createUser', 'user'), 'Invite or create a person');
  assert.equal(title('updateUser', `user/${id}`), 'Change a person');
  assert.equal(title('updateUser', `user/${id}`, { [id]: 'ada@example.com' }), 'Change a person: ada@example.com');
  assert.equal(title('askMfaTrust', 'self/mfa'), 'Trust my new second factors');
  const pending = { operation: 'askMfaTrust', resource: 'self/mfa', requested_by: { id, name: 'ada@example.com' } };
  assert.equal(approvalTitle(pending, {}, id), 'Trust my new second factors');
  assert.equal(approvalTitle(pending, {}, 'user_other'), 'Trust the new second factors of ada@example.com');
  assert.equal(
    title('resetMfa', `user/${id}`, { [id]: 'ada@example.com' }),
    'Remove the second factors of ada@example.com',
  );
  assert.equal(
    approvalTitle({ operation: 'createUser', resource: 'user', details: { email: 'bo@example.com' } }),
    'Invite or create a person: bo@example.com',
  );
  assert.equal(title('newer', 'thing/x'), 'newer: x');
});
