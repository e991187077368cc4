import Type, { type Static } from 'typebox';
import { type Address, type Cidr, cidrContains, parseAddress, parseCidr } from '../base/cidr.ts';
import { named } from '../wire/named-schemas.ts';
import { canonicalEnvironment, ENVIRONMENTS, environmentText } from './environment.ts';
import { MAX_CIDR_CHARS, MAX_CONDITION_MEMBERS, MAX_TAG_CHARS } from './limits.ts';
import { PolicyError } from './policy-error.ts';

export interface AccessContext {
  readonly ip?: string | undefined;
  readonly mfa?: boolean | undefined;
  /** Epoch milliseconds. */
  readonly time: number;
  readonly environment?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

const KNOWN_ENVIRONMENTS: ReadonlySet<string> = new Set(ENVIRONMENTS);

const TimeOfDay = Type.String({
  maxLength: 5,
  pattern: '^(?:[01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'Hours and minutes, such as 08:30.',
});

/** An empty list would never hold, which no author intends. Leaving the key out means that any value is accepted. */
const MEMBERS = { minItems: 1, maxItems: MAX_CONDITION_MEMBERS };

const TimeRange = named(
  'TimeRange',
  'A time of day in UTC; a range that ends before it begins continues past midnight.',
  Type.Object({ from: TimeOfDay, to: TimeOfDay }, { additionalProperties: false }),
);

export const Condition = named(
  'PolicyCondition',
  'When a statement applies: every given key must match, and within a list one entry is enough.',
  Type.Object(
    {
      ip_cidr: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: MAX_CIDR_CHARS }), {
          ...MEMBERS,
          description: 'Addresses and CIDR ranges that the request comes from.',
        }),
      ),
      environment: Type.Optional(
        Type.Array(environmentText, { ...MEMBERS, description: 'Environments of the vault or secret.' }),
      ),
      mfa: Type.Optional(
        Type.Array(Type.Boolean(), { minItems: 1, maxItems: 2, description: 'Whether a second factor was used.' }),
      ),
      time_between: Type.Optional(Type.Array(TimeRange, { ...MEMBERS, description: 'Times of day in UTC.' })),
      tag_equals: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: MAX_TAG_CHARS }), {
          ...MEMBERS,
          description: 'Tags of the vault or secret.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
);
export type Condition = Static<typeof Condition>;

type Effect = 'allow' | 'deny';
/** `null`: the request does not contain the attribute, so the test has no result. */
type Answer = (context: AccessContext) => boolean | null;
interface Test {
  /** `until` is only in what the service grants for a time: no policy can be written with it. */
  readonly kind: keyof Condition | 'until';
  /** Equal for all tests with the same condition. */
  readonly text: string;
  readonly holds: Answer;
}
export type CompiledCondition = readonly Test[];

/** Conditions on the request, which are known before anything is loaded. The others test the resource. */
const OF_REQUEST: ReadonlySet<Test['kind']> = new Set(['ip_cidr', 'mfa', 'time_between', 'until']);

/**
 * Every condition present must hold. An attribute that the request lacks (no address, an unknown environment name, no tags loaded) fails closed: it
 * satisfies a deny and never an allow. Otherwise a hidden attribute, because of a proxy that drops the address or a feature that omits the tags,
 * would lift a deny.
 */
export function conditionHolds(condition: CompiledCondition, context: AccessContext, effect: Effect): boolean {
  for (const test of condition) {
    if (!(test.holds(context) ?? effect === 'deny')) return false;
  }
  return true;
}

export function requestTests(condition: CompiledCondition): CompiledCondition {
  return condition.filter(({ kind }) => OF_REQUEST.has(kind));
}

export function resourceTests(condition: CompiledCondition): CompiledCondition {
  return condition.filter(({ kind }) => !OF_REQUEST.has(kind));
}

/** What a resource must have for a condition to hold: this tag, or one of these environments. Without either, any resource will do. */
export interface Demand {
  readonly tag?: string;
  readonly environments?: readonly string[];
}

/** A resource that meets none of these cannot meet the condition. Tags take precedence, because an index finds them. */
export function demandsOf(condition: CompiledCondition): readonly Demand[] {
  const { tag_equals, environment } = membersOf(resourceTests(condition));
  if (tag_equals !== undefined) return tag_equals.map((tag) => ({ tag }));
  return environment === undefined ? [{}] : [{ environments: environment.map(canonicalEnvironment) }];
}

