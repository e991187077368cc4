import { type Command, Option } from 'commander';
import { CONFIDENCES, type Confidence, isAtLeast } from '../../../detection/src/index.ts';
import { CommandError, EXIT } from '../failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { note, printJson, printTable } from '../output.ts';
import { withProgress } from '../progress.ts';
import { filePieces, type Piece, streamPieces, type Tally } from '../scan/files.ts';
import { addedFindings, type Finding } from '../scan/findings.ts';
import { rotationOf, sarifOf } from '../scan/sarif.ts';
import { clientOf, settingsOf } from '../settings.ts';

interface ScanOptions extends GlobalOptions {
  staged?: boolean;
  since?: string;
  known?: boolean;
  parts?: boolean;
  vault?: string;
  baseline?: string;
  updateBaseline?: boolean;
  maxFileSize: string;
  confidence: Confidence;
  sarif?: boolean;
}

export function register(program: Command): void {
  program
    .command('scan')
    .description('Find secrets in files, in changes of git and in standard input')
    .argument('[paths...]', 'files and folders, or - for standard input; the working directory unless given')
    .option('--staged', 'scan what is staged in git')
    .option('--since <ref>', 'scan what the commits since a commit, tag or branch added')
    .addOption(
      new Option('--confidence <level>', 'how sure a finding must be to be reported')
        .choices(REPORTED)
        .default('medium'),
    )
    .option('--known', 'also ask the service which of the secrets that you may list have what is found')
    .option(
      '--parts',
      'with --known: also search for it inside longer values that you may read, which takes longer and sends it',
    )
    .option('--vault <vault>', 'with --known: ask about this vault only')
    .option('--baseline <file>', 'leave out what this file lists')
    .option('--update-baseline', 'write what is found to the baseline, and accept it')
    .option('--max-file-size <MiB>', 'skip larger files', '10')
    .option('--sarif', 'print SARIF, which code hosts and editors show beside the lines')
    .addHelpText('after', HELP)
    .action((paths: string[], _: unknown, command: Command) => scan(paths, command));
}

/** What is less sure counts only if a vault has it. */
const REPORTED = CONFIDENCES.filter((confidence) => confidence !== 'possible');

const HELP = `
A line with the text coffer:allow is left out; .cofferignore lists paths that are, by the rules of .gitignore.
Exits with 1 if something is found. With --known, digests of what looks like a secret are sent to the service;
with --parts also what looks like a secret itself.`;

const FINDINGS_MAX = 10_000;

async function scan(paths: readonly string[], command: Command): Promise<void> {
  const options = command.optsWithGlobals<ScanOptions>();
  const tally: Tally = { files: 0, bytes: 0, skipped: [] };
  const pieces = await piecesFor(paths, options, tally);
  const isSure = ({ confidence }: Finding) => isAtLeast(confidence, options.confidence);
  const isWanted = (finding: Finding) => isSure(finding) || options.known === true;
  const found = await withProgress((progress) => {
    progress.begin({ title: 'Scanning', unit: 'bytes', total: null });
    return findingsIn(pieces, isWanted, () => progress.reach(tally.bytes));
  });
  const knownSecrets = options.known === true ? await askService(found, options, command) : null;
  const all = found.filter((finding) => isSure(finding) || finding.stored.length > 0);
  const { shown, accepted } = await withoutAccepted(all, options);
  if (options.sarif === true) printJson(sarifOf(shown));
  else report({ findings: shown, accepted }, tally, knownSecrets, options.json === true);
  if (shown.length > 0) process.exitCode = EXIT.local;
}

async function findingsIn(
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  isWanted: (finding: Finding) => boolean,
  onPiece: () => void,
): Promise<Finding[]> {
  const seen = new Map<string, Finding>();
  for await (const piece of pieces) {
    onPiece();
    for (const finding of await addedFindings(piece)) {
      if (!isWanted(finding)) continue;
      // In a history the same value is in the same file again and again: the commit that brought it is named.
      const place = finding.commit === null ? `${finding.line}:${finding.column}` : '';
      const key = `${finding.file}\0${place}\0${finding.value}`;
      if (!seen.has(key)) seen.set(key, finding);
    }
    if (seen.size > FINDINGS_MAX)
      throw new CommandError(
        `More than ${FINDINGS_MAX} findings. Leave out folders with .cofferignore, or scan parts.`,
      );
  }
  return [...seen.values()];
}

async function piecesFor(
  paths: readonly string[],
  options: ScanOptions,
  tally: Tally,
): Promise<Iterable<Piece> | AsyncIterable<Piece>> {
  const { staged, since, maxFileSize } = options;
  const modes = [staged === true, since !== undefined, paths.length > 0].filter(Boolean).length;
  if (modes > 1) throw new CommandError('Give paths, --staged or --since, one of them.');
  if (paths.includes('-') && paths.length > 1) throw new CommandError('Give - alone: standard input or files.');
  if (options.updateBaseline === true && options.baseline === undefined)
    throw new CommandError('Say where with --baseline FILE.');
  if (options.vault !== undefined && options.known !== true) throw new CommandError('--vault is for --known.');
  if (options.parts === true && options.known !== true) throw new CommandError('--parts is for --known.');
  if (options.sarif === true && options.json === true) throw new CommandError('Give --json or --sarif, one of them.');
  if (paths[0] === '-') return streamPieces(process.stdin, tally);
  const mebibytes = Number(maxFileSize);
  if (!(mebibytes > 0 && mebibytes <= 512)) throw new CommandError('--max-file-size is a number of MiB, at most 512.');
  const bytesMax = mebibytes * 1024 * 1024;
  if (staged === true || since !== undefined) {
    const { gitPieces } = await import('../scan/git-changes.ts');
    return gitPieces(since === undefined ? { staged: true } : { since }, bytesMax, tally);
  }
  return filePieces(paths.length === 0 ? ['.'] : paths, bytesMax, tally);
}

