import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { couldDisclose } from './disclosure.ts';
import { couldEverAllow, evaluate, isAllowed } from './evaluate.ts';
import { MAX_PRINCIPAL_COST } from './limits.ts';
import { isTooCostly, policyCost, resourcePatternCost } from './matching-cost.ts';
import { type CompiledPolicy, compilePolicy, type PolicyDocument } from './policy.ts';

/** What a decision may take on a slow processor. Several are made for one row of a list. */
const DECISION_MS_MAX = 25;
const CONTEXT = { time: 0, ip: '10.0.0.1' };

function documentOf(statement: PolicyDocument['statement']): PolicyDocument {
  return { version: '2026-01-01', statement };
}

/** As many policies with these patterns as one principal may have. */
function fullest(patternOf: (no: number) => string, statementOf = {}): CompiledPolicy[] {
  const policies: CompiledPolicy[] = [];
  for (let cost = 0, no = 0; ; ) {
    const resource = Array.from({ length: 16 }, () => patternOf(no++));
    const policy = compilePolicy(
      `p${policies.length}`,
      documentOf([{ effect: 'deny', action: ['secrets:*'], resource, ...statementOf }]),
    );
    cost += policy.cost;
    if (cost > MAX_PRINCIPAL_COST) return policies;
    policies.push(policy);
  }
}

const LONGEST = [31, 127, 1].map((length) => {
  const segment = 'a'.repeat(length);
  return `vault/v/${Array(Math.min(32, Math.floor(1024 / (length + 1))))
    .fill(segment)
    .join('/')}`;
});

describe('lesson 33: a decision by the fullest policies takes milliseconds', () => {
  const hostile: [what: string, patternOf: (no: number) => string][] = [
    ['many stars', (no) => `vault/v/**/${'*a'.repeat(48)}b${no.toString(36)}`],
    ['one long literal', (no) => `vault/v/**/*${'a'.repeat(60)}b*${no.toString(36)}`],
    ['long literals in many segments', (no) => `vault/v/**/${`*${'a'.repeat(16)}*/`.repeat(16)}b${no}`],
    ['many segments', (no) => `vault/v/**/${'a*/'.repeat(16)}b${no}`],
    ['many **', (no) => `${'**/*a*/'.repeat(12)}b${no}`],
    ['no **', (no) => `vault/v/${'*a*/'.repeat(31)}b${no}`],
    ['literals', (no) => `vault/v/${'a'.repeat(31)}/b${no}`],
  ];
  for (const [what, patternOf] of hostile) {
    test(what, () => {
      const policies = fullest(patternOf);
      for (const resource of LONGEST) {
        const request = { action: 'secrets:read', resource, context: CONTEXT };
        const decide = () => assert.equal(isAllowed(policies, request), false);
        // The first decisions find the statements of the action, and run code that is not compiled yet.
        for (let i = 0; i < 20; i++) decide();
        const ms = processorMs(() => {
          for (let i = 0; i < 5; i++) decide();
        });
        assert.ok(ms / 5 < DECISION_MS_MAX, `${ms / 5} ms on ${resource.slice(0, 60)}…`);
      }
    });
  }

  test('what a change would disclose, with as many different conditions as there may be', () => {
    const policies = Array.from({ length: 200 }, (_, no) =>
      compilePolicy(
        `p${no}`,
        documentOf([
          {
            effect: no % 2 === 0 ? 'allow' : 'deny',
            action: ['secrets:read'],
            resource: ['vault/v/**'],
            condition: { ip_cidr: [`10.0.${no}.0/24`] },
          },
        ]),
      ),
    );
    const cost = policies.reduce((sum, policy) => sum + policy.cost, 0);
    assert.ok(cost > MAX_PRINCIPAL_COST / 2 && cost <= MAX_PRINCIPAL_COST, `${cost}`);
    const described = (path: string) => ({ resource: `vault/v/${path}`, attributes: {} });
    const ask = () => couldDisclose(policies, ['secrets:read', 'eso:read'], described('a'), described('b'));
    ask();
    const ms = processorMs(ask);
    assert.ok(ms < 100, `${ms}`);
  });
});

describe('what policies cost', () => {
  const rows: [pattern: string, cost: number][] = [
    ['audit', 1],
    ['*', 1],
    ['vault/app/**', 1],
    ['vault/app/*', 1],
    ['vault/*/prod/*', 4],
    ['vault/a*b*c', 9],
    ['vault/**/prod/**', 33],
    ['vault/**/*a*', 257],
  ];
  for (const [pattern, cost] of rows) {
    test(`${pattern}: ${cost}`, () => assert.equal(resourcePatternCost(pattern), cost));
  }

  test('a condition on addresses counts once for each list of them', () => {
    const statement = (ip: string) => ({
      effect: 'allow' as const,
      action: ['secrets:read'],
      resource: ['audit'],
      condition: { ip_cidr: [ip] },
    });
    const [one, same, other] = [['10.0.0.1'], ['10.0.0.1', '10.0.0.1'], ['10.0.0.1', '10.0.0.2']].map((ips) =>
      policyCost(documentOf(ips.map(statement))),
    );
    assert.equal(Number(same) - Number(one), 3);
    assert.ok(Number(other) - Number(one) > 200);
  });
});

describe('policies beyond the limit, which an earlier release stored', () => {
  const policies = ['a', 'b'].flatMap(() => fullest((no) => `vault/v/**/${'*a'.repeat(48)}b${no.toString(36)}`));
  policies.push(compilePolicy('all', documentOf([{ effect: 'allow', action: ['*'], resource: ['*'] }])));

  test('refuse what they would take too long to decide, whatever they say about it', () => {
    const [resource = ''] = LONGEST;
    assert.ok(isTooCostly(policies, resource));
    const request = { action: 'secrets:read', resource, context: CONTEXT };
    assert.equal(isAllowed(policies, request), false);
    assert.equal(evaluate(policies, request).reason, 'policies_too_costly');
    assert.equal(couldEverAllow(policies, 'secrets:read', resource), false);
  });

  test('still decide about what is short, such as the policies themselves', () => {
    assert.ok(isAllowed(policies, { action: 'policies:update', resource: 'policy/p1', context: CONTEXT }));
  });
});
