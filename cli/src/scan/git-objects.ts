import type { GitRepository } from './git-repository.ts';

const LF = 0x0a;
const HEADER_BYTES_MAX = 1000;

/** What is known of a blob: its size, and its content unless it is too large. */
export interface Blob {
  size: number;
  content: Buffer | null;
}

/** Reads blobs one after another through two processes of `git cat-file`, which live as long as the scan. */
export class GitObjects {
  readonly #sizes: Session;
  readonly #contents: Session;

  constructor(repository: GitRepository) {
    this.#sizes = new Session(repository, '--batch-check');
    this.#contents = new Session(repository, '--batch');
  }

  /** Null for an object that is no blob, or that this clone does not have. */
  async blob(id: string, bytesMax: number): Promise<Blob | null> {
    const size = await this.#sizes.size(id);
    if (size === null) return null;
    if (size > bytesMax) return { size, content: null };
    await this.#contents.size(id);
    const content = await this.#contents.bytes(size);
    await this.#contents.bytes(1);
    return { size, content };
  }

  close(): void {
    this.#sizes.close();
    this.#contents.close();
  }
}

class Session {
  readonly #git: ReturnType<GitRepository['start']>;
  readonly #output: AsyncGenerator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(repository: GitRepository, mode: string) {
    this.#git = repository.start('cat-file', mode);
    this.#output = repository.output(this.#git);
  }

  async size(id: string): Promise<number | null> {
    this.#git.stdin.write(`${id}\n`);
    const [, kind, size] = (await this.#line()).split(' ');
    return kind === 'blob' ? Number(size) : null;
  }

  async #line(): Promise<string> {
    let end = this.#rest.indexOf(LF);
    while (end === -1 && this.#rest.length < HEADER_BYTES_MAX) {
      this.#rest = Buffer.concat([this.#rest, await this.#more()]);
      end = this.#rest.indexOf(LF);
    }
    const line = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  async bytes(size: number): Promise<Buffer> {
    const parts = [this.#rest];
    let length = this.#rest.length;
    while (length < size) {
      const more = await this.#more();
      parts.push(more);
      length += more.length;
    }
    const all = Buffer.concat(parts);
    this.#rest = all.subarray(size);
    return all.subarray(0, size);
  }

  async #more(): Promise<Buffer> {
    const { done, value } = await this.#output.next();
    if (done === true) throw new Error('git cat-file ended early');
    return value;
  }

  /** Ends the process, also if nothing was read from it. */
  close(): void {
    this.#git.kill();
  }
}
