import type { RiskFactor } from '../schemas.ts';

export const RISK_SCORE_MAX = 100;

/**
 * Factors that tell something about the value. A caller who cannot read it could confirm a guess by them: they would write the guess into another
 * secret and look whether the value counts as repeated.
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
