import type { Context } from '../../../kernel/request/context.ts';
import { attributesOf } from '../authorization.ts';
import { secretResource } from '../location.ts';
import type { RiskFactor } from '../schemas.ts';
import type { SecretRow, StoredScores } from '../storage/tables.ts';

export const RISK_SCORE_MAX = 100;

/**
 * Factors that depend on the value. With them a caller who cannot read it could confirm a guess: the caller writes the guess into another secret and
 * sees whether the value counts as repeated.
 */
const ABOUT_VALUE: ReadonlySet<RiskFactor['factor']> = new Set(['weak_value', 'repeated_value']);

export function scoreOf(factors: readonly RiskFactor[]): number {
  return Math.min(
    RISK_SCORE_MAX,
    factors.reduce((sum, { points }) => sum + points, 0),
  );
}

export function withoutValue(factors: readonly RiskFactor[]): RiskFactor[] {
  return factors.filter(({ factor }) => !ABOUT_VALUE.has(factor));
}

/** The risk as a caller sees it, who may or may not read the value. */
export function shownRisk(factors: readonly RiskFactor[], mayReadValue: boolean) {
  const shown = mayReadValue ? [...factors] : withoutValue(factors);
  return { risk_score: scoreOf(shown), risk_factors: shown };
}

/** The stored risk as the caller sees it. Callers who may not read the value get a score that says nothing about it. */
export function shownScore(ctx: Context, vault: string, secret: SecretRow & StoredScores): number | null {
  const mayRead = ctx.access.may('secrets:read', secretResource(vault, secret.path), attributesOf(secret));
  return mayRead ? secret.risk_score : secret.risk_score_without_value;
}
