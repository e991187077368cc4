#!/usr/bin/env node
import { createReadStream, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ArchiveHeader, verifyArchive, verifyOrder } from './archive.ts';
import { CheckpointSet } from './checkpoints.ts';
import { linesOf } from './lines.ts';
import { UnreadableInputError } from './log.ts';
import { inOneLine, quoted } from './quoted.ts';
import { isKeyId } from './signature.ts';
import { type Problem, type Result, verifyLog } from './verification.ts';

const EXIT_WRONG = 1;
const EXIT_UNKNOWN = 2;

const USAGE = `coffer-verify: verify an exported audit log against signed checkpoints

  coffer-verify --log audit.ndjson --checkpoints checkpoints.json --key rsa-pss-3072-…
  coffer-verify --log audit.ndjson --chain-only
  coffer-verify --archive FILE.audit --checkpoints checkpoints.json --key rsa-pss-3072-…

  --log FILE          the response of GET /v1/audit/export, or pages of GET /v1/audit; - reads standard input
  --archive FILE      an object of the archive CV_AUDIT_ARCHIVE; may be given more than once. Its signature and its content are verified, and that
                      ranges continue each other. The entries are sealed: "coffer server audit-restore" opens them and recomputes their chain
  --checkpoints FILE  the response of GET /v1/audit/checkpoints, or a file from the folder CV_CHECKPOINT_DIR; may be given more than once
  --key ID            the key_id that you noted when the service was set up; may be given more than once. Its successors are trusted too.
                      Take it from a note that is out of reach of anyone who can change the log, never from the files being verified
  --from-seq N        the log starts with this entry: earlier entries were verified before
  --tenant ID         the tenant of the log; required only if no file contains it
  --chain-only        only check the hash chain, without checkpoints; never reports OK, because anybody can build a valid chain

It needs no network and no running service. Exit code: 0 if the log is verified with a key you trust, 1 if verification fails, 2 if the log cannot be verified.
`;

const KEY_MISSING =
  '--key is missing: without it a log forged with any key would pass. Give the key_id that was noted from GET /v1/audit/checkpoints when the service ' +
  'was set up, and stored out of reach of anyone who can change the log; one taken from the files being verified proves nothing';

class UsageError extends Error {}

try {
  process.exitCode = await run();
} catch (error) {
  process.stderr.write(`${inOneLine(`coffer-verify: ${error instanceof Error ? error.message : String(error)}`)}\n`);
  if (error instanceof UsageError) process.stderr.write(`\n${USAGE}`);
  process.exitCode = EXIT_UNKNOWN;
}

async function run(): Promise<number> {
  const options = parseOptions();
  if (options === null) {
    process.stdout.write(USAGE);
    return 0;
  }
  const checkpoints = new CheckpointSet();
  const checkpointProblems: Problem[] = [];
  for (const file of options.checkpoints) {
    try {
      checkpoints.add(readFileSync(file, 'utf8'), (where, what) =>
        checkpointProblems.push({ where: `${file}: ${where}`, what }),
      );
    } catch (error) {
      // The message of a parser quotes the file.
      const why = error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message;
      throw new UnreadableInputError(`${file} cannot be read: ${why}`);
    }
  }
  if (checkpoints.size === 0 && checkpointProblems.length === 0 && !options.chainOnly) {
    throw new UnreadableInputError('these files contain no checkpoint, so the log cannot be verified');
  }
  if (options.archives.length > 0)
    return verifyArchives(options.archives, checkpoints, checkpointProblems, options.trusted);
  const input = options.log === '-' ? process.stdin : createReadStream(options.log);
  const lines = linesOf(input);
  const { trusted, fromSeq, tenantId } = options;
  const result = await verifyLog(lines, { checkpoints, checkpointProblems, trusted, fromSeq, tenantId });
  const verdict = verdictOf(result, options.chainOnly);
  printResult(result, options.chainOnly, verdict.text);
  return verdict.exitCode;
}

