#!/usr/bin/env node
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { CheckpointSet } from './checkpoints.ts';
import { Unreadable } from './log.ts';
import { type Problem, type Result, verifyLog } from './verification.ts';

const EXIT_WRONG = 1;
const EXIT_USAGE = 2;

const USAGE = `coffer-verify: is an exported audit log the one that was signed?

  coffer-verify --log audit.ndjson --checkpoints checkpoints.json [--key rsa-pss-3072-…]

  --log FILE          what GET /v1/audit/export answered, or pages of GET /v1/audit; - reads standard input
  --checkpoints FILE  what GET /v1/audit/checkpoints answered; may be given more than once
  --key ID            a key that you trust, by the id you noted; may be given more than once
  --from-seq N        the log begins with this entry: what came before was checked another time
  --tenant ID         whose log it is; needed only where no file says so
  --chain-only        only recompute the chain, where there is no checkpoint: shows damage, not who made it

It needs no network and no service. It ends with 0 if everything fits, 1 if something is wrong, 2 if it cannot tell.
`;

class WrongUsage extends Error {}

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`coffer-verify: ${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof WrongUsage) process.stderr.write(`\n${USAGE}`);
  process.exitCode = EXIT_USAGE;
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
  tell(result, options.chainOnly, trusted.size > 0);
  return result.problems.length === 0 && (options.chainOnly || result.checkpoints > 0) ? 0 : EXIT_WRONG;
}

function optionsOf() {
  const { values } = parsedArguments();
  if (values.help === true) return null;
  const { log, checkpoints = [], key = [], tenant = null } = values;
  const chainOnly = values['chain-only'] === true;
  const fromSeq = Number(values['from-seq'] ?? '1');
  if (log === undefined) throw new WrongUsage('--log is missing');
  if (checkpoints.length === 0 && !chainOnly) throw new WrongUsage('--checkpoints is missing');
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

/** An unreadable file ends the reading, which must not look like the end of the log. */
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

function tell(result: Result, isChainOnly: boolean, isKeyNamed: boolean): void {
  const say = (text: string) => process.stdout.write(`${text}\n`);
  for (const { where, what } of result.problems) say(`WRONG: ${where} ${what}`);
  if (result.isShortened) say('… and more.');
  const { tenantId, entries, firstSeq, lastSeq, checkpoints, signedSeq, keyIds } = result;
  say(`Log of ${tenantId}: ${entries} entries, ${firstSeq} to ${lastSeq}.`);
  if (!isChainOnly) {
    say(`Checkpoints that fit: ${checkpoints}. The last one vouches for everything up to entry ${signedSeq}.`);
    if (lastSeq > signedSeq) say(`Entries ${Math.max(signedSeq + 1, firstSeq)} to ${lastSeq} came after it.`);
    for (const id of keyIds) say(`Signed by ${id}${isKeyNamed ? '.' : ': compare it with the id you noted.'}`);
  }
  say(result.problems.length === 0 && (isChainOnly || checkpoints > 0) ? 'OK' : 'NOT OK');
}
