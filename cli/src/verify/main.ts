#!/usr/bin/env node
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { CheckpointSet } from './checkpoints.ts';
import { Unreadable } from './log.ts';
import { isKeyId } from './signature.ts';
import { type Problem, type Result, verifyLog } from './verification.ts';

const EXIT_WRONG = 1;
const EXIT_UNKNOWN = 2;

const USAGE = `coffer-verify: verify an exported audit log against signed checkpoints

  coffer-verify --log audit.ndjson --checkpoints checkpoints.json --key rsa-pss-3072-…
  coffer-verify --log audit.ndjson --chain-only

  --log FILE          the response of GET /v1/audit/export, or pages of GET /v1/audit; - reads standard input
  --checkpoints FILE  the response of GET /v1/audit/checkpoints, or a file of CV_CHECKPOINT_DIR; may be given more than once
  --key ID            the key_id that you noted when the service was set up; may be given more than once. Its successors are trusted too.
                      Take it from a note that is out of reach of anyone who can change the log, never from the files being verified
  --from-seq N        the log starts with this entry: earlier entries were verified before
  --tenant ID         the tenant of the log; required only if no file contains it
  --chain-only        only check the hash chain, without checkpoints; never reports OK, because anybody can build a valid chain

It needs no network and no service. Exit code: 0 if the log is verified with a key you trust, 1 if something is wrong, 2 if it cannot be determined.
`;

const KEY_MISSING =
  '--key is missing: without it a log forged with any key would pass. Give the key_id that was noted from GET /v1/audit/checkpoints when the service ' +
  'was set up, and stored out of reach of anyone who can change the log; one taken from the files being verified proves nothing';

class WrongUsage extends Error {}

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`coffer-verify: ${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof WrongUsage) process.stderr.write(`\n${USAGE}`);
  process.exitCode = EXIT_UNKNOWN;
}

async function run(): Promise<number> {
  const options = optionsOf();
  if (options === null) {
    process.stdout.write(USAGE);
    return 0;
  }
  const checkpoints = new CheckpointSet();
  const found: Problem[] = [];
  for (const file of options.checkpoints) {
    try {
      checkpoints.add(readFileSync(file, 'utf8'), (where, what) => found.push({ where: `${file}: ${where}`, what }));
    } catch (error) {
      throw new Unreadable(`${file} cannot be read: ${(error as Error).message}`);
    }
  }
  if (checkpoints.size === 0 && found.length === 0 && !options.chainOnly) {
    throw new Unreadable('these files contain no checkpoint, so the log cannot be verified');
  }
  const input = options.log === '-' ? process.stdin : createReadStream(options.log);
  const lines = linesOf(input);
  const { trusted, fromSeq, tenantId } = options;
  const result = await verifyLog(lines, { checkpoints, found, trusted, fromSeq, tenantId });
  const verdict = verdictOf(result, options.chainOnly);
  tell(result, options.chainOnly, verdict.text);
  return verdict.exitCode;
}

/** Only a checkpoint signed by a key that the caller named proves the log; everything else in the files could be forged. */
function verdictOf(result: Result, isChainOnly: boolean): { text: string; exitCode: number } {
  if (result.problems.length > 0) return { text: 'NOT OK', exitCode: EXIT_WRONG };
  if (isChainOnly) {
    return { text: 'The chain is intact, but NOT VERIFIED: no checkpoint was checked.', exitCode: EXIT_UNKNOWN };
  }
  return result.checkpoints > 0 ? { text: 'OK', exitCode: 0 } : { text: 'NOT OK', exitCode: EXIT_WRONG };
}

function optionsOf() {
  const { values } = parsedArguments();
  if (values.help === true) return null;
  const { log, checkpoints = [], key = [], tenant = null } = values;
  const chainOnly = values['chain-only'] === true;
  const fromSeq = Number(values['from-seq'] ?? '1');
  if (log === undefined) throw new WrongUsage('--log is missing');
  if (chainOnly && checkpoints.length + key.length > 0) {
    throw new WrongUsage('--chain-only cannot be combined with --checkpoints or --key: omit it to have them checked');
  }
  if (checkpoints.length === 0 && !chainOnly) throw new WrongUsage('--checkpoints is missing');
  if (key.length === 0 && !chainOnly) throw new WrongUsage(KEY_MISSING);
  if (!key.every(isKeyId))
    throw new WrongUsage('--key must be a key_id, such as rsa-pss-3072- and 40 hexadecimal digits');
  if (!Number.isSafeInteger(fromSeq) || fromSeq < 1) throw new WrongUsage('--from-seq must be a whole number');
  return { log, checkpoints, trusted: new Set(key), fromSeq, tenantId: tenant, chainOnly };
}

function parsedArguments() {
  try {
    return parseArgs({
      options: {
        log: { type: 'string' },
        checkpoints: { type: 'string', multiple: true },
        key: { type: 'string', multiple: true },
        tenant: { type: 'string' },
        'from-seq': { type: 'string' },
        'chain-only': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new WrongUsage((error as Error).message);
  }
}

/** A read error rejects: it must not look like the end of the log. */
async function* linesOf(input: NodeJS.ReadableStream): AsyncIterable<string> {
  const failed = new Promise<never>((_, reject) => {
    input.once('error', (error) => reject(new Unreadable(`the log cannot be read: ${error.message}`)));
  });
  failed.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await Promise.race([lines.next(), failed]);
    if (done === true) return;
    yield value;
  }
}

function tell(result: Result, isChainOnly: boolean, verdict: string): void {
  const say = (text: string) => process.stdout.write(`${text}\n`);
  for (const { where, what } of result.problems) say(`WRONG: ${where} ${what}`);
  if (result.isShortened) say('… and more.');
  const { tenantId, entries, purged, firstSeq, lastSeq, checkpoints, signedSeq, keyIds } = result;
  say(`Log of ${tenantId}: ${entries} entries, ${firstSeq} to ${lastSeq}.`);
  if (purged > 0) say(`${purged} of them were purged by the retention of their vault; the log records which.`);
  if (!isChainOnly) {
    say(`Valid checkpoints: ${checkpoints}. The last one covers everything up to entry ${signedSeq}.`);
    if (lastSeq > signedSeq)
      say(`Entries ${Math.max(signedSeq + 1, firstSeq)} to ${lastSeq} are newer and not covered.`);
    for (const id of keyIds) say(`Signed by ${id}.`);
  }
  say(verdict);
}