/** What the service found. */
interface KnownSecrets {
  compared: number;
  guessable: number;
  /** Vaults whose values were searched, or null if they were only compared. */
  searched: string[] | null;
}

async function askService(findings: readonly Finding[], options: ScanOptions, command: Command): Promise<KnownSecrets> {
  const { compareStored, searchStored, COMPARED_MAX, SEARCHED_MAX } = await import('../scan/known.ts');
  const coffer = clientOf(settingsOf(command));
  const { compared, guessable, left, isComplete } = await compareStored(coffer, findings, options.vault);
  if (left > 0)
    note(`Only ${COMPARED_MAX} values were compared with vaults; ${left} were not. Scan parts to see them all.`);
  if (guessable > 0)
    note(`${guessable} values could be guessed, so they were compared only with secrets that you may read.`);
  if (!isComplete) note('Some secrets cannot be compared yet, shortly after an upgrade: repeat it in ten minutes.');
  if (options.parts !== true) return { compared, guessable, searched: null };
  const search = await searchStored(coffer, findings, options.vault);
  for (const { vault, code } of search.refused) note(`${vault} was not searched: ${code}.`);
  if (search.left > 0)
    note(
      `Only ${SEARCHED_MAX} values were searched for in vaults; ${search.left} were not. Scan parts to see them all.`,
    );
  return { compared, guessable, searched: search.vaults };
}

async function withoutAccepted(
  findings: Finding[],
  { baseline: file, updateBaseline }: ScanOptions,
): Promise<{ shown: Finding[]; accepted: number }> {
  if (file === undefined) return { shown: findings, accepted: 0 };
  const { fingerprintOf, newBaseline, readBaseline, writeBaseline } = await import('../scan/baseline.ts');
  const baseline = updateBaseline === true ? newBaseline() : readBaseline(file);
  const known = new Map<string, string>();
  if (updateBaseline === true) {
    for (const finding of findings) baseline.fingerprints.add(fingerprintOf(finding, baseline, known));
    writeBaseline(file, baseline);
    note(`Wrote ${baseline.fingerprints.size} fingerprints to ${file}.`);
  }
  const shown = findings.filter((finding) => !baseline.fingerprints.has(fingerprintOf(finding, baseline, known)));
  return { shown, accepted: findings.length - shown.length };
}

function report(
  { findings, accepted }: { findings: readonly Finding[]; accepted: number },
  tally: Tally,
  knownSecrets: KnownSecrets | null,
  isJson: boolean,
): void {
  if (isJson) {
    const shown = findings.map(({ file, line, column, kind, confidence, sample, commit, stored }) => ({
      file,
      line,
      column,
      kind,
      confidence,
      sample,
      ...(commit !== null && { commit }),
      ...(knownSecrets !== null && { stored: [...new Set(stored)] }),
    }));
    const { files, bytes, skipped } = tally;
    printJson({
      findings: shown,
      accepted,
      files,
      bytes,
      skipped,
      ...(knownSecrets !== null && { compared: knownSecrets.compared, guessable: knownSecrets.guessable }),
      ...(knownSecrets !== null && knownSecrets.searched !== null && { vaults_searched: knownSecrets.searched }),
    });
    return;
  }
  const wasFound = findings.length > 0;
  if (wasFound)
    printTable(
      findings,
      [
        {
          title: 'WHERE',
          of: ({ file, line, column, commit }) =>
            `${commit === null ? '' : `${commit.slice(0, 10)} `}${file}:${line}:${column}`,
        },
        { title: 'KIND', of: ({ kind }) => kind },
        { title: 'BEGINS', of: ({ sample }) => sample },
        ...(knownSecrets === null
          ? []
          : [{ title: 'STORED AS', of: ({ stored }: Finding) => [...new Set(stored)].join(', ') }]),
      ],
      '',
    );
  for (const skipped of tally.skipped) note(`Skipped: ${skipped}.`);
  const more = accepted > 0 ? `, ${accepted} accepted` : '';
  note(`${findings.length} found${more} in ${tally.files} files (${(tally.bytes / 1024 / 1024).toFixed(1)} MiB).`);
  for (const stored of new Set(findings.flatMap((finding) => finding.stored))) note(`Rotate it: ${rotationOf(stored)}`);
  if (wasFound)
    note(
      'Revoke or rotate what is real: removing the line does not remove it from history. Mark what is meant to be there with coffer:allow.',
    );
}
