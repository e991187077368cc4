import { atOnce } from '../../../kernel/fairness/time-slice.ts';
import { assignmentFindings } from './assignments.ts';
import { binaryKeyFindings } from './binary-keys.ts';
import { credentialFindings } from './credentials.ts';
import { type Finding, merged } from './finding.ts';
import { networkFindings } from './network.ts';
import { personalFindings } from './personal-data.ts';
import { formatFindings } from './secret-formats.ts';
import {
  decodedWords,
  joined,
  originOf,
  percentDecoded,
  type Unfolded,
  unescaped,
  withoutInvisible,
} from './unfolding.ts';

/** Text that was encoded more often than this is not looked into. */
const DEPTH_MAX = 3;

/** Every way in which a text can be read besides as it stands. */
export const UNFOLDINGS: readonly ((text: string) => Unfolded | null)[] = [
  withoutInvisible,
  unescaped,
  percentDecoded,
  joined,
];

/** What must not leave, as far as its form tells: in the text itself, and in what is encoded or put together in it. */
export function scan(text: string): Finding[] {
  return atOnce(scanSteps(text));
}

export function* scanSteps(text: string): Generator<void, Finding[]> {
  return merged(yield* found(text, 0));
}

function* found(text: string, depth: number): Generator<void, Finding[]> {
  const findings = yield* asItStands(text);
  if (depth >= DEPTH_MAX) return findings;
  for (const unfold of UNFOLDINGS) {
    const unfolded = unfold(text);
    if (unfolded === null) continue;
    // The deeper, the fewer ways are combined. The depth grows with every step, or a text that is encoded many times over would never end.
    const inside = yield* found(unfolded.text, Math.max(depth + 1, unfold === joined || depth > 0 ? DEPTH_MAX - 1 : 0));
    for (const { start, end, kind, rule } of inside) findings.push({ ...originOf(unfolded, start, end), kind, rule });
  }
  for (const word of decodedWords(text)) {
    const [first] = merged(yield* found(word.text, depth + 1));
    if (first !== undefined) findings.push({ start: word.start, end: word.end, kind: first.kind, rule: first.rule });
  }
  return findings;
}

const RULES = [
  credentialFindings,
  binaryKeyFindings,
  formatFindings,
  assignmentFindings,
  personalFindings,
  networkFindings,
];

function* asItStands(text: string): Generator<void, Finding[]> {
  const findings: Finding[] = [];
  for (const rules of RULES) {
    for (const finding of rules(text)) findings.push(finding);
    yield;
  }
  return findings;
}
