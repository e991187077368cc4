import { Compile } from 'typebox/compile';
import { policySize } from './compiled-size.ts';
import { type CompiledCondition, compileCondition } from './condition.ts';
import { MAX_INDEXED_ACTIONS, MAX_INDEXED_STATEMENTS, MAX_POLICY_DOCUMENT_BYTES } from './limits.ts';
import { policyCost } from './matching-cost.ts';
import {
  compileActionPattern,
  compileResourcePattern,
  type Pattern,
  PatternError,
  type ResourcePattern,
} from './pattern.ts';
import { PolicyDocument, type PolicyStatement } from './policy-document.ts';
import { PolicyError } from './policy-error.ts';

export { POLICY_VERSION, PolicyDocument, PolicyEffect, PolicyStatement } from './policy-document.ts';
export { PolicyError } from './policy-error.ts';

export interface CompiledStatement {
  readonly sid: string | null;
  readonly effect: 'allow' | 'deny';
  readonly actions: readonly Pattern[];
  readonly resources: readonly ResourcePattern[];
  readonly condition: CompiledCondition;
}

/** The statements that match one action, in document order. */
export interface StatementsByEffect {
  readonly allow: readonly CompiledStatement[];
  readonly deny: readonly CompiledStatement[];
}

export interface CompiledPolicy {
  readonly name: string;
  /** The memory it holds, at most. */
  readonly bytes: number;
  /** How long a decision by it takes at most, as `matching-cost.ts` counts it. */
  readonly cost: number;
  readonly statements: readonly CompiledStatement[];
  statementsFor(action: string): StatementsByEffect;
}

const wireSchema = Compile(PolicyDocument);

/**
 * The schema is checked again although endpoints did so, because documents also come from the database and from imports, and half a policy is worse
 * than none.
 */
export function compilePolicy(name: string, document: PolicyDocument): CompiledPolicy {
  refuseBadShape(document);
  if (Buffer.byteLength(JSON.stringify(document)) > MAX_POLICY_DOCUMENT_BYTES) {
    throw new PolicyError('', `Keep the document within ${MAX_POLICY_DOCUMENT_BYTES} bytes; split it into policies.`);
  }
  const statements = document.statement.map((statement, index) => compileStatement(statement, `/statement/${index}`));
  return {
    name,
    bytes: policySize(document),
    cost: policyCost(document),
    statements,
    statementsFor: indexByAction(statements),
  };
}

function refuseBadShape(document: unknown): void {
  if (wireSchema.Check(document)) return;
  const [first] = wireSchema.Errors(document);
  // The validator reports an undeclared field as a violation of the schema `false`.
  const reason = first?.keyword === 'boolean' ? 'Remove this unknown field.' : (first?.message ?? 'not valid');
  throw new PolicyError(first?.instancePath ?? '', reason);
}

function compileStatement(statement: PolicyStatement, pointer: string): CompiledStatement {
  return {
    sid: statement.sid ?? null,
    effect: statement.effect,
    actions: compileEach(statement.action, compileActionPattern, `${pointer}/action`),
    resources: compileEach(statement.resource, compileResourcePattern, `${pointer}/resource`),
    condition: compileCondition(statement.condition ?? {}, `${pointer}/condition`),
  };
}

/** Compiles a list of patterns. An error points to the entry. */
export function compileEach<T>(texts: readonly string[], compile: (text: string) => T, pointer: string): readonly T[] {
  return texts.map((text, index) => {
    try {
      return compile(text);
    } catch (error) {
      if (error instanceof PatternError) throw new PolicyError(`${pointer}/${index}`, error.message);
      throw error;
    }
  });
}

/**
 * Requests repeat a few dozen actions, so the statements of each action are cached per policy. When the limit is reached, by invented actions in
 * simulations or by very many statements, the cache starts empty again.
 */
function indexByAction(statements: readonly CompiledStatement[]): (action: string) => StatementsByEffect {
  const byAction = new Map<string, StatementsByEffect>();
  let indexed = 0;
  return (action) => {
    const known = byAction.get(action);
    if (known) return known;
    const relevant = statements.filter(({ actions }) => actions.some((pattern) => pattern.matches(action)));
    const found = {
      allow: relevant.filter(({ effect }) => effect === 'allow'),
      deny: relevant.filter(({ effect }) => effect === 'deny'),
    };
    if (byAction.size >= MAX_INDEXED_ACTIONS || indexed + relevant.length > MAX_INDEXED_STATEMENTS) {
      byAction.clear();
      indexed = 0;
    }
    indexed += relevant.length;
    byAction.set(action, found);
    return found;
  };
}
