import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { APPROVAL_RULES } from '../../kernel/endpoint/approval.ts';
import { type ApprovalState, mayReject, type Verdict, verdictOn } from './levels.ts';

const state = (kind: keyof typeof APPROVAL_RULES, more: Partial<ApprovalState>): ApprovalState => ({
  levels: APPROVAL_RULES[kind].levels,
  requesterId: 'ann',
  approvedBy: [],
  admins: [],
  managers: [],
  reviewers: [],
  owners: [],
  ...more,
});

/** Returns `refused: why`, or how many levels the decision counts for and what follows from it. */
function said(verdict: Verdict): string {
  if (verdict.refusal !== null) return `refused: ${verdict.refusal}`;
  const { covers, isComplete, isSelfApproved, isSingleApprover } = verdict;
  return [covers, isComplete && 'complete', isSelfApproved && 'self-approved', isSingleApprover && 'single']
    .filter((word) => word !== false)
    .join(' ');
}

describe('one other admin', () => {
  const rows: [string, Partial<ApprovalState>, string, string][] = [
    ['the requester does not count', { admins: ['ann', 'bob'] }, 'ann', 'refused: requester'],
    ['another admin does', { admins: ['ann', 'bob'] }, 'bob', '1 complete'],
    ['nobody else does', { admins: ['ann', 'bob'] }, 'eve', 'refused: not_eligible'],
    ['a vault manager is no admin', { admins: ['ann', 'bob'], managers: ['eve'] }, 'eve', 'refused: not_eligible'],
    ['the only admin may, having asked', { admins: ['ann'] }, 'ann', '1 complete self-approved'],
    ['who asked and is no admin may not', { admins: ['bob'] }, 'ann', 'refused: requester'],
    ['not even where there is no admin', { admins: [] }, 'ann', 'refused: requester'],
    ['the only admin approves what a member asked', { admins: ['bob'] }, 'bob', '1 complete'],
  ];
  for (const [name, more, person, expected] of rows) {
    test(name, () => assert.equal(said(verdictOn(state('eaas_key_delete', more), person)), expected));
  }
});

describe('a vault manager, then an admin', () => {
  const three = { admins: ['ann', 'bob', 'cid'], managers: ['mia'] };
  const two = { admins: ['ann', 'bob'], managers: ['mia'] };
  const rows: [string, Partial<ApprovalState>, string, string][] = [
    ['a manager decides the first level', three, 'mia', '1'],
    ['an admin does not stand in for a manager', three, 'bob', 'refused: manager_needed'],
    ['but does where there is none', { ...three, managers: [] }, 'bob', '1'],
    ['or where only who asked is one', { ...three, managers: ['ann'] }, 'bob', '1'],
    ['a member decides nothing', three, 'eve', 'refused: not_eligible'],
    ['the requester does not count', three, 'ann', 'refused: requester'],
    ['nor as a manager', { ...three, requesterId: 'mia' }, 'mia', 'refused: requester'],
    ['an admin decides the second level', { ...three, approvedBy: ['mia'] }, 'bob', '1 complete'],
    ['a manager does not', { ...three, managers: ['mia', 'max'], approvedBy: ['mia'] }, 'max', 'refused: not_eligible'],
    ['not twice by the same', { ...three, approvedBy: ['bob'] }, 'bob', 'refused: decided_before'],
    ['but by another', { ...three, approvedBy: ['bob'] }, 'cid', '1 complete'],
    ['the requester does not count there either', { ...three, approvedBy: ['mia'] }, 'ann', 'refused: requester'],
    ['nor the only other admin', two, 'bob', 'refused: manager_needed'],
    [
      'who is kept for the second level if they manage it too',
      { ...two, managers: ['mia', 'bob'] },
      'bob',
      'refused: other_first',
    ],
    ['which they decide once the manager has decided', { ...two, approvedBy: ['mia'] }, 'bob', '1 complete'],
    ['two admins and no manager: the other one, alone', { admins: ['ann', 'bob'] }, 'bob', '2 complete single'],
    [
      'where the only manager asked: the only admin, alone',
      { admins: ['bob'], managers: ['ann'] },
      'bob',
      '2 complete single',
    ],
    ['a member asked: two admins are two people', { admins: ['bob', 'cid'] }, 'bob', '1'],
    [
      'the other one left, and the first may go on',
      { admins: ['ann', 'bob'], approvedBy: ['bob'] },
      'bob',
      '1 complete single',
    ],
    ['the only admin decides both levels', { admins: ['ann'] }, 'ann', '2 complete self-approved single'],
    ['but not the first where there is a manager', { admins: ['ann'], managers: ['mia'] }, 'ann', 'refused: requester'],
    ['who decides the first', { admins: ['ann'], managers: ['mia'] }, 'mia', '1'],
    [
      'and leaves the second to the only admin',
      { admins: ['ann'], managers: ['mia'], approvedBy: ['mia'] },
      'ann',
      '1 complete self-approved',
    ],
    ['another manager and the admin', { admins: ['bob'], managers: ['ann', 'max'] }, 'bob', 'refused: manager_needed'],
    ['an admin who is a manager too is one person', { admins: ['bob'], managers: ['bob'] }, 'bob', '2 complete single'],
    ['nothing is left to decide', { ...three, approvedBy: ['bob', 'cid'] }, 'dan', 'refused: not_eligible'],
  ];
  for (const [name, more, person, expected] of rows) {
    test(name, () => assert.equal(said(verdictOn(state('vault_delete', more), person)), expected));
  }
});

