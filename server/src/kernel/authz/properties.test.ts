import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { authorize, isAuthorized } from './authorize.ts';
import { compileCeiling } from './ceiling.ts';
import type { Condition } from './condition.ts';
import { type AccessRequest, couldEverAllow, evaluate, isAllowed } from './evaluate.ts';
import { literalResource } from './pattern.ts';
import { type CompiledPolicy, compilePolicy, type PolicyStatement } from './policy.ts';

/** Few names, so that statements and requests match often; the properties are about what happens then. */
const RUNS = { numRuns: 3_000 };

const action = fc.constantFrom('secrets:read', 'secrets:list', 'vaults:read', 'vaults:list');
const actionPattern = fc.oneof(action, fc.constantFrom('secrets:*', 'vaults:*', '*:read', '*:list', '*', '*:*'));
const name = fc.constantFrom('a', 'b', 'ab');
const resource = fc.oneof(
  { weight: 4, arbitrary: fc.array(name, { minLength: 1, maxLength: 3 }).map((rest) => ['vault', ...rest].join('/')) },
  fc.constantFrom('audit', 'self', 'self/a', 'vault/a/', 'vault//a', 'vault/../a'),
);
const part = fc.oneof(name, fc.constantFrom('*', '**', 'a*', '*b'));
const resourcePattern = fc.oneof(
  fc.array(part, { minLength: 1, maxLength: 3 }).map((rest) => ['vault', ...rest].join('/')),
  fc.constantFrom('*', '**', 'audit', 'self/**'),
);
const environment = fc.constantFrom('staging', 'production');
const conditionKinds = fc.record(
  {
    ip_cidr: fc.array(fc.constantFrom('10.0.0.0/8', '192.0.2.0/24'), { minLength: 1, maxLength: 2 }),
    environment: fc.array(environment, { minLength: 1, maxLength: 2 }),
    mfa: fc.array(fc.boolean(), { minLength: 1, maxLength: 2 }),
    time_between: fc.array(fc.constantFrom({ from: '08:00', to: '18:00' }, { from: '22:00', to: '06:00' }), {
      minLength: 1,
      maxLength: 2,
    }),
    tag_equals: fc.array(fc.constantFrom('x', 'y'), { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const condition = conditionKinds.map((one): Condition => one);

function statementOf(effect: fc.Arbitrary<'allow' | 'deny'>): fc.Arbitrary<PolicyStatement> {
  const parts = fc.record(
    {
      sid: fc.constantFrom('s1', 's2'),
      effect,
      action: fc.array(actionPattern, { minLength: 1, maxLength: 3 }),
      resource: fc.array(resourcePattern, { minLength: 1, maxLength: 3 }),
      condition: fc.oneof({ weight: 2, arbitrary: fc.constant<Condition>({}) }, condition),
    },
    { requiredKeys: ['effect', 'action', 'resource'] },
  );
  return parts.map((one): PolicyStatement => one);
}

const statement = statementOf(fc.constantFrom('allow', 'allow', 'allow', 'deny'));
const documents = fc.array(fc.array(statement, { maxLength: 4 }), { maxLength: 3 });
const request: fc.Arbitrary<AccessRequest> = fc.record({
  action,
  resource,
  context: fc.record(
    {
      ip: fc.constantFrom('10.0.0.1', '::ffff:192.0.2.1', '8.8.8.8', 'nonsense'),
      mfa: fc.boolean(),
      time: fc.integer({ min: 0, max: 86_400_000 }),
      environment: fc.oneof(environment, fc.constant('other')),
      tags: fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 2 }),
    },
    { requiredKeys: ['time'] },
  ),
});

function compileAll(statements: readonly (readonly PolicyStatement[])[]): CompiledPolicy[] {
  return statements.map((one, index) => compilePolicy(`p${index}`, { version: '2026-01-01', statement: [...one] }));
}

function allowed(statements: readonly (readonly PolicyStatement[])[], ask: AccessRequest): boolean {
  return isAllowed(compileAll(statements), ask);
}

test('the properties see both answers often enough to mean something', () => {
  const answers = fc.sample(fc.tuple(documents, request), { numRuns: 2_000, seed: 1 });
  const granted = answers.filter(([statements, ask]) => allowed(statements, ask)).length;
  assert.ok(granted > 200 && granted < 1_800, `${granted} of 2000 allowed`);
});

test('isAllowed equals evaluate().allowed, and the account agrees with the answer', () => {
  fc.assert(
    fc.property(documents, request, (statements, ask) => {
      const policies = compileAll(statements);
      const answer = evaluate(policies, ask);
      assert.equal(isAllowed(policies, ask), answer.allowed);
      assert.equal(answer.allowed, answer.decision === 'allow');
      const effects = new Set(answer.matched.map(({ effect }) => effect));
      const expected = effects.has('deny') ? 'explicit_deny' : effects.has('allow') ? 'allowed' : 'no_match';
      assert.equal(answer.reason, expected);
      assert.equal(answer.allowed, expected === 'allowed');
    }),
    RUNS,
  );
});

test('what is allowed is conceivable', () => {
  fc.assert(
    fc.property(documents, request, (statements, ask) => {
      const policies = compileAll(statements);
      if (isAllowed(policies, ask)) assert.ok(couldEverAllow(policies, ask.action, ask.resource));
    }),
    RUNS,
  );
});

test('deny wins: a deny that applies alone refuses whatever else is allowed', () => {
  fc.assert(
    fc.property(documents, statementOf(fc.constant('deny')), request, (statements, deny, ask) => {
      const alone = evaluate(compileAll([[deny]]), ask);
      if (alone.reason === 'explicit_deny') assert.equal(allowed([...statements, [deny]], ask), false);
    }),
    RUNS,
  );
});

test('the order of statements and of policies does not matter, nor how statements are spread over policies', () => {
  const shuffled = documents.chain((statements) =>
    fc.tuple(
      fc.constant(statements),
      fc.shuffledSubarray(statements.flat(), { minLength: statements.flat().length }),
      fc.shuffledSubarray(statements, { minLength: statements.length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, request, ([statements, flat, policies], ask) => {
      const expected = evaluate(compileAll(statements), ask).reason;
      assert.equal(evaluate(compileAll([flat]), ask).reason, expected);
      assert.equal(evaluate(compileAll(policies), ask).reason, expected);
    }),
    RUNS,
  );
});

test('adding an allow never removes access; adding a deny never gives it', () => {
  fc.assert(
    fc.property(documents, statement, request, (statements, extra, ask) => {
      const before = allowed(statements, ask);
      const after = allowed([...statements, [extra]], ask);
      if (extra.effect === 'allow') assert.ok(after || !before);
      else assert.ok(before || !after);
    }),
    RUNS,
  );
});

test('a narrower resource in an allow never gives more', () => {
  const narrowed = resourcePattern.chain((wide) => fc.tuple(fc.constant(wide), narrower(wide)));
  fc.assert(
    fc.property(documents, statementOf(fc.constant('allow')), narrowed, request, (rest, base, [wide, narrow], ask) => {
      const withNarrow = allowed([...rest, [{ ...base, resource: [narrow] }]], ask);
      const withWide = allowed([...rest, [{ ...base, resource: [wide] }]], ask);
      assert.ok(withWide || !withNarrow, `${narrow} gave more than ${wide}`);
    }),
    RUNS,
  );
});

/** Replaces one wildcard by something it matches. */
function narrower(wide: string): fc.Arbitrary<string> {
  if (wide === '*' || wide === '**') return resourcePattern;
  const segments = wide.split('/');
  const at = segments.findIndex((one) => one.includes('*'));
  if (at === -1) return fc.constant(wide);
  const segment = segments[at] ?? '';
  const replacements =
    segment === '**' ? ['a', '*', 'a/b', 'a/**'] : ['a', 'b', 'ab'].map((one) => segment.replace('*', one));
  return fc.constantFrom(...replacements).map((one) => segments.with(at, one).join('/'));
}

test('without the conditional allows there is never more access, and without the conditional denies never less', () => {
  fc.assert(
    fc.property(documents, request, (statements, ask) => {
      const strict = statements.map((one) => one.filter(({ effect, condition: when }) => effect === 'deny' || !when));
      const loose = statements.map((one) => one.filter(({ effect, condition: when }) => effect === 'allow' || !when));
      if (allowed(strict, ask)) assert.ok(allowed(statements, ask));
      if (allowed(statements, ask)) assert.ok(allowed(loose, ask));
    }),
    RUNS,
  );
});

test('knowing less about a request never gives more', () => {
  const attribute = fc.constantFrom('ip', 'mfa', 'environment', 'tags');
  fc.assert(
    fc.property(documents, request, attribute, (statements, ask, hidden) => {
      const policies = compileAll(statements);
      const told = { ...ask, context: { ...ask.context, [hidden]: undefined } };
      if (isAllowed(policies, told)) assert.ok(isAllowed(policies, ask));
    }),
    RUNS,
  );
});

const ceiling = fc
  .record(
    {
      scope: fc.record(
        {
          vaults: fc.array(fc.constantFrom('a', 'b', 'a*', '*'), { maxLength: 2 }),
          actions: fc.array(actionPattern, { maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
      ip_allowlist: fc.array(fc.constantFrom('10.0.0.0/8', '192.0.2.0/24'), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  )
  .map(compileCeiling);

test('a ceiling never gives more than the policies, and one more ceiling never gives more', () => {
  fc.assert(
    fc.property(
      documents,
      fc.array(ceiling, { maxLength: 2 }),
      ceiling,
      request,
      (statements, ceilings, extra, ask) => {
        const policies = compileAll(statements);
        const answer = authorize({ ceilings, policies }, ask);
        assert.equal(isAuthorized({ ceilings, policies }, ask), answer.allowed);
        if (answer.allowed) assert.ok(isAllowed(policies, ask));
        const below = authorize({ ceilings: [...ceilings, extra], policies }, ask);
        if (below.allowed) assert.ok(answer.allowed);
        assert.equal(authorize({ ceilings: [extra, ...ceilings], policies }, ask).reason, below.reason);
      },
    ),
    RUNS,
  );
});

test('whatever an identity is called, its resource falls under its own folder only', () => {
  const identity = fc.string({ unit: fc.constantFrom('*', '/', '.', '%', 'a', 'b'), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(identity, identity, (mine, other) => {
      const grant: PolicyStatement = {
        effect: 'allow',
        action: ['*'],
        resource: [`${literalResource('user', mine)}/**`],
      };
      const ask = (who: string) => ({
        action: 'secrets:read',
        resource: literalResource('user', who, 'token'),
        context: { time: 0 },
      });
      assert.equal(allowed([[grant]], ask(mine)), true);
      assert.equal(allowed([[grant]], ask(other)), mine === other);
      assert.equal(allowed([[grant]], { ...ask(other), resource: `vault/${other}` }), false);
    }),
    RUNS,
  );
});
