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

const USAGE = `coffer-verify: is an exported audit log the one that was signed?

  coffer-verify --log audit.ndjson --checkpoints checkpoints.json --key rsa-pss-3072-…
  coffer-verify --log audit.ndjson --chain-only

  --log FILE          what GET /v1/audit/export answered, or pages of GET /v1/audit; - reads standard input
  --checkpoints FILE  what GET /v1/audit/checkpoints answered, or a file of CV_CHECKPOINT_DIR; may be given more than once
  --key ID            the key_id that you noted when the service was set up; may be given more than once. Its successors count too.
                      Take it from a note that whoever can change the log cannot change, never from the files that are checked
  --from-seq N        the log begins with this entry: what came before was checked another time
  --tenant ID         whose log it is; needed only where no file says so
  --chain-only        only look for damage, where there is no checkpoint: anybody can make a chain that is whole, so it never says OK

It needs no network and no service. It ends with 0 if everything fits and a key you trust vouches for it, 1 if something is wrong, 2 if it cannot tell.
`;

const KEY_MISSING =
  '--key is missing: without it a log that was forged with any key would pass. Give the key_id that was noted from GET /v1/audit/checkpoints when the service ' +
  'was set up, and kept where whoever can change the log cannot change it; one taken from the files that are checked proves nothing';

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
    throw new Unreadable('there is no checkpoint in these files: nothing vouches for the log');
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
    return { text: 'The chain is whole, but NOT VERIFIED: nobody vouches for it.', exitCode: EXIT_UNKNOWN };
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
    throw new WrongUsage('--chain-only looks at no checkpoint and no key: leave it out to have them checked');
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
  if (purged > 0) say(`${purged} of them are gone because their vault keeps them no longer; the log records which.`);
  if (!isChainOnly) {
    say(`Checkpoints that fit: ${checkpoints}. The last one vouches for everything up to entry ${signedSeq}.`);
    if (lastSeq > signedSeq) say(`Entries ${Math.max(signedSeq + 1, firstSeq)} to ${lastSeq} came after it.`);
    for (const id of keyIds) say(`Signed by ${id}.`);
  }
  say(verdict);
}
