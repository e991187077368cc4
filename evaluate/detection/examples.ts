import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findingsIn } from '../../cli/src/scan/findings.ts';
import { isAtLeast } from '../../detection/src/index.ts';
import { CREDENTIAL_KINDS } from '../../server/src/features/copilot/redactor/finding.ts';
import { Redaction } from '../../server/src/features/copilot/redactor/redaction.ts';

/** A text with a secret that others made, such as what a scanner tests one of its rules with. */
export interface Example {
  readonly rule: string;
  readonly text: string;
  /** What their rule finds in it. Empty if nobody says: then a report or a mask anywhere in the text counts. */
  readonly secrets: readonly string[];
  /** Whether their test says that it has a secret at all. */
  readonly isPositive: boolean;
  /** The name of the file, if the rule depends on it. */
  readonly path: string;
}

/** The half that rules may be tuned on, and the half that is reported. A rule and all of its examples are in one. */
export type Half = 'tuning' | 'report';
export const halfOf = (rule: string): Half =>
  (createHash('sha256').update(rule).digest()[0] ?? 0) % 2 === 0 ? 'tuning' : 'report';

/** Reads lines of JSON with `rule`, `text` and, unless they are empty, `secrets` and `path`; with `positive` false if there is no secret in the text. */
export function readExamples(file: string): Example[] {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line, at) => {
    const { rule, text, secrets = [], path = '', positive = true } = JSON.parse(line);
    if (typeof rule !== 'string' || typeof text !== 'string')
      throw new Error(`${file}, line ${at + 1}: write {"rule": "…", "text": "…", "secrets": ["…"]}.`);
    return { rule, text, secrets: secrets ?? [], path, isPositive: positive };
  });
}

/** How many of the examples a policy finds. Of those without a secret that is how often it is wrong. */
export interface Found {
  examples: number;
  scan: number;
  redactor: number;
}

export interface ExampleScore {
  readonly total: Found;
  readonly withoutSecret: Found;
  readonly byRule: ReadonlyMap<string, Found>;
  readonly byContext: ReadonlyMap<string, Found>;
  readonly missed: readonly { by: 'scan' | 'redactor'; rule: string; text: string }[];
}

const none = (): Found => ({ examples: 0, scan: 0, redactor: 0 });

export async function scoreExamples(examples: readonly Example[]): Promise<ExampleScore> {
  const [total, withoutSecret] = [none(), none()];
  const byRule = new Map<string, Found>();
  const byContext = new Map<string, Found>();
  const missed: { by: 'scan' | 'redactor'; rule: string; text: string }[] = [];
  for (const example of examples) {
    const isFound = { scan: isReported(example), redactor: await isMasked(example) };
    if (!example.isPositive) {
      count(withoutSecret, isFound);
      continue;
    }
    const [rule, context] = [example.rule, contextOf(example)];
    if (!byRule.has(rule)) byRule.set(rule, none());
    if (!byContext.has(context)) byContext.set(context, none());
    for (const found of [total, byRule.get(rule) ?? total, byContext.get(context) ?? total]) count(found, isFound);
    for (const by of ['scan', 'redactor'] as const) if (!isFound[by]) missed.push({ by, rule, text: example.text });
  }
  return { total, withoutSecret, byRule, byContext, missed };
}

function count(found: Found, isFound: { scan: boolean; redactor: boolean }): void {
  found.examples++;
  if (isFound.scan) found.scan++;
  if (isFound.redactor) found.redactor++;
}

const secretsOf = ({ text, secrets }: Example) => (secrets.length > 0 ? secrets : [text.trim()]);

/** A report needs no more than the line: who sees it looks there. */
function isReported(example: Example): boolean {
  const { text, path } = example;
  const findings = findingsIn({
    file: path === '' ? 'example.txt' : path,
    bytes: Buffer.from(text),
    line: 1,
    column: 0,
  });
  return findings.some(
    ({ confidence, value }) =>
      isAtLeast(confidence, 'medium') &&
      secretsOf(example).some((secret) => secret.includes(value) || value.includes(secret) || shares(secret, value)),
  );
}

/** Whether the end of one is the beginning of the other. */
function shares(a: string, b: string): boolean {
  const least = Math.ceil(Math.min(a.length, b.length) / 2);
  return a.startsWith(b.slice(-least)) || b.startsWith(a.slice(-least));
}

/** Nothing of a secret may be left but three characters at an end. */
async function isMasked(example: Example): Promise<boolean> {
  const { text } = example;
  const findings = await new Redaction(async () => new Set<string>()).find(text);
  if (example.secrets.length === 0) return findings.some(({ kind }) => CREDENTIAL_KINDS.has(kind));
  return secretsOf(example).every((secret) => {
    const start = text.indexOf(secret);
    let at = start;
    for (const finding of findings) if (finding.start <= at + LEFT_MAX && finding.end > at) at = finding.end;
    return start === -1 || at + LEFT_MAX >= start + secret.length;
  });
}
const LEFT_MAX = 3;

/** How the value is written, for a table: its rule says what it is. */
function contextOf(example: Example): string {
  const { text } = example;
  const [secret = ''] = secretsOf(example);
  const at = text.indexOf(secret);
  const before = text.slice(Math.max(0, at - 40), at);
  if (at <= 0) return 'alone';
  if (/>\s*$/.test(before) && !/=>\s*$/.test(before)) return 'element';
  if (/[,(]\s*["'`]?$/.test(before)) return 'call';
  if (/^\s*[{[]/.test(text)) return 'JSON';
  const [, sign = 'text'] = /(:{0,3}=|\?=|=>|:)[\s"'`]*$/.exec(before) ?? [];
  return /["'`]$/.test(before) ? `${sign} in quotes` : sign;
}
