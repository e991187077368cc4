export { RISK_SCORE_MAX, scoreOf, shownRisk, withoutValue } from './shown-risk.ts';
