import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redaction } from '../../server/src/features/copilot/redactor/redaction.ts';
import { cleanTextsOf } from './clean-texts.ts';
import { score } from './prompt-scoring.ts';
import { FORMATS, LANGUAGES, promptsOf } from './prompts.ts';
import { AIMS } from './report.ts';

const SEED = 21;
const prompts = promptsOf(SEED);
const distinct = (of: (prompt: (typeof prompts)[number]) => string) => new Set(prompts.map(of)).size;

test('the corpus has 500 prompts of 60 kinds in all languages, formats and disguises, each with what is planted', () => {
  assert.equal(prompts.length, 500);
  assert.equal(
    distinct(({ kind }) => kind),
    60,
  );
  assert.equal(
    distinct(({ language }) => language),
    LANGUAGES.length,
  );
  assert.equal(
    distinct(({ format }) => format),
    FORMATS.length,
  );
  assert.equal(
    distinct(({ disguise }) => disguise),
    4,
  );
  for (const { planted, text, kind } of prompts) {
    assert.ok(planted.length > 0, kind);
    for (const piece of planted) {
      const isThere = [piece, JSON.stringify(piece).slice(1, -1)].some((spelling) => text.includes(spelling));
      assert.ok(isThere, `${kind} is not in its prompt`);
    }
  }
});

test('the same seed gives the same prompts, and another seed others', () => {
  const withoutKeys = (seed: number) => promptsOf(seed).filter(({ kind }) => kind !== 'private key');
  assert.deepEqual(
    withoutKeys(SEED),
    prompts.filter(({ kind }) => kind !== 'private key'),
  );
  assert.notDeepEqual(withoutKeys(SEED + 1), withoutKeys(SEED));
});

test('the redactor reaches its aims on a seed it was not tuned on', async () => {
  const { recall, precision, cleanUntouched, missed, touched } = await score(prompts, cleanTextsOf(SEED));
  const misses = missed.map(({ kind, format, disguise }) => `${kind}, ${format}, ${disguise}`);
  assert.ok(recall.secrets >= AIMS.secrets, `recall of secrets ${recall.secrets}: ${misses.join('; ')}`);
  assert.ok(recall.others >= AIMS.others, `recall of the rest ${recall.others}: ${misses.join('; ')}`);
  assert.ok(precision >= AIMS.precision, `precision ${precision}`);
  assert.ok(cleanUntouched >= AIMS.precision, `clean texts left alone ${cleanUntouched}: ${touched.join('\n')}`);
});

test('what is masked stays as it is when it is masked again', async () => {
  const nothingStored = async () => new Set<string>();
  for (const { text, kind } of prompts) {
    const once = await new Redaction(nothingStored).mask(text);
    assert.equal(await new Redaction(nothingStored).mask(once), once, kind);
  }
});
