import { type CheckpointSet, documentsIn, isBlank, type Report } from './checkpoints.ts';
import {
  ChainCheck,
  type ExportHeader,
  GENESIS_HASH,
  headerOf,
  type Link,
  linkOf,
  type Start,
  UnreadableInputError,
} from './log.ts';
import { quoted } from './quoted.ts';

export interface Problem {
  where: string;
  what: string;
}

export interface Result {
  problems: Problem[];
  /** More problems were found than are listed. */
  hasMoreProblems: boolean;
  tenantId: string;
  entries: number;
  /** How many of them the service purged. */
  purged: number;
  firstSeq: number;
  lastSeq: number;
  checkpoints: number;
  signedSeq: number;
  keyIds: string[];
}

export interface Wanted {
  checkpoints: CheckpointSet;
  /** Problems in the checkpoint files themselves. */
  checkpointProblems: readonly Problem[];
  /** Ids of the trusted keys; their successors are trusted too. */
  trusted: ReadonlySet<string>;
  /** The entry the log must begin with. */
  fromSeq: number;
  /** For a log that does not name its tenant. */
  tenantId: string | null;
}

const PROBLEMS_MAX = 100;

/** Verifies a log line by line. A log in pages, newest first, is sorted before. */
export async function verifyLog(lines: AsyncIterable<string>, wanted: Wanted): Promise<Result> {
  const problems: Problem[] = [...wanted.checkpointProblems];
  let count = problems.length;
  const report: Report = (where, what) => {
    if (count++ < PROBLEMS_MAX) problems.push({ where, what });
  };
  const reader = new LineReader(lines);
  const first = await reader.first();
  const header = headerOf(first);
  const shown = header !== null ? [] : await reader.shown(first, report);
  const start = startOf(header, shown, wanted, report);
  const proven = wanted.checkpoints.proven(start.tenantId, wanted.trusted, report);
  const inReach = proven.filter(({ seq }) => seq >= start.firstSeq - 1);
  const chain = new ChainCheck(start, inReach, report);
  if (header !== null) await reader.each((link) => chain.add(link), report);
  else for (const link of shown) chain.add(link);
  chain.end(header);
  return {
    problems,
    hasMoreProblems: count > problems.length,
    tenantId: start.tenantId,
    entries: chain.entries,
    purged: chain.purged,
    firstSeq: start.firstSeq,
    lastSeq: chain.lastSeq,
    checkpoints: chain.matched,
    signedSeq: chain.signedSeq,
    keyIds: [...new Set(proven.map(({ key_id }) => key_id))],
  };
}

function startOf(header: ExportHeader | null, shown: readonly Link[], wanted: Wanted, report: Report): Start {
  const tenantId = wanted.tenantId ?? header?.tenant_id ?? wanted.checkpoints.tenantId;
  if (tenantId === null)
    throw new UnreadableInputError('no file contains the tenant of the log: give it with --tenant');
  if (header !== null && header.tenant_id !== tenantId)
    report('the log', `belongs to tenant ${quoted(header.tenant_id)}`);
  const firstSeq = header?.first_seq ?? (wanted.fromSeq > 1 ? (shown[0]?.seq ?? wanted.fromSeq) : 1);
  if (firstSeq !== wanted.fromSeq) report('the log', `starts with entry ${firstSeq}, not with ${wanted.fromSeq}`);
  const previousHash = firstSeq === 1 ? GENESIS_HASH : (header?.previous_hash ?? '');
  return { tenantId, firstSeq, previousHash };
}

class LineReader {
  readonly #lines: AsyncIterator<string>;
  #number = 0;

  constructor(lines: AsyncIterable<string>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async #next(): Promise<string | null> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) return null;
      this.#number++;
      if (!isBlank(value)) return value;
    }
  }

  /** A page may span several lines: if the first line is not JSON by itself, the whole file is parsed. */
  async first(): Promise<unknown> {
    const line = await this.#next();
    if (line === null) throw new UnreadableInputError('the log is empty');
    try {
      return JSON.parse(line);
    } catch {
      let text = line;
      for (let more = await this.#next(); more !== null; more = await this.#next()) text += `\n${more}`;
      try {
        return documentsIn(text);
      } catch {
        throw new UnreadableInputError('the log is not JSON');
      }
    }
  }

  async each(take: (link: Link) => void, report: Report): Promise<void> {
    for (let line = await this.#next(); line !== null; line = await this.#next()) {
      const link = linkOf(parsed(line));
      if (link === null) report(`line ${this.#number}`, 'is not a log entry');
      else take(link);
    }
  }

  /** Entries in the format of `GET /v1/audit`, in pages or one per line. Entries not yet linked into the chain are left out. */
  async shown(first: unknown, report: Report): Promise<Link[]> {
    const links: Link[] = [];
    const take = (value: unknown): void => {
      const { entries, seq } = (value ?? {}) as { entries?: unknown; seq?: unknown };
      if (Array.isArray(value)) value.forEach(take);
      else if (Array.isArray(entries)) entries.forEach(take);
      else if (seq !== null) {
        const link = linkOf(value);
        if (link === null) report(`line ${this.#number}`, 'is not a log entry');
        else links.push(link);
      }
    };
    take(first);
    for (let line = await this.#next(); line !== null; line = await this.#next()) take(parsed(line));
    return links.sort((a, b) => a.seq - b.seq);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