describe('two admins, one of them an owner where an owner is the requester', () => {
  const three = { admins: ['ann', 'bob', 'cid', 'oda'], owners: ['oda'] };
  const rows: [string, Partial<ApprovalState>, string, string][] = [
    ['an admin can be the first', three, 'bob', '1'],
    ['and not the second too', { ...three, approvedBy: ['bob'] }, 'bob', 'refused: owner_needed'],
    ['nor can another admin', { ...three, approvedBy: ['bob'] }, 'cid', 'refused: owner_needed'],
    ['the owner is the second', { ...three, approvedBy: ['bob'] }, 'oda', '1 complete'],
    ['the owner can be the first', three, 'oda', '1'],
    ['then any admin is the second', { ...three, approvedBy: ['oda'] }, 'cid', '1 complete'],
    ['who asked is neither', three, 'ann', 'refused: requester'],
    ['a member is neither', { ...three, approvedBy: ['bob'] }, 'eve', 'refused: not_eligible'],
    [
      'the only other person, an owner, is both',
      { admins: ['ann', 'oda'], owners: ['oda'] },
      'oda',
      '2 complete single',
    ],
    ['without another owner two admins are enough', { ...three, owners: [], approvedBy: ['bob'] }, 'cid', '1 complete'],
  ];
  for (const [name, more, person, expected] of rows) {
    test(name, () => assert.equal(said(verdictOn(state('mfa_trust', more), person)), expected));
  }

  test('every admin can stop it', () => {
    assert.equal(mayReject(state('mfa_trust', { ...three, approvedBy: ['bob'] }), 'cid'), true);
  });

  test('no matter who is there, it can be completed, and never without an owner if there is one', () => {
    const admins = ['ann', 'bob', 'cid', 'oda', 'olf'];
    for (const owners of [[], ['oda'], ['oda', 'olf']]) {
      for (const absent of [[], ['bob'], ['bob', 'cid']]) {
        const there = admins.filter((id) => !absent.includes(id) && (!id.startsWith('o') || owners.includes(id)));
        const ways = [...completions(state('mfa_trust', { admins: there, owners }), admins)];
        assert.ok(ways.length > 0, there.join());
        for (const { by } of ways) {
          assert.ok(owners.length === 0 || by.some((id) => owners.includes(id)), `${there}: ${by}`);
          assert.equal(by[0] === by[1], there.length === 2 || there.length === 1, `${there}: ${by}`);
        }
      }
    }
  });
});

test('rejecting is for anyone who could decide, the requester, and anyone who approved a level and changed their mind', () => {
  const open = state('vault_delete', { admins: ['ann', 'bob', 'cid'], managers: ['mia'] });
  const half = { ...open, approvedBy: ['bob'] };
  const people = ['ann', 'bob', 'cid', 'mia', 'eve'];
  assert.deepEqual(
    people.map((person) => mayReject(open, person)),
    [true, true, true, true, false],
  );
  assert.deepEqual(
    people.map((person) => mayReject(half, person)),
    [true, true, true, false, false],
  );
});

/** Yields every sequence of decisions that completes the approval. */
function* completions(at: ApprovalState, people: readonly string[]): Generator<{ by: string[]; isSingle: boolean }> {
  for (const person of people) {
    const verdict = verdictOn(at, person);
    if (verdict.refusal !== null) continue;
    const by = [...at.approvedBy, ...Array<string>(verdict.covers).fill(person)];
    if (verdict.isComplete) yield { by, isSingle: verdict.isSingleApprover };
    else yield* completions({ ...at, approvedBy: by }, people);
  }
}

test('no matter who is there, it can always be completed, by two people if two can, and never by the requester while somebody else could', () => {
  const people = ['ann', 'bob', 'cid', 'mia', 'max'];
  const subsets = (of: readonly string[]) =>
    Array.from({ length: 2 ** of.length }, (_, bits) => of.filter((_, i) => (bits >> i) & 1));
  for (const admins of subsets(['ann', 'bob', 'cid'])) {
    for (const managers of subsets(['ann', 'bob', 'mia', 'max'])) {
      const at = state('vault_delete', { admins, managers });
      const where = `admins ${admins}, managers ${managers}`;
      const others = { admins: admins.filter((id) => id !== 'ann'), managers: managers.filter((id) => id !== 'ann') };
      const first = others.managers.length > 0 ? others.managers : others.admins;
      const canBeTwo = others.admins.some((second) => first.some((id) => id !== second));
      const ways = [...completions(at, people)];
      assert.equal(ways.length > 0, admins.length > 0, where);
      for (const { by, isSingle } of ways) {
        assert.equal(by.length, 2, where);
        assert.equal(isSingle, by[0] === by[1], where);
        if (canBeTwo) assert.notEqual(by[0], by[1], `${where}: one person decided both levels`);
        if (others.managers.length > 0)
          assert.ok(others.managers.includes(by[0] ?? ''), `${where}: no manager decided`);
        if (others.admins.length > 0) assert.ok(!by.includes('ann'), `${where}: who asked decided`);
      }
    }
  }
});
