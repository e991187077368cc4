import { detectSteps, isAtLeast } from '../../../../../detection/src/index.ts';
import { atOnce } from '../../../kernel/fairness/time-slice.ts';
import { type Finding, merged } from './finding.ts';
import { networkFindings } from './network.ts';
import { personalFindings } from './personal-data.ts';

/** Masking too much costs a reader a word, and masking too little a secret: whatever a rule takes for one is masked. */
const CONFIDENCE_MIN = 'low';
const surely = (rule: (text: string) => Finding[]) => (text: string) =>
  rule(text).map((finding) => ({ ...finding, confidence: 'high' as const }));
const READING = { file: null, isThorough: true, rules: [surely(personalFindings), surely(networkFindings)] };

/** What must not leave, as far as its form tells: in the text itself, and in what is encoded or put together in it. */
export function scan(text: string): Finding[] {
  return atOnce(scanSteps(text));
}

export function* scanSteps(text: string): Generator<void, Finding[]> {
  const matches = yield* detectSteps(text, READING);
  return merged(matches.filter(({ confidence }) => isAtLeast(confidence, CONFIDENCE_MIN)));
}
