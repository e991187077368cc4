import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AccessContext, type Condition, compileCondition, conditionHolds } from './condition.ts';

const AT = (clock: string) => Date.parse(`2026-11-14T${clock}Z`);
const NOON: AccessContext = { time: AT('12:00:00.000') };

/** An unknown attribute satisfies a deny and never an allow; a known one gives the same result for both. */
type Outcome = 'holds' | 'fails' | 'unknown';

function outcome(condition: Condition, context: AccessContext): Outcome {
  const compiled = compileCondition(condition, '');
  const forAllow = conditionHolds(compiled, context, 'allow');
  const forDeny = conditionHolds(compiled, context, 'deny');
  if (forAllow === forDeny) return forAllow ? 'holds' : 'fails';
  assert.ok(forDeny, 'what is not known must never satisfy an allow alone');
  return 'unknown';
}

const OFFICE: Condition = { time_between: [{ from: '08:00', to: '18:00' }] };
const NIGHT: Condition = { time_between: [{ from: '22:00', to: '06:00' }] };
const UNTIL_MIDNIGHT: Condition = { time_between: [{ from: '22:00', to: '00:00' }] };
const NETS: Condition = { ip_cidr: ['10.0.0.0/8', '2001:db8::/32'] };
const BOTH: Condition = { mfa: [true], environment: ['production'] };

const rows: [name: string, condition: Condition, context: AccessContext, expected: Outcome][] = [
  ['no condition', {}, NOON, 'holds'],
  ['address inside', NETS, { ...NOON, ip: '10.1.2.3' }, 'holds'],
  ['address inside the second member', NETS, { ...NOON, ip: '2001:db8::5' }, 'holds'],
  ['mapped address inside', NETS, { ...NOON, ip: '::ffff:10.1.2.3' }, 'holds'],
  ['address outside', NETS, { ...NOON, ip: '192.0.2.1' }, 'fails'],
  ['no address', NETS, NOON, 'unknown'],
  ['text that is no address', NETS, { ...NOON, ip: 'localhost' }, 'unknown'],
  ['environment listed', { environment: ['staging', 'production'] }, { ...NOON, environment: 'production' }, 'holds'],
  ['environment not listed', { environment: ['staging'] }, { ...NOON, environment: 'production' }, 'fails'],
  ['environment in another case', { environment: ['production'] }, { ...NOON, environment: 'Production' }, 'unknown'],
  ['environment alias', { environment: ['production'] }, { ...NOON, environment: 'prod' }, 'unknown'],
  ['no environment', { environment: ['production'] }, NOON, 'unknown'],
  ['mfa as asked', { mfa: [true] }, { ...NOON, mfa: true }, 'holds'],
  ['mfa missing though known', { mfa: [true] }, { ...NOON, mfa: false }, 'fails'],
  ['without mfa as asked', { mfa: [false] }, { ...NOON, mfa: false }, 'holds'],
  ['either mfa', { mfa: [true, false] }, { ...NOON, mfa: false }, 'holds'],
  ['mfa unknown', { mfa: [true, false] }, NOON, 'unknown'],
  ['tag equal', { tag_equals: ['pci', 'sox'] }, { ...NOON, tags: ['a', 'sox'] }, 'holds'],
  ['tag in another case', { tag_equals: ['pci'] }, { ...NOON, tags: ['PCI'] }, 'fails'],
  ['tag is no pattern', { tag_equals: ['*'] }, { ...NOON, tags: ['pci'] }, 'fails'],
  ['tag only begins so', { tag_equals: ['pci'] }, { ...NOON, tags: ['pci-dss'] }, 'fails'],
  ['resource without tags', { tag_equals: ['pci'] }, { ...NOON, tags: [] }, 'fails'],
  ['tags not loaded', { tag_equals: ['pci'] }, NOON, 'unknown'],
  ['time inside', OFFICE, NOON, 'holds'],
  ['first moment', OFFICE, { time: AT('08:00:00.000') }, 'holds'],
  ['last moment before', OFFICE, { time: AT('07:59:59.999') }, 'fails'],
  ['last moment inside', OFFICE, { time: AT('17:59:59.999') }, 'holds'],
  ['end is outside', OFFICE, { time: AT('18:00:00.000') }, 'fails'],
  ['wrapped, before midnight', NIGHT, { time: AT('22:00:00.000') }, 'holds'],
  ['wrapped, midnight', NIGHT, { time: AT('00:00:00.000') }, 'holds'],
  ['wrapped, after midnight', NIGHT, { time: AT('05:59:59.999') }, 'holds'],
  ['wrapped, end', NIGHT, { time: AT('06:00:00.000') }, 'fails'],
  ['wrapped, day', NIGHT, NOON, 'fails'],
  ['until midnight, inside', UNTIL_MIDNIGHT, { time: AT('23:59:00.000') }, 'holds'],
  ['until midnight, outside', UNTIL_MIDNIGHT, { time: AT('00:00:00.000') }, 'fails'],
  ['before the epoch', NIGHT, { time: -60_000 }, 'holds'],
  ['no clock', OFFICE, { time: Number.NaN }, 'unknown'],
  ['two kinds, both', BOTH, { ...NOON, mfa: true, environment: 'production' }, 'holds'],
  ['two kinds, one fails', BOTH, { ...NOON, mfa: true, environment: 'staging' }, 'fails'],
  ['two kinds, one fails and one is unknown', BOTH, { ...NOON, environment: 'staging' }, 'fails'],
  ['two kinds, one holds and one is unknown', BOTH, { ...NOON, environment: 'production' }, 'unknown'],
];

describe('conditions', () => {
  for (const [name, condition, context, expected] of rows) {
    test(`${name}: ${expected}`, () => assert.equal(outcome(condition, context), expected));
  }
});
