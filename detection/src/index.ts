export { contextOf, type FileContext } from './context.ts';
export { detectSteps, type Reading, UNFOLDINGS } from './detect.ts';
export { Detection, detect } from './detection.ts';
export { decodedRuns } from './encoded-runs.ts';
export { CONFIDENCES, type Confidence, isAtLeast, type Match, type SecretKind } from './match.ts';
export { NextMatch } from './next-match.ts';
export { type Quoting, quotedRuns } from './quoted-runs.ts';
export { startOfTrailing } from './sentence-end.ts';
export { originOf } from './unfolding.ts';