/** The condition as it was written. */
function membersOf(tests: CompiledCondition): Condition {
  return Object.fromEntries(tests.map(({ text }) => JSON.parse(text) as [keyof Condition, unknown]));
}

export function compileCondition(condition: Condition, pointer: string): CompiledCondition {
  const tests: Test[] = [];
  const add = (kind: keyof Condition, holds: Answer) => {
    tests.push({ kind, text: JSON.stringify([kind, condition[kind]]), holds });
  };
  // Cheapest first, because evaluation stops at the first test that fails.
  if (condition.mfa) add('mfa', mfaTest(condition.mfa));
  if (condition.environment) add('environment', environmentTest(condition.environment.map(canonicalEnvironment)));
  if (condition.time_between) add('time_between', timeTest(condition.time_between, `${pointer}/time_between`));
  if (condition.tag_equals) add('tag_equals', tagTest(condition.tag_equals));
  if (condition.ip_cidr) add('ip_cidr', ipTest(compileCidrs(condition.ip_cidr, `${pointer}/ip_cidr`)));
  return tests;
}

export function compileCidrs(texts: readonly string[], pointer: string): readonly Cidr[] {
  return texts.map((text, index) => {
    const cidr = parseCidr(text);
    if (cidr === null)
      throw new PolicyError(`${pointer}/${index}`, 'Write an address, or a range such as 203.0.113.0/24.');
    // `10.0.0.1/8` is ambiguous: it could mean one address or sixteen million.
    const [address] = text.split('/', 1);
    if (text.includes('/') && !isNetwork(cidr, address ?? '')) {
      throw new PolicyError(
        `${pointer}/${index}`,
        'Set the address bits after the prefix to zero, as in 10.0.0.0/8, or omit the prefix.',
      );
    }
    return cidr;
  });
}

function isNetwork(cidr: Cidr, address: string): boolean {
  return parseAddress(address)?.bytes.every((byte, i) => byte === cidr.bytes[i]) ?? false;
}

/** Holds before a time, in epoch milliseconds. */
export function heldUntil(end: number): CompiledCondition {
  const holds: Answer = ({ time }) => (Number.isFinite(time) ? time < end : null);
  return [{ kind: 'until', text: JSON.stringify(['until', end]), holds }];
}

/** Also used for a credential's allow-list, so that an address means the same in both. */
export function addressIsIn(cidrs: readonly Cidr[], ip: string | undefined): boolean | null {
  const address = ip === undefined ? null : parseOnce(ip);
  if (address === null) return null;
  for (const cidr of cidrs) if (cidrContains(cidr, address)) return true;
  return false;
}

let lastText: string | undefined;
let lastAddress: Address | null = null;

/** One request tests the same address in many statements, so the last result is cached. */
function parseOnce(ip: string): Address | null {
  if (ip !== lastText) {
    lastAddress = parseAddress(ip);
    lastText = ip;
  }
  return lastAddress;
}

function ipTest(cidrs: readonly Cidr[]): Answer {
  return ({ ip }) => addressIsIn(cidrs, ip);
}

function mfaTest(members: readonly boolean[]): Answer {
  return ({ mfa }) => (mfa === undefined ? null : members.includes(mfa));
}

function environmentTest(members: readonly string[]): Answer {
  return ({ environment }) =>
    environment !== undefined && KNOWN_ENVIRONMENTS.has(environment) ? members.includes(environment) : null;
}

function tagTest(members: readonly string[]): Answer {
  const wanted = new Set(members);
  return ({ tags }) => (tags === undefined ? null : tags.some((tag) => wanted.has(tag)));
}

const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

function timeTest(members: readonly { from: string; to: string }[], pointer: string): Answer {
  const spans = members.map((member, index) => {
    const from = minuteOfDay(member.from);
    const to = minuteOfDay(member.to);
    if (from === to)
      throw new PolicyError(`${pointer}/${index}`, 'Choose different times for from and to; the range is empty.');
    return { from, to };
  });
  return ({ time }) => {
    if (!Number.isFinite(time)) return null;
    const minute = ((Math.floor(time / MINUTE_MS) % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES;
    return spans.some(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to));
  };
}

function minuteOfDay(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
}
