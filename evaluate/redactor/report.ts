import { LANGUAGES, PROMPTS } from './prompts.ts';
import type { Score } from './scoring.ts';

export const PAGE = 'docs/redactor-evaluation.md';

/** What the redactor must reach, on every seed. A test checks it. */
export const AIMS = { secrets: 0.98, others: 0.95, precision: 0.9 } as const;

const share = (part: number) => part.toFixed(3);

/** The whole page, so that nothing on it differs from what was measured. */
export function page(scores: readonly (Score & { seed: number })[]): string {
  const kinds = new Map<string, { isSecret: boolean; masked: number; prompts: number }>();
  for (const { kind, isSecret, masked, prompts } of scores.flatMap((score) => score.kinds)) {
    const known = kinds.get(kind) ?? { isSecret, masked: 0, prompts: 0 };
    kinds.set(kind, { isSecret, masked: known.masked + masked, prompts: known.prompts + prompts });
  }
  const rows = [...kinds].map(
    ([kind, { isSecret, masked, prompts }]) =>
      `| ${kind} | ${isSecret ? 'secret' : 'personal or internal'} | ${masked} of ${prompts} | ${share(masked / prompts)} |`,
  );
  const totals = scores.map(
    ({ seed, recall, precision, cleanUntouched }) =>
      `| ${seed} | ${share(recall.secrets)} | ${share(recall.others)} | ${share(precision)} | ${share(cleanUntouched)} |`,
  );
  return `# How well the assistant's redactor masks

\`npm run evaluate:redactor -- --write\` writes this page. For each seed it makes ${PROMPTS} prompts, each with one value of ${kinds.size} kinds of secrets, personal data and internal addresses,
in ${LANGUAGES.length} languages and as prose, .env files, YAML, JSON, code, shell, logs and URLs. Some secrets are in base64, percent-encoded, or put together from parts. Values are made from what their
issuers document, not from the rules. Clean texts are technical text with nothing to mask: digests, ids, public keys, versions, placeholders, code about passwords, questions.

- A prompt counts as **masked** if nothing of its value is left. **Recall** is the part of the prompts that are.
- **Precision** is the part of everything masked, in prompts and clean texts, that was planted.
- Rules were tuned on the seeds 1 to 13, and are measured on others. The aims are a recall of ${AIMS.secrets} for secrets and ${AIMS.others} for the rest, and a precision of ${AIMS.precision}; a test checks them.
- Values that are stored in a vault of the tenant are found whatever they look like. That is not part of this measurement.
- Made-up prompts show how the rules do with forms that somebody thought of. A secret in a form that nobody thought of, such as a password in the middle of a sentence that does not mention it, is not masked.

| Seed | Recall, secrets | Recall, the rest | Precision | Clean texts left alone |
|---|---|---|---|---|
${totals.join('\n')}

## By kind

Over all seeds.

| Kind | | Masked | Recall |
|---|---|---|---|
${rows.join('\n')}
`;
}
