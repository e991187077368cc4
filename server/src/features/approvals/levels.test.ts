import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { APPROVAL_RULES } from '../../kernel/approval.ts';
import { mayReject, type Person, type Standing, type Verdict, verdictOn } from './levels.ts';

const admin = (id: string): Person => ({ id, isAdmin: true, isVaultManager: false });
const manager = (id: string): Person => ({ id, isAdmin: false, isVaultManager: true });
const member = (id: string): Person => ({ id, isAdmin: false, isVaultManager: false });

const standing = (kind: keyof typeof APPROVAL_RULES, more: Partial<Standing>): Standing => ({
  levels: APPROVAL_RULES[kind].levels,
  requesterId: 'ann',
  approvedBy: [],
  admins: [],
  ...more,
});

/** `refused: why`, or how many levels it counts for and what follows. */
function said(verdict: Verdict): string {
  if (verdict.refusal !== null) return `refused: ${verdict.refusal}`;
  const { covers, isComplete, isSelfApproved } = verdict;
  return `${covers}${isComplete ? ' complete' : ''}${isSelfApproved ? ' self-approved' : ''}`;
}

describe('one other admin', () => {
  const rows: [string, Partial<Standing>, Person, string][] = [
    ['the requester does not count', { admins: ['ann', 'bob'] }, admin('ann'), 'refused: requester'],
    ['another admin does', { admins: ['ann', 'bob'] }, admin('bob'), '1 complete'],
    ['nobody else does', { admins: ['ann', 'bob'] }, member('eve'), 'refused: not_eligible'],
    ['a vault manager is no admin', { admins: ['ann', 'bob'] }, manager('eve'), 'refused: not_eligible'],
    ['the only admin may, having asked', { admins: ['ann'] }, admin('ann'), '1 complete self-approved'],
    ['who asked and is no admin may not', { admins: ['bob'] }, member('ann'), 'refused: requester'],
    ['not even where there is no admin', { admins: [] }, member('ann'), 'refused: requester'],
    ['the only admin approves what a member asked', { admins: ['bob'] }, admin('bob'), '1 complete'],
  ];
  for (const [name, more, person, expected] of rows) {
    test(name, () => assert.equal(said(verdictOn(standing('eaas_key_delete', more), person)), expected));
  }
});

describe('a vault manager, then an admin', () => {
  const three = ['ann', 'bob', 'cid'];
  const rows: [string, Partial<Standing>, Person, string][] = [
    ['a manager decides the first level', { admins: three }, manager('mia'), '1'],
    ['an admin can stand in for a manager', { admins: three }, admin('bob'), '1'],
    ['a member decides nothing', { admins: three }, member('eve'), 'refused: not_eligible'],
    ['the requester does not count', { admins: three }, admin('ann'), 'refused: requester'],
    ['nor as a manager', { admins: three, requesterId: 'mia' }, manager('mia'), 'refused: requester'],
    ['an admin decides the second level', { admins: three, approvedBy: ['mia'] }, admin('bob'), '1 complete'],
    ['a manager does not', { admins: three, approvedBy: ['mia'] }, manager('max'), 'refused: not_eligible'],
    ['not twice by the same', { admins: three, approvedBy: ['bob'] }, admin('bob'), 'refused: decided_before'],
    ['but by another', { admins: three, approvedBy: ['bob'] }, admin('cid'), '1 complete'],
    [
      'the requester does not count there either',
      { admins: three, approvedBy: ['mia'] },
      admin('ann'),
      'refused: requester',
    ],
    ['of two admins the other one decides both levels', { admins: ['ann', 'bob'] }, admin('bob'), '2 complete'],
    [
      'the other one left, and the first may go on',
      { admins: ['ann', 'bob'], approvedBy: ['bob'] },
      admin('bob'),
      '1 complete',
    ],
    ['the only admin decides both levels', { admins: ['ann'] }, admin('ann'), '2 complete self-approved'],
    ['a manager and the admin who asked are two people', { admins: ['ann'] }, manager('mia'), '2 complete'],
    [
      'a manager asked: the only admin decides both',
      { admins: ['bob'], requesterId: 'mia' },
      admin('bob'),
      '2 complete',
    ],
    [
      'a manager asked, another agreed: the admin is still asked',
      { admins: ['bob'], requesterId: 'mia' },
      manager('max'),
      '1',
    ],
    ['nothing is left to decide', { admins: three, approvedBy: ['bob', 'cid'] }, admin('dan'), 'refused: not_eligible'],
  ];
  for (const [name, more, person, expected] of rows) {
    test(name, () => assert.equal(said(verdictOn(standing('vault_delete', more), person)), expected));
  }
});

test('rejecting is for who could decide, who asked, and who approved a level and thought again', () => {
  const open = standing('vault_delete', { admins: ['ann', 'bob', 'cid'] });
  const half = { ...open, approvedBy: ['bob'] };
  assert.deepEqual(
    [admin('ann'), admin('bob'), manager('mia'), member('eve')].map((person) => mayReject(open, person)),
    [true, true, true, false],
  );
  assert.deepEqual(
    [member('ann'), admin('bob'), admin('cid'), manager('mia'), member('eve')].map((person) => mayReject(half, person)),
    [true, true, true, false, false],
  );
});

test('whoever decides: nobody who asked is ever the only one to say yes while another admin exists', () => {
  const people = [admin('ann'), admin('bob'), admin('cid'), manager('mia'), member('eve')];
  for (const kind of ['vault_delete', 'eaas_key_delete'] as const) {
    for (const admins of [['ann'], ['ann', 'bob'], ['ann', 'bob', 'cid']]) {
      for (const approvedBy of kind === 'vault_delete' ? [[], ['bob'], ['mia']] : [[]]) {
        for (const person of people.filter((p) => !p.isAdmin || admins.includes(p.id))) {
          const verdict = verdictOn(standing(kind, { admins, approvedBy }), person);
          if (verdict.refusal !== null || person.id !== 'ann') continue;
          assert.deepEqual(admins, ['ann'], `${kind} ${admins} ${approvedBy}`);
        }
      }
    }
  }
});
