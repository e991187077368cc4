import { Redaction } from '../../server/src/features/copilot/redactor/redaction.ts';
import type { Prompt } from './prompts.ts';

export interface KindScore {
  readonly kind: string;
  readonly isSecret: boolean;
  prompts: number;
  masked: number;
}

export interface Score {
  readonly kinds: readonly KindScore[];
  readonly recall: { readonly secrets: number; readonly others: number };
  /** Of all that was masked in prompts and clean texts, the part that was planted. */
  readonly precision: number;
  /** The part of the clean texts that is left as it is. */
  readonly cleanUntouched: number;
  readonly missed: readonly Prompt[];
  /** Clean texts in which something was masked. */
  readonly touched: readonly string[];
}

const nothingStored = async () => new Set<string>();

/** A prompt counts as masked if nothing of what was planted is left in it. The texts are masked by their form alone: nothing is stored. */
export async function score(prompts: readonly Prompt[], cleanTexts: readonly string[]): Promise<Score> {
  const kinds = new Map<string, KindScore>();
  const missed: Prompt[] = [];
  let right = 0;
  let wrong = 0;
  for (const prompt of prompts) {
    const known = kinds.get(prompt.kind) ?? { kind: prompt.kind, isSecret: prompt.isSecret, prompts: 0, masked: 0 };
    kinds.set(prompt.kind, known);
    const redaction = new Redaction(nothingStored);
    const findings = await redaction.find(prompt.text);
    const masked = redaction.replace(prompt.text, findings);
    known.prompts++;
    if (prompt.planted.some((piece) => masked.includes(piece))) missed.push(prompt);
    else known.masked++;
    const places = placesOf(prompt);
    for (const { start, end } of findings) {
      if (places.some((place) => start < place.end && end > place.start)) right++;
      else wrong++;
    }
  }
  const touched: string[] = [];
  for (const text of cleanTexts) {
    const findings = await new Redaction(nothingStored).find(text);
    wrong += findings.length;
    if (findings.length > 0) touched.push(text);
  }
  const scores = [...kinds.values()];
  return {
    kinds: scores,
    recall: { secrets: recallOf(scores, true), others: recallOf(scores, false) },
    precision: right / (right + wrong),
    cleanUntouched: 1 - touched.length / cleanTexts.length,
    missed,
    touched,
  };
}

function recallOf(scores: readonly KindScore[], isSecret: boolean): number {
  const wanted = scores.filter((one) => one.isSecret === isSecret);
  const sum = (count: (one: KindScore) => number) => wanted.reduce((all, one) => all + count(one), 0);
  return sum(({ masked }) => masked) / sum(({ prompts }) => prompts);
}

/** Where the planted text stands. A part that is too short to be searched for stands between two that are not. */
function placesOf({ text, planted }: Prompt): { start: number; end: number }[] {
  return planted.flatMap((piece) => {
    const places = [];
    for (let start = text.indexOf(piece); start !== -1; start = text.indexOf(piece, start + piece.length))
      places.push({ start, end: start + piece.length });
    return places;
  });
}