function verifyArchives(
  files: readonly string[],
  checkpoints: CheckpointSet,
  problems: Problem[],
  trusted: ReadonlySet<string>,
): number {
  const headers: ArchiveHeader[] = [];
  for (const file of files) {
    try {
      headers.push(
        verifyArchive(readFileSync(file), checkpoints, trusted, (what) => problems.push({ where: file, what })),
      );
    } catch (error) {
      throw new UnreadableInputError(`${file} cannot be read: ${(error as Error).message}`);
    }
  }
  verifyOrder(headers, (where, what) => problems.push({ where, what }));
  for (const { where, what } of problems) print(`WRONG: ${where} ${what}`);
  for (const { tenant_id, entries, first_seq, last_seq, from, to, key_id } of headers)
    print(
      `Archive of ${quoted(tenant_id)}: ${entries} entries, ${first_seq} to ${last_seq}, from ${quoted(from)} to ${quoted(to)}. Signed by ${quoted(key_id)}.`,
    );
  print(problems.length === 0 ? 'OK' : 'NOT OK');
  return problems.length === 0 ? 0 : EXIT_WRONG;
}

/** Only a checkpoint signed by a key that the caller named proves the log; everything else in the files could be forged. */
function verdictOf(result: Result, isChainOnly: boolean): { text: string; exitCode: number } {
  if (result.problems.length > 0) return { text: 'NOT OK', exitCode: EXIT_WRONG };
  if (isChainOnly) {
    return { text: 'The chain is intact, but NOT VERIFIED: no checkpoint was checked.', exitCode: EXIT_UNKNOWN };
  }
  return result.checkpoints > 0 ? { text: 'OK', exitCode: 0 } : { text: 'NOT OK', exitCode: EXIT_WRONG };
}

function parseOptions() {
  const { values } = parseArguments();
  if (values.help === true) return null;
  const { log = '', archive: archives = [], checkpoints = [], key = [], tenant = null } = values;
  const chainOnly = values['chain-only'] === true;
  const fromSeq = Number(values['from-seq'] ?? '1');
  if ((log === '') === (archives.length === 0)) throw new UsageError('give --log, or --archive');
  if (chainOnly && archives.length > 0) throw new UsageError('--chain-only is for --log');
  if (chainOnly && checkpoints.length + key.length > 0) {
    throw new UsageError('--chain-only cannot be combined with --checkpoints or --key: omit it to have them checked');
  }
  if (checkpoints.length === 0 && !chainOnly) throw new UsageError('--checkpoints is missing');
  if (key.length === 0 && !chainOnly) throw new UsageError(KEY_MISSING);
  if (!key.every(isKeyId))
    throw new UsageError('--key must be a key_id, such as rsa-pss-3072- and 40 hexadecimal digits');
  if (!Number.isSafeInteger(fromSeq) || fromSeq < 1)
    throw new UsageError('--from-seq must be an integer of at least 1');
  return { log, archives, checkpoints, trusted: new Set(key), fromSeq, tenantId: tenant, chainOnly };
}

function parseArguments() {
  try {
    return parseArgs({
      options: {
        log: { type: 'string' },
        archive: { type: 'string', multiple: true },
        checkpoints: { type: 'string', multiple: true },
        key: { type: 'string', multiple: true },
        tenant: { type: 'string' },
        'from-seq': { type: 'string' },
        'chain-only': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Every line of the result goes through here: what the files contain may be forged, and must not look like a result. */
function print(text: string): void {
  process.stdout.write(`${inOneLine(text)}\n`);
}

function printResult(result: Result, isChainOnly: boolean, verdict: string): void {
  for (const { where, what } of result.problems) print(`WRONG: ${where} ${what}`);
  if (result.hasMoreProblems) print('… and more.');
  const { tenantId, entries, purged, firstSeq, lastSeq, checkpoints, signedSeq, keyIds } = result;
  print(`Log of ${quoted(tenantId)}: ${entries} entries, ${firstSeq} to ${lastSeq}.`);
  if (purged > 0)
    print(`${purged} of them were purged after the retention period of their vault; the log records which.`);
  if (!isChainOnly) {
    print(`Valid checkpoints: ${checkpoints}. The last one covers everything up to entry ${signedSeq}.`);
    if (lastSeq > signedSeq)
      print(`Entries ${Math.max(signedSeq + 1, firstSeq)} to ${lastSeq} are newer and not covered.`);
    for (const id of keyIds) print(`Signed by ${quoted(id)}.`);
  }
  print(verdict);
}
